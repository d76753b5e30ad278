package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
)

// Clock is the time of a call in UTC: that of its context, or the machine's where it has none.
func Clock(ctx context.Context) time.Time {
	if at, ok := guard.InstantFrom(ctx); ok {
		return at.Wall.UTC()
	}
	return time.Now().UTC()
}

// EndsAll reports whether an error ends all that is still to be asked: a wait that was asked
// for, or that nobody waits any more.
func EndsAll(err error) bool {
	_, wait := guard.RetryAfter(err)
	return wait || errors.Is(err, guard.ErrThrottled) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Says puts what was asked for before an error, as in "release lab/i-1: …"; nil for none.
func Says(verb string, id guard.ResourceID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, id, err)
}
