package keep

// Places returns the kinds of lines that an archive has a file for.
func Places() map[string]bool {
	all := map[string]bool{}
	for _, f := range files {
		for _, kind := range f.kinds {
			all[kind] = true
		}
	}
	return all
}
