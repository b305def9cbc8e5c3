package document

// Counts is what turns add to a session and to the totals.
type Counts struct {
	Turns, Messages, Calls, Input, Cached, Output int64
}

// Add adds two counts.
func (c Counts) Add(o Counts) Counts {
	return Counts{
		c.Turns + o.Turns, c.Messages + o.Messages, c.Calls + o.Calls,
		c.Input + o.Input, c.Cached + o.Cached, c.Output + o.Output,
	}
}

// Negated is what takes c away when it is added.
func (c Counts) Negated() Counts {
	return Counts{-c.Turns, -c.Messages, -c.Calls, -c.Input, -c.Cached, -c.Output}
}
