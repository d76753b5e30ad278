package soak

import (
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/fake"
)

// lied reports that the script makes the cloud say something else of the states of
// its things than the truth: then guard's proof is the cloud's word.
func lied(a *Account) bool {
	return slices.ContainsFunc(a.Script.Faults, func(f fake.Fault) bool { return f.Reply.SetFields["state"] == "gone" })
}

// absences holds laws 1 and 2: what the ledger holds for gone, or ever told as gone,
// was gone, under the identity that it was seen with, when that was proven; the proof is two readings
// by ID, 30 s apart, both terminal, or both not found five minutes after creation
// and registration. Half a minute of a stepped clock may be lost between the two.
func (j *judge) absences() {
	for _, b := range j.boxes {
		o, ok := j.book.observed[b.id]
		if ok && o.Gone != nil && !lied(b.account) {
			j.proof(b, o)
		}
		for _, e := range j.book.journal {
			if at := j.latest(e.At); e.Verb == "gone" && e.Subject == b.id && b.alive(at) && !lied(b.account) {
				j.wrong(2, "missed limit", at, b.id, "the journal tells that it is gone (%s), and it is alive until %s", e.Text, b.gone)
			}
		}
		for _, l := range j.book.leases {
			if l.Resource.String() == b.id && !l.Status.Open() && j.latest(l.EndedAt) < b.gone-time.Second && !lied(b.account) && l.EndedHow != guard.ByReclaim {
				j.wrong(2, "wrong release", j.latest(l.EndedAt), b.id, "the lease is %s, ended at %s, and the box went at %s", l.Status, l.EndedAt, b.gone)
			}
		}
	}
}

func (j *judge) proof(b *life, o guard.Observed) {
	g := o.Gone
	at := j.latest(g.ProvenAt)
	if b.alive(at) {
		law := 2
		if !slices.ContainsFunc(g.Readings, func(r guard.Reading) bool { return r.ByID }) {
			law = 1
		}
		j.wrong(law, "missed limit", at, b.id, "it is held for gone since %s (%s), and it is alive until %s", g.ProvenAt, g.Proof, b.gone)
		if lost, err := guard.MoneyFromRat(j.spent(b, j.h.Length).Sub(j.spent(b, j.h.Length), j.spent(b, at)), b.currency()); err == nil {
			j.found[len(j.found)-1].Lost = lost
		}
	}
	if !g.Estimated && !j.steps() && (j.offset(g.At)-b.gone).Abs() > time.Second && b.account.Script.Lag.State == 0 {
		j.wrong(2, "spend", at, b.id, "its end is told as exactly %s; it was %s", j.offset(g.At), b.gone)
	}
	if len(g.Readings) != 2 {
		j.wrong(2, "ledger", at, b.id, "its end is proven by %d readings", len(g.Readings))
		return
	}
	first, last := g.Readings[0], g.Readings[1]
	if last.At.Sub(first.At) < 30*time.Second && last.Elapsed-first.Elapsed < 30*time.Second {
		j.wrong(2, "ledger", at, b.id, "the two readings of its end are %s apart", last.At.Sub(first.At))
	}
	for _, r := range g.Readings {
		if r.Identity != identityOf(b.account.Script) || !r.ByID || r.Verdict != first.Verdict || r.Verdict == guard.VerdictUnknown {
			j.wrong(2, "ledger", at, b.id, "a reading of its end proves nothing: %+v", r)
		}
		said, leased := b.claim(at)
		if r.Verdict == guard.VerdictAbsent && b.born != never && j.latest(r.At) < b.born+5*time.Minute {
			j.wrong(2, "ledger", at, b.id, "not found %s after its creation proves nothing", j.latest(r.At)-b.born)
		}
		// What guard had adopted was registered before a person took it over.
		owned := !b.adoptable() || j.week.Adopt == nil
		if r.Verdict == guard.VerdictAbsent && leased && owned && j.latest(r.At) < said.register+5*time.Minute {
			j.wrong(2, "ledger", at, b.id, "not found %s after its registration proves nothing", j.latest(r.At)-said.register)
		}
	}
}

// priceless holds law 1: where a leased box, or a part of what hangs on it, has no
// price that anybody tells, an alarm of that stands within three polls and a sweep of
// good weather, until the lease changes or the box goes.
func (j *judge) priceless() {
	for _, b := range j.boxes {
		part := j.unpricedPart(b)
		if part == "" {
			continue
		}
		for i, c := range b.claims {
			until := min(b.gone, j.h.Length)
			if i+1 < len(b.claims) {
				until = min(until, b.claims[i+1].at)
			}
			due := c.at + 3*j.poll() + j.sweep() + b.account.Script.Lag.Appears + reactionTime
			if c.verb != Register || due >= until || !calm(j.storms(b), c.at, until) || j.steps() || foreign(j, b, c.at) {
				continue
			}
			alarmed := slices.ContainsFunc(j.book.findings, func(f guard.Finding) bool {
				return f.Rule == guard.RulePriceUnknown && f.Subject == b.id && j.earliest(f.Opened) <= due && (f.Closed.IsZero() || j.latest(f.Closed) >= until)
			})
			if !alarmed {
				j.wrong(1, "message lost", due, b.id, "nobody tells what %s costs until %s, and no alarm stands from now on", part, until)
			}
		}
	}
}

// unpricedPart is the box itself, or the part of its family, that bills at a price
// which is never told; "" where there is none, or where something happens to it.
func (j *judge) unpricedPart(b *life) string {
	for _, id := range append([]string{b.spec.ID}, b.family...) {
		r, _, known := b.account.of(id)
		if !known || r.Rate != nil || r.ListRate != nil || r.StoppedRate != nil || r.Lump != nil || r.State == "stopped" {
			continue
		}
		still := !slices.ContainsFunc(b.account.Script.Timeline, func(e fake.Event) bool { return e.ID == id })
		honest := !slices.ContainsFunc(b.account.Script.Faults, func(f fake.Fault) bool { return f.Reply.SetFields["rate"] != nil })
		if still && honest {
			return id
		}
	}
	return ""
}

// foreign reports that a box carries another guard's mark.
func foreign(j *judge, b *life, at time.Duration) bool {
	mark := b.tags(at)[guard.TagDeployment]
	return mark != "" && mark != j.own
}

// ends holds law 4: a release that ended as released has a box that is gone, and a
// lease that a release ended is not open.
func (j *judge) ends() {
	for _, r := range j.book.releases {
		b := j.byID[r.Target.String()]
		if b == nil || r.State != guard.ReleaseDone || r.Action != guard.ActRelease || lied(b.account) {
			continue
		}
		at := j.latest(r.EndedAt)
		if b.alive(at) {
			j.wrong(4, "missed limit", at, b.id, "its release ended with success, and it is alive until %s", b.gone)
		}
		if r.Receipt == nil || r.Receipt.Proof == "" {
			j.wrong(4, "ledger", at, b.id, "its release ended without a proof")
		}
		for _, l := range j.book.leases {
			if l.ID == r.Lease && l.Status.Open() {
				j.wrong(4, "ledger", at, b.id, "its release ended, and its lease is still %s", l.Status)
			}
		}
	}
}

// explanations holds law 12: every release says why and on whose word, and each of
// its states stands in the journal, in an order that the table allows.
func (j *judge) explanations() {
	verbs := map[string][]string{}
	for _, e := range j.book.journal {
		if id := e.Data["release"]; id != "" {
			verbs[id] = append(verbs[id], e.Verb)
		}
	}
	for _, r := range j.book.releases {
		id, at := r.Target.String(), min(j.latest(r.PlannedAt), j.h.Length)
		said := verbs[r.ID]
		if strings.TrimSpace(r.Why) == "" || r.By == "" || r.Cause == "" {
			j.wrong(12, "ledger", at, id, "a release without a reason: by %q, cause %q, why %q", r.By, r.Cause, r.Why)
		}
		want := []guard.ReleaseState{guard.ReleaseNoticed}
		if r.State == guard.ReleasePlanned || r.State == guard.ReleaseWithdrawn {
			want = nil
		}
		if r.Attempt > 0 {
			want = append(want, guard.ReleaseIntended)
		}
		if !r.IssuedAt.IsZero() {
			want = append(want, guard.ReleaseIssued)
		}
		if r.State != guard.ReleasePlanned && (r.State != guard.ReleaseWithdrawn || r.Cause != guard.CausePerson && !j.overridden(r)) {
			want = append(want, r.State)
		}
		for _, s := range want {
			if !slices.Contains(said, string(s)) {
				j.wrong(12, "ledger", at, id, "its release was %s, and the journal tells only %v", s, said)
			}
		}
		if n := strings.Count(strings.Join(said, " ")+" ", string(guard.ReleaseIntended)+" "); n < r.Attempt {
			j.wrong(12, "ledger", at, id, "%d attempts, and %d intents in the journal", r.Attempt, n)
		}
	}
	for _, f := range j.book.findings {
		if f.Title == "" || !f.Resource.IsZero() && len(f.Facts) == 0 {
			j.wrong(12, "ledger", min(j.latest(f.Opened), j.h.Length), f.Subject, "finding %s without a title or facts", f.Rule)
		}
	}
}

// overridden reports that a person's order took a release's place.
func (j *judge) overridden(r guard.Release) bool {
	b := j.byID[r.Target.String()]
	return b != nil && slices.ContainsFunc(b.orders, func(t time.Duration) bool {
		return t >= j.earliest(r.EndedAt)-time.Second && t <= j.latest(r.EndedAt)+time.Second
	})
}
