package skill

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange makes two files change places, in one step.
func exchange(temp, real string) error {
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, real, unix.RENAME_EXCHANGE)
	if unsupported(err) {
		return replace(temp, real)
	}
	return err
}

// place gives a file a name that no other file has.
func place(temp, real string) error {
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, real, unix.RENAME_NOREPLACE)
	if unsupported(err) {
		return link(temp, real)
	}
	return err
}

func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}
