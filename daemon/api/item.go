package api

import (
	"math/big"
	"sort"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
)

// item is a resource as ls shows it.
func (s *server) item(b *book, o guard.Observed, now time.Time) wire.Item {
	r := o.Resource
	key := r.ID.Key()
	it := wire.Item{
		Account: r.ID.Account, ID: r.ID.ID, Kind: string(r.ID.Kind), Scope: r.ID.Scope, Name: r.Name,
		State: string(r.State), RawState: r.RawState, Billing: r.Bills.String(), Release: "none",
		Type: r.Type, GPUs: r.GPUs, GPUModel: r.GPUModel, Nodes: r.Nodes, Spot: r.Spot, CreatedAt: s.local(r.Created),
		Findings: []string{}, Foreign: policy.Foreign(r, s.Ledger.Deployment()) != "",
	}
	if o.Live() {
		it.Activity = s.activity(r.ID, now)
	}
	status := b.accounts[r.ID.Account]
	it.Self, it.Mutes = policy.Self(r, status), s.wireMutes(b.muted(r.ID.String(), now))
	it.Mode = string(s.mode(r.ID.Account, status))
	if !o.Instance.IsZero() {
		it.Instance = o.Instance.String()
	}
	for _, f := range b.findings[key] {
		it.Findings = append(it.Findings, string(f.Rule))
	}
	sort.Strings(it.Findings)
	var lease *guard.Lease
	if l, ok := b.leases[key]; ok && (l.Status.Open() || !o.Live()) {
		lease = &l
		s.leased(&it, l, b.plans[l.ID], now)
	}
	it.Tags = tagsOf(o, lease)
	if p := (policy.Facts{Observed: &o, Lease: lease}).Protection(s.Rules()); p.On && o.Live() {
		it.Protected, it.ProtectedWhy = true, p.Why
	}
	if rel, ok := b.releases[key]; ok {
		it.Release, it.ReleaseReason = string(rel.State), string(rel.Reason)
		s.putOff(&it, rel)
	}
	rate := rateOf(o, b.metered[key], lease)
	it.Rate = hourly(rate)
	if it.Rate != nil {
		it.RateQuote, it.RateSource = rate.Quote(), rate.Source
	}
	s.paidAhead(&it, o, now)
	if g := o.Gone; g != nil {
		it.State, it.Billing, it.EndedAt, it.EndedHow = string(guard.StateGone), string(guard.No), s.local(g.At), string(g.How)
		if lease != nil && lease.Status == guard.LeaseReleased {
			it.State, it.Release = string(guard.LeaseReleased), string(guard.ReleaseDone)
		}
	}
	family, whose := []member{{o, b.metered[key], true}}, ""
	if lease != nil {
		family, whose = b.family(o, lease.ID), lease.ID
	}
	spent(&it, family, whose, now)
	return it
}

// putOff is for a limit that has passed while guard gives notice of it first: it
// acts when the release is due.
func (s *server) putOff(it *wire.Item, r guard.Release) {
	waits := r.State == guard.ReleasePlanned || r.State == guard.ReleaseNoticed
	if waits && it.Deadline != nil && string(r.Cause) == it.DeadlineReason && r.Due.After(*it.Deadline) {
		it.Deadline = s.local(r.Due)
	}
}

// leased fills in what the lease says.
func (s *server) leased(it *wire.Item, l guard.Lease, p guard.Plan, now time.Time) {
	it.Lease, it.Purpose, it.Owner = string(l.Status), l.Purpose, l.Owner
	it.OnLimit, it.Adopted = string(l.OnLimit), l.Adopted
	it.ExpiresAt = s.local(l.ExpiresAt)
	it.HeldUntil = s.local(l.HeldUntil(now))
	if l.Budget.IsSet() {
		m := l.Budget.Round().String()
		it.Budget = &m
	}
	if d, ok := (guard.Plan{Deadlines: deadlines(l, p)}).Next(); ok {
		it.Deadline, it.DeadlineReason = s.local(d.Due), string(d.Reason)
	}
}

// spent fills in what a family has spent: in the cap's currency first, else in
// the one that is there.
func spent(it *wire.Item, family []member, lease string, now time.Time) {
	total := spentBy(family, lease, now)
	it.SpendAtLeast, it.TrafficSpend = len(total.Unknown) > 0, trafficSpent(family, lease, now)
	main := ""
	if it.Budget != nil {
		main = (*it.Budget)[len(*it.Budget)-3:]
	} else if len(total.Known) > 0 {
		main = total.Known[0].Currency()
	}
	for _, m := range total.Known {
		text := m.Round().String()
		if m.Currency() == main {
			it.Spend = &text
		} else {
			it.OtherSpend = append(it.OtherSpend, text)
		}
	}
}

// mode is an account's mode as configured now; the ledger's word where it is not
// configured any more.
func (s *server) mode(name string, status guard.AccountStatus) guard.Mode {
	if a, ok := s.Account(name); ok {
		return a.Mode
	}
	if status.Mode == "" {
		return guard.Observe
	}
	return status.Mode
}

// hourly is nil where the rate is unknown.
func hourly(r guard.Rate) *string {
	h, ok := r.Hourly()
	if !ok {
		return nil
	}
	text := readable(h)
	return &text
}

// readable rounds to the currency's digits, unless that would take a visible
// part of a small amount away: a disk at 0.0004 an hour must not read as free.
func readable(m guard.Money) string {
	round := m.Round()
	off := new(big.Rat).Sub(m.Rat(), round.Rat())
	bound := new(big.Rat).Mul(m.Rat(), big.NewRat(1, 200))
	if off.Abs(off).Cmp(bound.Abs(bound)) <= 0 {
		return round.String()
	}
	fine, err := guard.NewMoney(m.Rat().FloatString(6), m.Currency())
	if err != nil || fine.IsZero() {
		return strings.TrimRight(m.Rat().FloatString(12), "0") + " " + m.Currency()
	}
	return fine.String()
}

func moneyText(m guard.Money) *string {
	if !m.IsSet() {
		return nil
	}
	t := readable(m)
	return &t
}

func (s *server) wireFinding(f guard.Finding) wire.Finding {
	out := wire.Finding{ID: f.ID, Rule: string(f.Rule), Subject: f.Subject, Title: f.Title, Since: f.Since.In(s.Location()),
		Opened: f.Opened.In(s.Location()), Closed: s.local(f.Closed), Urgent: f.Urgent, Wastes: moneyText(f.Wastes)}
	for _, x := range f.Facts {
		out.Facts = append(out.Facts, s.wireFact(x))
	}
	return out
}

func (s *server) wireFact(f guard.Fact) wire.Fact {
	return wire.Fact{Name: f.Name, Value: f.Value, Source: f.Source, At: s.local(f.At)}
}

func (s *server) wireEntry(e guard.JournalEntry) wire.Entry {
	return wire.Entry{Seq: e.Seq, At: e.At.In(s.Location()), Who: e.Who, Verb: e.Verb, Subject: e.Subject, Text: e.Text, Data: e.Data}
}

func (s *server) wireRelease(r guard.Release) *wire.Release {
	out := &wire.Release{ID: r.ID, State: string(r.State), Reason: string(r.Reason), Action: string(r.Action), Cause: string(r.Cause),
		By: r.By, Why: r.Why, Due: r.Due.In(s.Location()), IssuedAt: s.local(r.IssuedAt), EndedAt: s.local(r.EndedAt),
		Attempt: r.Attempt, LastError: r.LastError}
	if c := r.Receipt; c != nil {
		out.Proof = c.Proof
		for _, m := range c.Spend {
			out.Spend = append(out.Spend, m.Round().String())
		}
		for _, m := range c.Traffic {
			out.Traffic = append(out.Traffic, m.Round().String())
		}
		if c.Unspent.IsSet() {
			out.Unspent = c.Unspent.Round().String()
		}
		for _, id := range c.Leftovers {
			out.Leftovers = append(out.Leftovers, id.String())
		}
	}
	return out
}
