package words

// seen counts how often each term was written to a column. It forgets by
// overwriting: then a term is written once more than wanted, which is harmless.
const seenSlots = 1 << 13

type seen struct {
	slots []seenSlot
	epoch uint32
}

type seenSlot struct {
	hash  uint32
	epoch uint32
	count uint32
}

// add reports how often the term was there before.
func (s *seen) add(term []byte) uint32 {
	h := hash(term)
	slot := &s.slots[h%seenSlots]
	if tag := uint32(h >> 32); slot.epoch != s.epoch || slot.hash != tag {
		*slot = seenSlot{hash: tag, epoch: s.epoch}
	}
	slot.count++
	return slot.count - 1
}

// Begin starts a new column of terms for [Cutter.Append].
func (c *Cutter) Begin() {
	if c.seen.slots == nil {
		c.seen.slots = make([]seenSlot, seenSlots)
	}
	c.seen.epoch++
	if c.seen.epoch == 0 {
		clear(c.seen.slots)
		c.seen.epoch = 1
	}
}

// MaxRepeats is how often one term is written to a column. Relevance grows
// little with more of them, and long outputs are mostly repetition.
const MaxRepeats = 3

// Append adds the terms of text to dst, each with a space after it. A term that
// was added [MaxRepeats] times since [Cutter.Begin] is left out.
func (c *Cutter) Append(dst []byte, text string) []byte {
	c.Each(text, func(t Term) {
		if c.seen.add(t.Text) < MaxRepeats {
			dst = append(append(dst, t.Text...), ' ')
		}
	})
	return dst
}
