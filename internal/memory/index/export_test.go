package index

// PassFrom makes searches pass over documents when their lists have so many postings.
func (x *Index) PassFrom(n int) { x.many = n }
