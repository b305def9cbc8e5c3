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
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) < len(p) {
		var two [2]byte
		if _, err := io.ReadFull(u.r, two[:]); err != nil {
			if len(u.out) == 0 {
				return 0, io.EOF
			}
			break
		}
		unit := rune(u.order.Uint16(two[:]))
		switch {
		case u.high != 0:
			r := utf16.DecodeRune(u.high, unit)
			u.out, u.high = utf8.AppendRune(u.out, r), 0
		case utf16.IsSurrogate(unit):
			u.high = unit
		default:
			u.out = utf8.AppendRune(u.out, unit)
		}
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}
