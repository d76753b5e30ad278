package agent

import (
	"errors"
	"time"
)

const (
	firstWait = 5 * time.Second
	mostWait  = 5 * time.Minute
)

// backoff is how long to wait after so many failures in a row: twice as long each time,
// up to five minutes, each anywhere in its upper half (chance is in [0, 1)), so that a
// fleet does not come back at one moment. What the other side asks for is waited at least.
func backoff(failures int, asked time.Duration, chance float64) time.Duration {
	wait := mostWait
	if n := failures - 1; n < 6 {
		wait = min(firstWait<<max(n, 0), mostWait)
	}
	wait = wait/2 + time.Duration(chance*float64(wait/2))
	if asked > wait {
		// Those that are told the same time still come one after another.
		wait = asked + time.Duration(chance*float64(firstWait))
	}
	return wait
}

// askedWait is how long an error says to wait; 0 where it does not.
func askedWait(err error) time.Duration {
	var later interface{ RetryAfter() time.Duration }
	if errors.As(err, &later) {
		return later.RetryAfter()
	}
	return 0
}
