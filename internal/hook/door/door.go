// Package door hands a hook to the service that runs, which answers it with what
// is warm there, and ends the process. When there is no service, or it does not
// answer as it should, package first does all that itself, with what this package
// left it. It runs before anything else of the program is ready, so it imports
// next to nothing: not encoding/json, nor fmt, nor strings, and nothing of ours; a
// few bytes of JSON and HTTP are read by hand. See docs/adr/0027.
package door

import (
	"errors"
	"io"
	"os"
	"strconv"
	"time"
)

// What the door knows of the rest, which it cannot import. A test compares them.
const (
	homeVariable = "AMBRY_HOME"
	offVariable  = "AMBRY_HOOKS"
	homeName     = ".ambry"
	hooksDir     = "hooks"
	breakerName  = "breaker.json"
	runtimeName  = "runtime.json"
	tokenHeader  = "x-app-local-token"
	route        = "/api/hooks/"
	schema       = "1"
)

// patience is how long the service may take. It answers sooner, if it is well.
const patience = 800 * time.Millisecond

// The most that is read of an agent and of the service, in bytes.
const (
	maxInput  = 8 << 20
	maxAnswer = 1 << 20
)

// Left is what is left to do when the service has not answered.
type Left struct {
	In   io.Reader // what the agent says
	At   time.Time // when it said it, for the service too; zero if that was not asked
	Slow bool      // the service is there, and was waited for long enough
}

// hook is one call.
type hook struct {
	agent, event string
	getenv       func(string) string
	patience     time.Duration
}

// of returns the call that the arguments of a process name. Flags, and what
// changes what a hook does, are not for the door.
func of(args []string, getenv func(string) string) (h hook, ok bool) {
	if len(args) != 4 || args[1] != "hook" || !plain(args[2]) || !plain(args[3]) || getenv(offVariable) != "" {
		return hook{}, false
	}
	return hook{agent: args[2], event: args[3], getenv: getenv, patience: patience}, true
}

// plain reports whether a name stands in a path as it is.
func plain(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || i > 0 && (c == '-' || c == '.')) {
			return false
		}
	}
	return name != ""
}

// service is where the service is, as its runtime file says.
type service struct {
	pid, port int
	token     string
}

// find returns the service whose files are where the hook's are, if a hook may
// ask it: with consent, and while the breaker has nothing to say.
func (h hook) find() (s service, ok bool) {
	dir := h.getenv(homeVariable)
	if dir == "" {
		person, err := os.UserHomeDir()
		if err != nil {
			return service{}, false
		}
		dir = person + string(os.PathSeparator) + homeName
	}
	hooks := dir + string(os.PathSeparator) + hooksDir
	if info, err := os.Stat(hooks); err != nil || !info.IsDir() {
		return service{}, false
	}
	if _, err := os.Stat(hooks + string(os.PathSeparator) + breakerName); !errors.Is(err, os.ErrNotExist) {
		return service{}, false
	}
	data, err := os.ReadFile(dir + string(os.PathSeparator) + runtimeName)
	if err != nil {
		return service{}, false
	}
	return parse(string(data))
}

// parse reads a runtime file of the form that ours has.
func parse(data string) (s service, ok bool) {
	if v, ok := field(data, "schema"); !ok || v != schema {
		return service{}, false
	}
	pid, _ := field(data, "pid")
	base, _ := field(data, "baseUrl")
	s.token, _ = field(data, "localToken")
	if s.port, ok = Port(base); !ok || s.token == "" {
		return service{}, false
	}
	var err error
	if s.pid, err = strconv.Atoi(pid); err != nil || s.pid <= 0 {
		return service{}, false
	}
	return s, true
}

// Port returns that of a service of this machine, which is at http://127.0.0.1:PORT.
func Port(base string) (int, bool) {
	before, digits, ok := cut(base, "http://127.0.0.1:")
	port, err := strconv.ParseUint(digits, 10, 16)
	return int(port), ok && before == "" && err == nil && port != 0
}

// field returns the value of the first field of a name: a number, or a text that
// needs no escape.
func field(data, name string) (string, bool) {
	_, rest, ok := cut(data, `"`+name+`"`)
	rest = trim(rest)
	if !ok || rest == "" || rest[0] != ':' {
		return "", false
	}
	rest = trim(rest[1:])
	end := 0
	if rest != "" && rest[0] == '"' {
		rest = rest[1:]
		for end < len(rest) && ' ' < rest[end] && rest[end] <= '~' && rest[end] != '"' && rest[end] != '\\' {
			end++
		}
		if end == len(rest) || rest[end] != '"' {
			return "", false
		}
		return rest[:end], true
	}
	for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
		end++
	}
	return rest[:end], end > 0
}

// trim takes away the space at the beginning.
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t' || s[0] == '\r' || s[0] == '\n') {
		s = s[1:]
	}
	return s
}

// cut is that of package strings, which is ready too late.
func cut(s, around string) (before, after string, found bool) {
	for i := 0; i+len(around) <= len(s); i++ {
		if s[i:i+len(around)] == around {
			return s[:i], s[i+len(around):], true
		}
	}
	return s, "", false
}

// request is what the service is asked, in HTTP/1.0: it closes the connection
// after its answer. It is told when the hook was called, so that it does nothing
// about one that was given up.
func (h hook) request(s service, said []byte, at time.Time) []byte {
	head := "POST " + route + h.agent + "/" + h.event + "?at=" + strconv.FormatInt(at.UnixNano(), 10) + " HTTP/1.0\r\nHost: 127.0.0.1:" + strconv.Itoa(s.port) + "\r\n" +
		tokenHeader + ": " + s.token + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(said)) + "\r\n\r\n"
	return append([]byte(head), said...)
}

// Conn is a connection to the service.
type Conn interface {
	io.ReadWriteCloser
	SetDeadline(at time.Time) error
}

// Exchange sends a request in HTTP/1.0 and returns all that is answered, of which it
// reads most bytes and one more. It fails with [os.ErrDeadlineExceeded] when the
// service took too long.
func Exchange(c Conn, request []byte, most int64) ([]byte, error) {
	_, unsent := c.Write(request) // one that does not read to the end may have answered why
	data, err := io.ReadAll(io.LimitReader(c, most+1))
	if errors.Is(unsent, os.ErrDeadlineExceeded) {
		err = unsent
	}
	return data, err
}

// ask has the service answer. What it says is whole, or it has not answered.
func (h hook) ask(c Conn, s service, said []byte, at time.Time) (out string, answered, slow bool) {
	if c.SetDeadline(at.Add(h.patience)) != nil {
		return "", false, false
	}
	data, err := Exchange(c, h.request(s, said, at), maxAnswer)
	if err != nil || len(data) > maxAnswer {
		return "", false, errors.Is(err, os.ErrDeadlineExceeded)
	}
	return answer(string(data))
}

// answer reads an answer: one JSON object, or nothing at all. The object is whole,
// since its only end of a line is its end. Slow is what the service says of itself.
func answer(data string) (out string, ok, slow bool) {
	head, body, whole := cut(data, "\r\n\r\n")
	line, _, _ := cut(head, "\r\n")
	version, status, _ := cut(line, " ")
	if !whole || len(version) != len("HTTP/1.0") || version[:7] != "HTTP/1." || len(status) < 3 {
		return "", false, false
	}
	switch status[:3] {
	case "204":
		return "", body == "", false
	case "504":
		return "", false, true
	case "200":
		object, rest, ended := cut(body, "\n")
		if ended && rest == "" && len(object) >= 2 && object[0] == '{' && object[len(object)-1] == '}' {
			return body, true, false
		}
	}
	return "", false, false
}

// input is what an agent says, read once, by whoever comes first to need it.
type input struct {
	read chan struct{} // is closed when the agent has said all
	data []byte
	err  error
	at   int
}

// listen begins to read.
func listen(from io.Reader) *input {
	in := &input{read: make(chan struct{})}
	go func() {
		defer close(in.read)
		in.data, in.err = io.ReadAll(io.LimitReader(from, maxInput+1))
	}()
	return in
}

// said returns all that the agent says, if it ends in time.
func (in *input) said(until time.Time) (data []byte, ok bool) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-in.read:
		return in.data, in.err == nil && len(in.data) > 0 && len(in.data) <= maxInput
	case <-timer.C:
		return nil, false
	}
}

// Read reads what the agent says from its beginning.
func (in *input) Read(p []byte) (int, error) {
	<-in.read
	n := copy(p, in.data[in.at:])
	in.at += n
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case in.err != nil:
		return 0, in.err
	}
	return 0, io.EOF
}
