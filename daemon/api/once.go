package api

import (
	"context"
	"slices"

	"guard"
	"guard/store"
)

// mostClicks bounds the changes that are remembered as made; a button counts no longer
// than its state lasts, so what is forgotten is stale, too.
const mostClicks = 500

// once remembers a change that is made once, with the change itself: whatever crashes, it
// is made and remembered, or neither.
func (s *server) once(ctx context.Context, tx *store.Tx, at guard.Instant) error {
	who := callerOf(ctx)
	if who.Once == "" {
		return nil
	}
	var done []guard.Clicked
	if _, err := tx.Value(guard.ClicksName, &done); err != nil {
		return err
	}
	if i := slices.IndexFunc(done, func(c guard.Clicked) bool { return c.Key == who.Once }); i >= 0 {
		return faultf(guard.ErrConflict, "done already, by %s at %s", done[i].By, s.stamp(done[i].At))
	}
	done = append(done, guard.Clicked{Key: who.Once, By: who.Name, At: at.Wall})
	return tx.SetValue(guard.ClicksName, done[max(0, len(done)-mostClicks):])
}
