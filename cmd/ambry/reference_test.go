package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/reference/cli.md anew")

// reference is the page about all commands, made from the tree itself.
func reference() string {
	var b strings.Builder
	root := (&program{}).root()
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpFlag()
	fmt.Fprintf(&b, "<!-- Written by \"make gen\" from the commands themselves; do not edit. -->\n\n# The command line\n\n")
	fmt.Fprintf(&b, "%s\n\nEvery command takes these flags:\n\n```\n%s```\n\n```%s```\n", root.Long, root.PersistentFlags().FlagUsages(), environment)
	each(root, func(cmd *cobra.Command) {
		if !cmd.HasParent() || cmd.Hidden || cmd.Parent().Name() == "completion" {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n```\n%s\n```\n\n%s\n", cmd.CommandPath(), cmd.UseLine(), strings.TrimSpace(cmd.Long))
		if flags := cmd.LocalNonPersistentFlags().FlagUsages(); flags != "" {
			fmt.Fprintf(&b, "\n```\n%s```\n", flags)
		}
		if cmd.Example != "" {
			fmt.Fprintf(&b, "\nExamples:\n\n```\n%s\n```\n", cmd.Example)
		}
	})
	return b.String()
}

func TestCLIReferenceIsFresh(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "cli.md")
	want := reference()
	if !strings.Contains(want, "## ambry search") {
		t.Fatal("the page has no commands")
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/cli.md is stale, run make gen:\n%s", diff)
	}
}
