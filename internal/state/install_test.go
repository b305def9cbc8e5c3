package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

func TestInstallsAreKept(t *testing.T) {
	db := openState(t, newHome(t))
	at := time.UnixMilli(1_780_000_000_123).UTC()
	skill := ambry.SkillInstall{Agent: "codex", Part: ambry.SkillText, State: "installing", Data: []byte(`{}`), At: at}
	plugin := ambry.SkillInstall{Agent: "codex", Part: ambry.Plugin, State: "installed", Data: []byte{0, 1}, At: at}
	for _, i := range []ambry.SkillInstall{skill, plugin} {
		if err := db.SetInstall(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	skill.State = "installed"
	if err := db.SetInstall(t.Context(), skill); err != nil {
		t.Fatal(err)
	}
	got, err := db.Installs(t.Context())
	if diff := cmp.Diff([]ambry.SkillInstall{plugin, skill}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for range 2 {
		if err := db.DeleteInstall(t.Context(), "codex", ambry.Plugin); err != nil {
			t.Error(err)
		}
	}
	if got, err := db.Installs(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

// What stands in agents' files is not gone because the memory is.
func TestInstallsOutliveAReset(t *testing.T) {
	db := openState(t, newHome(t))
	i := ambry.SkillInstall{Agent: "codex", Part: ambry.Plugin, State: "installed", Data: []byte(`{}`), At: time.UnixMilli(1).UTC()}
	if err := db.SetInstall(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if err := db.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Installs(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}
