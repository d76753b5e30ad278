package decide

import (
	"context"
	"fmt"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/say"
	"guard/store"
)

// Why explains what guard decides about a resource (law 12): the facts with
// their age and source, and the reasoning in lines, in the language of the context.
func (l *Loop) Why(ctx context.Context, at guard.Instant, id guard.ResourceID) ([]guard.Fact, []string, error) {
	l.mu.Lock()
	m := moment{now: at.Wall, clock: l.clock}
	l.mu.Unlock()
	var f policy.Facts
	var open []guard.Finding
	err := l.Ledger.View(ctx, func(v *store.View) error {
		family, err := children(v, id)
		if err != nil {
			return err
		}
		x := newIndex(guard.Instant{})
		x.family[id.Key()] = family
		w := newWatch(l, v, m)
		if f, open, _, err = w.facts(&subject{key: id.Key(), account: id.Account}, x); err != nil {
			return err
		}
		f.Spend()
		return w.failed
	})
	if err != nil {
		return nil, nil, fmt.Errorf("why %s: %w", id, err)
	}
	if f.Observed == nil && f.Lease == nil {
		return nil, nil, fmt.Errorf("%w: why %s: guard knows nothing of it", guard.ErrNotFound, id)
	}
	f.Lang = guard.LangFrom(ctx)
	out := policy.Evaluate(l.Rules, f)
	facts, lines := policy.Explain(l.Rules, f, out)
	lines = append(lines, l.releaseLines(f)...)
	if b := l.belief(); b.Off != 0 {
		lines = append(lines, say.In(f.Lang, "guard's clock is %s off; judged by %s.", say.Kept(f.Lang, b.Off.String()), policy.Stamp(m.now, l.Zone)))
	}
	for _, o := range open {
		lines = append(lines, say.In(f.Lang, "Open finding %s since %s: %s.", o.Rule, policy.Stamp(o.Since, l.Zone), o.TitleIn(f.Lang)))
	}
	return facts, lines, nil
}

// children are the keys of what was last attached to an instance.
func children(v *store.View, id guard.ResourceID) ([]string, error) {
	var out []string
	for o, err := range v.Observed.All(id.Account + "/") {
		if err != nil {
			return nil, err
		}
		if !o.Instance.IsZero() && o.Instance.Key() == id.Key() {
			out = append(out, observedKey(o))
		}
	}
	return out, nil
}

// releaseLines tells how far a release is.
func (l *Loop) releaseLines(f policy.Facts) []string {
	r := f.Release
	if r == nil {
		return []string{say.In(f.Lang, "No release is planned.")}
	}
	stamp := func(t time.Time) string { return policy.Stamp(t, l.Zone) }
	kept := func(text string) string { return say.Kept(f.Lang, text) }
	lines := []string{say.In(f.Lang, "Release %s: due at %s, by %s: %s.", kept(string(r.State)), stamp(r.Due), r.By, kept(r.Why))}
	if r.State == guard.ReleaseBlocked {
		lines = append(lines, say.In(f.Lang, "It is blocked since %s (%s): %s. Looked at again at %s.", stamp(r.BlockedAt), r.Reason, kept(r.LastError), stamp(r.NextAt)))
	}
	if r.Attempt > 0 {
		line := say.In(f.Lang, "Calls made: %d, answered: %d; intended at %s.", r.Attempt, r.Calls, stamp(r.IntendedAt))
		if !r.IssuedAt.IsZero() {
			line = say.In(f.Lang, "Calls made: %d, answered: %d; intended at %s, accepted at %s.", r.Attempt, r.Calls, stamp(r.IntendedAt), stamp(r.IssuedAt))
		}
		lines = append(lines, line)
	}
	switch {
	case r.Cause.Judgement() && f.Heard.IsZero():
		lines = append(lines, say.In(f.Lang, "It is a guess, so it waits until a channel has taken its notice: none has yet."))
	case r.Cause.Judgement():
		lines = append(lines, say.In(f.Lang, "It is a guess; its notice was taken at %s.", stamp(f.Heard)))
	case r.Cause != guard.CausePerson:
		foreseen := say.In(f.Lang, "Its deadline stands since %s: foreseen.", stamp(r.Stood))
		if !policy.Foreseen(r.Cause, r.Stood, l.grace(f), r.Due) {
			foreseen = say.In(f.Lang, "Its deadline stands since %s: not foreseen, so it counts against limits.unforeseen.", stamp(r.Stood))
		}
		lines = append(lines, foreseen)
	}
	return lines
}
