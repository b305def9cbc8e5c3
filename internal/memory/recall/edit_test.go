package recall

import (
	"strings"
	"testing"

	"ambry.dev/ambry"
)

func TestAnEditThatPutsAnotherValueIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		call ambry.ToolCall
		want bool
	}{
		"a diff in the output":      {ambry.ToolCall{Output: "-const maxRetries = 7 // each\n+const maxRetries = 9 // each\n"}, true},
		"lines that go with others": {ambry.ToolCall{Output: "-a := 1\n-limit = \"10m\"\n+b := other()\n+limit = \"25m\"\n"}, true},
		"an edit of old and new":    {ambry.ToolCall{Input: `{"file_path":"/src/app.yaml","old_string":"web:\n  port: 8080","new_string":"web:\n  port: 9090"}`}, true},
		"a patch":                   {ambry.ToolCall{Input: "*** Begin Patch\n*** Update File: app.yaml\n@@\n-  port: 8080\n+  port: 9090\n*** End Patch"}, true},
		"a patch as an argument":    {ambry.ToolCall{Input: `{"input":"*** Update File: app.yaml\n@@\n-  port: 8080\n+  port: 9090\n"}`}, true},
		"a line that is new":        {ambry.ToolCall{Output: " package main\n+const maxRetries = 7\n"}, false},
		"a line that is another":    {ambry.ToolCall{Output: "-func old(a, b int) error {\n+return nil, fmt.Errorf(\"nothing here\")\n"}, false},
		"an edit of code":           {ambry.ToolCall{Input: `{"old_string":"return nil","new_string":"if err != nil {\n\treturn err\n}\nreturn nil"}`}, false},
		"the same again":            {ambry.ToolCall{Output: "-limit = 10\n+limit = 10\n"}, false},
		"options of a command":      {ambry.ToolCall{Input: `{"command":"ls -l\n-a"}`, Output: "+1\n"}, false},
		"beyond what is read":       {ambry.ToolCall{Output: strings.Repeat("x\n", maxEdits) + "-limit = 10\n+limit = 20\n"}, false},
	} {
		rest := maxEdits
		if got := revalues(c.call, &rest); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func FuzzEdits(f *testing.F) {
	f.Add(`{"old_string":"a = 1","new_string":"a = 2"}`, "-a = 1\n+a = 2\n")
	f.Add("-\n+", "\n-\n+\n")
	f.Fuzz(func(t *testing.T, input, output string) {
		rest := maxEdits
		revalues(ambry.ToolCall{Input: input, Output: output}, &rest)
		if rest < 0 || rest > maxEdits {
			t.Errorf("%d bytes are left", rest)
		}
	})
}
