package keep_test

import (
	"reflect"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/keep"
	"ambry.dev/ambry/internal/memory/dump"
)

// Whoever has the memory export something new says in which file of an archive
// it stands; an export with a line that has no place fails.
func TestEveryKindOfRecordHasItsPlaceInAnArchive(t *testing.T) {
	places, kinds := keep.Places(), reflect.TypeFor[dump.Record]()
	for i := range kinds.NumField() {
		kind, _, _ := strings.Cut(kinds.Field(i).Tag.Get("json"), ",")
		if !places[kind] {
			t.Errorf("%q has no place; add it to files in archive.go", kind)
		}
	}
	if kinds.NumField() < 10 || len(places) != kinds.NumField() {
		t.Errorf("%d kinds, %d places", kinds.NumField(), len(places))
	}
}
