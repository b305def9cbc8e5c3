package agent

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// fileID names a file by its path and the time it was made: the index of a
// file is only to be had from an open one.
func fileID(path string, info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d", path, st.CreationTime.Nanoseconds())
}

// OpenRegular opens a file for reading, and nothing that is none.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return f, nil
}
