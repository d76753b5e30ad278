package report

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/spend"
	"guard/store"
)

// Gather reads what a digest is told from, as of at: its day is the one before at's, by
// the calendar of the zone. Alive: with how guard itself does.
func (l *Digest) Gather(ctx context.Context, at guard.Instant, alive bool) (policy.Digest, error) {
	y, m, d := at.Wall.In(l.Zone).Date()
	out := policy.Digest{At: at.Wall, Zone: l.Zone, Exchange: l.Rules.Exchange,
		From: time.Date(y, m, d-1, 0, 0, 0, 0, l.Zone), To: time.Date(y, m, d, 0, 0, 0, 0, l.Zone)}
	runs := l.Loops()
	err := l.Ledger.View(ctx, func(v *store.View) error {
		g := gathering{Digest: out, v: v, acts: l.acts, until: time.Date(y, m, d+1, 0, 0, 0, 0, l.Zone), leases: map[string]guard.Lease{}, names: map[string]string{}}
		for _, step := range []func() error{g.people, g.money, g.findings, g.limits, g.releases} {
			if err := step(); err != nil {
				return err
			}
		}
		if alive {
			a, err := l.week(v, runs, at)
			if err != nil {
				return err
			}
			g.Alive = a
		}
		out = g.Digest
		return nil
	})
	return out, err
}

// gathering is a digest while it is read in one View.
type gathering struct {
	policy.Digest
	v      *store.View
	acts   func(account string) bool
	until  time.Time              // the end of today
	leases map[string]guard.Lease // all, by ID
	names  map[string]string      // what leases are for, by the keys of what they are of
}

// people reads the leases: what things are for, and whose they are.
func (g *gathering) people() error {
	for l, err := range g.v.Leases.All("") {
		if err != nil {
			return err
		}
		g.leases[l.ID] = l
		if key := l.Resource.Key(); l.Status.Open() || g.names[key] == "" {
			g.names[key] = l.Purpose
		}
	}
	return nil
}

func (g *gathering) thing(id guard.ResourceID) policy.Thing {
	return policy.Thing{ID: id.String(), What: g.names[id.Key()]}
}

// purse is whose money is added up together.
type purse struct {
	team, purpose string
	unregistered  bool
}

func (g *gathering) purse(lease string) purse {
	if lease == "" {
		return purse{unregistered: true}
	}
	l := g.leases[lease] // a lease that is not on record any more names no team
	return purse{team: l.Tags["team"], purpose: l.Purpose}
}

// money adds up the day. What a lease has spent is counted as everywhere else: by its
// own part of each record.
func (g *gathering) money() error {
	sums := map[purse]*spend.Sum{}
	var all spend.Sum
	for m, err := range g.v.Metered.All("") {
		if err != nil {
			return err
		}
		if over(m, g.From) {
			continue
		}
		for _, lease := range claims(m) {
			var part spend.Sum
			part.Add(spend.Of(lease, m), g.From, g.To)
			all.Join(part)
			p := g.purse(lease)
			if sums[p] == nil {
				sums[p] = &spend.Sum{}
			}
			sums[p].Join(part)
		}
	}
	total := all.Total()
	g.Total = total.Known
	for _, p := range total.Unknown {
		g.Unpriced = append(g.Unpriced, g.thing(p.Resource))
	}
	for p, s := range sums {
		g.Spent = append(g.Spent, policy.DigestSpend{Team: p.team, Purpose: p.purpose, Unregistered: p.unregistered, Amounts: s.Total().Known})
	}
	slices.SortFunc(g.Spent, func(a, b policy.DigestSpend) int {
		return cmp.Or(strings.Compare(a.Team, b.Team), strings.Compare(a.Purpose, b.Purpose))
	})
	return nil
}

// over reports whether a record comes to nothing after a moment.
func over(m guard.Metered, from time.Time) bool {
	return !slices.ContainsFunc(spend.Segments(m), func(s guard.Segment) bool { return s.To.IsZero() || s.To.After(from) })
}

// claims are the leases that a record counts to, each once, "" for none.
func claims(m guard.Metered) []string {
	var out []string
	for _, s := range spend.Segments(m) {
		if !slices.Contains(out, s.Lease) {
			out = append(out, s.Lease)
		}
	}
	return out
}

func (g *gathering) findings() error {
	for f, err := range g.v.Findings.All("") {
		if err != nil {
			return err
		}
		out := policy.DigestFinding{Rule: f.Rule, About: policy.Thing{ID: f.Subject}, Since: f.Since, Wastes: f.Wastes, Owner: g.leases[f.Lease].Owner}
		if !f.Resource.IsZero() {
			out.About = g.thing(f.Resource)
		}
		if out.Since.IsZero() {
			out.Since = f.Opened
		}
		g.Open = append(g.Open, out)
	}
	return nil
}

// limits reads what ends today.
func (g *gathering) limits() error {
	for _, l := range g.leases {
		if !l.Status.Open() || l.Status == guard.LeaseExpected {
			continue
		}
		plan, _, err := g.v.Plans.Get(l.ID)
		if err != nil {
			return err
		}
		end := policy.DigestEnd{About: policy.Thing{ID: l.Resource.String(), What: l.Purpose}, Owner: l.Owner, At: l.ExpiresAt, By: guard.DeadlineExpiry, Does: l.OnLimit}
		for _, reason := range []guard.DeadlineReason{guard.DeadlineBudget, guard.DeadlineCeiling} {
			d, ok := plan.Deadline(reason)
			if ok && (end.At.IsZero() || d.Limit.Before(end.At)) {
				end.At, end.By, end.Does = d.Limit, reason, l.OnLimit
				if reason == guard.DeadlineCeiling {
					end.Does = guard.ActRelease
				}
			}
		}
		if !g.acts(l.Resource.Account) || l.Protected {
			end.Does = guard.ActAlert
		}
		if end.At.After(g.At) && end.At.Before(g.until) {
			g.Ends = append(g.Ends, end)
		}
	}
	return nil
}

// releases reads what guard has ended in the day, and what that saves.
func (g *gathering) releases() error {
	for r, err := range g.v.EndedReleases.All("") {
		if err != nil {
			return err
		}
		if r.State != guard.ReleaseDone || r.EndedAt.Before(g.From) || !r.EndedAt.Before(g.To) {
			continue
		}
		less, err := g.less(r)
		if err != nil {
			return err
		}
		g.Ended = append(g.Ended, policy.DigestEnded{About: g.thing(r.Target), Cause: r.Cause, Action: r.Action, At: r.EndedAt, Less: less})
	}
	return nil
}

// less is what a thing bills less per hour since its release: what it billed right before
// the call, without what it still does after its end. It is empty where one of the two is
// not known.
func (g *gathering) less(r guard.Release) ([]guard.Money, error) {
	m, _, err := g.v.Metered.Get(r.Target.Key())
	if err != nil {
		return nil, err
	}
	called := r.IssuedAt
	if called.IsZero() {
		called = r.EndedAt
	}
	segs := spend.Segments(m)
	before, after := spend.Burn(segs, called.Add(-time.Nanosecond)), spend.Burn(segs, r.EndedAt)
	if len(before.Unknown)+len(after.Unknown) > 0 {
		return nil, nil
	}
	var out []guard.Money
	for _, was := range before.Known {
		if left, err := was.Sub(after.In(was.Currency())); err == nil && left.IsPositive() {
			out = append(out, left)
		}
	}
	return out, nil
}

// week is how guard itself does.
func (l *Digest) week(v *store.View, runs []Run, at guard.Instant) (*policy.DigestAlive, error) {
	since := at.Wall.AddDate(0, 0, -7)
	self := l.alive()
	out := &policy.DigestAlive{Version: self.Version, Started: self.Started}
	for _, r := range runs {
		if strings.HasPrefix(r.Loop, observing) {
			out.Polls += r.Runs
		}
	}
	for _, a := range l.Accounts {
		whole, err := wholly(v, a.Name)
		if err != nil {
			return nil, err
		}
		out.Accounts = append(out.Accounts, policy.DigestAccount{Name: a.Name, Complete: whole})
	}
	for r, err := range v.EndedReleases.All("") {
		if err != nil {
			return nil, err
		}
		if r.State == guard.ReleaseDone && r.EndedAt.After(since) {
			out.Releases++
		}
	}
	for m, err := range v.SentMessages.All("") {
		if err != nil {
			return nil, err
		}
		if m.Acked.After(since) && !m.Edit {
			out.Messages++
		}
	}
	return out, nil
}
