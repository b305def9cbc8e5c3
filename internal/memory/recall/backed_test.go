package recall

import (
	"testing"

	"ambry.dev/ambry/internal/memory/store"
)

// inSession is a memory that says so much of what was asked.
func inSession(session, project int64, score float64) ranked {
	r := ranked{text: &store.Text{In: store.Group{Session: session, Project: project}}}
	r.signs[byAlike] = score / weights().Weight[byAlike]
	r.add()
	return r
}

// among are memories with others, each of a session of its own, that say less.
func among(some ...ranked) []ranked {
	for i := range maxBacked {
		some = append(some, inSession(int64(100+i), 0, 0.1))
	}
	return some
}

func TestASessionThatSaysSeveralThingsGoesBeforeOneThatSaysOne(t *testing.T) {
	all := among(inSession(1, 0, 3), inSession(2, 0, 2.98), inSession(2, 0, 2.5), inSession(2, 0, 2.2))
	backed(all)
	if all[1].score <= all[0].score {
		t.Errorf("the best of a session with several is at %.3f, that of one with one at %.3f", all[1].score, all[0].score)
	}
	if all[2].signs[byBacked] != 0 || all[3].signs[byBacked] != 0 {
		t.Error("others than the best of a session are pushed, too")
	}
}

func TestSessionsOfAProjectAreNotBacked(t *testing.T) {
	all := among(inSession(1, 9, 3), inSession(2, 9, 2.98), inSession(2, 9, 2.5))
	backed(all)
	for i, r := range all[:3] {
		if r.signs[byBacked] != 0 {
			t.Errorf("memory %d is backed by %.3f", i, r.signs[byBacked])
		}
	}
}
