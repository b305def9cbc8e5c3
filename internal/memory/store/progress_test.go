package store

import (
	"slices"
	"testing"
	"time"
)

func TestProgressIsToldNowAndThen(t *testing.T) {
	var told []string
	p := newProgress(func(at string) { told = append(told, at) }, "counts")
	p.total = 7
	p.add(2) // it has just begun
	p.told = p.told.Add(-time.Minute)
	p.add(3)
	p.add(1)
	if !slices.Equal(told, []string{"counts, 5 of 7"}) {
		t.Errorf("got %q", told)
	}
	newProgress(nil, "nobody wants to know").add(1)
}
