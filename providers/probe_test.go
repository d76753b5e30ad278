package providers

import (
	"testing"
	"time"
)

func TestCheckClock(t *testing.T) {
	at := time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		here, server time.Time
		want         Outcome
		text         string
	}{
		{at, at.Add(2 * time.Second), CheckOK, "agrees with the provider's"},
		{at, at.Add(-Skew), CheckOK, "agrees with the provider's"},
		{at, at.Add(-time.Hour), CheckRefused, "the clock here is 1h0m0s ahead of the provider's"},
		{at, at.Add(40 * time.Second), CheckRefused, "the clock here is 40s behind the provider's"},
		{at, time.Time{}, CheckUntried, "the provider tells no time"},
	} {
		if got := CheckClock(c.here, c.server); got.Outcome != c.want || got.Text != c.text || got.Outcome == CheckRefused && got.Do == "" {
			t.Errorf("%s here, %s there: %+v", c.here, c.server, got)
		}
	}
}
