package host

import (
	"bufio"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// FuzzImportLines checks that what is taken from a body is usable and whole,
// and that what is refused is the caller's fault.
func FuzzImportLines(f *testing.F) {
	good := `{"session":{"id":"s","agent":"codex"},"turns":[{"id":"t","messages":[{"role":"user","text":"hi \u00e9"}]}]}`
	for _, seed := range []string{
		"", "\n\n", good, good + "\n" + good, good + "\r\n", "{}", "[]", "null", `{"session":null}`,
		good[:40], strings.Replace(good, "turns", "Turns", 1), strings.Repeat("[", 200), `{"turns":[{"id":"t","tokens":{"input":1e999}}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		in := &lines{in: bufio.NewReaderSize(strings.NewReader(body), 16)}
		for {
			batch, err := in.batch()
			if err != nil {
				if kind := ambry.KindOf(err); kind != ambry.InvalidArgument || !strings.Contains(err.Error(), "line ") {
					t.Errorf("%q: %v (%s)", body, err, kind)
				}
				return
			}
			if len(batch) == 0 {
				return
			}
			for _, c := range batch {
				if err := c.Conversation().Validate(); err != nil {
					t.Errorf("%q: %v", body, err)
				}
			}
			if len(batch) > strings.Count(body, "\n")+1 {
				t.Errorf("%d conversations from %q", len(batch), body)
			}
		}
	})
}
