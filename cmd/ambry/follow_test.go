package main

import (
	"context"
	"errors"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// follow returns a follower of the services, each found after the one before.
func follow(t *testing.T, services ...*service) (*follower, *int) {
	found := new(int)
	f := &follower{connect: func(ctx context.Context) (*client.Client, error) {
		if *found == len(services) {
			return nil, client.ErrNotRunning
		}
		c, _, err := client.Find(ctx, services[*found].home)
		*found++
		return c, err
	}}
	t.Cleanup(f.close)
	return f, found
}

func TestFollowerFindsTheNextService(t *testing.T) {
	for name, gone := range map[string]error{
		"a token of before":       ambry.Unauthorized.Errorf("wrong token"),
		"a memory that went away": ambry.MemoryUnavailable.Errorf("restarting"),
	} {
		t.Run(name, func(t *testing.T) {
			first := fakeService(t, map[string]any{"POST /api/v1/memory/add": gone})
			second := fakeService(t, map[string]any{"POST /api/v1/memory/add": ambry.Memory{ID: "tr_2"}})
			f, found := follow(t, first, second)
			for range 2 {
				m, err := f.Add(t.Context(), ambry.Note{Content: "x"}, "key")
				if err != nil || m.ID != "tr_2" || *found != 2 {
					t.Errorf("got %q, %v after finding %d services", m.ID, err, *found)
				}
			}
			if len(first.sent("POST")) != 1 {
				t.Errorf("the first was asked %q", first.asked)
			}
		})
	}
}

func TestFollowerAsksTwiceAtMost(t *testing.T) {
	down := ambry.MemoryUnavailable.Errorf("restarting")
	first := fakeService(t, map[string]any{"POST /api/v1/memory/search": down})
	second := fakeService(t, map[string]any{"POST /api/v1/memory/search": down})
	f, found := follow(t, first, second, second, second)
	if _, err := f.Search(t.Context(), ambry.Query{Query: "x"}); ambry.KindOf(err) != ambry.MemoryUnavailable || *found != 2 {
		t.Errorf("got %v after finding %d services", err, *found)
	}
}

func TestFollowerKeepsAServiceThatSaysNo(t *testing.T) {
	s := fakeService(t, nil)
	f, found := follow(t, s)
	for range 3 {
		if _, err := f.Get(t.Context(), "tr_9"); ambry.KindOf(err) != ambry.NotFound || *found != 1 {
			t.Errorf("got %v after finding %d services", err, *found)
		}
	}
}

func TestFollowerWithoutAService(t *testing.T) {
	f, _ := follow(t)
	if _, err := f.Get(t.Context(), "tr_9"); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("got %v", err)
	}
}
