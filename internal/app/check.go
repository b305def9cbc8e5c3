package app

import (
	"errors"
	"io/fs"

	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/settings"
)

// CheckSettings reports what [Serve] would refuse of the settings, and what is
// allowed but unwise, a sentence each. It changes nothing.
func CheckSettings(o Options) (warnings []string, err error) {
	h, err := home.Existing(o.Home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var file string
	if err == nil {
		file = h.Config()
	}
	set, err := settings.Load(settings.Sources{File: file, Getenv: o.Getenv, Flags: o.Settings})
	return set.Warnings, err
}
