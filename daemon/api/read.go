package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/store"
)

type listIn struct {
	Account string   `query:"account"`
	Kind    string   `query:"kind"`
	Owner   string   `query:"owner"`
	Tags    []string `query:"tag,explode" doc:"KEY=VALUE; every one must match exactly"`
	All     bool     `query:"all" doc:"what is gone, too"`
}

func (s *server) list(ctx context.Context, at guard.Instant, in *listIn) (wire.List, error) {
	d := s.Rules().Defaults
	out := wire.List{Now: s.now(at), Items: []wire.Item{}, Paused: s.paused(), Defaults: wire.Defaults{OnLimit: string(d.OnLimit), Grace: span(d.Grace)}}
	if d.TTL > 0 {
		out.Defaults.TTL = span(d.TTL)
	}
	if _, ok := s.Account(in.Account); in.Account != "" && !ok {
		return out, s.noAccount(in.Account)
	}
	if in.Kind != "" && !slices.Contains(guard.Kinds, guard.Kind(in.Kind)) {
		return out, faultf(guard.ErrInvalid, "there is no kind %q: write instance, volume, snapshot, image, address, filesystem or spot_request", clip(in.Kind))
	}
	match := map[string]string{}
	for _, t := range in.Tags {
		k, v, ok := strings.Cut(t, "=")
		if !ok || k == "" {
			return out, faultf(guard.ErrInvalid, "tag %q: write KEY=VALUE", clip(t))
		}
		match[k] = v
	}
	err := s.Ledger.View(ctx, func(v *store.View) error {
		b, err := read(v, in.Account)
		if err != nil {
			return err
		}
		for _, key := range b.keys {
			o := b.observed[key]
			if !b.shown(o, in, at.Wall) {
				continue
			}
			if it := s.item(b, o, at.Wall); (in.Owner == "" || it.Owner == in.Owner) && has(it.Tags, match) {
				out.Items = append(out.Items, it)
			}
		}
		for _, l := range b.expected {
			if in.Kind != "" && in.Kind != string(guard.Instance) {
				break
			}
			if it := s.awaited(b, l, at.Wall); (in.Owner == "" || it.Owner == in.Owner) && has(it.Tags, match) {
				out.Items = append(out.Items, it)
			}
		}
		return nil
	})
	return out, err
}

// recent is how long a lease that ended is still listed: whoever looks in the
// morning wants to see what happened at night.
const recent = 24 * time.Hour

// shown: instances, what has a finding, what an ended instance left behind, and
// leases that ended lately; of a kind that was asked for everything.
func (b *book) shown(o guard.Observed, in *listIn, now time.Time) bool {
	switch {
	case !o.Live() && !in.All:
		l, leased := b.leases[o.Resource.ID.Key()]
		return leased && !l.Status.Open() && now.Sub(o.Gone.ProvenAt) < recent && (in.Kind == "" || in.Kind == string(o.Resource.ID.Kind))
	case in.Kind != "":
		return o.Resource.ID.Kind == guard.Kind(in.Kind)
	case o.Resource.ID.Kind == guard.Instance || in.All || len(b.findings[o.Resource.ID.Key()]) > 0:
		return true
	case o.Instance.IsZero():
		return false
	}
	parent, ok := b.observed[o.Instance.Key()]
	return ok && !parent.Live()
}

// has reports whether tags hold every pair, compared exactly. What has no tags
// matches no filter.
func has(tags, match map[string]string) bool {
	for k, v := range match {
		if have, ok := tags[k]; !ok || have != v {
			return false
		}
	}
	return true
}

type idIn struct {
	ID string `query:"id" required:"true" doc:"ACCOUNT/ID"`
}

// known finds a resource in the ledger, or says what else may be meant.
func (s *server) known(b *book, account, id string) (guard.Observed, error) {
	if o, ok := b.find(account, id); ok {
		return o, nil
	}
	if _, ok := s.Account(account); !ok {
		if _, ok := b.accounts[account]; !ok {
			return guard.Observed{}, s.noAccount(account)
		}
	}
	return guard.Observed{}, notThere(b, account, id, "guard knows of no %s/%s")
}

func notThere(b *book, account, id, text string) error {
	f := faultf(guard.ErrNotFound, text, account, clip(id))
	if near := b.near(account, id); len(near) > 0 {
		return f.hinted("Did you mean %s?", strings.Join(near, " or "))
	}
	return f.hinted("guard ls --account %s shows what there is.", account)
}

func (s *server) show(ctx context.Context, at guard.Instant, in *idIn) (wire.Show, error) {
	out := wire.Show{Now: s.now(at), Limits: []wire.Limit{}, Erases: []string{}, Survives: []string{}, Holds: []wire.Hold{},
		Family: []wire.Part{}, Findings: []wire.Finding{}, Log: []wire.Entry{}}
	account, id, err := s.resource(in.ID)
	if err != nil {
		return out, err
	}
	err = s.Ledger.View(ctx, func(v *store.View) error {
		b, err := read(v, account)
		if err != nil {
			return err
		}
		if l, ok := b.awaits(account, id); ok {
			return s.fillAwaited(v, b, l, at, &out)
		}
		o, err := s.known(b, account, id)
		if err != nil {
			return err
		}
		return s.fill(v, b, o, at, &out)
	})
	return out, err
}

// fill is the body of show.
func (s *server) fill(v *store.View, b *book, o guard.Observed, at guard.Instant, out *wire.Show) error {
	key := o.Resource.ID.Key()
	out.Item = s.item(b, o, at.Wall)
	s.sampled(o.Resource.ID, at.Wall, out.Item.Activity)
	out.FirstSeen, out.Identity = s.local(o.FirstSeen), o.Identity
	out.ReadAt = s.local(o.Seen)
	out.Agent = s.agent(o.Resource.ID)
	if sc, ok, err := v.Scopes.Get(store.ScopeKey(guard.ScopeStatus{Account: o.Resource.ID.Account, Kind: o.Resource.ID.Kind, Scope: o.Resource.ID.Scope})); err != nil {
		return err
	} else if ok && sc.Complete.After(o.Seen) && o.Live() && len(o.Absent) == 0 {
		out.ReadAt = s.local(sc.Complete)
	}
	acct, _ := s.Account(o.Resource.ID.Account)
	family, whose := []member{{o, b.metered[key], true}}, ""
	if l, ok := b.leases[key]; ok {
		family, whose = b.family(o, l.ID), l.ID
		out.RegisteredAt = s.local(l.RegisteredAt)
		out.Timer = s.wireTimer(l)
		for _, h := range l.Holds {
			if h.Until.After(at.Wall) {
				out.Holds = append(out.Holds, wire.Hold{Until: h.Until.In(s.Location()), By: h.By, Reason: h.Reason})
			}
		}
		if l.Status.Open() && acct != nil {
			f := s.facts(b, o, &l, acct, at)
			out.Limits = s.limits(l, b.plans[l.ID], b.muted(o.Resource.ID.String(), at.Wall), acct.Mode, f.Protection(s.Rules()), at.Wall, false)
			out.Limits = append(out.Limits, s.guessed(b, o.Resource.ID)...)
			if l.OnLimit != guard.ActAlert && !out.Item.Protected {
				out.Erases, out.Survives = s.losses(b, o, acct, l.OnLimit)
			}
		}
	}
	for _, m := range family {
		out.Family = append(out.Family, s.part(m, whose, at))
	}
	if err := s.showTraffic(v, b, o, out); err != nil {
		return err
	}
	for _, f := range b.findings[key] {
		out.Findings = append(out.Findings, s.wireFinding(f))
	}
	if r, ok := b.releases[key]; ok {
		out.Release = s.wireRelease(r)
	} else if err := s.ended(v, key, out); err != nil {
		return err
	}
	entries, err := v.JournalOf(o.Resource.ID.String(), 10)
	for _, e := range entries {
		out.Log = append(out.Log, s.wireEntry(e))
	}
	return err
}

func (s *server) part(m member, lease string, at guard.Instant) wire.Part {
	r := m.observed.Resource
	p := wire.Part{ID: r.ID.String(), Kind: string(r.ID.Kind), State: string(r.State), Rate: hourly(rateOf(m.observed, m.metered, nil))}
	if !m.observed.Live() {
		p.State = string(guard.StateGone)
	}
	var it wire.Item
	spent(&it, []member{m}, lease, at.Wall)
	p.Spend = it.Spend
	return p
}

// ended finds the last release of a resource that is over.
func (s *server) ended(v *store.View, key string, out *wire.Show) error {
	var last guard.Release
	for r, err := range v.EndedReleases.All("") {
		if err != nil {
			return err
		}
		if r.Target.Key() == key && r.EndedAt.After(last.EndedAt) {
			last = r
		}
	}
	if last.ID != "" {
		out.Release = s.wireRelease(last)
	}
	return nil
}

func (s *server) why(ctx context.Context, at guard.Instant, in *idIn) (wire.Why, error) {
	out := wire.Why{Now: s.now(at), Facts: []wire.Fact{}, Lines: []string{}}
	account, id, err := s.resource(in.ID)
	if err != nil {
		return out, err
	}
	var target guard.ResourceID
	err = s.Ledger.View(ctx, func(v *store.View) error {
		b, err := read(v, account)
		if err != nil {
			return err
		}
		if l, ok := b.awaits(account, id); ok {
			s.whyAwaited(b, l, at, &out)
			return nil
		}
		o, err := s.known(b, account, id)
		target = o.Resource.ID
		return err
	})
	if err != nil || out.ID != "" {
		return out, err
	}
	out.ID = target.String()
	facts, lines, err := s.Why(ctx, at, target)
	for _, f := range facts {
		out.Facts = append(out.Facts, s.wireFact(f))
	}
	out.Lines = append(out.Lines, lines...)
	return out, err
}

type findingsIn struct {
	Closed bool `query:"closed" doc:"closed ones, too"`
}

func (s *server) findings(ctx context.Context, at guard.Instant, in *findingsIn) (wire.Findings, error) {
	out := wire.Findings{Now: s.now(at), Findings: []wire.Finding{}}
	var found []guard.Finding
	mutes := map[string][]guard.Mute{}
	err := s.Ledger.View(ctx, func(v *store.View) error {
		for f, err := range v.Findings.All("") {
			if err != nil {
				return err
			}
			found = append(found, f)
		}
		for m, err := range v.Mutes.All("") {
			if err != nil {
				return err
			}
			if m.At(at.Wall) {
				mutes[m.Subject] = append(mutes[m.Subject], m)
			}
		}
		if !in.Closed {
			return nil
		}
		for f, err := range v.ClosedFindings.All("") {
			if err != nil {
				return err
			}
			found = append(found, f)
		}
		return nil
	})
	if scope := callerOf(ctx).Scope; scope != "" {
		found = slices.DeleteFunc(found, func(f guard.Finding) bool { return f.Subject != scope })
	}
	fs := s.staked(found, func(subject string) []guard.Mute { return mutes[subject] }, at.Wall)
	for _, f := range fs {
		out.Findings = append(out.Findings, f.Finding)
	}
	out.SoFar, out.SoFarAll = totals(fs, soFar, s.Rules().Exchange)
	out.AMonth, out.AMonthAll = totals(fs, aMonth, s.Rules().Exchange)
	return out, err
}

type logIn struct {
	ID    string `query:"id" doc:"ACCOUNT/ID; left out: everything"`
	Limit int    `query:"limit" default:"20" minimum:"1" maximum:"1000"`
}

func (s *server) log(ctx context.Context, at guard.Instant, in *logIn) (wire.Log, error) {
	out := wire.Log{Now: s.now(at), Entries: []wire.Entry{}}
	subject := ""
	if in.ID != "" {
		account, id, err := s.resource(in.ID)
		if err != nil {
			return out, err
		}
		subject = account + "/" + id
	}
	err := s.Ledger.View(ctx, func(v *store.View) error {
		entries, err := v.JournalOf(subject, in.Limit)
		for _, e := range entries {
			out.Entries = append(out.Entries, s.wireEntry(e))
		}
		if err != nil || len(entries) > 0 || subject == "" {
			return err
		}
		// Nothing on record: is there such a thing at all?
		account, id, _ := strings.Cut(subject, "/")
		b, err := read(v, account)
		if err != nil {
			return err
		}
		_, err = s.known(b, account, id)
		return err
	})
	return out, err
}
