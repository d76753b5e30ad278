package soak

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"guard"
	"guard/providers/fake"
)

// episode is a stretch in which a limit of a box is due without a break.
type episode struct {
	span
	claim claim
	cap   bool // the cap is what is due first
	hard  bool // a ceiling is
}

// limits holds guard to every limit that a person set (laws 4, 9 and 10): where it
// may act, the box is really gone a reaction time and the release's own time after
// the limit, and for a cap before it is crossed. What moves that:
//
//   - a storm (guard dead, calls that fail, other people's credentials) by its own
//     length and the time until the next try;
//   - what comes to be due by an unhold, an unprotect, a registration or a switch to
//     enforce, and what falls due around a long absence, by fresh notice;
//   - a notice that Slack did not take in time, for an expiry by the grace;
//   - a price or a disk that guard could not know yet, until it could, and by law 8's
//     second reading and notice;
//   - a step of guard's clock by as much as it may be believed.
//
// What the provider protects, or what is another thing now, is never due; people
// must have been paged of it instead. Where the surprise bound may hold a release
// back, the hour that it counts passes too.
func (j *judge) limits(b *life) {
	for _, e := range j.episodes(b) {
		by := j.allowed(b, e)
		if e.to <= by {
			j.outage(b, e)
			continue
		}
		if j.barred(b, e) {
			if !j.paged(b, e.from, e.to) {
				j.wrong(9, "message lost", e.to, b.id, "its release is barred since %s, and nobody was paged", e.from)
			}
			continue
		}
		kind, law := "missed limit", 9
		text := "no release was ever planned"
		if rs := j.releasesOf(b.id); len(rs) > 0 {
			last := rs[len(rs)-1]
			text = "its release is " + string(last.State) + " " + string(last.Reason) + ": " + last.Why + " " + last.LastError
			if last.State == guard.ReleaseWithdrawn || last.State == guard.ReleaseBlocked {
				kind = "false hold"
			}
		}
		for _, c := range b.calls {
			if accepted(c) && j.offset(c.At) < e.to {
				law = 4
			}
		}
		if law != 4 && j.crashed(e.from-retryAtLeast, by) {
			law = 3
		}
		what := "its time is up"
		if e.hard {
			what = "its ceiling is reached"
			if law == 9 {
				law = 10
			}
		}
		if e.cap {
			what = "its cap of " + e.claim.budget.String() + " is reached"
			if law == 9 {
				law = 10
			}
		}
		j.wrong(law, kind, by, b.id, "%s: due since %s, it had to be gone by %s and lives until %s; %s", what, e.from, by, min(e.to, j.h.Length), text)
		lost := new(big.Rat).Sub(j.spent(b, e.to), j.spent(b, by))
		if m, err := guard.MoneyFromRat(lost, b.currency()); err == nil {
			j.found[len(j.found)-1].Lost = m
		}
	}
}

// episodes are the stretches in which a box had to go.
func (j *judge) episodes(b *life) []episode {
	end := min(b.gone, j.h.Length)
	marks := []time.Duration{end}
	for _, c := range b.claims {
		marks = append(marks, c.at, c.held+j.slack(), c.expires+j.slack())
		for _, h := range j.week.Hits {
			marks = append(marks, h.At)
		}
		for _, x := range []time.Duration{j.capDue(b, c), j.ceilingDue(b, c)} {
			if x != never {
				marks = append(marks, x)
			}
		}
	}
	for _, v := range b.vetoes {
		marks = append(marks, v.at, v.until+j.slack())
	}
	for _, e := range j.book.journal {
		if e.Verb == "fresh_notice" {
			marks = append(marks, j.latest(e.At))
		}
	}
	slices.Sort(marks)
	marks = slices.Compact(marks)
	var out []episode
	for i, t := range marks {
		if t < 0 || t >= end {
			continue
		}
		to := marks[i+1] // end is among them
		e, due := j.dueAt(b, t)
		switch n := len(out); {
		case !due:
		case n > 0 && out[n-1].to == t && out[n-1].claim.expires == e.claim.expires && out[n-1].claim.budget == e.claim.budget:
			out[n-1].to = to
		default:
			e.span = span{t, to}
			out = append(out, e)
		}
	}
	return out
}

// ceilingDue is when the call for a ceiling is due, by life or by money; never where
// none is reached.
func (j *judge) ceilingDue(b *life, c claim) time.Duration {
	due := never
	if j.week.Life > 0 {
		due = c.register + j.week.Life + j.slack()
	}
	for _, m := range j.week.Money {
		due = min(due, j.moneyDue(b, m, c.register))
	}
	return due
}

// capDue is when the call for a lease's own cap is due; never where it is not reached.
func (j *judge) capDue(b *life, c claim) time.Duration { return j.moneyDue(b, c.budget, c.capSet) }

// moneyDue is when the call is due so that a box costs no more than an amount that is
// said at a moment.
func (j *judge) moneyDue(b *life, most guard.Money, set time.Duration) time.Duration {
	if !most.IsSet() || most.Currency() != b.currency() || !j.plain(b) {
		return never
	}
	if b.ahead() {
		return never // see [judge.renewals]
	}
	x := j.crossing(b, new(big.Rat).Add(most.Rat(), j.hidden(b)))
	if x == never {
		return never
	}
	cross := x
	x = max(x-takes(b.account)-callWay, set)
	late := time.Duration(0) // by how much changes of price were seen late
	for _, id := range append([]string{b.spec.ID}, b.family...) {
		for _, e := range b.account.Script.Timeline {
			switch {
			case e.ID == id && e.Rate != nil && e.At <= max(x, cross):
				// Until it was seen, guard counted at the old price.
				late += j.seenAfter(b, e.At) - e.At
				// Whether a unit that has begun is charged at the new price, clouds differ.
				x = max(x, j.seenAfter(b, e.At)+max(3*j.poll()+freshNotice, granule(b.account)))
			case e.ID == id && e.State != "" && e.At <= max(x, cross):
				x = max(x, j.seenAfter(b, e.At)+b.account.Script.Lag.State)
			}
		}
		if _, born, ok := b.account.of(id); ok && id != b.spec.ID {
			x = max(x, born+b.account.Script.Lag.Appears+j.sweep())
		}
	}
	return x + late
}

// dueAt is whether a box has to go at a moment.
func (j *judge) dueAt(b *life, t time.Duration) (episode, bool) {
	c, ok := b.claim(t)
	_, must := j.acts(b.account, t)
	now := t - j.slack()
	if !ok || !must || b.muddled || c.guarded || foreign(j, b, t) || !b.alive(t) || b.account.Script.Self == b.spec.ID {
		return episode{}, false
	}
	if v, kept := b.tags(t)["guard:keep"]; kept && v == "true" {
		return episode{}, false
	}
	e := episode{claim: c, hard: j.ceilingDue(b, c) <= t}
	over := c.expires <= now && b.vetoed(guard.RuleExpired, t) <= now
	e.cap = !e.hard && !over && j.capDue(b, c) <= t && b.vetoed(guard.RuleBudgetExceeded, t) <= now
	return e, e.hard || c.held <= now && (over || e.cap)
}

// allowed is by when a box that has to go must be gone.
func (j *judge) allowed(b *life, e episode) time.Duration {
	grace := j.graceOf(e.claim)
	by := e.from
	sudden := e.from-e.claim.at < reactionTime
	for _, h := range j.week.Hits {
		sudden = sudden || h.Reload != nil && e.from >= h.At && e.from-h.At < farAway
		if h.Step != 0 && (span{h.At, h.At}).touches(e.from-retryAtLeast, e.from+retryAtLeast) {
			sudden = true
		}
	}
	if sudden {
		by += max(grace, freshNotice)
	}
	if j.crowded(b, e) {
		by += time.Hour + retryAtLeast
	}
	if !e.cap && !e.hard && !j.heard(b, e) {
		by += grace
	}
	by += reactionTime + takes(b.account)
	for _, s := range j.storms(b) {
		if s.from > by || s.to+s.after < e.from || s.to == never {
			if s.to == never && s.from <= by {
				return never
			}
			continue
		}
		by = max(by, s.to+s.after+reactionTime+takes(b.account))
	}
	for k, c := range b.calls { // a call that was taken and not done gets its time
		if at := j.offset(c.At); accepted(c) && !done(c) && at <= by && k < len(b.calls) {
			by = max(by, at+verify+retryAtLeast+takes(b.account))
		}
	}
	return by
}

// heard reports that Slack took the notice of an end in time. Where it did not, an expiry
// waits for that, at most as long as the grace (law 9); caps and ceilings never wait.
func (j *judge) heard(b *life, e episode) bool {
	return len(j.week.Slack) == 0 || len(j.told(func(m guard.Message) bool {
		return m.Channel == "slack" && m.Rule == guard.RuleExpired && aboutID(m, b.id) &&
			j.latest(m.CreatedAt) >= e.claim.set && !m.Acked.IsZero() && j.latest(m.Acked) <= e.from
	})) > 0
}

// crowded reports that more limits than the surprise bound lets through were newly
// set in the hour before, so that this one may have to wait.
func (j *judge) crowded(b *life, e episode) bool {
	if e.from-max(e.claim.set, e.claim.capSet) >= j.graceOf(e.claim)+farAway && len(b.events()) == 0 {
		return false
	}
	others := 0
	for _, o := range j.boxes {
		for _, c := range o.calls {
			if at := j.offset(c.At); o != b && at <= e.from+farAway && at >= e.from-farAway {
				others++
				break
			}
		}
	}
	return others >= min(2, cmp.Or(j.week.SurpriseHour, mostHour))
}

// barred reports that the provider's protection, another creation time or a refusal
// for good stands in the way.
func (j *judge) barred(b *life, e episode) bool {
	if slices.Contains(protections(b, e.from), "release") || slices.Contains(protections(b, e.to), "release") {
		return true
	}
	return slices.ContainsFunc(b.events(), func(x fake.Event) bool { return x.Set != nil && x.Set.Created != nil && x.At < e.to })
}

// paged reports that people were told, urgently, that something stands in the way.
func (j *judge) paged(b *life, from, to time.Duration) bool {
	rules := []guard.Rule{guard.RuleReleaseBlocked, guard.RuleReleaseStalled, guard.RuleAccountUnreachable, guard.RuleAccountMismatch, guard.RuleScopeBlind}
	return len(j.told(func(m guard.Message) bool {
		about := aboutID(m, b.id) || m.Rule != guard.RuleReleaseBlocked && m.Rule != guard.RuleReleaseStalled
		at := j.latest(m.CreatedAt)
		return about && slices.Contains(rules, m.Rule) && at >= from-2*time.Hour && j.earliest(m.CreatedAt) <= to
	})) > 0
}

// outage holds the other half of an outage's excuse: a limit that one put off by
// more than half an hour was alarmed.
func (j *judge) outage(b *life, e episode) {
	calm := e.from + takes(b.account) + reactionTime
	for _, s := range j.storms(b) {
		from, to := max(s.from, calm), min(s.to, e.to)
		calm = max(calm, s.to+s.after+reactionTime+takes(b.account))
		if !s.cloud || to-from < 30*time.Minute {
			continue
		}
		called := slices.ContainsFunc(b.calls, func(c simulateCall) bool { return j.offset(c.At) < to })
		if !j.crashed(from, to) && !called && !j.paged(b, from, to) {
			j.wrong(4, "message lost", to, b.id, "an outage puts its release off from %s to %s, and nobody was told", from, to)
		}
	}
}

// oddities holds law 8 for the calls on a box that nobody ordered:
//
//   - after an absence of more than an hour, and after a switch to enforce, what was
//     overdue gets ten minutes' notice first, unless a person changed it since;
//   - a price that brings a cap's deadline from more than an hour away to now is
//     read again two polls later, and then gives ten minutes' notice.
func (j *judge) oddities(b *life) {
	for _, c := range b.calls {
		at := j.offset(c.At)
		if c.Call.Call == fake.CallStop || slices.ContainsFunc(b.orders, func(t time.Duration) bool { return t <= at }) {
			continue
		}
		said, ok := b.claim(at)
		if !ok {
			continue
		}
		for _, s := range j.dead {
			if j.capped(b, at) && !j.capped(b, s.to) || j.hard(b, said, at) && !j.hard(b, said, s.to) {
				continue // what it is called for was still to come
			}
			if s.to-s.from > farAway+retryAtLeast && at >= s.to && at < s.to+freshNotice-time.Second && said.at < s.from && !j.steps() && j.overdue(b, said, s.to) {
				j.wrong(8, "wrong release", at, b.id, "it was overdue when guard came back at %s after %s, and is called without fresh notice", s.to, s.to-s.from)
			}
		}
		for _, h := range j.week.Hits {
			if h.Reload == nil || h.Reload.Account != nameOf(b.account.Script) || h.Reload.Mode != guard.Enforce {
				continue
			}
			if may, _ := j.acts(b.account, h.At-1); !may && at >= h.At && at < h.At+freshNotice-time.Second && said.at < h.At && j.overdue(b, said, h.At) {
				j.wrong(8, "wrong release", at, b.id, "it was overdue when its account was switched to enforce at %s, and is called without fresh notice", h.At)
			}
		}
		j.jumps(b, said, at)
	}
}

// overdue reports that a limit was surely reached before a moment.
func (j *judge) overdue(b *life, c claim, at time.Duration) bool {
	if c.expires <= at {
		return true
	}
	return min(j.capDue(b, c), j.ceilingDue(b, c)) <= at && c.expires > j.h.Length
}

// jumps holds a call for a cap against each change of price before it.
func (j *judge) jumps(b *life, said claim, at time.Duration) {
	if said.expires <= at+j.slack() || j.hard(b, said, at) || !said.budget.IsSet() || !j.plain(b) {
		return
	}
	left := func(t time.Duration, hourly *big.Rat) time.Duration {
		rest := new(big.Rat).Sub(said.budget.Rat(), j.spent(b, t))
		if hourly.Sign() == 0 || rest.Sign() <= 0 {
			return 0
		}
		f, _ := new(big.Rat).Quo(rest, hourly).Float64()
		return time.Duration(min(f*float64(time.Hour), float64(never)))
	}
	ps := b.account.prices(b.spec.ID, b.spec)
	for i, p := range ps[1:] {
		if p.at < said.at+farAway || p.at > at || p.at+2*j.poll()+freshNotice <= at {
			continue
		}
		rest := new(big.Rat).Sub(j.burn(b, p.at), slices.MaxFunc(ps[:i+2], func(x, y price) int { return x.hourly.Cmp(y.hourly) }).hourly)
		before := left(p.at, new(big.Rat).Add(ps[i].hourly, rest)) - j.lead(b.account, at)
		after := left(p.at, new(big.Rat).Add(p.hourly, rest))
		if before > farAway+3*j.poll() && after <= freshNotice {
			j.wrong(8, "wrong release", at, b.id, "one change of price at %s brought its deadline from %s away to %s, and it is called %s later; a second reading and notice take %s",
				p.at, before, after, at-p.at, 2*j.poll()+freshNotice)
		}
	}
}
