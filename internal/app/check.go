package app

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/secret"
	"ambry.dev/ambry/internal/settings"
)

// CheckSettings reports what [Serve] would refuse of the settings, and what is
// allowed but unwise, a sentence each. It changes nothing.
func CheckSettings(o Options) (warnings []string, err error) {
	set, err := load(o)
	return set.Warnings, err
}

// CheckSecrets reports why the stored secrets cannot be used, if they cannot. It changes
// nothing.
func CheckSecrets(o Options) error {
	h, err := home.Existing(o.Home)
	if err != nil {
		return nil //nolint:nilerr // where there is no home there are no secrets
	}
	return secret.Check(h, keyDir(o))
}

// Aside returns what is left of damaged text indexes.
func Aside(o Options) []string {
	h, err := home.Existing(o.Home)
	if err != nil {
		return nil
	}
	return store.Aside(h.MemoryDB())
}

func load(o Options) (settings.Settings, error) {
	h, err := home.Existing(o.Home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return settings.Settings{}, err
	}
	var file string
	if err == nil {
		file = h.Config()
	}
	return settings.Load(settings.Sources{File: file, Getenv: o.Getenv, Flags: o.Settings})
}

// Setting is a setting with its value and where that comes from.
type Setting = settings.Explanation

// Settings returns the settings that [Serve] would use, ordered by key: all, or
// those with the given keys.
func Settings(o Options, keys ...string) ([]Setting, error) {
	set, err := load(o)
	if err != nil {
		return nil, err
	}
	all := set.Explain()
	if len(keys) == 0 {
		return all, nil
	}
	var some []Setting
	for _, key := range keys {
		i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == key })
		if i < 0 {
			return nil, ambry.NotFound.Errorf("there is no setting %q; there are %s", key, strings.Join(settings.Keys(), ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}

// SettingKeys returns the keys of all settings.
func SettingKeys() []string { return settings.Keys() }

// ChangeSetting gives a key of the home's config.yaml a value, or takes it out
// if value is nil. It returns the path of the file, and whether that was
// different before. See [settings.Change] for what it promises.
func ChangeSetting(ctx context.Context, o Options, key string, value *string) (file string, changed bool, err error) {
	h, err := home.Open(o.Home)
	if err != nil {
		return "", false, err
	}
	if value == nil {
		changed, err = settings.Unset(ctx, h.Config(), key)
	} else {
		changed, err = settings.Change(ctx, h.Config(), key, *value)
	}
	return h.Config(), changed, err
}
