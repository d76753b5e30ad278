package api

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/spend"
	"guard/store"
)

// book is what the ledger says of one account, or of all, at one moment.
type book struct {
	observed map[string]guard.Observed // by resource key
	keys     []string                  // of observed, in order
	leases   map[string]guard.Lease    // by resource key; the one that counts
	plans    map[string]guard.Plan     // by lease
	metered  map[string]guard.Metered  // by resource key
	releases map[string]guard.Release  // open ones, by resource key
	findings map[string][]guard.Finding
	accounts map[string]guard.AccountStatus
	children map[string][]string     // keys of what was last on an instance, by its key
	shares   map[string][]string     // keys of what counts or has counted to a lease, by its ID
	named    map[string]guard.Lease  // every lease, by its ID
	expected []guard.Lease           // open ones whose instance has not been seen, oldest first
	mutes    map[string][]guard.Mute // by subject
}

// read loads an account's part of the ledger; "" loads everything.
func read(v *store.View, account string) (*book, error) {
	b := &book{
		observed: map[string]guard.Observed{}, leases: map[string]guard.Lease{}, plans: map[string]guard.Plan{},
		metered: map[string]guard.Metered{}, releases: map[string]guard.Release{}, findings: map[string][]guard.Finding{},
		accounts: map[string]guard.AccountStatus{}, children: map[string][]string{}, shares: map[string][]string{},
		named: map[string]guard.Lease{}, mutes: map[string][]guard.Mute{},
	}
	prefix := ""
	if account != "" {
		prefix = account + "/"
	}
	for o, err := range v.Observed.All(prefix) {
		if err != nil {
			return nil, err
		}
		key := o.Resource.ID.Key()
		b.observed[key] = o
		b.keys = append(b.keys, key)
		if !o.Instance.IsZero() {
			b.children[o.Instance.Key()] = append(b.children[o.Instance.Key()], key)
		}
	}
	for l, err := range v.Leases.All("") {
		if err != nil {
			return nil, err
		}
		if account != "" && l.Resource.Account != account {
			continue
		}
		b.named[l.ID] = l
		if l.Resource.IsZero() {
			if l.Status.Open() {
				b.expected = append(b.expected, l)
			}
			continue
		}
		key := l.Resource.Key()
		if old, ok := b.leases[key]; !ok || better(l, old) {
			b.leases[key] = l
		}
	}
	b.earlier()
	slices.SortFunc(b.expected, func(x, y guard.Lease) int {
		return cmp.Or(x.RegisteredAt.Compare(y.RegisteredAt), cmp.Compare(x.ID, y.ID))
	})
	for p, err := range v.Plans.All("") {
		if err != nil {
			return nil, err
		}
		b.plans[p.Lease] = p
	}
	for m, err := range v.Metered.All(prefix) {
		if err != nil {
			return nil, err
		}
		key := m.Resource.Key()
		b.metered[key] = m
		for _, s := range m.Segments {
			if !slices.Contains(b.shares[s.Lease], key) && s.Lease != "" {
				b.shares[s.Lease] = append(b.shares[s.Lease], key)
			}
		}
	}
	for r, err := range v.Releases.All(prefix) {
		if err != nil {
			return nil, err
		}
		b.releases[r.Target.Key()] = r
	}
	for f, err := range v.Findings.All("") {
		if err != nil {
			return nil, err
		}
		b.findings[about(f)] = append(b.findings[about(f)], f)
	}
	for a, err := range v.Accounts.All("") {
		if err != nil {
			return nil, err
		}
		b.accounts[a.Name] = a
	}
	for m, err := range v.Mutes.All("") {
		if err != nil {
			return nil, err
		}
		b.mutes[m.Subject] = append(b.mutes[m.Subject], m)
	}
	return b, nil
}

// earlier gives the instances that a lease was of before the present one that lease, as
// one that has ended: what they and their successors cost is one sum.
func (b *book) earlier() {
	for _, l := range b.named {
		for _, id := range l.Earlier {
			was := l
			was.Status, was.EndedHow, was.EndedAt = guard.LeaseGone, guard.ByOutside, time.Time{}
			if g := b.observed[id.Key()].Gone; g != nil {
				was.EndedAt, was.EndedHow, was.Estimated = g.At, g.How, g.Estimated
			}
			if g := was.EndedHow; g == guard.ByRelease {
				was.Status = guard.LeaseReleased
			}
			if old, ok := b.leases[id.Key()]; !ok || better(was, old) {
				b.leases[id.Key()] = was
			}
		}
	}
}

// better tells which lease speaks for a resource, as store's LeaseOf does: an
// open one before an ended one, then the newest.
func better(a, b guard.Lease) bool {
	if a.Status.Open() != b.Status.Open() {
		return a.Status.Open()
	}
	if c := a.RegisteredAt.Compare(b.RegisteredAt); c != 0 {
		return c > 0
	}
	return a.ID > b.ID
}

// about is what a finding is filed under: the resource's key or the subject.
func about(f guard.Finding) string {
	if !f.Resource.IsZero() {
		return f.Resource.Key()
	}
	return f.Subject
}

// find is the resource that a person means by an ID, instances first. The ID of a
// lease is that of what it is on.
func (b *book) find(account, id string) (guard.Observed, bool) {
	for _, k := range guard.Kinds {
		if o, ok := b.observed[(guard.ResourceID{Account: account, Kind: k, ID: id}).Key()]; ok {
			return o, true
		}
	}
	if l, ok := b.named[id]; ok && l.Resource.Account == account && !l.Resource.IsZero() {
		o, ok := b.observed[l.Resource.Key()]
		return o, ok
	}
	return guard.Observed{}, false
}

// awaits is the lease of that ID, open or ended, whose instance was never seen.
func (b *book) awaits(account, id string) (guard.Lease, bool) {
	l, ok := b.named[id]
	return l, ok && l.Resource.Account == account && l.Resource.IsZero()
}

// muted are the mutes on a subject that are in force.
func (b *book) muted(subject string, now time.Time) []guard.Mute {
	var out []guard.Mute
	for _, m := range b.mutes[subject] {
		if m.At(now) {
			out = append(out, m)
		}
	}
	return out
}

// member is one part of a lease's family.
type member struct {
	observed guard.Observed
	metered  guard.Metered
	own      bool // it is what the lease is about
}

// family is a resource and, for an instance, what was last on it and what else has
// counted to its lease.
func (b *book) family(o guard.Observed, lease string) []member {
	key := o.Resource.ID.Key()
	out := []member{{o, b.metered[key], true}}
	if o.Resource.ID.Kind != guard.Instance {
		return out
	}
	keys := slices.Concat(b.children[key], b.shares[lease])
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		if k != key {
			out = append(out, member{b.observed[k], b.metered[k], false})
		}
	}
	return out
}

// segments are what of a family counts to a lease: a box may have had one before,
// and a disk another box. Its own count before the meter has said so.
func segments(family []member, lease string) []guard.Segment {
	var segs []guard.Segment
	for _, m := range family {
		for _, s := range spend.Segments(m.metered) {
			if lease == "" || s.Lease == lease || s.Lease == "" && m.own {
				segs = append(segs, s)
			}
		}
	}
	return segs
}

// deadlines are the limits of a lease as the meter solved them, the expiry as it
// stands in the lease now.
func deadlines(l guard.Lease, p guard.Plan) []guard.Deadline {
	if !l.Status.Open() {
		return nil
	}
	var out []guard.Deadline
	if !l.ExpiresAt.IsZero() {
		out = append(out, guard.Deadline{Reason: guard.DeadlineExpiry, Limit: l.ExpiresAt, Due: l.ExpiresAt})
	}
	if d, ok := p.Deadline(guard.DeadlineBudget); ok && l.Budget.IsSet() {
		out = append(out, d)
	}
	if d, ok := p.Deadline(guard.DeadlineCeiling); ok {
		out = append(out, d)
	}
	return out
}

// rateOf is what a resource bills at now: as the meter has it in force, or as a
// person stated or the provider reports it where the meter has nothing yet.
func rateOf(o guard.Observed, m guard.Metered, l *guard.Lease) guard.Rate {
	if n := len(m.Segments); n > 0 && m.Segments[n-1].To.IsZero() {
		return m.Segments[n-1].Rate
	}
	state, rate := o.Resource.Billing()
	if l != nil && l.Price.Known() && state == guard.StateRunning && o.Resource.ID.Kind == guard.Instance {
		return l.Price
	}
	return rate
}

// spentBy is what a family has spent for a lease until now.
func spentBy(family []member, lease string, now time.Time) spend.Total {
	return spend.Spent(segments(family, lease), now)
}

// tagsOf is what a resource is tagged with, at the provider and in its lease.
func tagsOf(o guard.Observed, l *guard.Lease) map[string]string {
	tags := map[string]string{}
	for k, v := range o.Resource.Tags {
		tags[k] = v
	}
	if l != nil {
		for k, v := range l.Tags {
			tags[k] = v
		}
	}
	return tags
}

// near are IDs of an account that somebody may have meant.
func (b *book) near(account, id string) []string {
	var out []string
	want := strings.ToLower(id)
	for _, key := range b.keys {
		o := b.observed[key]
		if o.Resource.ID.Account != account || !o.Live() || len(out) == 5 {
			continue
		}
		have := strings.ToLower(o.Resource.ID.ID)
		switch {
		case strings.EqualFold(o.Resource.Name, id):
			out = append(out, o.Resource.ID.String()+" (named "+o.Resource.Name+")")
		case len(want) >= 4 && (strings.HasPrefix(have, want) || strings.HasPrefix(want, have)), distance(want, have) <= 2:
			out = append(out, o.Resource.ID.String())
		}
	}
	return out
}

// distance is how many letters two IDs differ by (Levenshtein); a large number
// where they are long.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
