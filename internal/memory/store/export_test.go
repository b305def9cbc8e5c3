package store

// Holdings returns the tables that forgetting knows.
func Holdings() map[string]bool {
	known := map[string]bool{}
	for _, h := range holdings {
		known[h.table] = true
	}
	return known
}
