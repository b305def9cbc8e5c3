package store

import (
	"fmt"
	"time"
)

// progressEvery is how often is told how far something is.
const progressEvery = time.Second

// progress tells how far something is that takes long.
type progress struct {
	tell        func(at string) // may be nil
	what        string
	done, total int
	told        time.Time
}

func newProgress(tell func(at string), what string) *progress {
	return &progress{tell: tell, what: what, told: time.Now()}
}

// add tells it if that was not told for a while.
func (p *progress) add(n int) {
	p.done += n
	if p.tell != nil && time.Since(p.told) >= progressEvery {
		p.told = time.Now()
		p.tell(fmt.Sprintf("%s, %d of %d", p.what, p.done, p.total))
	}
}
