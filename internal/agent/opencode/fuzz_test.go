package opencode

import (
	"bytes"
	"testing"
	"time"
	"unicode/utf8"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// FuzzRecords puts any text where OpenCode has a record: as the head of a
// message, as a part of it, and as a message of 2.x.
func FuzzRecords(f *testing.F) {
	for _, seed := range []string{
		`{"role":"user","time":{"created":1785571200000},"summary":{"title":"t","body":"b"}}`,
		`{"role":"assistant","summary":true,"providerID":"p","modelID":"m","path":{"cwd":"/w"},"tokens":{"total":9,"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"error":{"name":"E","data":{"message":"no"}}}`,
		`{"type":"text","text":"\ud83d","synthetic":true}`,
		`{"type":"subtask","prompt":"p"}{"type":"step-finish","tokens":{"input":-1,"output":1e99,"cache":{"read":7}}}`,
		`{"type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}`,
		`{"type":"file","mime":"text/plain","url":"file:///a/b,c?d"}`,
		`{"type":"tool","callID":"c","tool":"bash","state":{"status":"completed","input":{"a":[1]},"output":"x","metadata":{"exit":-1,"sessionId":"s"},"time":{"start":1},"attachments":[{"mime":"x","url":"y"}]}}`,
		`{"type":"tool","id":"c","name":"shell","state":{"status":"error","input":"{","error":{"message":"m"},"content":[{"type":"file","uri":"data:,x"}]}}`,
		`{"time":{"created":1},"text":"t","files":[{"mime":"image/gif","data":"AAAA"}],"content":[{"type":"text","text":"t"},{"type":"tool"},{"type":"tool","id":"c"},{"type":"tool","id":"c"}],"status":"completed","summary":"s","command":"c","output":{"output":"o"},"exit":1}`,
		`{"role":"user","parts":[{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"c","args":{},"result":7}}],"metadata":{"time":{"created":1},"tool":{"c":{"error":true}},"assistant":{"summary":true}}}`,
		`[]`, `null`, `"x"`, `{`, "\x00", `{"role":"user"}{"role":"assistant"}`,
	} {
		f.Add([]byte(seed), []byte(`{"role":"assistant"}`))
		f.Add([]byte(`{"role":"user"}`), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		stored := newTeller("f", session{id: "a", title: string(one), directory: string(two), created: int64(len(one))}, true)
		stored.tell(messageOf((*message).stored, "m1", [][3]string{{string(one)}, {string(two), "p1"}, {string(one), "p2"}}), false)
		stored.tell(messageOf((*message).stored, "m2", [][3]string{{string(two)}, {string(one), "p3"}, {string(one), "p4"}}), len(one)%2 == 0)
		inForm(t, stored)
		projected := newTeller("f", session{id: "a", fork: string(one), created: int64(len(two))}, false)
		for _, kind := range []string{"user", "assistant", "shell", "compaction", "system", "synthetic", "other"} {
			projected.tell(messageOf((*message).projected, kind, [][3]string{{string(one), "", kind}}), false)
			projected.tell(messageOf((*message).projected, kind+"2", [][3]string{{string(two), "", kind}}), false)
		}
		inForm(t, projected)
	})
}

// messageOf makes a message of records: text, part and kind.
func messageOf(take func(*message, string, string, agent.Value), id string, records [][3]string) *message {
	m := &message{id: id}
	for i, record := range records {
		to := m
		if i == 2 {
			to = m.undoneRest()
		}
		(&agent.Decoder{}).Decode(bytes.Clone([]byte(record[0])), func(v agent.Value) { take(to, record[1], record[2], v) })
	}
	return m
}

// inForm checks what must hold of all that is told.
func inForm(t *testing.T, told *teller) {
	t.Helper()
	c := told.Finish()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	for _, turn := range c.Turns {
		messages, calls := map[string]bool{}, map[string]bool{}
		for _, m := range turn.Messages {
			if m.Role == "" || messages[m.ID] || len(m.Text) > agent.MaxText || !utf8.ValidString(m.Text) || m.At.Location() != time.UTC {
				t.Errorf("message %q of role %q at %v with %d bytes", m.ID, m.Role, m.At, len(m.Text))
			}
			if m.Tokens.Cached > m.Tokens.Input || m.Tokens.Output < 0 || m.Tokens != (ambry.Tokens{}).Add(m.Tokens) {
				t.Errorf("tokens %+v", m.Tokens)
			}
			messages[m.ID] = true
			for _, call := range m.Calls {
				if call.ID != "" && calls[call.ID] {
					t.Errorf("call %q comes twice", call.ID)
				}
				if len(call.Input) > agent.MaxInput || len(call.Output) > agent.MaxOutput || !utf8.ValidString(call.Input+call.Output) {
					t.Errorf("call %q with %d bytes in, %d bytes out", call.ID, len(call.Input), len(call.Output))
				}
				calls[call.ID] = true
			}
			for _, file := range m.Files {
				if len(file.Name) > agent.MaxTitle || !utf8.ValidString(file.Name) || file.Bytes < 0 {
					t.Errorf("file %+v", file)
				}
			}
		}
	}
}
