//go:build unix

package static

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rest tells the system that the pages of a string are not needed now. It must be
// part of the program's file, from which they are read again when they are; of
// other memory the content would be lost.
func rest(s string) {
	page := os.Getpagesize()
	data := unsafe.Slice(unsafe.StringData(s), len(s))
	before := -int(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) & (page - 1)
	if whole := (len(data) - before) / page * page; before < len(data) && whole > 0 {
		_ = unix.Madvise(data[before:before+whole], unix.MADV_DONTNEED) // it is advice
	}
}
