package signals

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/store"
)

// counting are minutes of an agent whose counters stand at so many bytes sent, in order.
func counting(from time.Time, boot string, sent ...uint64) []guard.Sample {
	xs := run("agent", from, len(sent), 0)
	for i := range xs {
		xs[i].Rx, xs[i].Tx, xs[i].Boot = guard.Gauge{}, guard.Gauge{}, boot
		xs[i].NICs = []guard.NICSample{{Name: "eth0", Tx: sent[i], Rx: 5, Bits: 64}}
	}
	return xs
}

// sent is what the ledger knows that the first box has sent.
func (w *world) sent() uint64 {
	w.Helper()
	var e guard.Egress
	w.fine(w.ledger.View(w.Context(), func(v *store.View) (err error) { e, _, err = v.Egress.Get(box1); return err }))
	if e.Resource != idOf("i-1") {
		w.Errorf("the meter is of %s", e.Resource)
	}
	return e.Sent
}

// minute pushes a sample each minute, and returns what the ledger knew after each.
func (w *world) minute(xs ...guard.Sample) (told []uint64) {
	w.Helper()
	for _, x := range xs {
		w.now = x.At
		w.fine(w.push(x))
		told = append(told, w.sent())
	}
	return told
}

// Byte counters go into the ledger's meter, once; where the ledger cannot be written
// nothing of a poll counts, and it is told again.
func TestTraffic(t *testing.T) {
	w := newWorld(t)
	const mb = 1_000_000
	xs := counting(start, "b", 1*mb, 2*mb, 30*mb, 50*mb)
	w.now = start.Add(4 * time.Minute)
	w.fine(w.push(xs[:2]...), w.push(xs[:2]...))
	if got := w.sent(); got != mb {
		t.Errorf("%d bytes", got)
	}
	w.backend.full = true
	if err := w.push(xs[2:]...); !errors.Is(err, guard.ErrUnavailable) {
		t.Errorf("a full disk: %v", err)
	}
	if s, _ := w.book.Activity(box1); !s.Heard.Equal(xs[1].At) {
		t.Error("what is not metered counts")
	}
	w.backend.full = false
	w.kicks = nil
	w.fine(w.push(xs[2:]...))
	if got := w.sent(); got != 49*mb || !slices.Contains(w.kicks, "meter") {
		t.Errorf("%d bytes, kicked %v", got, w.kicks)
	}
}

// Little traffic waits for the end of five minutes, and costs no write before; a crash
// meanwhile loses nothing of it and counts nothing twice.
func TestLittleTrafficWaits(t *testing.T) {
	w := newWorld(t)
	xs := counting(start, "b", 0, 1e6, 2e6, 3e6, 4e6, 5e6, 6e6)
	if got, want := w.minute(xs...), []uint64{0, 0, 0, 0, 4e6, 4e6, 4e6}; !slices.Equal(got, want) {
		t.Errorf("the ledger knew %d, want %d", got, want)
	}
	if w.backend.updates != 2 {
		t.Errorf("%d updates", w.backend.updates)
	}
	w.restart()
	if got := w.minute(counting(xs[6].At, "b", 7e6)...); got[0] != 7e6 {
		t.Errorf("after a crash: %d", got)
	}
}

// What waits when its machine ends is counted then, once the ledger takes it: no later
// reading tells of it.
func TestTrafficOfTheEnd(t *testing.T) {
	r := guard.Resource{ID: idOf("i-1"), State: guard.StateStopped, Created: start.Add(-2 * time.Hour)}
	for name, o := range map[string]guard.Observed{"stopped": {Resource: r}, "gone": {Resource: r, Gone: &guard.Gone{At: start.Add(3 * time.Minute)}}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := w.own(&cloud{name: "cloud", silent: true})
			w.minute(counting(start, "b", 0, 1e6, 2e6)...)
			if got := w.sent(); got != 0 {
				t.Fatalf("%d bytes do not wait", got)
			}
			w.observe(o)
			w.backend.full = true
			w.poll(1, l)
			w.backend.full = false
			w.kicks = nil
			w.fine(w.poll(1, l)...)
			if got := w.sent(); got != 2e6 || !slices.Contains(w.kicks, "meter") {
				t.Errorf("%d bytes, kicked %v", got, w.kicks)
			}
			writes := w.backend.updates
			if w.fine(w.poll(3, l)...); w.backend.updates != writes {
				t.Error("it is counted again and again")
			}
		})
	}
}

// What no later reading would tell again, and what costs something, is written at once.
func TestTrafficThatDoesNotWait(t *testing.T) {
	rates := run("agent", start.Add(time.Minute), 1, 0)
	rates[0].Rx, rates[0].Tx = guard.Known(0), guard.Known(1000)
	other := counting(start.Add(time.Minute), "b", 1000)
	other[0].NICs[0].Name = "eth1"
	source := counting(start.Add(time.Minute), "b", 1000)
	source[0].Source = "another"
	in := func(bytes uint64) []guard.Sample {
		xs := counting(start.Add(time.Minute), "b", 1000)
		xs[0].NICs[0].Rx = bytes
		return xs
	}
	for name, c := range map[string]struct {
		then   []guard.Sample
		paysIn bool
		writes int
	}{
		"next to nothing":           {then: counting(start.Add(time.Minute), "b", 1000)},
		"much":                      {then: counting(start.Add(time.Minute), "b", 11e6), writes: 1},
		"little by little":          {then: counting(start.Add(time.Minute), "b", 4e6, 8e6, 12e6), writes: 1},
		"another boot":              {then: counting(start.Add(time.Minute), "c", 1000), writes: 1},
		"it ran backwards":          {then: counting(start.Add(time.Minute), "b", 10), writes: 1},
		"another interface":         {then: other, writes: 1},
		"rates":                     {then: rates, writes: 1},
		"another source":            {then: source, writes: 1},
		"much comes in":             {then: in(11e6)},
		"much comes in and costs":   {then: in(11e6), paysIn: true, writes: 1},
		"little comes in and costs": {then: in(9e6), paysIn: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.paysIn {
				w.observe(guard.Observed{Resource: guard.Resource{ID: idOf("i-1"), State: guard.StateRunning, Created: start.Add(-2 * time.Hour), GPUs: 1,
					Egress: guard.EgressPrice{InPerGB: guard.MustMoney("0.01 USD")}}})
			}
			w.minute(counting(start, "b", 50)...)
			w.backend.updates = 0
			w.minute(c.then...)
			if w.backend.updates != c.writes {
				t.Errorf("%d writes, want %d", w.backend.updates, c.writes)
			}
		})
	}
}

// Rates are told once: each is written when it comes.
func TestRatesDoNotWait(t *testing.T) {
	w := newWorld(t)
	xs := run("agent", start, 3, 0)
	for i := range xs {
		xs[i].Rx, xs[i].Tx = guard.Known(0), guard.Known(1000)
	}
	if got, want := w.minute(xs...), []uint64{60_000, 120_000, 180_000}; !slices.Equal(got, want) {
		t.Errorf("the ledger knew %d, want %d", got, want)
	}
}

// A source of which nothing can be believed is not asked again and again for all that it
// has: its clock is hours ahead.
func TestNothingIsReadAgain(t *testing.T) {
	w := newWorld(t)
	c := &cloud{name: "cloud"}
	c.answers = func(_ context.Context, q providers.SignalQuery) []providers.Signals {
		return []providers.Signals{{Samples: run("cloud", w.now.Add(3*time.Hour), 1, 0)}}
	}
	l := w.own(c)
	w.poll(120, l)
	if s, ok := w.book.Activity(box1); ok && !s.Heard.IsZero() {
		t.Errorf("a sample from the future counts: %+v", s)
	}
	if since := c.asked[119].Of[0].Since; !since.Equal(w.now.Add(-time.Minute - late)) {
		t.Errorf("at %s it is asked since %s", w.now, since)
	}
	// What it did not answer it is asked again.
	c.answers, c.err = nil, errors.New("not now")
	w.poll(120, l)
	c.err = nil
	asked := len(c.asked)
	w.fine(w.poll(1, l)...)
	if since := c.asked[asked].Of[0].Since; !since.Equal(w.now.Add(-121*time.Minute - late)) {
		t.Errorf("after two hours without an answer, at %s, it is asked since %s", w.now, since)
	}
}
