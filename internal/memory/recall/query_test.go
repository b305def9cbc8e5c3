package recall

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/words"
)

func TestParse(t *testing.T) {
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		query   string
		units   string // terms, and parts in brackets
		phrases []string
		not     [][]string
		prefix  []string
		filter  store.Filter
	}{
		{query: "Why does the parser fail?", units: "parser fail"},
		{query: "where is it", units: "where is it"},
		{query: "fix handleTimeout", units: "fix handletimeout[handl timeout]"},
		{query: "handleTimeout in handleTimeout()", units: "handletimeout[handl timeout]"},
		{query: "pool/http_client.go", units: "pool http_client.go[http_client http client go]"},
		{query: "修改缓存 接口", units: "修改 改缓 缓存 接口"},
		{query: "字 缓存", units: "字 缓存"},
		{query: `say "two words" now`, units: "say two word", phrases: []string{"two words"}},
		{query: `"unclosed phrase`, units: "unclos phrase"},
		{query: `""`, units: ""},
		{query: "go test -race", units: "test", not: [][]string{{"race"}}},
		{query: "rm -rf --force", units: "rm rf forc"},
		{query: "缓存 -数据库", units: "缓存", not: [][]string{{"数据", "据库"}}},
		{query: "- dash -", units: "dash"},
		{query: "first line\n-second agent:codex", units: "first line second agent codex"},
		{query: "flaky agent:Codex agent:b project:infra session:abc", units: "flaki", filter: store.Filter{Agents: []string{"codex", "b"}, Project: "infra", Session: "abc"}},
		{query: `flaky project:"my work"`, units: "flaki", filter: store.Filter{Project: "my work"}},
		{query: "flaky after:2026-03-01 before:2026-04", units: "flaki", filter: store.Filter{After: march, Before: march.AddDate(0, 1, 0)}},
		{query: "flaky after:yesterday", units: "flaki"},
		{query: "error: no such file", units: "error file"},
		{query: "see 4fe2a91", units: "see 4fe2a91", prefix: []string{"4fe2a91"}},
		{query: "deadbeef", units: "deadbeef"},
	} {
		t.Run(c.query, func(t *testing.T) {
			a := parse(words.NewCutter(), ambry.Query{Query: c.query}, march)
			units := ""
			for i, u := range a.units {
				if i > 0 {
					units += " "
				}
				units += u.term
				if len(u.parts) > 0 {
					units += fmt.Sprint(u.parts)
				}
			}
			if units != c.units {
				t.Errorf("units: got %q, want %q", units, c.units)
			}
			if diff := cmp.Diff(c.phrases, a.phrases); diff != "" {
				t.Errorf("phrases (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.not, a.not); diff != "" {
				t.Errorf("not (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.prefix, a.prefix); diff != "" {
				t.Errorf("prefix (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.filter, a.filter); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
		})
	}
}
