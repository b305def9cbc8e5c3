package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// maxFrame is how long a part of an answer may be.
const maxFrame = 4 << 20

func scanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), maxFrame)
	return s
}

// frameError is the error of a reader that ended.
func frameError(err error) error {
	if err == bufio.ErrTooLong {
		return &Failure{Reason: TooBig, cause: err}
	}
	return err
}

// Events reads the data of server-sent events. Their names are left out: the
// data of those that matter says what it is.
func Events(r io.Reader, each func(data []byte) error) error {
	var data []byte
	filled := false
	give := func() error {
		if !filled {
			return nil
		}
		event := data
		data, filled = nil, false
		return each(event)
	}
	for s := scanner(r); ; {
		if !s.Scan() {
			// An event without the empty line behind it is not whole.
			return frameError(s.Err())
		}
		line := s.Bytes()
		if len(line) == 0 {
			if err := give(); err != nil {
				return err
			}
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		if filled {
			data = append(data, '\n')
		}
		data, filled = append(data, value...), true
		if len(data) > maxFrame {
			return &Failure{Reason: TooBig}
		}
	}
}

// Lines reads lines of JSON. A last line that was cut is left out.
func Lines(r io.Reader, each func(data []byte) error) error {
	s := scanner(r)
	s.Split(func(data []byte, end bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, end)
		if n > 0 && n == len(data) && data[n-1] != '\n' && !json.Valid(line) {
			return n, nil, err
		}
		return n, line, err
	})
	for s.Scan() {
		if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 {
			if err := each(line); err != nil {
				return err
			}
		}
	}
	return frameError(s.Err())
}
