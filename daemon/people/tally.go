package people

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"guard"
)

const (
	// ofOne and ofAll are how many refusals are journalled in a row, of one person and of
	// everybody; then one each ofOneEvery and ofAllEvery.
	ofOne      = 5
	ofAll      = 50
	ofOneEvery = 10 * time.Minute
	ofAllEvery = time.Minute
	// mostPeople bounds the memory of who was refused.
	mostPeople = 1000
)

// tally bounds how many refusals are written down: whoever clicks a thousand times fills
// no ledger.
type tally struct {
	mu     sync.Mutex
	all    *rate.Limiter
	of     map[string]*rate.Limiter
	missed int // since the last one that was written down
}

func newTally() *tally {
	return &tally{all: rate.NewLimiter(rate.Every(ofAllEvery), ofAll), of: map[string]*rate.Limiter{}}
}

// count counts a refusal. Ok: it is to be written down, and so many before it were not.
func (t *tally) count(who string, at guard.Instant) (missed int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Unix(0, 0).Add(at.Elapsed) // a stepped clock changes nothing
	l, known := t.of[who]
	if !known {
		if len(t.of) >= mostPeople {
			clear(t.of)
		}
		l = rate.NewLimiter(rate.Every(ofOneEvery), ofOne)
		t.of[who] = l
	}
	if !l.AllowN(now, 1) || !t.all.AllowN(now, 1) {
		t.missed++
		return 0, false
	}
	missed, t.missed = t.missed, 0
	return missed, true
}
