package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrParentGone is the cause of a child's context when its input has ended: the
// parent wants it to stop, or is no more.
var ErrParentGone = errors.New("the parent process is gone")

// Parent is the way to the parent of a child, made by [Child].
type Parent struct{ out io.Writer }

// Child is the child's side. It reads into hello what the parent tells, and
// returns a context that ends with the input, see [ErrParentGone]. The input
// belongs to it from now on. The child answers once, by [Parent.Ready] or
// [Parent.Refuse], before the handshake of the parent times out. What takes long
// comes after the answer, or is told by [Parent.Working] again and again.
func Child(ctx context.Context, stdin io.Reader, stdout io.Writer, hello any) (context.Context, Parent, error) {
	in := bufio.NewReader(stdin)
	line, err := readLine(in)
	if err != nil {
		return nil, Parent{}, fmt.Errorf("read what the parent tells: %w", err)
	}
	if err := json.Unmarshal(line, hello); err != nil {
		return nil, Parent{}, errors.New("read what the parent tells: it is not the JSON that was agreed on")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		// It ends with the input, which may be as late as the process does.
		_, _ = io.Copy(io.Discard, in)
		cancel(ErrParentGone)
	}()
	return ctx, Parent{stdout}, nil
}

// Working tells the parent what the child is at before it can be used, as in "reads
// its files, 3 of 7". The handshake begins anew with it. It is shown to people.
func (p Parent) Working(at string) error { return p.say(message{Working: at}) }

// Ready tells the parent that the child can be used, and how.
func (p Parent) Ready(answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("answer the parent: %w", err)
	}
	return p.say(message{Answer: text})
}

// Refuse tells the parent why the child cannot be used until a person has done
// something about it. The reason is shown to that person.
func (p Parent) Refuse(reason string) error { return p.say(message{Refusal: reason}) }

func (p Parent) say(m message) error {
	line, err := encode(m)
	if err != nil {
		return fmt.Errorf("answer the parent: %w", err)
	}
	if _, err := p.out.Write(line); err != nil {
		return fmt.Errorf("answer the parent: %w", err)
	}
	return nil
}

// readLine returns a line of at most maxLine bytes, and reads no further.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
