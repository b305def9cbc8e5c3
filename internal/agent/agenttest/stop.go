package agenttest

import (
	"testing"

	"ambry.dev/ambry/internal/agent"
)

// small returns the history in items that are as small as can be.
func (s suite) small() agent.History {
	if h, ok := s.History.(interface {
		Sized(itemBytes int) agent.History
	}); ok {
		return h.Sized(1)
	}
	return s.History
}

// stopped stops after each item in turn and reads on from its mark.
func (s suite) stopped(t *testing.T) {
	history := s.small()
	for _, src := range s.all(t) {
		want := s.whole(t, src)
		for n, more := 1, true; more; n++ {
			var got told
			left := n
			for item, err := range history.Read(t.Context(), src, agent.Mark{}) {
				if err != nil {
					t.Fatalf("%s: %v", src.Path, err)
				}
				got.add(t, item)
				if left--; left == 0 {
					break
				}
			}
			more = !got.Mark.Done
			got.read(t, history, src)
			same(t, s.rel(src.Path), got, want)
		}
	}
}

// steps stops after every item, each time in another reading.
func (s suite) steps(t *testing.T) {
	history := s.small()
	for _, src := range s.all(t) {
		var got told
		for readings := 0; !got.Mark.Done; readings++ {
			before := got.Mark
			for item, err := range history.Read(t.Context(), src, before) {
				if err != nil {
					t.Fatalf("%s: %v", src.Path, err)
				}
				got.add(t, item)
				break
			}
			if readings > 10_000 {
				t.Fatalf("%s: no progress from %+v", src.Path, before)
			}
		}
		same(t, s.rel(src.Path), got, s.whole(t, src))
	}
}
