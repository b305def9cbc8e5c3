package skill

import "context"

// Compare looks once whether files are as they were written, as Run does.
func (s *Skills) Compare(ctx context.Context) error { return s.compare(ctx) }
