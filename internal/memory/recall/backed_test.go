package recall

import (
	"fmt"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// inSession is a memory that says so much of what was asked.
func inSession(session, project string, score float64) ranked {
	r := ranked{text: store.Text{Memory: ambry.Memory{SessionID: session, Project: project}}}
	r.signs[byAlike] = score / weights().Weight[byAlike]
	r.add()
	return r
}

// among are memories with others, each of a session of its own, that say less.
func among(some ...ranked) []ranked {
	for i := range maxBacked {
		some = append(some, inSession(fmt.Sprint("other", i), "", 0.1))
	}
	return some
}

func TestASessionThatSaysSeveralThingsGoesBeforeOneThatSaysOne(t *testing.T) {
	all := among(inSession("one", "", 3), inSession("several", "", 2.98), inSession("several", "", 2.5), inSession("several", "", 2.2))
	backed(all)
	if all[1].score <= all[0].score {
		t.Errorf("the best of a session with several is at %.3f, that of one with one at %.3f", all[1].score, all[0].score)
	}
	if all[2].signs[byBacked] != 0 || all[3].signs[byBacked] != 0 {
		t.Error("others than the best of a session are pushed, too")
	}
}

func TestSessionsOfAProjectAreNotBacked(t *testing.T) {
	all := among(inSession("one", "/p", 3), inSession("several", "/p", 2.98), inSession("several", "/p", 2.5))
	backed(all)
	for i, r := range all[:3] {
		if r.signs[byBacked] != 0 {
			t.Errorf("memory %d is backed by %.3f", i, r.signs[byBacked])
		}
	}
}
