package agent

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"unicode/utf16"
	"unicode/utf8"
)

// asUTF8 returns a reader that turns a UTF-16 file with a byte order mark into
// UTF-8 (a shell's redirection makes such files), or nil if f is none; f then
// stands at its beginning.
func asUTF8(f *os.File) (io.ReadCloser, error) {
	var bom [2]byte
	n, err := io.ReadFull(f, bom[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		f.Close()
		return nil, err
	}
	var order binary.ByteOrder
	switch {
	case n == 2 && bom == [2]byte{0xff, 0xfe}:
		order = binary.LittleEndian
	case n == 2 && bom == [2]byte{0xfe, 0xff}:
		order = binary.BigEndian
	default:
		_, err := f.Seek(0, io.SeekStart)
		if err != nil {
			f.Close()
		}
		return nil, err
	}
	return &utf16Reader{r: bufio.NewReader(f), order: order, Closer: f}, nil
}

type utf16Reader struct {
	io.Closer
	r     *bufio.Reader
	order binary.ByteOrder
	out   []byte // decoded, not yet read
	high  rune   // first half of a pair
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) < len(p) && u.err == nil {
		var two [2]byte
		if _, u.err = io.ReadFull(u.r, two[:]); u.err == nil {
			u.decode(rune(u.order.Uint16(two[:])))
		}
	}
	n := copy(p, u.out)
	u.out = append(u.out[:0], u.out[n:]...)
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	if errors.Is(u.err, io.ErrUnexpectedEOF) { // half a unit
		return 0, io.EOF
	}
	return 0, u.err
}

// decode takes one unit. The half of a pair whose other half is missing
// becomes the replacement character.
func (u *utf16Reader) decode(unit rune) {
	if high := u.high; high != 0 {
		u.high = 0
		r := utf16.DecodeRune(high, unit)
		u.out = utf8.AppendRune(u.out, r)
		if r != utf8.RuneError {
			return
		}
	}
	if utf16.IsSurrogate(unit) && unit < 0xdc00 {
		u.high = unit
		return
	}
	u.out = utf8.AppendRune(u.out, unit)
}
