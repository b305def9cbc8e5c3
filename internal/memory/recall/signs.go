package recall

// sign is something that speaks for a memory, or against it.
type sign int

// The signs. Each is from 0 to 1 unless it says otherwise; those that speak
// against a memory have a negative weight.
const (
	byWords   sign = iota // the index's own score (BM25), against that of the best
	byOwn                 // the score (BM25) of what it says itself, against that of the best
	byCover               // share of the question that stands in it, by weight
	byNear                // share that stands in one passage
	byPair                // neighbours of the question that are neighbours in it
	byPhrase              // has what was asked, literally
	bySession             // score of the best memories of its session, against that of the best
	byJoint               // share of the question that its session says together
	byProject             // score of the best memories of its project, against that of the best
	bySpeaker             // 1: said by whom the question names; -1: by another
	byAsking              // only asks, and answers nothing
	byTelling             // names a time, when that is what was asked for
	byTime                // when the question says it was
	byFresh               // true now, while something better fitting was true before; what it lacks to be first
	byRecent              // new rather than old
	byMeaning             // means what was asked, as the embedding model sees it; times the weight of the model
	signs
)

// names of the signs in an answer.
var names = [signs]string{
	"words", "own", "cover", "near", "pair", "phrase", "session", "joint", "project", "speaker", "asking", "telling", "time", "fresh", "recent", "meaning",
}

// weights of the signs.
var weights = [signs]float64{
	byWords: 1, byOwn: 0.13, byCover: 0.02, byNear: 0.6, byPair: 0.13, byPhrase: 0.5, bySession: 0.6, byJoint: 0.6, byProject: 0.42,
	bySpeaker: 0.23, byAsking: -0.12, byTelling: 0.05, byTime: 2, byFresh: 1, byRecent: 0.017,
	byMeaning: 1,
}

// Weights returns how much each part of a score counts. Only quality
// measurements need to know.
func Weights() map[string]float64 {
	out := make(map[string]float64, signs)
	for s, w := range weights {
		out[names[s]] = w
	}
	return out
}
