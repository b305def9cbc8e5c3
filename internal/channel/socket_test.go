package channel

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ambry.dev/ambry"
)

func TestASocketToNobodyEnds(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		<-gone // nothing is read, so no ping is answered
		conn.CloseNow()
	}))
	defer server.Close()
	defer close(gone)
	s, err := Access{HTTP: server.Client()}.socket(t.Context(), server.URL, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := s.Read(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("got %v", err)
	}
}

func TestASocketPassesTextAndBytes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.Header().Set("Why", "not here")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		for {
			kind, data, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			conn.Write(r.Context(), kind, data)
		}
	}))
	defer server.Close()
	a := Access{HTTP: server.Client()}
	s, err := a.socket(t.Context(), server.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, text := range []bool{true, false} {
		if err := s.Write(t.Context(), []byte("a"), text); err != nil {
			t.Fatal(err)
		}
		if data, isText, err := s.Read(t.Context()); string(data) != "a" || isText != text || err != nil {
			t.Errorf("got %q, %v, %v", data, isText, err)
		}
	}
	_, err = a.Socket(t.Context(), server.URL+"/no")
	refused, ok := errors.AsType[*Refused](err)
	if !ok || refused.Status != http.StatusForbidden || refused.Header.Get("Why") != "not here" {
		t.Errorf("got %v", err)
	}
}
