package skill

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// held is a file that nobody begins to write while we hold it.
type held struct{ f *os.File }

// hold takes a lease on a file. The kernel gives none while somebody has the file
// open for writing, which is [errChanged]; whoever opens it later waits for us.
// Where there are no leases nothing is held.
func hold(real string) (held, error) {
	f, err := os.Open(real)
	if err != nil {
		return held{}, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		f.Close()
		if errors.Is(err, unix.EAGAIN) {
			return held{}, errChanged
		}
		return held{}, nil
	}
	return held{f}, nil
}

// wanted reports whether somebody waits to write the file.
func (h held) wanted() bool {
	if h.f == nil {
		return false
	}
	lease, err := unix.FcntlInt(h.f.Fd(), unix.F_GETLEASE, 0)
	return err != nil || lease != unix.F_RDLCK
}

func (h held) release() {
	if h.f != nil {
		h.f.Close()
	}
}

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
