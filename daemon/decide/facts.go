package decide

import (
	"errors"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/store"
)

// source reads the records that one subject's facts are made of, in a View or in
// a transaction.
type source struct {
	observed func(key string) (guard.Observed, bool, error)
	metered  func(key string) (guard.Metered, bool, error)
	egress   func(key string) (guard.Egress, bool, error)
	bill     func(key string) (guard.Bill, bool, error)
	lease    func(key string) (guard.Lease, bool, error)
	plan     func(lease string) (guard.Plan, bool, error)
	release  func(key string) (guard.Release, bool, error)
	account  func(name string) (guard.AccountStatus, bool, error)
	finding  func(key string) (guard.Finding, bool, error)
	mute     func(key string) (guard.Mute, bool, error)
	byID     func(lease string) (guard.Lease, bool, error)
	acked    func(message string) (time.Time, error)
	value    func(name string, into any) (bool, error)
	// host and hosted are the record and the lease of an instance that others hang on; nil
	// where there is none.
	host   func(key string) (*guard.Observed, error)
	hosted func(key string) (*guard.Lease, error)
	// muted are the subjects on which there is a mute, and found the rules of which a
	// finding about a subject may be open. In a transaction both are looked for.
	muted map[string]bool
	found func(about string) []guard.Rule
}

func fromTx(tx *store.Tx) source {
	return source{found: anyFound, observed: tx.Observed.Get, metered: tx.Metered.Get, egress: tx.Egress.Get, bill: tx.Bills.Get, lease: tx.LeaseOf, plan: tx.Plans.Get,
		release: tx.Releases.Get, account: tx.Accounts.Get, finding: tx.Findings.Get, mute: tx.Mutes.Get, byID: tx.Leases.Get, acked: tx.Acked, value: tx.Value,
		host:   func(key string) (*guard.Observed, error) { return found(tx.Observed.Get, key) },
		hosted: func(key string) (*guard.Lease, error) { return found(tx.LeaseOf, key) }}
}

func fromView(v *store.View) source {
	var muted map[string]bool
	if keys, err := v.Mutes.Keys(""); err == nil {
		muted = map[string]bool{}
		for _, key := range keys {
			muted[mutedBy(key)] = true
		}
	}
	return source{muted: muted, found: anyFound, observed: v.Observed.Get, metered: v.Metered.Get, egress: v.Egress.Get, bill: v.Bills.Get, lease: v.LeaseOf, plan: v.Plans.Get,
		release: v.Releases.Get, account: once(v.Accounts.Get), finding: v.Findings.Get, mute: v.Mutes.Get, byID: v.Leases.Get, acked: v.Acked, value: v.Value,
		host: shared(v.Observed.Get), hosted: shared(v.LeaseOf)}
}

// once is shared for whoever wants a record of its own.
func once[T any](get func(key string) (T, bool, error)) func(key string) (T, bool, error) {
	read := shared(get)
	return func(key string) (v T, ok bool, err error) {
		p, err := read(key)
		if p == nil {
			return v, false, err
		}
		return *p, true, nil
	}
}

// anyFound is every rule of which a finding may be open.
func anyFound(string) []guard.Rule { return spoken }

// known is what of a subject's facts a transaction cannot read, since it may not
// scan: it is as the View before it had it.
type known struct {
	spend  func() policy.Spend
	scopes []guard.ScopeStatus
	leases int // open ones of an account
	wallet *policy.Wallet
	// strays and others are the keys of what an expected lease may be of, and the IDs
	// of the other leases that may be of it.
	strays, others []string
	// ended are the keys of what a stray may have been started in the place of.
	ended []string
}

// moment is when, and by which clock, is judged.
type moment struct {
	now   time.Time
	clock clock
}

// gather reads one subject's facts and its open findings. The facts are about
// nothing where the ledger has nothing of a resource any more.
func (l *Loop) gather(src source, m moment, s *subject, k known) (policy.Facts, []guard.Finding, error) {
	var f policy.Facts
	var err error
	switch {
	case s.resource():
		f, err = l.facts(src, s.key, s.account, m.now)
		f.Spend, f.Scopes = k.spend, k.scopes
		if err == nil && len(k.ended) > 0 {
			f.Ended, err = ended(src, k.ended)
		}
	case s.lease != "":
		f, err = l.awaited(src, s, k, m.now)
	case s.account != "":
		f = policy.Facts{At: m.now, Zone: l.Zone, Deployment: l.Ledger.Deployment(), Scopes: k.scopes, Leases: k.leases, Wallet: k.wallet}
		err = l.aboutAccount(src, s.account, &f)
	default:
		f = policy.Facts{At: m.now, Zone: l.Zone, Clock: m.clock.facts()}
	}
	if err != nil {
		return f, nil, err
	}
	if s.resource() && f.Resource().IsZero() {
		return policy.Facts{At: m.now}, nil, nil
	}
	var open []guard.Finding
	about := f.Subject()
	if id := f.Resource(); !id.IsZero() {
		about = id.Key()
	}
	for _, rule := range src.found(about) {
		found, ok, err := src.finding(string(rule) + "|" + about)
		if err != nil {
			return f, nil, err
		}
		if ok {
			open = append(open, found)
		}
	}
	return f, open, nil
}

// spoken is every rule of which a finding may be open.
var spoken = append(policy.Names(), guard.RuleReleaseBlocked, guard.RuleReleaseStalled)

// facts gathers what is known of one resource, at the time now, but for what a
// transaction cannot read.
func (l *Loop) facts(src source, key string, account string, now time.Time) (policy.Facts, error) {
	f := policy.Facts{At: now, Zone: l.Zone, Deployment: l.Ledger.Deployment()}
	if err := l.aboutAccount(src, account, &f); err != nil {
		return f, err
	}
	f.Account = seen(f.Account)
	var err error
	if f.Observed, err = found(src.observed, key); err != nil {
		return f, err
	}
	if f.Lease, err = found(src.lease, key); err != nil {
		return f, err
	}
	if f.Lease != nil {
		if f.Plan, _, err = src.plan(f.Lease.ID); err != nil {
			return f, err
		}
	}
	if f.Metered, _, err = src.metered(key); err != nil {
		return f, err
	}
	if f.Egress, err = found(src.egress, key); err != nil {
		return f, err
	}
	if f.Bill, err = found(src.bill, key); err != nil {
		return f, err
	}
	if err := errors.Join(child(src, &f), burn(src, &f), reclaims(src, &f)); err != nil {
		return f, err
	}
	if f.Release, err = found(src.release, key); err != nil {
		return f, err
	}
	if f.Release != nil {
		if f.Heard, err = l.heard(src, *f.Release); err != nil {
			return f, err
		}
	}
	if l.Activity != nil && f.Observed != nil && f.Observed.Resource.ID.Kind == guard.Instance {
		if a, ok := l.Activity(key); ok {
			f.Activity = &a
		}
	}
	f.Mutes, err = mutes(src, f.Subject())
	return f, err
}

// found is the record of a key; nil where there is none, as of nearly all that is asked for.
func found[T any](get func(key string) (T, bool, error), key string) (*T, error) {
	v, ok, err := get(key)
	if err != nil || !ok {
		return nil, err
	}
	p := new(T)
	*p = v
	return p, nil
}

// shared reads records that the facts of several subjects have, but once as long as they
// are asked for one after the other. Nobody changes them.
func shared[T any](get func(key string) (T, bool, error)) func(key string) (*T, error) {
	const most = 4096
	have := map[string]*T{}
	return func(key string) (*T, error) {
		if v, ok := have[key]; ok {
			return v, nil
		}
		v, err := found(get, key)
		if err != nil {
			return nil, err
		}
		if len(have) >= most {
			clear(have)
		}
		have[key] = v
		return v, nil
	}
}

// people are the channels in which somebody hears: a line in guard's own log is nobody,
// where people are told in any other way.
func (l *Loop) people() []string {
	var others []string
	for _, a := range l.Audience {
		if a.Channel != "log" {
			others = append(others, a.Channel)
		}
	}
	if len(others) == 0 && len(l.Audience) > 0 {
		return []string{"log"}
	}
	return others
}

// heard is when people took in the notice of a judgement (law 9); zero: nobody has, or
// the release waits for nobody.
func (l *Loop) heard(src source, r guard.Release) (time.Time, error) {
	if !r.Cause.Judgement() {
		return time.Time{}, nil
	}
	return l.taken(src, r.Notice)
}

// taken is when the first channel acknowledged a notice, be it one that stood in for
// another; zero: none has.
func (l *Loop) taken(src source, notice string) (time.Time, error) {
	var first time.Time
	if notice == "" {
		return first, nil
	}
	channels := l.people()
	for _, a := range l.Fallback {
		channels = append(channels, a.Channel)
	}
	for _, channel := range channels {
		at, err := src.acked(channel + "|" + notice)
		if err != nil {
			return first, err
		}
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, nil
}

// mutes are those on a subject.
func mutes(src source, subject string) ([]guard.Mute, error) {
	if src.muted != nil && !src.muted[subject] {
		return nil, nil
	}
	var out []guard.Mute
	for _, m := range slices.Concat([]guard.Mute{{Kind: guard.Snooze, Subject: subject}}, vetoes(subject)) {
		have, ok, err := src.mute(m.Key())
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, have)
		}
	}
	return out, nil
}

// vetoes are all that there can be on a subject, for their keys.
func vetoes(subject string) []guard.Mute {
	rules := policy.Vetoable()
	out := make([]guard.Mute, len(rules))
	for i, r := range rules {
		out[i] = guard.Mute{Kind: guard.Veto, Subject: subject, Rule: r}
	}
	return out
}

// awaited gathers what is known about the lease of an instance that nobody has seen,
// or had not when it was last judged.
func (l *Loop) awaited(src source, s *subject, k known, now time.Time) (policy.Facts, error) {
	f := policy.Facts{At: now, Zone: l.Zone, Deployment: l.Ledger.Deployment(), Awaiting: &policy.Awaiting{Name: s.key}}
	if err := l.aboutAccount(src, s.account, &f); err != nil {
		return f, err
	}
	f.Account = seen(f.Account)
	lease, ok, err := src.byID(s.lease)
	if err != nil || !ok || lease.Resource.Account != s.account {
		return f, err
	}
	f.Lease = &lease
	if f.Mutes, err = mutes(src, s.key); err != nil || !waits(lease) {
		return f, err
	}
	for _, key := range k.strays {
		o, ok, err := src.observed(key)
		if err != nil {
			return f, err
		}
		was, leased, err := src.lease(key)
		if err != nil {
			return f, err
		}
		if !ok || !stray(o, was, leased) {
			continue
		}
		s := policy.Stray{Observed: o}
		if leased {
			s.Was = &was
		}
		f.Awaiting.Seen = append(f.Awaiting.Seen, s)
	}
	for _, id := range k.others {
		o, ok, err := src.byID(id)
		if err != nil {
			return f, err
		}
		if ok && waits(o) && o.ID != lease.ID {
			f.Awaiting.Others = append(f.Awaiting.Others, o)
		}
	}
	return f, nil
}

// waits reports a lease of an instance that nobody has seen yet.
func waits(l guard.Lease) bool {
	return l.Status == guard.LeaseExpected && l.Resource.IsZero() && l.Expect != nil
}

// stray reports a live instance that nobody has registered, nor guard adopted.
func stray(o guard.Observed, lease guard.Lease, leased bool) bool {
	return o.Live() && o.Resource.ID.Kind == guard.Instance && o.Resource.State != guard.StateReleasing && !(leased && lease.Status.Open())
}

func (l *Loop) aboutAccount(src source, account string, f *policy.Facts) error {
	status, _, err := src.account(account)
	if err != nil {
		return err
	}
	status.Name = account
	f.Account, f.Mode = status, status.Mode
	if a := l.accounts[account]; a != nil {
		f.Configured, f.Mode, f.Poll, f.May, f.Stop = true, a.Mode, a.Poll, policy.May(a.MayRelease), a.Provider.Truths().Stop
		f.ByHand = a.Provider.Truths().ByHand
		if status.Word.Mode == guard.Observe {
			f.Mode = guard.Observe // said a moment ago: this loop is about to be replaced
		}
	} else {
		// Nobody can call it; what is due there is told, not forgotten.
		f.May = policy.May{GPU: true}
	}
	return nil
}

// seen is what of an account the facts about its resources have: the rest moves
// with every poll and is nothing to judge them by.
func seen(a guard.AccountStatus) guard.AccountStatus {
	return guard.AccountStatus{Name: a.Name, Mode: a.Mode, Identity: guard.Identity{Self: a.Identity.Self},
		FreshFrom: a.FreshFrom, FreshWhy: a.FreshWhy}
}
