package egress

import (
	"maps"
	"slices"
	"time"

	"guard"
)

// Options are what Fold goes by, beside the sample.
type Options struct {
	// Spike is since when an egress_spike finding has been open (Finding.Since); zero:
	// none is. What was sent since then is no part of what is usual.
	Spike time.Time
	// At is when the sample came, by guard's time; zero: nobody noted it. Where samples
	// come far later after each other than they are stamped, the clock of their source
	// was off, or they waited somewhere.
	At time.Time
}

const (
	// line is what an interface carries whose speed nobody tells: 100 Gbit/s, in bytes
	// a second.
	line = 100e9 / 8
	// fast is a rate in bytes a second that has to be shown to be possible: 10 Gbit/s.
	// Bytes at a higher one count once a second reading agrees, for one odd reading
	// must not end a lease.
	fast = 10e9 / 8
	// silence is how long a source that tells counters may say nothing before one that
	// tells only rates is counted instead.
	silence = time.Hour
	// unspaced is how far apart readings are taken to be where nobody tells.
	unspaced = 5 * time.Minute
	// late is by how much longer than it is stamped to be a time between two samples has
	// to be, for what was sent in it to be spread over all of it.
	late = 10 * time.Minute
)

// Fold takes the next sample into the meter of one resource. One that is not newer than
// the record, tells no traffic, or comes from another source than the record follows
// changes nothing. The first reading of a counter counts nothing: what it stood at was
// sent before First. The record's Resource is the caller's to set.
func Fold(rec guard.Egress, x guard.Sample, o Options) guard.Egress {
	nics := physical(x.NICs)
	counters := len(nics) > 0
	if !x.At.After(rec.At) || !counters && !x.Tx.OK && !x.Rx.OK || !follows(rec, x, counters) {
		return rec
	}
	rec.Buckets, rec.Hours, rec.Months = slices.Clone(rec.Buckets), slices.Clone(rec.Hours), slices.Clone(rec.Months)
	rec.Doubtful = slices.Clone(rec.Doubtful)
	f := &fold{rec: &rec, x: x, since: x.At}
	if gap := o.At.Sub(rec.Heard); !o.At.IsZero() && !rec.Heard.IsZero() && gap > x.At.Sub(rec.At)+late {
		f.since = x.At.Add(-gap)
	}
	switch {
	case !counters:
		f.rates()
	case len(rec.Last) == 0:
		f.begin(nics)
	default:
		rec.Last = maps.Clone(rec.Last)
		f.counters(nics)
	}
	if !rec.At.IsZero() {
		rec.Lag = x.At.Sub(rec.At)
	}
	rec.Source, rec.At, rec.Heard = x.Source, x.At.UTC(), o.At.UTC()
	f.keep(o.Spike)
	return rec
}

// follows reports whether a sample is one of those that are counted. Two sources tell of
// the same bytes, so one is followed until it falls silent; counters go before rates.
func follows(rec guard.Egress, x guard.Sample, counters bool) bool {
	quiet, counted := x.At.Sub(rec.At), len(rec.Last) > 0
	switch {
	case rec.At.IsZero():
		return true
	case counted && !counters:
		return quiet > silence
	case x.Source == rec.Source, counters && !counted:
		return true
	}
	return quiet > 3*max(rec.Lag, time.Minute)
}

// fold is one run of Fold.
type fold struct {
	rec *guard.Egress
	x   guard.Sample
	// since is from when on the sample's bytes may have been sent, at the latest: its own
	// time, or longer ago where samples came late.
	since time.Time
}

// begin takes the counters as they stand.
func (f *fold) begin(nics []guard.NICSample) {
	if f.rec.First.IsZero() {
		f.rec.First = f.x.At.UTC()
	}
	f.rec.Boot, f.rec.Odd, f.rec.Last = f.x.Boot, nil, map[string]guard.Counter{}
	for _, n := range nics {
		f.first(n)
	}
}

// rates counts a source that tells no counters: what it tells holds for its interval and
// no longer.
func (f *fold) rates() {
	f.rec.Boot, f.rec.Last, f.rec.Odd = f.x.Boot, nil, nil
	span := f.x.Interval
	if span <= 0 {
		span = unspaced
	}
	if f.rec.First.IsZero() {
		f.rec.First = f.x.At.Add(-span).UTC()
	} else {
		span = min(span, f.x.At.Sub(f.rec.At))
	}
	f.book(f.x.At.Add(-span), f.x.At, f.rate(f.x.Tx, span), f.rate(f.x.Rx, span))
}

func (f *fold) rate(g guard.Gauge, span time.Duration) uint64 {
	if !g.OK {
		return 0
	}
	if !(g.V >= 0 && g.V <= line) { // so that what is no number is not counted either
		f.rec.Dropped++
		return 0
	}
	return uint64(g.V*span.Seconds() + 0.5)
}

// sum adds what never runs over.
func sum(a, b uint64) uint64 {
	if a+b < a {
		return ^uint64(0)
	}
	return a + b
}
