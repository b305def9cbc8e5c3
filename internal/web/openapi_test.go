package web_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/web"
)

func documented() (http.Handler, *web.Document) {
	nothing := http.NotFoundHandler()
	return web.New(config(), []web.Route{
		health(), echoRoute().Tool("echo").Tag("talk").Describe("At length."), listRoute(), logoutRoute().Accepted(),
		eventsRoute(event.New("e", 1, nil), web.EventsConfig{}), web.Proxy("/api/v1/memory/", "The memory", nothing),
		web.Handle("/mcp/bridge", "The bridge", nothing, "GET", "POST").WithToken(web.Token{Header: ambry.MCPTokenHeader, Secret: mcpSecret}),
	})
}

type document struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas         map[string]json.RawMessage
		SecuritySchemes map[string]struct{ Type, In, Name, Scheme string }
	}
}

type operation struct {
	Summary, OperationID, Description string
	Tags                              []string
	Tool                              string `json:"x-mcp-tool"`
	Security                          []map[string][]string
	Responses                         map[string]struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			}
		}
	}
}

func TestDocumentSaysWhatTheTableDoes(t *testing.T) {
	_, doc := documented()
	var d document
	if err := json.Unmarshal(doc.JSON(), &d); err != nil {
		t.Fatal(err)
	}
	if d.OpenAPI != "3.1.0" || d.Info.Title != "Test" {
		t.Errorf("got %s, %+v", d.OpenAPI, d.Info)
	}
	for path, want := range map[string]struct{ methods, scheme, status string }{
		"/api/health":           {"get head", "", "200"},
		"/api/echo/{id}":        {"post", "x-app-local-token", "200"},
		"/api/list":             {"get", "x-app-local-token", "200"},
		"/api/logout":           {"post", "x-app-local-token", "202"},
		"/api/events":           {"get", "tokenInQuery", "200"},
		"/api/v1/memory/{path}": {"get post put patch delete", "x-app-local-token", "200"},
		"/mcp/bridge":           {"get post", "x-app-mcp-token", "200"},
		"/api/openapi.json":     {"get", "x-app-local-token", "200"},
		"/api/openapi.yaml":     {"get", "x-app-local-token", "200"},
	} {
		ops := d.Paths[path]
		if len(ops) != len(strings.Fields(want.methods)) {
			t.Errorf("%s: got %d methods, want %s", path, len(ops), want.methods)
		}
		for _, method := range strings.Fields(want.methods) {
			op := ops[method]
			if op.Summary == "" || op.OperationID == "" {
				t.Errorf("%s %s has no summary or id", method, path)
			}
			if _, ok := op.Responses[want.status]; !ok {
				t.Errorf("%s %s: no answer %s in %v", method, path, want.status, op.Responses)
			}
			if got := op.Responses["default"].Content["application/problem+json"].Schema.Ref; got != "#/components/schemas/Problem" {
				t.Errorf("%s %s: failures are %q, want a problem", method, path, got)
			}
			switch {
			case want.scheme == "" && len(op.Security) > 0, want.scheme != "" && (len(op.Security) != 1 || op.Security[0][want.scheme] == nil):
				t.Errorf("%s %s: secured by %v, want %q", method, path, op.Security, want.scheme)
			case want.scheme != "" && d.Components.SecuritySchemes[want.scheme].Type == "":
				t.Errorf("%s %s: the scheme %s is nowhere", method, path, want.scheme)
			}
		}
	}
	if got := d.Components.SecuritySchemes["tokenInQuery"]; got.In != "query" || got.Name != "token" {
		t.Errorf("tokenInQuery is %+v", got)
	}
	if op := d.Paths["/api/echo/{id}"]["post"]; op.Tool != "echo" || op.Description != "At length." || len(op.Tags) != 1 {
		t.Errorf("got %+v, want tool, description and tag", op)
	}
	if bytes.Contains(doc.JSON(), []byte("ErrorModel")) || bytes.Contains(doc.JSON(), []byte(secret)) {
		t.Error("the document shows huma's own error, or a secret")
	}
}

func TestDocumentIsTheSameEachTime(t *testing.T) {
	_, first := documented()
	for range 3 {
		_, again := documented()
		if !bytes.Equal(first.JSON(), again.JSON()) || !bytes.Equal(first.YAML(), again.YAML()) {
			t.Fatal("the same table gave another document")
		}
	}
}

func TestDocumentIsServedWithTheToken(t *testing.T) {
	s := start(t, echoRoute())
	r := s.do("GET", "/api/openapi.json", "")
	r.want(t, 200, "")
	if r.body != string(s.doc.JSON()) || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s and %d bytes", r.header.Get("Content-Type"), len(r.body))
	}
	y := s.do("GET", "/api/openapi.yaml", "")
	if y.body != string(s.doc.YAML()) || !strings.HasPrefix(y.body, "components:") && !strings.Contains(y.body, "\nopenapi: ") {
		t.Errorf("got %d %.80q", y.status, y.body)
	}
	s.send("GET", "/api/openapi.json", "").want(t, 401, "unauthorized")
}
