package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// scanner answers for a service that scans: the steps of its status one after
// the other, and a stream of events that ends the connection.
func scanner(t *testing.T, steps []ambry.ScanStatus, events []ambry.Event) *client.Client {
	asked := 0
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/agent-sources/scan/status":
			answer(steps[min(asked, len(steps)-1)])(w, r)
			asked++
		case events == nil:
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			for _, e := range events {
				data, _ := json.Marshal(e)
				fmt.Fprintf(w, "data: %s\n\n", data)
			}
		}
	})
}

func event(p ambry.Payload) ambry.Event { return ambry.Event{Type: p.Topic(), Payload: p} }

func TestWaitScan(t *testing.T) {
	progress := func(job string, current int64) ambry.ScanProgress {
		return ambry.ScanProgress{JobID: job, SourceID: "codex", Current: current, Total: 2}
	}
	running := ambry.ScanStatus{Active: true, Completion: &ambry.ScanCompletion{JobID: "job-0"}}
	ended := ambry.ScanStatus{Completion: &ambry.ScanCompletion{JobID: "job-1", Succeeded: true}}
	told := []ambry.Event{
		event(ambry.AppConnected{}), event(progress("job-1", 1)), event(progress("job-9", 7)),
		event(progress("job-1", 2)), event(ambry.ScanCompletion{JobID: "job-1"}),
	}
	tests := []struct {
		name   string
		steps  []ambry.ScanStatus
		events []ambry.Event
		want   []ambry.ScanProgress
	}{
		{"it is followed", []ambry.ScanStatus{running, ended}, told, []ambry.ScanProgress{progress("job-1", 1), progress("job-1", 2)}},
		{"it ended before we looked", []ambry.ScanStatus{ended}, told, nil},
		{"the stream ends early", []ambry.ScanStatus{running, running, ended}, told[:2], []ambry.ScanProgress{progress("job-1", 1)}},
		{"there is no stream", []ambry.ScanStatus{running, running, ended}, nil, nil},
		{"an event is noise", []ambry.ScanStatus{running, ended}, []ambry.Event{{Type: "agent_source.scan_progress", Payload: 7}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []ambry.ScanProgress
			done, err := scanner(t, tt.steps, tt.events).WaitScan(t.Context(), "job-1", func(p ambry.ScanProgress) { got = append(got, p) })
			if err != nil || !done.Succeeded {
				t.Errorf("got %+v, %v", done, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWaitScanEnds(t *testing.T) {
	ignore := func(ambry.ScanProgress) {}
	t.Run("with a service that was restarted", func(t *testing.T) {
		_, err := scanner(t, []ambry.ScanStatus{{}}, nil).WaitScan(t.Context(), "job-1", ignore)
		if ambry.KindOf(err) != ambry.NotFound {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/events" {
				w.(http.Flusher).Flush()
				cancel()
				<-r.Context().Done()
				return
			}
			answer(ambry.ScanStatus{Active: true})(w, r)
		})
		if _, err := c.WaitScan(ctx, "job-1", ignore); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
