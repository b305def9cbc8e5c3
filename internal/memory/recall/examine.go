package recall

import (
	"context"

	"ambry.dev/ambry"
)

// An Example is a memory that was looked at closely for a query, and what spoke for
// it.
type Example struct {
	ID, TurnID, SessionID string
	Signs                 map[string]float64
	Short                 float64 // of Weight
}

// Examine returns all that a query is answered from, as it would be ordered. The
// weights of the signs are chosen with it.
func (r *Recall) Examine(ctx context.Context, q ambry.Query) ([]Example, error) {
	cutter := r.borrow()
	defer r.cutters.Put(cutter)
	asked := parse(cutter, q, r.now())
	if err := r.weigh(ctx, &asked); err != nil {
		return nil, err
	}
	found, _, err := r.candidates(ctx, asked, maxLimit)
	if err != nil {
		return nil, err
	}
	best, err := r.rank(ctx, cutter, asked, found, likeness{}, maxCandidates)
	if err != nil {
		return nil, err
	}
	if best, err = r.described(ctx, best); err != nil {
		return nil, err
	}
	out := make([]Example, len(best))
	for i, b := range best {
		out[i] = Example{b.text.ID, b.text.TurnID, b.text.SessionID, make(map[string]float64, signs), b.short}
		for s, v := range b.signs {
			out[i].Signs[names[s]] = v
		}
	}
	return out, nil
}
