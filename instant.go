package guard

import (
	"context"
	"time"
)

// Instant is one moment, told twice. Wall is the calendar time in UTC and may
// step when somebody sets the clock. Elapsed counts since an arbitrary zero of
// this boot (CLOCK_BOOTTIME), includes suspend and never steps. Durations are
// measured on Elapsed, calendar limits are judged on Wall; where the two drift
// apart the clock was stepped.
type Instant struct {
	Wall    time.Time     `json:"wall"`
	Elapsed time.Duration `json:"elapsed"`
}

// Add returns the instant d later, if the clock is not stepped in between.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{Wall: i.Wall.Add(d), Elapsed: i.Elapsed + d}
}

// Sub returns the elapsed time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return i.Elapsed - j.Elapsed }

// Before reports whether i comes before j on the elapsed axis.
func (i Instant) Before(j Instant) bool { return i.Elapsed < j.Elapsed }

// Reach returns the instant at which the wall clock will read w, if it is not
// stepped. A w in the past gives an instant before i.
func (i Instant) Reach(w time.Time) Instant { return i.Add(w.Sub(i.Wall)) }

// IsZero reports whether the instant was never set.
func (i Instant) IsZero() bool { return i.Wall.IsZero() && i.Elapsed == 0 }

// Earliest returns the instant that comes first; zero instants are left out.
func Earliest(is ...Instant) Instant {
	var first Instant
	for _, i := range is {
		if i.IsZero() {
			continue
		}
		if first.IsZero() || i.Before(first) {
			first = i
		}
	}
	return first
}

type instantKey struct{}

// WithInstant puts the instant of a loop's run into the context, for the rims
// that need it: signing, rate limiting, the fake cloud.
func WithInstant(ctx context.Context, at Instant) context.Context {
	return context.WithValue(ctx, instantKey{}, at)
}

// InstantFrom returns the instant that the context carries.
func InstantFrom(ctx context.Context) (Instant, bool) {
	at, ok := ctx.Value(instantKey{}).(Instant)
	return at, ok
}
