package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
)

// SetTimer sets the timer of an instance (zero: takes it away) and reads it back: what
// was accepted is not done. shown is what the provider tells then, which the caller
// compares with what it asked for. An error says that the timer was refused, or cannot be
// read back.
func SetTimer(ctx context.Context, t TTLArmer, id guard.ResourceID, want time.Time) (shown time.Time, err error) {
	if err := t.Arm(ctx, id, want); err != nil && !errors.Is(err, guard.ErrUncertain) {
		return time.Time{}, err
	}
	shown, err = t.Armed(ctx, id)
	if err != nil {
		return time.Time{}, fmt.Errorf("it cannot be read back: %w", err)
	}
	return shown, nil
}
