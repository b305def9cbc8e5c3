package ambry_test

import (
	"testing"
	"unicode/utf8"

	"ambry.dev/ambry"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"plain text\n\twith 漢字 and é": "plain text\n\twith 漢字 and é",
		"\x1b[31mred\x1b[0m\a":        "[31mred[0m",
		"\u009b2J":                    "2J",
		"\u202Eevil\u2066x\u200F":     "evilx",
		"a\U000E0041b":                "ab",
		"cut \xe6\xbc":                "cut \uFFFD",
		"\x00\r\n":                    "\n",
		"👩\u200D💻":                    "👩\u200D💻",
	} {
		if got := ambry.Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("\x1b]0;title\a")
	f.Fuzz(func(t *testing.T, text string) {
		got := ambry.Plain(text)
		if !utf8.ValidString(got) || ambry.Plain(got) != got {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestOutcome(t *testing.T) {
	zero, two := 0, 2
	for _, tt := range []struct {
		call ambry.ToolCall
		want string
	}{
		{ambry.ToolCall{Done: true}, ""},
		{ambry.ToolCall{Done: true, ExitCode: &zero}, ""},
		{ambry.ToolCall{Done: true, ExitCode: &two, Failed: true}, "failed with exit code 2"},
		{ambry.ToolCall{Done: true, Failed: true}, "failed"},
		{ambry.ToolCall{Failed: true}, "interrupted"},
	} {
		if got := tt.call.Outcome(); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.call, got, tt.want)
		}
	}
}
