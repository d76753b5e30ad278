package api

import (
	"context"
	"regexp"
	"slices"
	"time"

	"guard"
	"guard/store"
)

// A registration may come late: it was kept in a file while the daemon was away,
// or its answer was lost. So it can carry a key, by which it is carried out once,
// and the time at which it was typed.

const (
	// oldest is how long ago a registration may have been typed.
	oldest = 30 * 24 * time.Hour
	// skew is how far the clock may be ahead where it was typed.
	skew = 2 * time.Minute
	// mostKeys bounds the keys that are remembered.
	mostKeys = 500
	// keysName is where they stand in the ledger.
	keysName = "registered_keys"
)

// keyed is a registration that was carried out.
type keyed struct {
	Key   string    `json:"key"`
	Lease string    `json:"lease"`
	Asked time.Time `json:"asked"`
	At    time.Time `json:"at"`
}

var keyForm = regexp.MustCompile(`^[0-9A-Za-z_-]{16,64}$`)

// kept checks the key and the time of a registration that was kept.
func (s *server) kept(w *wish, at guard.Instant) error {
	if w.Key != "" && !keyForm.MatchString(w.Key) {
		return faultf(guard.ErrInvalid, "key: %q is none: 16 to 64 letters and digits", clip(w.Key))
	}
	if w.AskedAt == nil {
		return nil
	}
	if s.Doubt() {
		return faultf(guard.ErrUnavailable, "asked_at: no provider has confirmed the clock of guard's machine yet; try again in a minute")
	}
	asked := w.AskedAt.UTC()
	switch {
	case w.Key == "":
		return faultf(guard.ErrInvalid, "asked_at: what was typed before needs a key, so that it is carried out once")
	case asked.After(at.Wall.Add(skew)):
		return faultf(guard.ErrInvalid, "asked_at: %s is still to come: it is %s now", s.stamp(asked), s.now(at).Format(time.RFC3339)).
			hinted("The clocks of the two machines differ.")
	case at.Wall.Sub(asked) > oldest:
		return faultf(guard.ErrRefused, "asked_at: it was typed at %s, more than 30 days ago", s.stamp(asked)).
			hinted("Register it again.")
	}
	w.asked = asked
	if asked.After(at.Wall) {
		w.asked = at.Wall
	}
	return nil
}

// ahead is the moment that a time ahead ends at, counted from when it was typed.
func (s *server) ahead(d time.Duration, asked time.Time, at guard.Instant) (time.Time, error) {
	end, err := s.fromNow(d, at)
	if err != nil {
		return end, err
	}
	end = end.Add(-at.Wall.Sub(asked))
	if !end.After(at.Wall) {
		return end, faultf(guard.ErrRefused, "ttl: %s from when it was typed, at %s, have passed", span(d), s.stamp(asked)).
			hinted("Register it again.")
	}
	return end, nil
}

// before reports whether a registration was carried out before, and refuses one
// that would undo what somebody did after it was typed.
func (s *server) before(ctx context.Context, c *scene, w *wish) (bool, error) {
	if w.Key == "" {
		return false, nil
	}
	var keys []keyed
	err := s.Ledger.View(ctx, func(v *store.View) error {
		_, err := v.Value(keysName, &keys)
		return err
	})
	if err != nil {
		return false, err
	}
	if i := slices.IndexFunc(keys, func(k keyed) bool { return k.Key == w.Key }); i >= 0 {
		if l, ok := c.book.named[keys[i].Lease]; ok {
			c.lease = &l
		}
		return c.lease != nil, nil
	}
	if w.AskedAt == nil || c.lease == nil || !c.lease.Status.Open() || c.lease.Adopted || !c.lease.UpdatedAt.After(w.asked) {
		return false, nil
	}
	// Of two that were kept the second comes after the first, however late.
	if slices.ContainsFunc(keys, func(k keyed) bool {
		return k.Lease == c.lease.ID && k.At.Equal(c.lease.UpdatedAt) && !k.Asked.After(w.asked)
	}) {
		return false, nil
	}
	return false, faultf(guard.ErrConflict, "%s was changed by %s at %s, after this was typed at %s", nameOf(*c.lease), c.lease.UpdatedBy,
		s.stamp(c.lease.UpdatedAt), s.stamp(w.asked)).
		hinted("If it still holds, register it again.")
}

// remember keeps the key of a registration with what it wrote; nil where it has
// none.
func remember(w *wish, l guard.Lease, at guard.Instant) func(*store.Tx) error {
	if w.Key == "" {
		return nil
	}
	return func(tx *store.Tx) error {
		var keys []keyed
		if _, err := tx.Value(keysName, &keys); err != nil {
			return err
		}
		if slices.ContainsFunc(keys, func(k keyed) bool { return k.Key == w.Key }) {
			return errMoved
		}
		keys = append(keys, keyed{Key: w.Key, Lease: l.ID, Asked: w.asked, At: at.Wall})
		keys = keys[max(0, len(keys)-mostKeys):]
		return tx.SetValue(keysName, keys)
	}
}
