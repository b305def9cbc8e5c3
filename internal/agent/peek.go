package agent

import (
	"errors"
	"io"
)

// Peek decodes the records in the first limit bytes of a file until f returns
// false: for what a file beside the one that is read says.
func Peek(path string, limit int64, f func(Value) bool) error {
	file, err := OpenRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	l, d := newLines(io.LimitReader(file, limit), 0, 0), Decoder{}
	for more := true; more; {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		d.decode(line.text, line.torn, func(v Value) { more = more && f(v) })
	}
	return nil
}
