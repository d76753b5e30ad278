package decide

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

// snapshot is the ledger at one moment, indexed as the judgement needs it.
type snapshot struct {
	now   time.Time
	clock clock

	observed map[string]guard.Observed // by resource key
	leases   map[string]guard.Lease    // by resource key: the one that counts
	metered  map[string]guard.Metered
	plans    map[string]guard.Plan // by lease
	releases map[string]guard.Release
	findings map[string][]guard.Finding // by subject
	accounts map[string]guard.AccountStatus
	scopes   map[string][]guard.ScopeStatus // by account
	family   map[string][]string            // by an instance's key: its children's keys
	live     map[string]int                 // live instances by account
	open     map[string]int                 // open leases by account
}

// collect reads a whole table.
func collect[T any](t store.Table[T], each func(T)) error {
	for v, err := range t.All("") {
		if err != nil {
			return err
		}
		each(v)
	}
	return nil
}

func (l *Loop) read(ctx context.Context) (*snapshot, error) {
	s := &snapshot{
		observed: map[string]guard.Observed{}, leases: map[string]guard.Lease{}, metered: map[string]guard.Metered{},
		plans: map[string]guard.Plan{}, releases: map[string]guard.Release{}, findings: map[string][]guard.Finding{},
		accounts: map[string]guard.AccountStatus{}, scopes: map[string][]guard.ScopeStatus{}, family: map[string][]string{},
		live: map[string]int{}, open: map[string]int{},
	}
	err := l.Ledger.View(ctx, func(v *store.View) error {
		for _, read := range []func() error{
			func() error { return collect(v.Observed, s.observe) },
			func() error { return collect(v.Leases, s.lease) },
			func() error {
				return collect(v.Metered, func(m guard.Metered) { s.metered[m.Resource.Key()] = m })
			},
			func() error { return collect(v.Plans, func(p guard.Plan) { s.plans[p.Lease] = p }) },
			func() error { return collect(v.Releases, func(r guard.Release) { s.releases[r.Target.Key()] = r }) },
			func() error {
				return collect(v.Findings, func(f guard.Finding) { s.findings[f.Subject] = append(s.findings[f.Subject], f) })
			},
			func() error { return collect(v.Accounts, func(a guard.AccountStatus) { s.accounts[a.Name] = a }) },
			func() error {
				return collect(v.Scopes, func(c guard.ScopeStatus) { s.scopes[c.Account] = append(s.scopes[c.Account], c) })
			},
		} {
			if err := read(); err != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

func (s *snapshot) observe(o guard.Observed) {
	key := o.Resource.ID.Key()
	s.observed[key] = o
	if !o.Instance.IsZero() {
		s.family[o.Instance.Key()] = append(s.family[o.Instance.Key()], key)
	}
	if o.Live() && o.Resource.ID.Kind == guard.Instance {
		s.live[o.Resource.ID.Account]++
	}
}

// lease keeps the lease that counts for its resource, as the ledger's LeaseOf
// does: an open one before an ended one, then the newest.
func (s *snapshot) lease(l guard.Lease) {
	if l.Status.Open() {
		s.open[l.Resource.Account]++
	}
	key := l.Resource.Key()
	have, ok := s.leases[key]
	if !ok || better(l, have) {
		s.leases[key] = l
	}
}

func better(a, b guard.Lease) bool {
	if a.Status.Open() != b.Status.Open() {
		return a.Status.Open()
	}
	return cmp.Or(a.RegisteredAt.Compare(b.RegisteredAt), strings.Compare(a.ID, b.ID)) > 0
}

// source reads the records that one resource's facts are made of, from a
// snapshot or from inside a transaction.
type source struct {
	observed func(key string) (guard.Observed, bool, error)
	metered  func(key string) (guard.Metered, bool, error)
	lease    func(key string) (guard.Lease, bool, error)
	plan     func(lease string) (guard.Plan, bool, error)
	release  func(key string) (guard.Release, bool, error)
	account  func(name string) (guard.AccountStatus, bool, error)
}

func fromTx(tx *store.Tx) source {
	return source{observed: tx.Observed.Get, metered: tx.Metered.Get, lease: tx.LeaseOf, plan: tx.Plans.Get,
		release: tx.Releases.Get, account: tx.Accounts.Get}
}

func lookup[T any](m map[string]T) func(string) (T, bool, error) {
	return func(key string) (T, bool, error) {
		v, ok := m[key]
		return v, ok, nil
	}
}

func (s *snapshot) source() source {
	return source{observed: lookup(s.observed), metered: lookup(s.metered), lease: lookup(s.leases), plan: lookup(s.plans),
		release: lookup(s.releases), account: lookup(s.accounts)}
}

// facts gathers what is known of one resource, at the time now.
func (l *Loop) facts(src source, key string, account string, now time.Time) (policy.Facts, error) {
	f := policy.Facts{At: now, Zone: l.Zone, Deployment: l.Ledger.Deployment()}
	if err := l.aboutAccount(src, account, &f); err != nil {
		return f, err
	}
	if o, ok, err := src.observed(key); err != nil {
		return f, err
	} else if ok {
		f.Observed = &o
	}
	if f.Observed != nil && !f.Observed.Instance.IsZero() {
		if i, ok, err := src.observed(f.Observed.Instance.Key()); err != nil {
			return f, err
		} else if ok {
			f.Instance = &i
		}
	}
	if le, ok, err := src.lease(key); err != nil {
		return f, err
	} else if ok {
		f.Lease = &le
		if f.Plan, _, err = src.plan(le.ID); err != nil {
			return f, err
		}
	}
	var err error
	if f.Metered, _, err = src.metered(key); err != nil {
		return f, err
	}
	if r, ok, err := src.release(key); err != nil {
		return f, err
	} else if ok {
		f.Release = &r
	}
	return f, nil
}

func (l *Loop) aboutAccount(src source, account string, f *policy.Facts) error {
	status, _, err := src.account(account)
	if err != nil {
		return err
	}
	status.Name = account
	f.Account, f.Mode = status, status.Mode
	if a := l.accounts[account]; a != nil {
		f.Configured, f.Mode, f.May, f.Stop = true, a.Mode, policy.May(a.MayRelease), a.Provider.Truths().Stop
	} else {
		// Nobody can call it; what is due there is told, not forgotten.
		f.May = policy.May{GPU: true}
	}
	return nil
}

// resource gathers the facts of one resource from the snapshot, with its
// family's spend.
func (l *Loop) resource(s *snapshot, key, account string) policy.Facts {
	f, _ := l.facts(s.source(), key, account, s.now) // a snapshot's maps do not fail
	f.Spend = l.spent(s, f, key)
	f.Scopes = s.scopes[account]
	return f
}

// spent is what a lease's family, or a lone resource, has cost so far.
func (l *Loop) spent(s *snapshot, f policy.Facts, key string) policy.Spend {
	segments := s.metered[key].Segments
	if f.Lease != nil {
		segments = slices.Clone(segments)
		for _, child := range s.family[key] {
			segments = append(segments, s.metered[child].Segments...)
		}
	}
	total := spend.Spent(segments, s.now)
	out := policy.Spend{Totals: total.Known, AtLeast: len(total.Unknown) > 0}
	if f.Lease == nil || !f.Lease.Budget.IsPositive() || !f.Lease.Status.Open() {
		return out
	}
	limit := f.Lease.Budget
	out.Hourly = spend.Burn(segments, s.now).In(limit.Currency())
	for _, percent := range l.Rules.Budget.Warn {
		spent := total.In(limit.Currency())
		missing, err := limit.Percent(percent).Sub(spent)
		if err != nil || !missing.IsPositive() {
			continue
		}
		// At the present rate; the next run corrects it. The cap itself is solved
		// for exactly, by the meter.
		if in, ok := (guard.Rate{Amount: out.Hourly, Per: time.Hour}).Lasts(missing); ok {
			out.Crossings = append(out.Crossings, policy.Crossing{Percent: percent, At: s.now.Add(in + time.Second)})
		}
		break // the next one is all that can come next
	}
	return out
}

// account gathers the facts of an account.
func (l *Loop) account(src source, s *snapshot, name string) (policy.Facts, error) {
	f := policy.Facts{At: s.now, Zone: l.Zone, Deployment: l.Ledger.Deployment(), Scopes: s.scopes[name], Leases: s.open[name]}
	return f, l.aboutAccount(src, name, &f)
}

// own gathers the facts of guard itself.
func (l *Loop) own(s *snapshot) policy.Facts {
	return policy.Facts{At: s.now, Zone: l.Zone, Clock: s.clock.facts()}
}
