package server

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

type patch[P any] struct{ Body P }

func (s *Server) patchSettings(ctx context.Context, in *patch[ambry.AppSettingsPatch]) (*web.JSON[ambry.AppSettings], error) {
	if mode := in.Body.UserMode; mode != nil && *mode == "account" {
		who, err := s.Account.Known(ctx)
		if err != nil {
			return nil, err
		}
		if !who.Authenticated {
			return nil, ambry.Unauthorized.Errorf("nobody is logged in to an account; nothing was changed")
		}
	}
	return change(ctx, s.Bus, "app", s.AppSettings, in.Body.Apply, func([]string) {})
}

func (s *Server) patchOnboarding(ctx context.Context, in *patch[ambry.OnboardingPatch]) (*web.JSON[ambry.Onboarding], error) {
	return change(ctx, s.Bus, "onboarding", s.Onboarding, in.Body.Apply, func(fields []string) {
		if slices.Contains(fields, "scanPermission") {
			s.Scans.ConsentChanged()
		}
	})
}

func (s *Server) patchPrivacy(ctx context.Context, in *patch[ambry.PrivacyPatch]) (*web.JSON[ambry.Privacy], error) {
	return change(ctx, s.Bus, "privacy", s.Privacy, in.Body.Apply, func([]string) { s.PrivacyChanged() })
}

func (s *Server) patchScanPreferences(ctx context.Context, in *patch[ambry.ScanPreferencesPatch]) (*web.JSON[ambry.ScanPreferences], error) {
	return change(ctx, s.Bus, "scan_preferences", s.ScanPreferences, in.Body.Apply, func([]string) { s.Scans.ConsentChanged() })
}

// change makes of a document what apply does, and returns it. If that made a
// difference, heed is called with the names of the fields that differ, then
// everybody is told.
func change[T any](ctx context.Context, bus Bus, section string, d Document[T], apply func(T) T, heed func(fields []string)) (*web.JSON[T], error) {
	var before T
	after, err := d.Change(ctx, func(v *T) error {
		before = *v
		*v = apply(before)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if fields := differences(before, after); len(fields) > 0 {
		heed(fields)
		bus.Publish(ambry.SettingsChanged{Section: section, Fields: fields})
	}
	return web.Reply(after), nil
}

// differences returns the JSON names of the fields in which two structs differ.
func differences[T any](a, b T) []string {
	var names []string
	one, other := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range one.NumField() {
		if !reflect.DeepEqual(one.Field(i).Interface(), other.Field(i).Interface()) {
			name, _, _ := strings.Cut(one.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}
