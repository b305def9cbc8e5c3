package ambry_test

import (
	"strings"
	"testing"

	"ambry.dev/ambry"
)

func TestAgentsAreKnownByOneName(t *testing.T) {
	for given, want := range map[string]string{
		"claude-code": "claude_code", "Claude Code": "claude_code", "codex-mcp-client": "codex", " codex ": "codex", "gemini_cli": "gemini_cli",
		"": "", "a\nb": "", "ü": "", strings.Repeat("a", 65): "", "<script>": "",
	} {
		if got := ambry.AgentName(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestReferencesAreFound(t *testing.T) {
	for value, want := range map[string][2]string{
		"env:TOKEN": {"", "env:TOKEN"}, "Bearer env:TOKEN": {"Bearer ", "env:TOKEN"}, "Bearer keychain:docs": {"Bearer ", "keychain:docs"},
		"plain": {"plain", ""}, "": {"", ""}, "a b": {"a b", ""}, "environment": {"environment", ""},
	} {
		if before, reference := ambry.Reference(value); before != want[0] || reference != want[1] {
			t.Errorf("%q: got %q and %q", value, before, reference)
		}
	}
}
