package host_test

import (
	"net/http"
	"slices"
	"testing"
)

// TestSessionAsOlderClientsTellIt sends what clients of the contract that ours
// extends send, and looks for the fields that they read.
func TestSessionAsOlderClientsTellIt(t *testing.T) {
	h := serve(t, real(t))
	post := func(path, body string, fields ...string) map[string]any {
		t.Helper()
		res, text := h.ask(http.MethodPost, path, body)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", path, res.Status, text)
		}
		got := decode[map[string]any](t, text)
		for _, f := range fields {
			if _, ok := got[f]; !ok {
				t.Errorf("%s: no %s in %s", path, f, text)
			}
		}
		return got
	}
	open := `{"requestId":"r1","adapterId":"claude-hooks","source":"claude_code","workspacePath":"/home/dev/app",
		"namespace":{"source":"claude_code","profileId":"default","sessionKey":"window-1"}}`
	session := post("/api/v1/sessions/open", open, "sessionId", "status", "resumed", "serverTime")
	id := session["sessionId"].(string)
	if again := post("/api/v1/sessions/open", open); again["sessionId"] != id || again["resumed"] != false {
		t.Errorf("the same request again: got %v", again)
	}
	started := post("/api/v1/turns/start", `{"requestId":"r2","adapterId":"claude-hooks","sessionId":"`+id+`","query":"fix the flaky sync test","turnId":"t1",
		"contextHints":{"files":["sync.go"],"depth":2},"contextBudget":1800}`,
		"turnId", "contextPacketId", "sessionId", "episodeId", "searchEventId", "injectedContext", "sourceMemoryIds", "hits", "status", "serverTime")
	context := started["injectedContext"].(map[string]any)
	if context["markdown"] != "" || context["tokenEstimate"] != 0.0 || len(context["sections"].([]any)) != 0 {
		t.Errorf("the context of an empty memory: got %v", context)
	}
	complete := `{"requestId":"r3","adapterId":"claude-hooks","sessionId":"` + id + `","query":"fix the flaky sync test","answer":"Fixed.","episodeId":"e",
		"toolCalls":[{"id":"1","name":"shell","arguments":{"command":"go test"},"result":{"ok":true},"success":true,"startedAt":"2026-03-01T12:00:00Z"}],
		"toolResults":[],"artifacts":[{"kind":"file","uri":"sync.go"}],"sourceMemoryIds":[],"usage":{"totalTokens":12,"details":{"a":1}},"tags":[],"status":"succeeded"}`
	done := post("/api/v1/turns/t1/complete", complete,
		"turnId", "sessionId", "episodeId", "rawTurnId", "l1MemoryId", "scheduledEvolution", "jobs", "changeSeq", "serverTime")
	if again := post("/api/v1/turns/t1/complete", complete); again["l1MemoryId"] != done["l1MemoryId"] || again["changeSeq"] != done["changeSeq"] {
		t.Errorf("the same request again: got %v, want %v", again, done)
	}
	res, text := h.ask(http.MethodPost, "/api/v1/turns/t2/complete", complete)
	if res.StatusCode != http.StatusConflict {
		t.Errorf("the same request id for another turn: %s %s", res.Status, text)
	}
	if _, text := h.ask(http.MethodGet, "/api/v1/memory/"+done["l1MemoryId"].(string), ""); decode[map[string]any](t, text)["project"] != "/home/dev/app" {
		t.Errorf("the memory: got %s", text)
	}
	closed := post("/api/v1/sessions/"+id+"/close", `{}`, "ok", "sessionId", "status", "closedEpisodeIds", "serverTime")
	if closed["status"] != "closed" {
		t.Errorf("got %v", closed)
	}
	if res, _ := h.ask(http.MethodPost, "/api/v1/sessions/"+id+"/close", ""); res.StatusCode != http.StatusOK {
		t.Errorf("closing again, without a body: %s", res.Status)
	}
	if res, _ := h.ask(http.MethodPost, "/api/v1/turns/start", `{"sessionId":"`+id+`","query":"more"}`); res.StatusCode != http.StatusConflict {
		t.Errorf("a turn of a closed session: %s", res.Status)
	}
}

func TestWrongTurnsAreRefused(t *testing.T) {
	h := serve(t, real(t))
	for _, tt := range []struct{ name, path, body string }{
		{"no session", "/api/v1/turns/start", `{"query":"q"}`},
		{"no query", "/api/v1/turns/start", `{"sessionId":"s"}`},
		{"an unknown field", "/api/v1/turns/start", `{"sessionId":"s","query":"q","userId":"somebody-else"}`},
		{"an unknown status", "/api/v1/turns/t/complete", `{"sessionId":"s","source":"x","query":"q","status":"great"}`},
		{"a bad id in the body", "/api/v1/sessions/open", `{"sessionId":"a b"}`},
		{"a bad time", "/api/v1/turns/t/complete", `{"sessionId":"s","source":"x","query":"q","startedAt":"yesterday"}`},
		{"calls that are no list", "/api/v1/turns/t/complete", `{"sessionId":"s","source":"x","query":"q","toolCalls":{}}`},
	} {
		res, text := h.ask(http.MethodPost, tt.path, tt.body)
		if p := decode[problem](t, text); res.StatusCode != http.StatusBadRequest || p.Error.Code != "invalid_argument" {
			t.Errorf("%s: got %s %s", tt.name, res.Status, text)
		}
	}
}

func TestLogsAreAskedInTheOldWay(t *testing.T) {
	h := serve(t, real(t))
	h.ask(http.MethodPost, "/api/v1/memory/add", `{"content":"the staging host is called amber","source":"codex"}`)
	h.ask(http.MethodPost, "/api/v1/memory/search", `{"query":"staging","source":"cursor"}`)
	res, text := h.ask(http.MethodGet, "/api/v1/memory/logs?tools=memory_add,memory_search,skill_generate,skill_evolve&excludedSourceAgents=a&excludedSourceAgents=b&limit=1", "")
	got := decode[struct {
		Logs       []map[string]any
		Total      int
		Limit      int
		Offset     int
		NextOffset int
	}](t, text)
	if res.StatusCode != 200 || got.Total != 2 || len(got.Logs) != 1 || got.Limit != 1 || got.NextOffset != 1 {
		t.Fatalf("got %s %s", res.Status, text)
	}
	for _, f := range []string{"id", "toolName", "sourceAgent", "inputJson", "outputJson", "durationMs", "success", "calledAt"} {
		if _, ok := got.Logs[0][f]; !ok {
			t.Errorf("no %s in %s", f, text)
		}
	}
	for _, query := range []string{"tools=rm", "limit=0", "limit=501", "offset=-1", "offset=x"} {
		if res, text := h.ask(http.MethodGet, "/api/v1/memory/logs?"+query, ""); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: got %s %s", query, res.Status, text)
		}
	}
	verdicts := []string{"used", "ignored", "helpful", "wrong"}
	for _, v := range append(verdicts, "great", "") {
		res, text := h.ask(http.MethodPost, "/api/v1/memory/trace_00000000000000000000/feedback", `{"verdict":"`+v+`"}`)
		want := http.StatusBadRequest
		if slices.Contains(verdicts, v) {
			want = http.StatusNotFound
		}
		if res.StatusCode != want {
			t.Errorf("verdict %q: got %s %s", v, res.Status, text)
		}
	}
}
