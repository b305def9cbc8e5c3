package edit

func parseYAML(text []byte) (document, error) { return nil, ErrShape }
