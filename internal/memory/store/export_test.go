package store

// Holdings returns the tables that forgetting knows.
func Holdings() map[string]bool {
	known := map[string]bool{}
	for _, h := range holdings {
		known[h.table] = true
	}
	return known
}

// ForgetRecent has all read from the file again.
func (s *Store) ForgetRecent() { s.recent.clear() }

// MaxRecent bounds Held.
const MaxRecent = maxRecent
