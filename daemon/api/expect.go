package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
)

// expectFor is how long an instance is expected where nobody says.
const expectFor = 30 * time.Minute

// await makes a scene one about an instance that has not been seen. An open
// expectation of the same name is the same one.
func (c *scene) await(w *wish) {
	c.expected = true
	if c.lease != nil || w.Expect.Name == "" {
		return
	}
	for _, l := range c.book.expected {
		if l.Expect != nil && l.Expect.Name == w.Expect.Name {
			c.lease = &l
		}
	}
}

// unusedID is an ID for a lease that names no instance yet.
func (b *book) unusedID(deployment string, id guard.ResourceID, at time.Time) string {
	for n := 0; ; n++ {
		lease := policy.LeaseID(deployment, id, at.Add(time.Duration(n)))
		if _, used := b.named[lease]; !used {
			return lease
		}
	}
}

// inCurrency refuses a cap in another currency than the price that a person stated.
// No other price is known before the instance is there.
func inCurrency(l guard.Lease) error {
	if l.Budget.IsSet() && l.Price.Known() && l.Price.Currency() != l.Budget.Currency() {
		return faultf(guard.ErrCurrency, "cannot keep %s under %s: its price is in %s, and guard never converts for a cap", nameOf(l), l.Budget, l.Price.Currency()).
			hinted("Give the budget in %s.", l.Price.Currency())
	}
	return nil
}

// awaited is a lease whose instance has not been seen, as ls shows it.
func (s *server) awaited(b *book, l guard.Lease, now time.Time) wire.Item {
	account := l.Resource.Account
	it := wire.Item{
		Account: account, ID: l.ID, Kind: string(guard.Instance), State: string(l.Status), Billing: string(guard.No), Release: "none",
		Mode: string(s.mode(account, b.accounts[account])), Findings: []string{}, Tags: tagsOf(guard.Observed{}, &l),
		Protected: l.Protected,
	}
	if l.Protected {
		it.ProtectedWhy = "protected by " + l.ProtectedBy
	}
	s.leased(&it, l, guard.Plan{}, now)
	if e := l.Expect; e != nil {
		it.Name = e.Name
		it.Expect = &wire.Expect{Name: e.Name, From: e.From.In(s.Location()), Until: e.Until.In(s.Location()), Tag: guard.TagLease + "=" + l.ID}
	}
	if !l.Status.Open() {
		it.State, it.EndedAt, it.EndedHow = string(guard.StateGone), s.local(l.EndedAt), string(l.EndedHow)
	}
	for _, f := range b.about(l) {
		it.Findings = append(it.Findings, string(f.Rule))
	}
	it.Mutes = s.wireMutes(b.muted(nameOf(l), now))
	return it
}

// about are the open findings about a lease whose instance has not been seen.
func (b *book) about(l guard.Lease) []guard.Finding {
	var out []guard.Finding
	for _, findings := range b.findings {
		for _, f := range findings {
			if f.Lease == l.ID {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(x, y guard.Finding) int { return strings.Compare(x.Key(), y.Key()) })
	return out
}

// fillAwaited is the body of show for a lease whose instance has not been seen.
func (s *server) fillAwaited(v *store.View, b *book, l guard.Lease, at guard.Instant, out *wire.Show) error {
	out.Item, out.Identity, out.RegisteredAt = s.awaited(b, l, at.Wall), l.Identity, s.local(l.RegisteredAt)
	for _, h := range l.Holds {
		if h.Until.After(at.Wall) {
			out.Holds = append(out.Holds, wire.Hold{Until: h.Until.In(s.Location()), By: h.By, Reason: h.Reason})
		}
	}
	if l.Status.Open() {
		out.Limits = s.limits(l, guard.Plan{}, nil, guard.Mode(out.Item.Mode), policy.Protection{On: l.Protected, Why: out.Item.ProtectedWhy}, at.Wall, false)
	}
	for _, f := range b.about(l) {
		out.Findings = append(out.Findings, s.wireFinding(f))
	}
	entries, err := v.JournalOf(l.ID, 10)
	for _, e := range entries {
		out.Log = append(out.Log, s.wireEntry(e))
	}
	return err
}

// whyAwaited is the body of why for such a lease.
func (s *server) whyAwaited(b *book, l guard.Lease, at guard.Instant, out *wire.Why) {
	stamp := s.stamp
	out.ID = nameOf(l)
	out.Lines = append(out.Lines, fmt.Sprintf("Registered by %s at %s for %s, before it is there.", l.Owner, stamp(l.RegisteredAt), orNone(l.Purpose)))
	if !l.Status.Open() {
		out.Lines = append(out.Lines, fmt.Sprintf("That ended at %s: %s.", stamp(l.EndedAt), l.UpdatedBy))
		return
	}
	e := l.Expect
	if e == nil {
		return
	}
	how := "An instance of the account with the tag " + guard.TagLease + "=" + l.ID + " is taken for it"
	if e.Name != "" {
		how += fmt.Sprintf("; or one named %q that is created from %s to %s", e.Name, stamp(e.From), stamp(e.Until))
	}
	out.Lines = append(out.Lines, how+".")
	if at.Wall.Before(e.Until) {
		out.Lines = append(out.Lines, "If none has come by "+stamp(e.Until)+", people are told (expected_missing).")
	} else {
		out.Lines = append(out.Lines, "None had come by "+stamp(e.Until)+".")
	}
	expires := "never"
	if !l.ExpiresAt.IsZero() {
		expires = stamp(l.ExpiresAt)
	}
	out.Facts = append(out.Facts,
		wire.Fact{Name: "expected", Value: orNone(e.Name), Source: l.UpdatedBy, At: s.local(l.UpdatedAt)},
		wire.Fact{Name: "expires", Value: expires, Source: l.UpdatedBy, At: s.local(l.UpdatedAt)})
	for _, f := range b.about(l) {
		out.Lines = append(out.Lines, fmt.Sprintf("Open finding %s since %s: %s.", f.Rule, stamp(f.Since), f.Title))
	}
}
