package host

import (
	"bufio"
	"bytes"
	"context"
	jsonv1 "encoding/json"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
	"ambry.dev/ambry/internal/web"
)

const importDescription = "The body is a Conversation as JSON on each line, of any number. Lines are stored in batches: " +
	"a body of at most 4 MiB and 1000 turns all or none, a larger one as far as it is good. " +
	"The error of a line names its number, and imported counts what was stored before it. " +
	"Importing again changes nothing, so after a failure send the same body again."

// The bounds of an import. A batch ends with the line that reaches one of them.
const (
	batchBytes = 4 << 20
	batchTurns = 1000
	maxLine    = 32 << 20
	lineBuffer = 256 << 10

	// maxRest is how much of a refused body is still read, so that a caller who
	// sends everything before it listens gets to the answer.
	maxRest = 16 << 20
)

func (h *host) importLines(w http.ResponseWriter, r *http.Request) {
	done, err := h.importAll(r.Context(), r.Body)
	if err != nil {
		_, _ = io.CopyN(io.Discard, r.Body, maxRest)
		web.WriteError(w, r, withImported(err, done))
		return
	}
	data, err := jsonv1.Marshal(done)
	if err != nil {
		web.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a caller who is gone needs no answer
}

// withImported adds to an error what was stored before it.
func withImported(err error, done ambry.Imported) error {
	known, ok := errors.AsType[*ambry.Error](err)
	if !ok || done.Turns == 0 {
		return err
	}
	told := *known
	told.Extra = map[string]any{"imported": done}
	return &told
}

// importAll stores what the lines of body hold, a batch at a time.
func (h *host) importAll(ctx context.Context, body io.Reader) (done ambry.Imported, err error) {
	in := &lines{in: bufio.NewReaderSize(body, lineBuffer)}
	for {
		batch, err := in.batch()
		if err != nil {
			return done, err
		}
		if len(batch) == 0 {
			return done, nil
		}
		n, err := h.memory.Import(ctx, batch)
		if err != nil {
			return done, err
		}
		done = done.Add(n)
	}
}

// lines reads conversations, one a line.
type lines struct {
	in     *bufio.Reader
	number int
	long   []byte // holds a line that is longer than the buffer
}

// batch returns the next conversations, none at the end.
func (l *lines) batch() ([]redact.Conversation, error) {
	var batch []redact.Conversation
	for size, turns := 0, 0; size < batchBytes && turns < batchTurns; {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			continue
		}
		c, err := conversation(line)
		if err != nil {
			return nil, l.wrong(err)
		}
		batch = append(batch, redact.Clean(c))
		size += len(line)
		turns += len(c.Turns)
	}
	return batch, nil
}

// conversation decodes a line, strictly: no unknown or repeated name, no
// invalid UTF-8, nothing behind it.
func conversation(line []byte) (c ambry.Conversation, err error) {
	if err := json.Unmarshal(line, &c, json.RejectUnknownMembers(true)); err != nil {
		return c, explain(err)
	}
	return c, c.Validate()
}

// explain says where a line is wrong, and nothing of what stands there.
func explain(err error) error {
	wrong, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return errors.New("not JSON")
	case errors.Is(err, json.ErrUnknownName):
		return errors.New("has a name that a conversation does not have")
	case wrong.GoType == nil:
		return errors.New("not a conversation")
	}
	return fmt.Errorf("a JSON %s cannot be a %s", wrong.JSONKind, wrong.GoType)
}

// next returns the next line without the white space around it. It is good until
// the next call.
func (l *lines) next() ([]byte, error) {
	l.number++
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.rest(line)
	}
	switch {
	case err == nil, err == io.EOF && len(line) > 0:
		return bytes.TrimSpace(line), nil
	case err == io.EOF:
		return nil, io.EOF
	}
	if _, ok := errors.AsType[*ambry.Error](err); ok {
		return nil, err
	}
	return nil, ambry.InvalidArgument.Wrap(err, fmt.Sprintf("the body ended early, in line %d", l.number))
}

// rest returns the whole of a line that begins with begun.
func (l *lines) rest(begun []byte) ([]byte, error) {
	l.long = append(l.long[:0], begun...)
	for {
		part, err := l.in.ReadSlice('\n')
		l.long = append(l.long, part...)
		if len(l.long) > maxLine {
			return nil, ambry.PayloadTooLarge.Errorf("line %d is longer than %d bytes; send the session in several lines", l.number, maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
	}
}

// wrong says in which line something is wrong.
func (l *lines) wrong(err error) error {
	return &ambry.Error{
		Kind:    ambry.InvalidArgument,
		Message: fmt.Sprintf("line %d: %v", l.number, err),
		Details: []ambry.Field{{Field: fmt.Sprintf("line %d", l.number), Message: err.Error()}},
	}
}
