package ambry_test

import (
	"errors"
	"io"
	"testing"

	"ambry.dev/ambry"
)

func TestErrorfKeepsTheCauseOutOfTheMessage(t *testing.T) {
	err := ambry.StorageFull.Errorf("the disk is full: %w", io.ErrShortWrite)
	if got := err.Error(); got != "the disk is full" {
		t.Errorf("got %q, want the message without its cause", got)
	}
	if !errors.Is(err, io.ErrShortWrite) || ambry.KindOf(err) != ambry.StorageFull {
		t.Errorf("got kind %s and cause %v", ambry.KindOf(err), errors.Unwrap(err))
	}
}
