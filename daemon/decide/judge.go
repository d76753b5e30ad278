package decide

import (
	"fmt"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/presence"
	"guard/policy/release"
	"guard/store"
)

// surpriseValue is the ledger's value with the unforeseen releases of the last
// hour, of all accounts.
const surpriseValue = "decide/unforeseen"

// ackWait is how soon a release that waits for its notice to be acknowledged is
// judged again.
const ackWait = 15 * time.Second

// Judge says whether a release still stands, by the rules and by what was just
// read of its target. It runs inside the transaction that makes the intent
// durable, so that nothing can be changed between the two; like everything in an
// update it may run more than once. After a start, a sleep or where the time was put
// right it says nothing until this loop has run. Fresh is the target as just read, nil where
// it could not be read.
func (l *Loop) Judge(tx *store.Tx, at guard.Instant, r guard.Release, fresh *guard.Resource) (release.Judgement, error) {
	l.mu.Lock()
	c, live := l.clock, l.live[r.Target.Account]
	l.mu.Unlock()
	if !c.judged(at) {
		return release.Judgement{}, nil
	}
	// What paused guard may be durable before the loops know of it.
	var pause guard.Pause
	if _, err := tx.Value(guard.PauseName, &pause); err != nil {
		return release.Judgement{}, err
	}
	if pause.On() {
		return release.Judgement{Standing: release.Void, Why: "guard acts nowhere until somebody says guard resume: " + pause.Why}, nil
	}
	now := at.Wall
	f, err := l.facts(fromTx(tx), r.Target.Key(), r.Target.Account, now)
	if err != nil {
		return release.Judgement{}, err
	}
	if fresh != nil && f.Observed != nil {
		o := *f.Observed
		known := presence.Known(o.Resource, *fresh)
		o.LostTags, o.FreedAt = presence.LostTags(o, known, now), presence.FreedAt(o, known, now)
		o.Resource = known
		f.Observed = &o
	}
	f.Release = &r
	j, act := l.stands(f, r)
	if j.Standing != release.Stands {
		return j, nil
	}
	if now.Before(j.Due) {
		return j, nil
	}
	if r.Cause != guard.CausePerson && !l.belief().Passed(j.Due, at) {
		return release.Judgement{Standing: release.Barred, Block: guard.BlockClock, Due: j.Due,
			Why: "guard's machine was started anew, and no provider's own time says yet that it is so late; it is due at " + policy.Stamp(j.Due, l.Zone)}, nil
	}
	if j, err = l.acknowledged(tx, r, f, j, now); err != nil || now.Before(j.Due) {
		return j, err
	}
	grace := l.grace(f)
	if act != nil && act.Grace > 0 {
		grace = act.Grace
	}
	return l.bounded(tx, r, f, j, live, grace, now)
}

// stands judges the release by the rules alone, and gives what they call for.
func (l *Loop) stands(f policy.Facts, r guard.Release) (release.Judgement, *policy.Act) {
	void := func(why string) (release.Judgement, *policy.Act) {
		return release.Judgement{Standing: release.Void, Why: why}, nil
	}
	if why := f.Untouchable(); why != "" {
		return void("guard never touches it: " + why)
	}
	if f.Mode != guard.Enforce {
		return void("the account is in observe mode")
	}
	if r.Cause == guard.CausePerson {
		if p := f.Protection(l.Rules); p.On {
			return release.Judgement{Standing: release.Barred, Block: guard.BlockProtected, Due: r.Due, Why: p.Why}, nil
		}
		return release.Judgement{Standing: release.Stands, Due: r.Due, Why: r.Why}, nil
	}
	out := policy.Evaluate(l.Rules, f)
	act := out.Act()
	switch {
	case act == nil && r.Cause.Judgement() && out.Doubt != "":
		return release.Judgement{Standing: release.Stands, Due: f.At.Add(ackWait), Why: "it waits, for it is not judged now: " + out.Doubt}, nil
	case act == nil && r.Cause == guard.CauseOrphan:
		return void(f.Wanted())
	case act == nil && r.Cause.Stops():
		return void(f.Calmed())
	case act == nil:
		return void("no limit calls for it any more")
	case r.Cause.Judgement() && !act.Cause.Judgement() && r.State != guard.ReleaseIntended:
		return release.Judgement{}, nil // this loop is about to bring it in line with a limit
	case act.Action != r.Action:
		return void(fmt.Sprintf("its limit asks for %s now, not %s", act.Action, r.Action))
	case act.Block != "":
		return release.Judgement{Standing: release.Barred, Block: act.Block, Due: act.Due, Why: act.BlockWhy}, act
	}
	return release.Judgement{Standing: release.Stands, Due: act.Due, Why: act.Why}, act
}

// acknowledged lets an expiry wait for its notice, for its grace at most, and a
// judgement for as long as that takes; a cap and a person's order never wait (law 9).
func (l *Loop) acknowledged(tx *store.Tx, r guard.Release, f policy.Facts, j release.Judgement, now time.Time) (release.Judgement, error) {
	if r.Cause.Judgement() && f.Heard.IsZero() {
		j.Due, j.Why = now.Add(ackWait), "nobody was told yet: no channel has taken the notice"
		return j, nil
	}
	if r.Cause != guard.CauseExpiry {
		return j, nil
	}
	latest := j.Due.Add(l.grace(f))
	if !now.Before(latest) {
		return j, nil
	}
	if at, err := l.taken(fromTx(tx), r.Notice); err != nil || !at.IsZero() {
		return j, err
	}
	for _, channel := range l.people() {
		m, pending, err := tx.Outbox.Get(channel + "|" + r.Notice)
		if err != nil {
			return j, err
		}
		if !pending || !m.Acked.IsZero() {
			return j, nil
		}
	}
	j.Due = now.Add(ackWait)
	if latest.Before(j.Due) {
		j.Due = latest
	}
	j.Why = "no channel has taken the notice yet"
	return j, nil
}

// bounded limits the releases that nobody could foresee (law 7) and counts this
// one, where it is one.
func (l *Loop) bounded(tx *store.Tx, r guard.Release, f policy.Facts, j release.Judgement, live int, grace time.Duration, now time.Time) (release.Judgement, error) {
	// What was known for the grace before it fell due stays foreseen, and what
	// was not does not become so by waiting.
	stood, due := r.Stood, r.Due
	if r.Cause.Judgement() {
		stood, due = f.Heard, now
	}
	if r.Allowed != "" || policy.Foreseen(r.Cause, stood, grace, due) {
		return j, nil
	}
	s := policy.Surprise{Live: live}
	if _, err := tx.Value(surpriseValue, &s.Past); err != nil {
		return j, err
	}
	if !s.Allows(l.Rules.Limits, r.ID, r.Target.Account, now) {
		return release.Judgement{Standing: release.Barred, Block: guard.BlockSurprise, Due: j.Due,
			Why: fmt.Sprintf("its deadline has stood since %s only, not for the grace of %s before it was due, and too many such releases came within an hour",
				policy.Stamp(stood, l.Zone), grace)}, nil
	}
	return j, tx.SetValue(surpriseValue, s.Count(r.ID, r.Target.Account, now))
}
