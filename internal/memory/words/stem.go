package words

import (
	"strings"
	"sync"

	"github.com/kljensen/snowball/english"
)

// Stemming allocates and takes a microsecond, and a text uses the same few
// thousand words again and again: a small table that forgets by overwriting
// answers nearly all of them.
const stemSlots = 1 << 13

type stems struct {
	slots []stemSlot
}

type stemSlot struct {
	word string
	stem []byte
}

// of returns the stem of a lower-case ASCII word.
func (s *stems) of(word []byte) []byte {
	if len(word) < 3 {
		return word
	}
	if s.slots == nil {
		s.slots = make([]stemSlot, stemSlots)
	}
	slot := &s.slots[hash(word)%stemSlots]
	if slot.word != string(word) {
		w := string(word)
		*slot = stemSlot{word: w, stem: []byte(english.Stem(regular(w), true))}
	}
	return slot.stem
}

// irregular forms, each line a base and what stands for it. Those that are also
// other words ("left", "saw") are not among them.
const irregularForms = `
become became
begin began begun
blow blew blown
break broke broken
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
come came
deal dealt
dig dug
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
learn learnt
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
rise risen
run ran
say said
see seen
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
speed sped
spend spent
spin spun
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
weep wept
win won
write wrote written
overwrite overwrote overwritten
rebuild rebuilt
rerun reran
redo redid redone
undo undid undone
withdraw withdrew withdrawn
child children
man men
woman women
foot feet
tooth teeth
mouse mice
knife knives
life lives
wife wives
shelf shelves
half halves
index indices
matrix matrices
vertex vertices
`

var irregular = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(irregularForms) {
		forms := strings.Fields(line)
		for _, f := range forms[min(len(forms), 1):] {
			m[f] = forms[0]
		}
	}
	return m
})

// regular returns the base of an irregular form, and any other word as it is.
func regular(word string) string {
	if base, ok := irregular()[word]; ok {
		return base
	}
	return word
}

// hash is 64-bit FNV-1a, whose upper half is folded in because tables take the
// lower bits.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h ^ h>>32
}
