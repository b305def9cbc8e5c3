package home

import (
	"fmt"
	"os"
)

// Scratch makes a file in dir for what is worth nothing once the process has
// ended. It has no name where the system allows that; elsewhere [RemoveTemps]
// finds it.
func Scratch(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".scratch.*"+tempSuffix)
	if err != nil {
		return nil, fmt.Errorf("make a scratch file: %w", err)
	}
	_ = os.Remove(f.Name()) // Windows does not let go of a name in use
	return f, nil
}
