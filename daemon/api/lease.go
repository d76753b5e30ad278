package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
)

// holdFor is how long a hold lasts where nobody says.
const holdFor = 2 * time.Hour

// amend runs a verb that changes an open lease.
func (s *server) amend(ctx context.Context, at guard.Instant, text, verb, done string, change func(c *scene, l *guard.Lease) (say string, notes []string, err error)) (wire.Changed, error) {
	out := wire.Changed{Now: s.now(at), Changes: []wire.Change{}, Limits: []wire.Limit{}}
	account, id, err := s.resource(text)
	if err != nil {
		return out, err
	}
	c, e, err := s.decide(ctx, at, account, id, func(c *scene) (edit, error) {
		if !c.inLedger && !c.expected {
			_, err := s.known(c.book, account, id)
			return edit{}, err
		}
		l, err := c.open(verb)
		if err != nil {
			return edit{}, err
		}
		if err := allowed(ctx, &l, l.Resource, verb); err != nil {
			return edit{}, err
		}
		if err := c.inTime(verb); err != nil {
			return edit{}, err
		}
		l.Holds = append([]guard.Hold(nil), l.Holds...)
		say, notes, err := change(c, &l)
		if err != nil {
			return edit{}, err
		}
		out.Notes, out.Changes = notes, s.diff(*c.lease, l, at.Wall)
		if len(out.Changes) == 0 {
			return edit{lease: &l}, nil
		}
		l.UpdatedAt, l.UpdatedBy = at.Wall, c.who
		e := edit{lease: &l, entry: c.entry(done, say, out.Changes)}
		err = s.moveTimer(ctx, c, &e, verb, s.timerNow(c))
		out.Notes = append(out.Notes, s.timerNote(*e.lease)...)
		return e, err
	})
	if err != nil {
		return out, err
	}
	s.kickTimer(c, *e.lease)
	s.after(c, *e.lease)
	out.Item, out.Limits = s.outcome(c, *e.lease)
	s.kick("meter", "decide", "release/"+account)
	return out, nil
}

// after puts the new lease into the scene, so that the answer shows it.
func (s *server) after(c *scene, l guard.Lease) {
	c.lease = &l
	if c.expected {
		return
	}
	key := l.Resource.Key()
	c.book.leases[key] = l
	c.book.observed[key] = c.observed
}

// outcome is the item and the limits of a lease as they are from now on.
func (s *server) outcome(c *scene, l guard.Lease) (wire.Item, []wire.Limit) {
	mode := guard.Observe
	if c.acct != nil {
		mode = c.acct.Mode
	}
	if c.expected {
		return s.awaited(c.book, l, c.at.Wall), s.limits(l, guard.Plan{}, nil, mode, policy.Protection{On: l.Protected, Why: "protected by " + l.ProtectedBy}, c.at.Wall, true)
	}
	plan := c.book.plans[l.ID]
	if c.acct != nil {
		var family []member
		family, plan = s.solve(c.book, c.observed, l, c.acct, c.lead, c.at)
		for _, m := range family {
			c.book.metered[m.observed.Resource.ID.Key()] = m.metered
		}
		c.book.plans[l.ID] = plan
	}
	f := s.facts(c.book, c.observed, &l, c.acct, c.at)
	return s.item(c.book, c.observed, c.at.Wall), s.limits(l, plan, c.book.muted(c.subject(), c.at.Wall), mode, f.Protection(s.Rules()), c.at.Wall, true)
}

func (s *server) extend(ctx context.Context, at guard.Instant, in wire.ExtendRequest) (wire.Changed, error) {
	if in.By != "" && in.Until != "" {
		return wire.Changed{}, faultf(guard.ErrInvalid, "by and until contradict each other: give one of them")
	}
	if in.By == "" && in.Until == "" && in.Budget == "" {
		return wire.Changed{}, faultf(guard.ErrInvalid, "extend %s to what? Give by, until or budget", clip(in.ID))
	}
	return s.amend(ctx, at, in.ID, "extend", "extended", func(c *scene, l *guard.Lease) (string, []string, error) {
		var say, notes []string
		end, note, err := s.later(*l, in, at)
		if err != nil {
			return "", nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
		if !end.IsZero() {
			l.ExpiresAt = end
			say = append(say, "to "+s.stamp(end))
		}
		if in.Budget != "" {
			if err := s.raise(c, l, in.Budget); err != nil {
				return "", nil, err
			}
			say = append(say, "cap "+l.Budget.Round().String())
		}
		if err := s.underCeilings(c, "extend", *l, c.lease); err != nil {
			return "", nil, err
		}
		return "extended " + strings.Join(say, ", "), notes, nil
	})
}

// later is the new expiry; zero where none was asked for.
func (s *server) later(l guard.Lease, in wire.ExtendRequest, at guard.Instant) (time.Time, string, error) {
	switch {
	case in.By != "":
		d, err := duration("by", in.By)
		if err != nil {
			return time.Time{}, "", err
		}
		if l.ExpiresAt.IsZero() {
			return time.Time{}, "", faultf(guard.ErrConflict, "%s has no expiry that could be extended", nameOf(l)).
				hinted("Give it one with guard extend %s --until TIME.", nameOf(l))
		}
		if l.ExpiresAt.Before(at.Wall) {
			t, err := s.fromNow(d, at)
			return t, "its expiry had passed, so the extension counts from now", err
		}
		return l.ExpiresAt.Add(d), "", nil
	case in.Until != "":
		t, note, err := moment(in.Until, at.Wall, s.Location())
		if err == nil && t.Before(l.ExpiresAt) {
			err = faultf(guard.ErrInvalid, "until: %s is earlier than its expiry now, %s", s.stamp(t), s.stamp(l.ExpiresAt)).
				hinted("To shorten it: guard register %s --until …", nameOf(l))
		}
		return t, note, err
	}
	return time.Time{}, "", nil
}

// raise changes the cap: "+500CNY" on top, "3000CNY" instead.
func (s *server) raise(c *scene, l *guard.Lease, text string) error {
	number, more := strings.CutPrefix(strings.TrimSpace(text), "+")
	m, err := guard.ParseMoney(number)
	if err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	if !m.IsPositive() {
		return faultf(guard.ErrInvalid, "budget: %q must be above zero", clip(text))
	}
	if more {
		if bills := billsIn(c, *l); !l.Budget.IsSet() && bills != "" && bills != m.Currency() {
			return faultf(guard.ErrCurrency, "%s has no budget, and it bills in %s: guard never converts for a cap", nameOf(*l), bills).
				hinted("Set one in %s: guard extend %s --budget AMOUNT%s", bills, nameOf(*l), bills)
		}
		if !l.Budget.IsSet() {
			return faultf(guard.ErrConflict, "%s has no budget that %s could be added to", nameOf(*l), m).
				hinted("Set one: guard extend %s --budget %s", nameOf(*l), strings.ReplaceAll(m.String(), " ", ""))
		}
		if m, err = l.Budget.Add(m); err != nil {
			return faultf(guard.ErrCurrency, "budget: %s has a budget of %s; add an amount in %s", nameOf(*l), l.Budget, l.Budget.Currency())
		}
		if _, err = m.MarshalText(); err != nil {
			return fmt.Errorf("budget: %w", err)
		}
	}
	l.Budget = m
	if c.acct == nil {
		return nil
	}
	return s.affordable(c, *l)
}

// end is until when something lasts: a time ahead, a moment, or what is usual.
func (s *server) end(ahead, until string, usual time.Duration, at guard.Instant) (time.Time, string, error) {
	switch {
	case until != "":
		return moment(until, at.Wall, s.Location())
	case ahead != "":
		var err error
		if usual, err = duration("for", ahead); err != nil {
			return time.Time{}, "", err
		}
	}
	t, err := s.fromNow(usual, at)
	return t, "", err
}

func (s *server) hold(ctx context.Context, at guard.Instant, in wire.HoldRequest) (wire.Changed, error) {
	if in.For != "" && in.Until != "" {
		return wire.Changed{}, faultf(guard.ErrInvalid, "for and until contradict each other: give one of them")
	}
	why, err := line("reason", in.Reason, 300)
	if err != nil {
		return wire.Changed{}, err
	}
	return s.amend(ctx, at, in.ID, "hold", "held", func(c *scene, l *guard.Lease) (string, []string, error) {
		until, note, err := s.end(in.For, in.Until, holdFor, at)
		if err != nil {
			return "", nil, err
		}
		var notes []string
		if note != "" {
			notes = append(notes, note)
		}
		l.Holds = append(l.Holds, guard.Hold{Until: until, By: c.who, Reason: why, Since: at.Wall})
		if d, ok := s.limitOf(c, *l, guard.DeadlineBudget); ok && d.Due.Before(until) {
			notes = append(notes, "the budget is reached before the hold ends, at "+s.stamp(d.Limit)+": until then more is spent than the cap")
		}
		if d, ok := s.limitOf(c, *l, guard.DeadlineCeiling); ok && d.Due.Before(until) {
			notes = append(notes, "its ceiling does not wait for the hold: it is reached at "+s.stamp(d.Limit)+", and guard acts then")
		}
		say := "held until " + s.stamp(until)
		if why != "" {
			say += ": " + why
		}
		return say, notes, nil
	})
}

// limitOf is when a limit of a lease is reached.
func (s *server) limitOf(c *scene, l guard.Lease, reason guard.DeadlineReason) (guard.Deadline, bool) {
	plan := guard.Plan{Deadlines: deadlines(l, c.book.plans[l.ID])}
	if c.expected {
		return plan.Deadline(reason)
	}
	if c.acct != nil {
		_, plan = s.solve(c.book, c.observed, l, c.acct, c.lead, c.at)
	}
	return plan.Deadline(reason)
}

func (s *server) unhold(ctx context.Context, at guard.Instant, in wire.IDRequest) (wire.Changed, error) {
	return s.amend(ctx, at, in.ID, "unhold", "unheld", func(_ *scene, l *guard.Lease) (string, []string, error) {
		for i, h := range l.Holds {
			if h.Until.After(at.Wall) {
				l.Holds[i].Until = at.Wall
			}
		}
		return "all holds ended", nil, nil
	})
}

func (s *server) protect(ctx context.Context, at guard.Instant, in wire.IDRequest) (wire.Changed, error) {
	return s.amend(ctx, at, in.ID, "protect", "protected", func(c *scene, l *guard.Lease) (string, []string, error) {
		if !l.Protected {
			l.Protected, l.ProtectedBy = true, c.who
		}
		return "protected: guard does not touch it until guard unprotect", []string{"it goes on billing, whatever its limits; guard pages when one is reached"}, nil
	})
}

func (s *server) unprotect(ctx context.Context, at guard.Instant, in wire.IDRequest) (wire.Changed, error) {
	return s.amend(ctx, at, in.ID, "unprotect", "unprotected", func(c *scene, l *guard.Lease) (string, []string, error) {
		l.Protected, l.ProtectedBy = false, ""
		var notes []string
		f := s.facts(c.book, c.observed, l, c.acct, at)
		if p := f.Protection(s.Rules()); p.On {
			notes = append(notes, "it stays protected all the same: "+p.Why)
		}
		return "no longer protected", notes, nil
	})
}

// diff names the fields that differ, as people read them.
func (s *server) diff(a, b guard.Lease, now time.Time) []wire.Change {
	out := []wire.Change{}
	add := func(field, from, to string) {
		if from != to {
			out = append(out, wire.Change{Field: field, From: from, To: to})
		}
	}
	stamp := s.stampOr
	money := func(m guard.Money) string {
		if !m.IsSet() {
			return ""
		}
		return m.String()
	}
	rate := func(r guard.Rate) string {
		if !r.Known() {
			return ""
		}
		return r.Quote()
	}
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	}
	add("purpose", a.Purpose, b.Purpose)
	add("owner", a.Owner, b.Owner)
	if b.Expect != nil && a.Expect != nil {
		add("expected_name", a.Expect.Name, b.Expect.Name)
		add("expected_until", stamp(a.Expect.Until), stamp(b.Expect.Until))
	}
	add("expires_at", stamp(a.ExpiresAt), stamp(b.ExpiresAt))
	add("budget", money(a.Budget), money(b.Budget))
	add("price", rate(a.Price), rate(b.Price))
	add("tags", tagText(a.Tags), tagText(b.Tags))
	add("on_limit", string(a.OnLimit), string(b.OnLimit))
	add("grace", span(a.Grace), span(b.Grace))
	add("no_gpu_ok", yes(a.NoGPUOK), yes(b.NoGPUOK))
	add("allow_unprotect", yes(a.AllowUnprotect), yes(b.AllowUnprotect))
	add("protected", yes(a.Protected), yes(b.Protected))
	add("held_until", stamp(a.HeldUntil(now)), stamp(b.HeldUntil(now)))
	return out
}
