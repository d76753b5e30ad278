package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
)

const (
	// muteFor is how long a veto or a snooze lasts where nobody says, ackFor how long
	// somebody sees to something, and longestMute how long each lasts at most.
	muteFor     = 2 * time.Hour
	ackFor      = 24 * time.Hour
	longestMute = 7 * 24 * time.Hour
)

func (s *server) veto(ctx context.Context, at guard.Instant, in wire.MuteRequest) (wire.Changed, error) {
	return s.mute(ctx, at, "veto", "vetoed", muteFor, in, func(c *scene, until time.Time, out *wire.Changed) (guard.Mute, error) {
		if err := c.inTime("veto the release of"); err != nil {
			return guard.Mute{}, err
		}
		rule, err := s.vetoable(c, in.Rule)
		if err != nil {
			return guard.Mute{}, err
		}
		if l := c.lease; l != nil && l.Status.Open() {
			reasons := map[guard.Rule]guard.DeadlineReason{guard.RuleBudgetExceeded: guard.DeadlineBudget}
			if d, ok := s.limitOf(c, *l, reasons[rule]); ok && d.Due.Before(until) {
				out.Notes = append(out.Notes, "the budget is reached before the veto ends, at "+s.stamp(d.Limit)+": until then more is spent than the cap")
			}
			if d, ok := s.limitOf(c, *l, guard.DeadlineCeiling); ok && d.Due.Before(until) {
				out.Notes = append(out.Notes, "its ceiling heeds no veto: it is reached at "+s.stamp(d.Limit)+", and guard acts then")
			}
		}
		return guard.Mute{Kind: guard.Veto, Rule: rule}, nil
	})
}

func (s *server) snooze(ctx context.Context, at guard.Instant, in wire.MuteRequest) (wire.Changed, error) {
	if in.Rule != "" {
		return wire.Changed{}, faultf(guard.ErrInvalid, "rule: a snooze is about every message; a veto is against a rule")
	}
	return s.mute(ctx, at, "snooze", "snoozed", muteFor, in, func(*scene, time.Time, *wire.Changed) (guard.Mute, error) {
		return guard.Mute{Kind: guard.Snooze}, nil
	})
}

// ack is a person's word that they see to it: nobody else is called meanwhile.
func (s *server) ack(ctx context.Context, at guard.Instant, in wire.MuteRequest) (wire.Changed, error) {
	if in.Rule != "" {
		return wire.Changed{}, faultf(guard.ErrInvalid, "rule: who sees to a resource sees to all that is wrong with it")
	}
	return s.mute(ctx, at, "ack", "acknowledged", ackFor, in, func(*scene, time.Time, *wire.Changed) (guard.Mute, error) {
		return guard.Mute{Kind: guard.Ack}, nil
	})
}

func (s *server) unveto(ctx context.Context, at guard.Instant, in wire.MuteRequest) (wire.Changed, error) {
	return s.unmute(ctx, at, "unveto", "unvetoed", guard.Veto, in)
}

func (s *server) unsnooze(ctx context.Context, at guard.Instant, in wire.MuteRequest) (wire.Changed, error) {
	return s.unmute(ctx, at, "unsnooze", "unsnoozed", guard.Snooze, in)
}

// mute runs a verb that quiets guard about one resource until a time.
// usual is for how long where nobody says.
func (s *server) mute(ctx context.Context, at guard.Instant, verb, done string, usual time.Duration, in wire.MuteRequest, what func(*scene, time.Time, *wire.Changed) (guard.Mute, error)) (wire.Changed, error) {
	if in.For != "" && in.Until != "" {
		return wire.Changed{}, faultf(guard.ErrInvalid, "for and until contradict each other: give one of them")
	}
	why, err := line("reason", in.Reason, 300)
	if err != nil {
		return wire.Changed{}, err
	}
	until, note, err := s.end(in.For, in.Until, usual, at)
	if err != nil {
		return wire.Changed{}, err
	}
	if until.Sub(at.Wall) > longestMute {
		one := "a " + verb
		if verb == "ack" {
			one = "an ack"
		}
		return wire.Changed{}, faultf(guard.ErrInvalid, "%s lasts at most 7 days, and %s is later than that", one, s.stamp(until)).
			hinted("To keep it longer, extend its lease.")
	}
	return s.quiet(ctx, at, in.ID, verb, func(c *scene, out *wire.Changed) (func(*store.Tx) error, guard.JournalEntry, error) {
		m, err := what(c, until, out)
		if err != nil {
			return nil, guard.JournalEntry{}, err
		}
		m.Subject, m.Until, m.By, m.Reason, m.Since = c.subject(), until, c.who, why, at.Wall
		if note != "" {
			out.Notes = append(out.Notes, note)
		}
		var before time.Time
		for _, old := range c.book.muted(m.Subject, at.Wall) {
			if old.Key() == m.Key() {
				before = old.Until
			}
		}
		out.Changes = []wire.Change{{Field: words(m), From: s.stampOr(before), To: s.stamp(until)}}
		rest := slices.DeleteFunc(slices.Clone(c.book.mutes[m.Subject]), func(o guard.Mute) bool { return o.Key() == m.Key() })
		c.book.mutes[m.Subject] = append(rest, m)
		put := func(tx *store.Tx) error {
			for _, o := range rest {
				if !o.At(at.Wall) { // what has ended is cleared away
					if err := tx.Mutes.Delete(o.Key()); err != nil {
						return err
					}
				}
			}
			return tx.Mutes.Put(m)
		}
		return put, c.entry(done, words(m)+" until "+s.stamp(until)+prefixed(": ", why), nil), nil
	})
}

// unmute ends what is in force of a kind, for one rule or for all.
func (s *server) unmute(ctx context.Context, at guard.Instant, verb, done string, kind guard.MuteKind, in wire.MuteRequest) (wire.Changed, error) {
	if in.For != "" || in.Until != "" {
		return wire.Changed{}, faultf(guard.ErrInvalid, "%s ends it now: for and until do not belong here", verb)
	}
	return s.quiet(ctx, at, in.ID, verb, func(c *scene, out *wire.Changed) (func(*store.Tx) error, guard.JournalEntry, error) {
		subject := c.subject()
		var ends []guard.Mute
		for _, m := range c.book.muted(subject, at.Wall) {
			if m.Kind == kind && (in.Rule == "" || string(m.Rule) == in.Rule) {
				ends = append(ends, m)
				out.Changes = append(out.Changes, wire.Change{Field: words(m), From: s.stamp(m.Until)})
			}
		}
		if len(ends) == 0 {
			return nil, guard.JournalEntry{}, nil
		}
		c.book.mutes[subject] = slices.DeleteFunc(slices.Clone(c.book.mutes[subject]), func(o guard.Mute) bool { return slices.Contains(ends, o) })
		var said []string
		for _, m := range ends {
			said = append(said, words(m))
		}
		del := func(tx *store.Tx) error {
			for _, m := range ends {
				if err := tx.Mutes.Delete(m.Key()); err != nil {
					return err
				}
			}
			return nil
		}
		return del, c.entry(done, strings.Join(said, ", ")+" ended", nil), nil
	})
}

// quiet runs one order about the mutes of a resource, registered or not.
func (s *server) quiet(ctx context.Context, at guard.Instant, text, verb string, judge func(*scene, *wire.Changed) (func(*store.Tx) error, guard.JournalEntry, error)) (wire.Changed, error) {
	out := wire.Changed{Now: s.now(at), Changes: []wire.Change{}, Limits: []wire.Limit{}}
	account, id, err := s.resource(text)
	if err != nil {
		return out, err
	}
	c, e, err := s.decide(ctx, at, account, id, func(c *scene) (edit, error) {
		out.Changes, out.Notes = []wire.Change{}, nil
		if !c.inLedger && !c.expected {
			_, err := s.known(c.book, account, id)
			return edit{}, err
		}
		if err := allowed(ctx, c.lease, c.resource(), verb); err != nil {
			return edit{}, err
		}
		if g := c.observed.Gone; g != nil {
			return edit{}, faultf(guard.ErrConflict, "cannot %s %s: it is gone since %s", verb, c.subject(), s.stamp(g.At))
		}
		timer := s.timerNow(c)
		more, entry, err := judge(c, &out)
		e := edit{more: more, entry: entry}
		if err == nil && !e.empty() {
			err = s.moveTimer(ctx, c, &e, verb, timer)
		}
		return e, err
	})
	if err != nil {
		return out, err
	}
	if e.lease != nil {
		s.after(c, *e.lease)
	}
	switch l := c.lease; {
	case l != nil && l.Status.Open():
		s.kickTimer(c, *l)
		out.Item, out.Limits = s.outcome(c, *l)
	case c.expected:
		out.Item = s.awaited(c.book, *l, at.Wall)
	default:
		out.Item = s.item(c.book, c.observed, at.Wall)
	}
	s.kick("decide", "release/"+account)
	return out, nil
}

// vetoable is the rule that a veto is against: the one that was named, or else the
// one whose release is coming.
func (s *server) vetoable(c *scene, named string) (guard.Rule, error) {
	known := policy.Vetoable()
	if named != "" {
		switch rule := guard.Rule(named); {
		case rule == guard.RuleCeilingReached:
			return "", faultf(guard.ErrRefused, "cannot veto %s for %s: nothing holds off what an admin set as a ceiling", rule, c.subject())
		case !slices.Contains(known, rule):
			return "", faultf(guard.ErrInvalid, "rule: %q does nothing that a veto could keep it from; those that do: %s", clip(named), list(known))
		default:
			return rule, nil
		}
	}
	rules := map[guard.Cause]guard.Rule{guard.CauseExpiry: guard.RuleExpired, guard.CauseBudget: guard.RuleBudgetExceeded}
	open := c.book.findings[c.observed.Resource.ID.Key()]
	if r := c.release; r != nil {
		if i := slices.IndexFunc(open, func(f guard.Finding) bool { return strings.HasPrefix(r.Notice, f.ID+"|") }); i >= 0 && r.Cause.Judgement() {
			return open[i].Rule, nil
		}
		switch rule := rules[r.Cause]; {
		case rule != "":
			return rule, nil
		case r.Cause == guard.CauseCeiling:
			return "", faultf(guard.ErrRefused, "cannot veto the release of %s: it is for a ceiling, and that heeds no veto", c.subject())
		default:
			return "", faultf(guard.ErrRefused, "cannot veto the release of %s: no rule asks for it but %s does", c.subject(), r.By)
		}
	}
	var coming []guard.Rule
	if l := c.lease; l != nil && l.Status.Open() {
		for _, cause := range []guard.Cause{guard.CauseExpiry, guard.CauseBudget} {
			if _, ok := s.limitOf(c, *l, guard.DeadlineReason(cause)); ok {
				coming = append(coming, rules[cause])
			}
		}
	}
	if s.Rules().Unregistered.Adopt != nil && slices.ContainsFunc(open, func(f guard.Finding) bool { return f.Rule == guard.RuleUnregistered }) {
		coming = append(coming, guard.RuleUnregistered)
	}
	switch len(coming) {
	case 0:
		return "", faultf(guard.ErrConflict, "which rule? None would do anything to %s now; those that could: %s", c.subject(), list(known))
	case 1:
		return coming[0], nil
	}
	return "", faultf(guard.ErrInvalid, "which rule? Of %s it could be: %s", c.subject(), list(coming)).
		hinted("Name it: guard veto %s %s", c.subject(), coming[0])
}

func list(rules []guard.Rule) string {
	var out []string
	for _, r := range rules {
		out = append(out, string(r))
	}
	return strings.Join(out, ", ")
}

// words say what is muted.
func words(m guard.Mute) string {
	if m.Kind == guard.Veto {
		return "veto of " + string(m.Rule)
	}
	return string(m.Kind)
}

// resource is what the scene is about; of what is expected the account alone.
func (c *scene) resource() guard.ResourceID {
	if c.expected {
		return c.lease.Resource
	}
	return c.observed.Resource.ID
}

// wireMutes are mutes as they are answered.
func (s *server) wireMutes(mutes []guard.Mute) []wire.Mute {
	var out []wire.Mute
	for _, m := range mutes {
		out = append(out, wire.Mute{Kind: string(m.Kind), Rule: string(m.Rule), Until: m.Until.In(s.Location()), By: m.By, Reason: m.Reason})
	}
	return out
}
