package channel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"ambry.dev/ambry/internal/channel"
)

// TestWhatIsSentWaitsForWhatIsTaken sends while something is taken, and once more than
// somebody waits for.
func TestWhatIsSentWaitsForWhatIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line channel.Line
		var order []string
		sent := make(chan error, 2)
		failed := errors.New("it cannot be kept")
		err := line.Taking(func() error {
			go func() {
				sent <- line.Send(t.Context(), func(context.Context) error {
					order = append(order, "sent")
					return nil
				})
			}()
			impatient, cancel := context.WithCancel(t.Context())
			go func() { sent <- line.Send(impatient, func(context.Context) error { return nil }) }()
			synctest.Wait()
			cancel()
			if err := <-sent; !errors.Is(err, context.Canceled) {
				t.Errorf("who waits no longer is told %v", err)
			}
			order = append(order, "taken")
			return failed
		})
		if sending := <-sent; err != failed || sending != nil || len(order) != 2 || order[0] != "taken" {
			t.Errorf("the order is %v, errors %v and %v", order, err, sending)
		}
		if err := line.Send(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		line.Cut()
		if err := line.Send(t.Context(), func(context.Context) error { return nil }); err == nil {
			t.Error("something is sent on a line that was cut")
		}
	})
}
