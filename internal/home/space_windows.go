package home

import "golang.org/x/sys/windows"

// Free returns how many bytes are left for this person on the disk that dir is on.
func Free(dir string) (uint64, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}
