package recall

import (
	"context"

	"ambry.dev/ambry"
)

// rehearsal asks for something that is written about everywhere, with a time and a
// number in it, so that all that understands a question is tried.
const rehearsal = "When did we fix the test, how often did it fail, and was it last week or in March?"

// Rehearse asks what nobody asked, and tells nobody: so that the first who asks does
// not wait for what is only made when it is needed, as patterns and statements.
func (r *Recall) Rehearse(ctx context.Context) error {
	if r.store.Indexed() == 0 {
		return nil
	}
	a, err := r.Search(ctx, ambry.Query{Query: rehearsal})
	if err != nil || len(a.Hits) > 0 {
		return err
	}
	_, err = r.Search(ctx, ambry.Query{Query: "layer:" + string(ambry.L1)}) // any memory will do
	return err
}
