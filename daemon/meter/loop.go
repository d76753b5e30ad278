package meter

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/spend"
	"guard/providers"
	"guard/store"
)

const (
	// idle is how long the meter rests when nothing is to come; every change
	// kicks it, so this only bounds the harm of a kick that got lost.
	idle = 10 * time.Minute
	// longestAge is how old the measured longest releases may be.
	longestAge = 10 * time.Minute
)

// Config is what a Loop needs.
type Config struct {
	Ledger *store.Ledger
	// Account finds a configured account.
	Account func(name string) (*providers.Account, bool)
	Rules   policy.Rules
	// Kick asks for another loop to run soon, Sweep for a listing of an account's
	// volumes and the like; nil where nobody listens.
	Kick  func(loop string)
	Sweep func(account string)
	Log   *slog.Logger // nil: silent
}

// Loop is the meter, for all accounts.
type Loop struct {
	ledger  *store.Ledger
	account func(string) (*providers.Account, bool)
	over    int
	kick    func(string)
	sweep   func(string)
	log     *slog.Logger

	longest   map[string]time.Duration // release of each account, as measured
	longestAt guard.Instant
}

// New makes a meter.
func New(c Config) *Loop {
	l := &Loop{ledger: c.Ledger, account: c.Account, over: c.Rules.PriceChanged.Over, kick: c.Kick, sweep: c.Sweep, log: c.Log}
	if l.kick == nil {
		l.kick = func(string) {}
	}
	if l.sweep == nil {
		l.sweep = func(string) {}
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	return l
}

// Name is "meter".
func (l *Loop) Name() string { return "meter" }

// Once meters what is pending and solves every open lease's deadlines anew. It
// returns when a price or a deadline that waits for a second reading can be
// judged again.
func (l *Loop) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	b, err := l.load(ctx, at)
	if err != nil {
		return at.Add(idle), fmt.Errorf("meter: read the ledger: %w", err)
	}
	metered, err := l.meter(ctx, b)
	if err != nil {
		return at.Add(time.Minute), fmt.Errorf("meter: write segments: %w", err)
	}
	if metered {
		next := b.next
		if b, err = l.load(ctx, at); err != nil {
			return at.Add(time.Minute), fmt.Errorf("meter: read the ledger: %w", err)
		}
		b.next = guard.Earliest(b.next, next)
	}
	if err := l.plan(ctx, b); err != nil {
		return at.Add(time.Minute), fmt.Errorf("meter: write plans: %w", err)
	}
	// Even where nothing moved: whoever kicked the meter may have changed what
	// only decide looks at.
	l.kick("decide")
	return b.next, nil
}

// book is one consistent reading of the ledger.
type book struct {
	at       guard.Instant
	observed map[string]guard.Observed
	metered  map[string]guard.Metered
	leaseOf  map[string]guard.Lease // by the resource's key: whom it counts to
	open     []guard.Lease
	plans    map[string]guard.Plan
	complete map[string]time.Time // by scope key
	segments map[string][]guard.Segment
	next     guard.Instant // when the meter wants to run again
}

func (l *Loop) load(ctx context.Context, at guard.Instant) (*book, error) {
	b := &book{at: at, next: at.Add(idle), observed: map[string]guard.Observed{}, metered: map[string]guard.Metered{}, leaseOf: map[string]guard.Lease{},
		plans: map[string]guard.Plan{}, complete: map[string]time.Time{}, segments: map[string][]guard.Segment{}}
	err := l.ledger.View(ctx, func(v *store.View) error {
		for s, err := range v.Scopes.All("") {
			if err != nil {
				return err
			}
			b.complete[store.ScopeKey(s)] = s.Complete
		}
		for m, err := range v.Metered.All("") {
			if err != nil {
				return err
			}
			b.metered[m.Resource.Key()] = m
			for _, s := range m.Segments {
				if s.Lease != "" {
					b.segments[s.Lease] = append(b.segments[s.Lease], s)
				}
			}
		}
		for o, err := range v.Observed.All("") {
			if err != nil {
				return err
			}
			key := o.Resource.ID.Key()
			b.observed[key] = o
			lease, ok, err := payer(v.LeaseOf, o)
			if err != nil {
				return err
			}
			if ok {
				b.leaseOf[key] = lease
			}
		}
		for lease, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			if lease.Status.Open() {
				b.open = append(b.open, lease)
			}
		}
		for p, err := range v.Plans.All("") {
			if err != nil {
				return err
			}
			b.plans[p.Lease] = p
		}
		return l.measure(v, at)
	})
	return b, err
}

// poll is how often an account is read.
func (l *Loop) poll(account string) time.Duration {
	if a, ok := l.account(account); ok && a.Poll > 0 {
		return a.Poll
	}
	return idle
}

// measure takes the longest of each account's last releases from time to time.
func (l *Loop) measure(v *store.View, at guard.Instant) error {
	if l.longest != nil && at.Before(l.longestAt.Add(longestAge)) {
		return nil
	}
	byAccount := map[string][]guard.Release{}
	for r, err := range v.EndedReleases.All("") {
		if err != nil {
			return err
		}
		byAccount[r.Target.Account] = append(byAccount[r.Target.Account], r)
	}
	l.longest, l.longestAt = map[string]time.Duration{}, at
	for account, ended := range byAccount {
		l.longest[account] = spend.Longest(ended)
	}
	return nil
}

// wait has the meter run again at a moment, or a poll from now where that is
// past: then the reading that it waits for is overdue.
func (b *book) wait(until time.Time, poll time.Duration) {
	due := b.at.Reach(until)
	if !b.at.Before(due) {
		due = b.at.Add(poll)
	}
	b.next = guard.Earliest(b.next, due)
}
