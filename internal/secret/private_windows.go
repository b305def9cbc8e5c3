package secret

// private finds nothing: on Windows the profile of a person is theirs alone.
func private(string) error { return nil }
