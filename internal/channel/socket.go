package channel

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"ambry.dev/ambry"
)

const (
	beat     = 25 * time.Second // how often it is asked whether somebody is there, and how long that may take
	maxFrame = 4 << 20
	maxWrite = 15 * time.Second
)

// Socket is a WebSocket. That nobody is at its other end any more is noticed
// within a minute, as long as it is being read.
type Socket struct {
	conn *websocket.Conn
	host string
	stop context.CancelFunc
	done chan struct{} // closed when the heart has stopped
}

// Refused is a service that answers, but does not open a WebSocket.
type Refused struct {
	Host   string
	Status int
	Header http.Header
}

// Error names the host and the status.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s does not open a connection (HTTP %d)", r.Host, r.Status)
}

// Socket opens a WebSocket. Its error is a [Refused] if the service answers.
func (a Access) Socket(ctx context.Context, address string) (*Socket, error) {
	return a.socket(ctx, address, beat)
}

// QuietSocket is as [Access.Socket], for services with heartbeats of their own:
// that nobody is there any more is for the caller to notice.
func (a Access) QuietSocket(ctx context.Context, address string) (*Socket, error) {
	return a.socket(ctx, address, 0)
}

func (a Access) socket(ctx context.Context, address string, beat time.Duration) (*Socket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, ambry.UpstreamFailed.Errorf("an address of the service is no address")
	}
	opening, cancel := context.WithTimeout(ctx, maxAsk)
	defer cancel()
	conn, answer, err := websocket.Dial(opening, address, &websocket.DialOptions{HTTPClient: a.HTTP}) //nolint:bodyclose // it closes the body itself
	if err != nil {
		if answer != nil {
			return nil, &Refused{u.Host, answer.StatusCode, answer.Header}
		}
		return nil, Unreachable(u.Host, err)
	}
	conn.SetReadLimit(maxFrame)
	beating, stop := context.WithCancel(context.Background())
	s := &Socket{conn: conn, host: u.Host, stop: stop, done: make(chan struct{})}
	if beat == 0 {
		close(s.done)
		return s, nil
	}
	go s.live(beating, beat)
	return s, nil
}

// live closes the connection when nobody answers.
func (s *Socket) live(ctx context.Context, beat time.Duration) {
	defer close(s.done)
	for Pause(ctx, beat) == nil {
		asking, cancel := context.WithTimeout(ctx, beat)
		err := s.conn.Ping(asking)
		cancel()
		if err != nil {
			s.conn.CloseNow() //nolint:errcheck // it is given up
			return
		}
	}
}

// Read returns the next message, and whether it is text.
func (s *Socket) Read(ctx context.Context) (data []byte, text bool, err error) {
	kind, data, err := s.conn.Read(ctx)
	if err != nil {
		return nil, false, ambry.UpstreamFailed.Wrap(err, "the connection to "+s.host+" was lost")
	}
	return data, kind == websocket.MessageText, nil
}

// Write sends a message. It may be called beside Read and itself.
func (s *Socket) Write(ctx context.Context, data []byte, text bool) error {
	ctx, cancel := context.WithTimeout(ctx, maxWrite)
	defer cancel()
	kind := websocket.MessageBinary
	if text {
		kind = websocket.MessageText
	}
	if err := s.conn.Write(ctx, kind, data); err != nil {
		return ambry.UpstreamFailed.Wrap(err, "the connection to "+s.host+" was lost")
	}
	return nil
}

// Close ends the connection, and with it what reads from it.
func (s *Socket) Close() {
	s.stop()
	s.conn.CloseNow() //nolint:errcheck // nothing is left to be said
	<-s.done
}

// CloseCode returns the number with which the other end has closed a connection,
// 0 if it has given none.
func CloseCode(err error) int { return max(0, int(websocket.CloseStatus(err))) }
