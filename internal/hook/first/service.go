package first

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/hook/door"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 8 << 20

var errGone = ambry.MemoryUnavailable.Errorf("ambry is not running")

// service is the service that runs on this machine. One request is all that a
// hook has to ask, and one in HTTP/1.0 is a few lines: a library for it takes
// longer to be made ready than the request takes.
type service struct {
	port  int
	token string
}

// newService is the service at base, such as http://127.0.0.1:4711. Another
// machine is refused: the token goes with every request.
func newService(base, token string) (*service, error) {
	port, ok := door.Port(base)
	if !ok || strings.ContainsAny(token, "\r\n") {
		return nil, ambry.InvalidArgument.Errorf("the address of a service is http://127.0.0.1:PORT")
	}
	return &service{port: port, token: token}, nil
}

// Search answers a query, best hit first.
func (s *service) Search(ctx context.Context, q ambry.Query) (a ambry.Answer, err error) {
	return a, s.ask(ctx, "POST", "/api/v1/memory/search", q, &a)
}

// Sessions returns a page of sessions, newest first.
func (s *service) Sessions(ctx context.Context, q ambry.SessionsQuery) (page ambry.Sessions, err error) {
	target := fmt.Sprint("/api/v1/panel/sessions?page=", max(q.Page, 1))
	if q.Agent != "" {
		target += "&sourceAgent=" + escape(q.Agent)
	}
	if q.Project != "" {
		target += "&project=" + escape(q.Project)
	}
	return page, s.ask(ctx, "GET", target, nil, &page)
}

// escape writes a value for a query.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// ask sends a request and decodes the answer into out.
func (s *service) ask(ctx context.Context, method, target string, in, out any) error {
	request, err := s.request(method, target, in)
	if err != nil {
		return err
	}
	c, err := dial(s.port)
	if err != nil {
		return errGone
	}
	defer c.Close()
	if at, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(at); err != nil {
			return fmt.Errorf("ask the service: %w", err)
		}
	}
	data, err := door.Exchange(c, request, maxAnswer)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return context.DeadlineExceeded
	case len(data) == 0:
		return errGone
	case len(data) > maxAnswer:
		return errors.New("the service answers more than is read")
	}
	return decode(data, out)
}

func (s *service) request(method, target string, in any) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n%s: %s\r\nAccept: application/json, application/problem+json\r\n",
		method, target, s.port, ambry.LocalTokenHeader, s.token)
	if in == nil {
		b.WriteString("\r\n")
		return b.Bytes(), nil
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	return b.Bytes(), nil
}

// decode reads an answer whole: what it is, and out if it is well. One that was
// cut off is no JSON.
func decode(data []byte, out any) error {
	head, body, _ := bytes.Cut(data, []byte("\r\n\r\n"))
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	words := strings.Fields(string(line))
	if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/1.") {
		return errGone
	}
	status, err := strconv.Atoi(words[1])
	if err != nil {
		return errGone
	}
	if status >= 200 && status < 300 {
		if err := json.Unmarshal(body, out); err != nil {
			return fmt.Errorf("read the answer of the service: %w", err)
		}
		return nil
	}
	var doc struct {
		Error struct {
			Code    ambry.Kind `json:"code"`
			Message string     `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &doc) != nil || !doc.Error.Code.Valid() {
		return fmt.Errorf("the service answered %d", status)
	}
	return &ambry.Error{Kind: doc.Error.Code, Message: doc.Error.Message}
}
