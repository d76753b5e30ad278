package soak

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"guard/providers/fake"
)

// span is a stretch of the story: from inclusive, to exclusive.
type span struct{ from, to time.Duration }

func (s span) touches(from, to time.Duration) bool { return s.from <= to && from <= s.to }

// storm is a stretch in which something keeps guard from acting on a box, and how
// long after its end it may take guard to try again.
type storm struct {
	span
	after time.Duration
	cloud bool // the provider's doing, which people are to hear of
	blind bool // guard cannot read meanwhile, so that a long one ends in fresh notice
}

// deaths are the stretches in which nothing of guard runs.
func (j *judge) deaths() []span {
	var out []span
	for _, d := range j.h.Down {
		out = append(out, span{d.From, d.To})
	}
	for _, h := range j.week.Hits {
		if h.Suspend > 0 {
			out = append(out, span{h.At, h.At + h.Suspend})
		}
	}
	slices.SortFunc(out, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return out
}

// faults are the stretches in which the account's script makes calls of these
// sorts fail for a box. One that is limited by its count lasts until as many calls
// of its sort as all such faults ask for have come.
func (j *judge) faults(b *life, calls ...string) []storm {
	var out []storm
	s := b.account.Script
	name := nameOf(s)
	for _, f := range s.Faults {
		sort := cmp.Or(f.Call, fake.CallAny)
		if sort != fake.CallAny && !slices.Contains(calls, sort) || f.ID != "" && f.ID != b.spec.ID ||
			f.Scope != "" && f.Scope != cmp.Or(b.spec.Scope, scopeOf(s)) {
			continue
		}
		end := never
		if f.For > 0 {
			end = f.From + f.For
		}
		if f.Times > 0 {
			end = min(end, j.usedUp(name, s.Faults, f, sort))
		}
		out = append(out, storm{span{f.From, end}, patience(f.Reply, max(verify, takes(b.account)+time.Minute)), true, sort != fake.CallRelease && sort != fake.CallList})
	}
	return out
}

// usedUp is when a counted fault cannot have any turn left. A call that a fault
// without a count answers may leave the counted ones their turns.
func (j *judge) usedUp(account string, all []fake.Fault, f fake.Fault, sort string) time.Duration {
	turns := 0
	for _, other := range all {
		if cmp.Or(other.Call, fake.CallAny) == sort {
			turns += max(other.Times, 1)
		}
	}
	for _, c := range j.h.Calls {
		at := j.offset(c.At)
		if c.Account != account || at < f.From || sort != fake.CallAny && c.Call.Call != sort || f.ID != "" && !slices.Contains(c.IDs, f.ID) {
			continue
		}
		if slices.ContainsFunc(all, func(o fake.Fault) bool {
			return o.Times == 0 && at >= o.From && (o.For == 0 || at < o.From+o.For) &&
				slices.Contains([]string{"", fake.CallAny, c.Call.Call}, o.Call) && (o.ID == "" || slices.Contains(c.IDs, o.ID))
		}) {
			continue
		}
		if turns--; turns == 0 {
			return at
		}
	}
	return never
}

// patience is how long after such an answer guard may wait before it tries again.
// To a release, "there is no such thing" is a yes, which is given time like one:
// verify is how long.
func patience(r fake.Reply, verify time.Duration) time.Duration {
	d := retryAtLeast
	switch {
	case r.AcceptedIgnored, r.DoneButTimesOut, r.TimesOut, r.Status == 404, r.Status == 410:
		d = verify + retryAtLeast
	case r.Status == 401, r.Status == 403, r.Status == 423:
		d = recheckAtMost
	}
	if n, err := strconv.Atoi(r.RetryAfter); err == nil {
		d += time.Duration(n) * time.Second
	}
	return d
}

func scopeOf(s fake.Script) string {
	if len(s.Scopes) > 0 {
		return s.Scopes[0]
	}
	return "default"
}

// storms are everything that keeps guard from reading or ending a box: its own
// absence, faults of the calls that it needs, credentials of somebody else.
func (j *judge) storms(b *life) []storm {
	out := j.faults(b, fake.CallGet, fake.CallIdentity, fake.CallRelease, fake.CallList)
	for _, s := range j.dead {
		after := retryAtLeast
		if s.to-s.from > farAway {
			after = max(freshNotice, j.longestGrace(b)) + retryAtLeast
		}
		out = append(out, storm{s, after, false, true})
	}
	who, from := identityOf(b.account.Script), time.Duration(0)
	for _, e := range append(slices.Clone(b.account.Script.Timeline), fake.Event{At: never, Identity: who}) {
		if e.Identity == "" {
			continue
		}
		if now := identityAt(b.account.Script, e.At-1); now != who {
			out = append(out, storm{span{from, e.At}, recheckAtMost, true, true})
		}
		from = e.At
	}
	slices.SortFunc(out, func(a, b storm) int { return cmp.Compare(a.from, b.from) })
	// What could not be read for long is told once more before it goes. Storms on
	// each other's heels are one to guard: it gets no read in between.
	since, until := -never, -never
	for i, s := range out {
		if !s.blind {
			continue
		}
		if s.from > until+s.after {
			since = s.from
		}
		until = max(until, s.to)
		if until-since >= farAway {
			out[i].after = max(s.after, freshNotice+retryAtLeast, j.longestGrace(b)+retryAtLeast)
		}
	}
	return out
}

func (j *judge) longestGrace(b *life) time.Duration {
	var d time.Duration
	for _, c := range b.claims {
		d = max(d, j.graceOf(c))
	}
	return d
}

// calm reports that no storm touches a stretch.
func calm(storms []storm, from, to time.Duration) bool {
	return !slices.ContainsFunc(storms, func(s storm) bool { return s.touches(from, to) })
}

// clockSlack is how far the time that guard goes by may be off where its wall clock
// was touched: what providers tell is whole seconds.
const clockSlack = 3 * time.Second

// slack is how far guard's time may be off. Whatever its wall clock does, it goes by
// the time that has elapsed and that the providers tell.
func (j *judge) slack() time.Duration {
	if j.steps() {
		return clockSlack
	}
	return 0
}

// steps reports whether guard's clock is ever touched.
func (j *judge) steps() bool { return j.week.steps() }

func (w Week) steps() bool {
	return slices.ContainsFunc(w.Hits, func(h Hit) bool { return h.Step != 0 })
}

// earliest and latest are when guard can first and last have told a time.
func (j *judge) earliest(wall time.Time) time.Duration {
	return j.offset(wall) - j.slack()
}

func (j *judge) latest(wall time.Time) time.Duration { return j.offset(wall) + j.slack() }
