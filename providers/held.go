package providers

import (
	"context"
	"sync"
	"time"

	"guard"
)

const (
	// heldFor is how old the last listing may be to answer from.
	heldFor = 90 * time.Second
	// A reading stands for the time since the one before it. Of the first, and after a
	// long pause, that is what polls are apart where nothing else is configured.
	farApart  = 15 * time.Minute
	pollEvery = time.Minute
)

// Held is what instances told of their work in the last listing of a provider whose listing
// tells that: signals then need no call of their own after a poll. The zero Held is empty. It
// is safe for concurrent use.
type Held struct {
	mu      sync.Mutex
	at      time.Time
	samples map[string]guard.Sample
}

// Hold keeps the samples of a listing that is complete and was read at a time, by the IDs of
// instances. It sets their time and interval.
func (h *Held) Hold(at time.Time, samples map[string]guard.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	apart := at.Sub(h.at)
	if apart <= 0 || apart > farApart {
		apart = pollEvery
	}
	for id, s := range samples {
		s.At, s.Interval = at, apart
		samples[id] = s
	}
	h.at, h.samples = at, samples
}

// Signals gives the samples of the last listing. Where that is old, or everybody knows it
// already, list reads another one first, and holds it.
func (h *Held) Signals(ctx context.Context, q SignalQuery, list func(context.Context) error) []Signals {
	out := make([]Signals, len(q.Of))
	if len(q.Of) == 0 {
		return out
	}
	if !h.serves(q, Clock(ctx)) {
		if err := list(Read(ctx)); err != nil {
			for i, of := range q.Of {
				out[i].Err = Says("read the signals of", of.Resource.ID, err)
			}
			return out
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, of := range q.Of {
		if s, ok := h.samples[of.Resource.ID.ID]; ok && s.At.After(of.Since) {
			out[i].Samples = []guard.Sample{s}
		}
	}
	return out
}

// serves reports whether the last listing is not old, and has something that somebody was not
// told yet.
func (h *Held) serves(q SignalQuery, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.samples == nil || now.Sub(h.at).Abs() > heldFor {
		return false
	}
	for _, of := range q.Of {
		if h.at.After(of.Since) {
			return true
		}
	}
	return false
}
