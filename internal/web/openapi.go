package web

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// Document is the OpenAPI 3.1 document of a table of routes. The same table
// gives the same bytes.
type Document struct {
	api  *huma.OpenAPI
	json func() []byte
	yaml func() []byte
}

// JSON returns the document as JSON, indented, with a newline at its end.
func (d *Document) JSON() []byte { return d.json() }

// YAML returns the document as YAML.
func (d *Document) YAML() []byte { return d.yaml() }

// finish is called when the table is whole. Encoding waits until somebody asks.
func (d *Document) finish() {
	d.json = sync.OnceValue(func() []byte {
		data, err := json.MarshalIndent(d.api, "", "  ")
		if err != nil {
			panic("web: the OpenAPI document cannot be encoded: " + err.Error())
		}
		return append(data, '\n')
	})
	d.yaml = sync.OnceValue(func() []byte {
		data, err := d.api.YAML()
		if err != nil {
			panic("web: the OpenAPI document cannot be encoded: " + err.Error())
		}
		return data
	})
}

func (d *Document) routes(path string) []Route {
	serve := func(summary, extension, contentType string, data func() []byte) Route {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(data()) // a caller who is gone needs no answer
		})
		r := Handle(path+extension, summary, h, http.MethodGet)
		r.intake, r.produces = intakeNothing, contentType
		return r
	}
	return []Route{
		serve("This document, as JSON", ".json", jsonType, func() []byte { return d.JSON() }),
		serve("This document, as YAML", ".yaml", "application/yaml", func() []byte { return d.YAML() }),
	}
}

func newOpenAPI(cfg Config) *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	return &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: cfg.Title, Version: cfg.Version, Description: cfg.Description},
		Components: &huma.Components{Schemas: schemas, SecuritySchemes: map[string]*huma.SecurityScheme{}},
	}
}

// documented is what the document says of one method of a route.
func (r *Route) documented(method string, cfg Config) huma.Operation {
	op := huma.Operation{
		Method: method, Path: r.path, OperationID: operationID(method, r.path),
		Summary: r.summary, Description: r.description, Tags: r.tags,
	}
	if r.tool != "" {
		op.Extensions = map[string]any{"x-mcp-tool": r.tool}
	}
	if !r.open {
		op.Security = []map[string][]string{{r.scheme(cfg): {}}}
	}
	return op
}

// scheme is the name of the security scheme that opens the route.
func (r *Route) scheme(cfg Config) string {
	if r.inQuery {
		return "tokenInQuery"
	}
	return schemeName(r.tokenOr(cfg.Token))
}

func schemeName(t Token) string {
	if t.Scheme != "" {
		return strings.ToLower(t.Scheme)
	}
	return strings.ToLower(t.Header)
}

func (t *table) secure(r *Route) {
	if r.open {
		return
	}
	token := r.tokenOr(t.cfg.Token)
	s := &huma.SecurityScheme{Type: "apiKey", In: "header", Name: token.Header}
	switch {
	case r.inQuery:
		s.In, s.Name = "query", "token"
	case token.Scheme != "":
		s = &huma.SecurityScheme{Type: "http", Scheme: strings.ToLower(token.Scheme)}
	}
	t.api.OpenAPI().Components.SecuritySchemes[r.scheme(t.cfg)] = s
}

// document describes a route whose handler huma does not know.
func (t *table) document(r *Route) {
	methods := r.methods
	if methods == nil {
		methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	}
	for _, method := range methods {
		op := r.documented(method, t.cfg)
		if strings.HasSuffix(op.Path, "/") {
			op.Path += "{path}"
			op.Parameters = []*huma.Param{{Name: "path", In: "path", Required: true, Description: "Any path, slashes included", Schema: &huma.Schema{Type: huma.TypeString}}}
		}
		op.Responses = map[string]*huma.Response{"200": t.success(r), "default": t.failure()}
		if body := r.bodyContent(); body != nil && method != http.MethodGet {
			op.RequestBody = &huma.RequestBody{Content: body}
		}
		t.api.OpenAPI().AddOperation(&op)
	}
}

func (t *table) success(r *Route) *huma.Response {
	res := &huma.Response{Description: http.StatusText(http.StatusOK)}
	switch {
	case r.shape != nil:
		schema := t.api.OpenAPI().Components.Schemas.Schema(r.shape, true, "Answer")
		res.Content = map[string]*huma.MediaType{jsonType: {Schema: schema}}
	case r.produces != "":
		res.Content = map[string]*huma.MediaType{r.produces: {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return res
}

func (t *table) failure() *huma.Response {
	schema := t.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem](), true, "")
	return &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{problemType: {Schema: schema}}}
}

func (r *Route) bodyContent() map[string]*huma.MediaType {
	anything := &huma.MediaType{Schema: &huma.Schema{}}
	switch r.intake {
	case intakeJSON:
		return map[string]*huma.MediaType{jsonType: anything}
	case intakeLines:
		return map[string]*huma.MediaType{linesType: anything}
	case intakeAny:
		return map[string]*huma.MediaType{jsonType: anything, linesType: anything}
	}
	return nil
}

var notWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]+`) })

// operationID is the method and the path as one word, getApiHealth.
func operationID(method, path string) string {
	id := strings.ToLower(method)
	for _, word := range notWord().Split(path, -1) {
		if word != "" {
			id += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return id
}
