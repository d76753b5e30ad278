package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

// Signals is a read of samples, of whatever calls it takes.
const Signals = "signals"

// Watched is a server whose instances are watched, for an adapter that is a
// [providers.SignalSource].
type Watched struct {
	Server http.RoundTripper
	// At is the server's time. In the ten minutes up to it there are three samples or
	// more of each instance but the last, of which there are none; or one, where the
	// cloud tells Instants: how it is at the moment, and nothing of before.
	At       guard.Instant
	Instants bool
	// GPUUtil is that of the first instance's first GPU in its newest sample; unknown
	// where the cloud does not tell it.
	GPUUtil guard.Gauge
}

// watching opens a provider on a watched world of four instances.
func (s *suite) watching() (providers.SignalSource, *wire, Watched, World) {
	s.Helper()
	w := s.world(2)
	p, _ := s.open(w)
	if _, ok := p.(providers.SignalSource); !ok {
		s.skip("signals")
	}
	if s.h.Watched == nil {
		s.Fatal("the adapter is a SignalSource: its harness needs Watched")
	}
	watched := s.h.Watched(s.T, w)
	p, x := s.on(watched.Server)
	return p.(providers.SignalSource), x, watched, w
}

// about asks for the signals of instances of a world; a negative index is nobody.
func (s *suite) about(w World, since time.Time, of ...int) providers.SignalQuery {
	var q providers.SignalQuery
	for _, i := range of {
		id := guard.ResourceID{Account: "conformance", Kind: guard.Instance, Scope: w.Scopes[0], ID: s.h.ID(9999)}
		if i >= 0 {
			id = s.id(w, i)
		}
		q.Of = append(q.Of, providers.SignalsOf{Resource: guard.Resource{ID: id, State: guard.StateRunning, GPUs: 1, HasGPU: guard.Yes}, Since: since})
	}
	return q
}

// signals sees that each instance has its own answer, in order, and only what is newer
// than asked for.
func (s *suite) signals() {
	p, _, at, w := s.watching()
	ctx := guard.WithInstant(s.ctx(), at.At)
	since := at.At.Wall.Add(-10 * time.Minute)
	got := p.Signals(ctx, s.about(w, since, 1, 3, -1, 0, 1, 2))
	least := 3
	if at.Instants {
		least = 1
	}
	if len(got) != 6 {
		s.Fatalf("%d answers for six instances", len(got))
	}
	for _, i := range []int{0, 3, 4, 5} {
		s.samples(got[i], since, at.At.Wall)
		if len(got[i].Samples) < least {
			s.Fatalf("answer %d: %d samples, %v", i, len(got[i].Samples), got[i].Err)
		}
	}
	if x := got[1]; x.Err != nil || len(x.Samples) != 0 {
		s.Errorf("one without data: %d samples, %v", len(x.Samples), x.Err)
	}
	if x := got[2]; len(x.Samples) != 0 {
		s.Errorf("nobody: %d samples", len(x.Samples))
	}
	first := got[3].Samples
	if a, b := fmt.Sprint(got[0].Samples), fmt.Sprint(got[4].Samples); a != b {
		s.Errorf("asked for twice, it has answers of two sorts:\n%s\n%s", a, b)
	}
	newest := first[len(first)-1]
	if at.GPUUtil.OK && (len(newest.GPUs) == 0 || newest.GPUs[0].Util != at.GPUUtil) {
		s.Errorf("the newest sample is %+v, want a utilisation of %g", newest, at.GPUUtil.V)
	}
	if n := len(first); n > 1 {
		last := p.Signals(ctx, s.about(w, first[n-2].At, 0))[0]
		if len(last.Samples) != 1 || !last.Samples[0].At.Equal(newest.At) {
			s.Errorf("after the last but one: %d samples, %v", len(last.Samples), last.Err)
		}
	}
	if none := p.Signals(ctx, s.about(w, newest.At, 0))[0]; len(none.Samples) != 0 || none.Err != nil {
		s.Errorf("after the last: %d samples, %v", len(none.Samples), none.Err)
	}
	if all := p.Signals(ctx, providers.SignalQuery{}); len(all) != 0 {
		s.Errorf("%d answers for nothing", len(all))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if x := p.Signals(ctx, s.about(w, since, 0, 1)); len(x) != 2 || x[0].Err != nil || x[1].Err != nil {
				s.Errorf("of many goroutines: %+v", x)
			}
		})
	}
	wg.Wait()
}

// samples sees that samples are in order, in their window, and sane.
func (s *suite) samples(x providers.Signals, since, now time.Time) {
	s.Helper()
	for i, sample := range x.Samples {
		switch {
		case !sample.At.After(since), !now.IsZero() && sample.At.After(now):
			s.Errorf("a sample of %s, since %s and until %s", sample.At, since, now)
		case sample.At.Location() != time.UTC:
			s.Errorf("a time in %s", sample.At.Location())
		case i > 0 && !sample.At.After(x.Samples[i-1].At):
			s.Errorf("a sample of %s stands behind one of %s", sample.At, x.Samples[i-1].At)
		case sample.Source == "" || sample.Interval < 0 || sample.Interval > 24*time.Hour:
			s.Errorf("a sample from %q, with an interval of %s", sample.Source, sample.Interval)
		}
		switch sample.Basis {
		case guard.Instantaneous, guard.Average, guard.Summary:
		default:
			s.Errorf("a basis %q", sample.Basis)
		}
		if b, err := json.Marshal(sample); err != nil || len(b) > 1<<20 {
			s.Errorf("%d bytes of JSON, %v", len(b), err)
		}
	}
}

// signalsFail sees that an error is never an empty answer, and tells no secret.
func (s *suite) signalsFail() {
	p, x, at, w := s.watching()
	ctx := guard.WithInstant(s.ctx(), at.At)
	p.Signals(ctx, s.about(w, time.Time{}, 0, 3))
	call := x.asked(Signals) // a listing may tell of the work, too
	if call == "" {
		s.Fatal("nobody was asked for signals")
	}
	answers := maps.Clone(broken)
	answers["403 with canaries"] = func(r *http.Request) (*http.Response, error) {
		return reply(r, 403, `{"error":"`+canary+`"}`, "X-Api-Token", canary)
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		p, x, _, _ = s.watching()
		x.on(call, func(_ int, r *http.Request) (*http.Response, error) { return answers[name](r) })
		got := p.Signals(ctx, s.about(w, time.Time{}, 0, 3))
		if len(got) != 2 {
			s.Fatalf("%s: %d answers for two", name, len(got))
		}
		for i, x := range got {
			if x.Err == nil {
				s.Errorf("%s: answer %d has no error", name, i)
			}
			s.tells(name, fmt.Sprintf("%v %+v %#v", x.Err, x.Err, x.Err))
		}
	}
	p, x, _, _ = s.watching()
	x.on("", func(int, *http.Request) (*http.Response, error) { return nil, nil })
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for i, x := range p.Signals(gone, s.about(w, time.Time{}, 0, 3)) {
		if !errors.Is(x.Err, context.Canceled) {
			s.Errorf("cancelled: answer %d is %v", i, x.Err)
		}
	}
	if n := x.calls(""); n != 0 {
		s.Errorf("cancelled, and %d calls", n)
	}
}

// oddSignals sees that nonsense in samples is told as an error or left out.
func (s *suite) oddSignals() {
	_, _, at, w := s.watching()
	if len(s.h.OddSignals) == 0 {
		s.skip("odd servers")
	}
	for _, name := range slices.Sorted(maps.Keys(s.h.OddSignals)) {
		s.Run(name, func(t *testing.T) {
			o := &suite{T: t, h: s.h}
			p, _ := o.on(s.h.OddSignals[name])
			got := p.(providers.SignalSource).Signals(guard.WithInstant(o.ctx(), at.At), o.about(w, time.Time{}, 0))
			if len(got) != 1 {
				t.Fatalf("%d answers", len(got))
			}
			o.samples(got[0], time.Time{}, time.Time{})
		})
	}
}
