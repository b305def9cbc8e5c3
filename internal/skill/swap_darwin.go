package skill

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange makes two files change places, in one step.
func exchange(temp, real string) error {
	err := unix.RenamexNp(temp, real, unix.RENAME_SWAP)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return replace(temp, real)
	}
	return err
}

// place gives a file a name that no other file has.
func place(temp, real string) error {
	err := unix.RenamexNp(temp, real, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return link(temp, real)
	}
	return err
}
