package decide

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/store"
)

// few is how many findings of one kind in one account are each told on their
// own; more that open together share a message. most is how many fit into one
// transaction.
const (
	few  = 3
	most = 80
)

// judged is a subject and what its transaction cannot read.
type judged struct {
	*subject
	known
}

// job is what is written in one transaction: one subject, or several that share
// a message, or what guard does to one lease by itself.
type job struct {
	subjects []judged
	rule     guard.Rule // what they share; "" for one alone
	booking  bool
	// cover is what is said of those in later transactions, too, which are silent.
	cover   []told
	silent  bool
	changes []change // of a group: what was judged of each
}

// compare judges what is due and returns those subjects in which something is to
// be written. They stay stale: what was written, and what could not be, is judged
// in the next run.
func (l *Loop) compare(ctx context.Context, x *index, m moment) ([]job, error) {
	var jobs []job
	err := l.Ledger.View(ctx, func(v *store.View) error {
		jobs = nil
		if err := x.fold(v); err != nil {
			return err
		}
		if l.Stirred != nil {
			x.stir(l.Stirred(x.stirred))
		}
		w := newWatch(l, v, m)
		w.src.found = func(about string) []guard.Rule { return x.found[about] }
		groups := map[string]job{}
		var bookings []job // after what is told of them
		for _, s := range x.due(m.now) {
			f, open, k, err := w.facts(s, x)
			if err != nil {
				return err
			}
			if err := l.adopt(v, s, m.now); err != nil {
				return err
			}
			out := policy.Evaluate(l.Rules, f)
			next := x.turn(s, m.now)
			if at := wakes(open, out); !at.IsZero() && at.Before(next) {
				next = at
			}
			x.wait(s, next)
			x.heed(s, f.Resource(), out.Unlisted)
			l.judgements++
			c := l.change(f, open, out)
			if k.spend != nil && (!c.empty() || out.Booking != nil) {
				k.spend() // a transaction cannot add it up
			}
			if out.Booking != nil {
				bookings = append(bookings, job{subjects: []judged{{s, k}}, booking: true})
			}
			if c.empty() {
				if edits := l.edits(s, m.now, func() present { return l.after(f, open, c) }); len(edits) > 0 {
					jobs = append(jobs, job{subjects: []judged{{s, k}}})
				}
				if out.Booking == nil {
					delete(x.stale, s)
				}
				if s.lease != "" {
					x.drop(s)
				}
				continue
			}
			rule, ok := c.grouped()
			if !ok {
				jobs = append(jobs, job{subjects: []judged{{s, k}}})
				continue
			}
			l.word(f, open, &c, func(f policy.Facts) change { return l.change(f, open, policy.Evaluate(l.Rules, f)) })
			name := string(rule) + "|" + s.account
			g := groups[name]
			g.rule, g.subjects, g.changes = rule, append(g.subjects, judged{s, k}), append(g.changes, c)
			groups[name] = g
		}
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			jobs = append(jobs, l.shared(groups[name], m.now)...)
		}
		jobs = append(jobs, bookings...)
		if x.judged.IsZero() {
			l.shown.forget(func(thread string) bool { return x.subjects[thread] != nil })
		}
		x.judged = m.now
		return w.failed
	})
	return jobs, err
}

// shared splits what may share messages: few are told on their own, many in one
// message, whatever fits into one transaction. That message goes with the first of
// these: cut off behind it, the rest is found and told anew.
func (l *Loop) shared(g job, at time.Time) []job {
	spaced := g.rule == guard.RuleReclaimed
	if n := len(g.subjects); n == 1 || n <= few && !spaced {
		out := make([]job, n)
		for i, s := range g.subjects {
			out[i].subjects = []judged{s}
		}
		return out
	}
	var out []job
	for chunk := range slices.Chunk(g.subjects, most) {
		out = append(out, job{subjects: chunk, rule: g.rule, silent: len(out) > 0})
	}
	if len(out) > 1 {
		out[0].cover = l.merge(g.changes, at).told
	}
	return out
}

// watch reads facts in one View.
type watch struct {
	l      *Loop
	v      *store.View
	src    source
	m      moment
	scopes map[string][]guard.ScopeStatus // by account, once read
	anew   bool                           // ceilings are solved by the present rules, whatever the plan says
	strays map[string][]string            // keys of what nobody registered, by account, once read
	failed error                          // what kept spend from being added up
}

func newWatch(l *Loop, v *store.View, m moment) *watch {
	return &watch{l: l, v: v, src: fromView(v), m: m, scopes: map[string][]guard.ScopeStatus{}, strays: map[string][]string{}}
}

// facts gathers all facts about a subject, and its open findings.
func (w *watch) facts(s *subject, x *index) (policy.Facts, []guard.Finding, known, error) {
	k := known{leases: x.open[s.account]}
	var err error
	if s.lease != "" {
		if k.strays, err = w.straysOf(s.account); err != nil {
			return policy.Facts{}, nil, k, err
		}
		k.others = slices.Sorted(maps.Keys(x.awaited[s.account]))
	}
	if k.scopes, err = w.scopesOf(s.account); err != nil {
		return policy.Facts{}, nil, k, err
	}
	if k.ended, err = w.endedKin(s, x); err != nil {
		return policy.Facts{}, nil, k, err
	}
	if k.wallet, err = w.wallet(s); err != nil {
		return policy.Facts{}, nil, k, err
	}
	f, open, err := w.l.gather(w.src, w.m, s, k)
	if err != nil || !s.resource() {
		return f, open, k, err
	}
	p := w.purse(f, x.family[s.key])
	k.spend = p.sum
	f.Spend = k.spend
	if w.anew && f.Lease != nil && f.Lease.Status.Open() {
		f.Plan = w.l.ceilings(f, p.all())
	}
	return f, open, k, nil
}

// endedKin are the keys of what a live instance without an open lease may have been
// started in the place of.
func (w *watch) endedKin(s *subject, x *index) ([]string, error) {
	keys := x.goneKin(s)
	if len(keys) == 0 {
		return nil, nil
	}
	if lease, leased, err := w.v.LeaseOf(s.key); err != nil || leased && lease.Status.Open() {
		return nil, err
	}
	found, err := ended(w.src, keys)
	out := make([]string, len(found))
	for i, e := range found {
		out[i] = e.Observed.Resource.ID.Key()
	}
	return out, err
}

func (w *watch) scopesOf(account string) ([]guard.ScopeStatus, error) {
	if have, ok := w.scopes[account]; ok || account == "" {
		return have, nil
	}
	var out []guard.ScopeStatus
	for c, err := range w.v.Scopes.All(account + "/") {
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	w.scopes[account] = out
	return out, nil
}

// straysOf are the keys of the live instances of an account that nobody registered.
func (w *watch) straysOf(account string) ([]string, error) {
	if have, ok := w.strays[account]; ok {
		return have, nil
	}
	var out []string
	for o, err := range w.v.Observed.All(account + "/" + string(guard.Instance) + "/") {
		if err != nil {
			return nil, err
		}
		key := observedKey(o)
		lease, leased, err := w.v.LeaseOf(key)
		if err != nil {
			return nil, err
		}
		if stray(o, lease, leased) {
			out = append(out, key)
		}
	}
	w.strays[account] = out
	return out, nil
}

// apply writes the jobs. Each is judged again inside its transaction, on what is
// there then: somebody may have extended a lease meanwhile.
func (l *Loop) apply(ctx context.Context, jobs []job, m moment) error {
	if len(jobs) == 0 {
		return nil
	}
	kicks := map[string]bool{}
	edited := make([][]guard.Message, len(jobs))
	err := l.Ledger.UpdateEach(ctx, len(jobs), func(tx *store.Tx, i int) error {
		edited[i] = nil
		var shared []change
		for _, s := range jobs[i].subjects {
			f, open, err := l.gather(fromTx(tx), m, s.subject, s.known)
			if err != nil {
				return err
			}
			judge := func(f policy.Facts) change {
				out := policy.Evaluate(l.Rules, f)
				if jobs[i].booking {
					return l.booked(f, out.Booking, open)
				}
				return l.change(f, open, out)
			}
			c := judge(f)
			l.word(f, open, &c, judge)
			if c.lease != nil {
				kicks["meter"], kicks["observe/"+s.account] = true, true
			}
			if len(c.told) > 0 {
				kicks["notify"] = true
			}
			if c.release != nil {
				kicks["release/"+s.account] = true
			}
			if rule, ok := c.grouped(); ok && rule == jobs[i].rule {
				shared = append(shared, c)
				continue
			}
			if err := l.write(tx, c); err != nil {
				return err
			}
			for _, m := range l.edits(s.subject, m.now, func() present { return l.after(f, open, c) }) {
				kicks["notify"] = true
				edited[i] = append(edited[i], m)
				if err := tx.Queue(m); err != nil {
					return err
				}
			}
		}
		if len(shared) == 0 {
			return nil
		}
		all := l.merge(shared, m.now)
		if jobs[i].cover != nil || jobs[i].silent {
			all.told = jobs[i].cover
		}
		return l.write(tx, all)
	})
	if err == nil {
		for _, e := range slices.Concat(edited...) {
			l.shown.set(e.Thread, e.Channel, shows(e))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kicks)) {
		l.Kick(name)
	}
	return err
}

// merge makes one change of several that open findings of one kind: one message
// and one journal entry for all of them.
func (l *Loop) merge(cs []change, at time.Time) change {
	var out change
	for _, c := range cs {
		out.put = append(out.put, c.put...)
	}
	if len(cs) == 1 {
		return cs[0]
	}
	waits := !slices.ContainsFunc(cs, func(c change) bool { return !c.told[0].message.Waits })
	in := func(lang guard.Lang) guard.Message {
		m := policy.Grouped(out.put, at, lang)
		m.Waits = waits && !m.Urgent
		return m
	}
	m := in(guard.English)
	t := told{cause: out.put[0].ID, stage: since(fmt.Sprintf("with %d more", len(cs)-1), at), message: m, others: map[guard.Lang]guard.Message{}}
	for _, lang := range l.others() {
		t.others[lang] = in(lang)
	}
	out.told = []told{t}
	verb := "found"
	if !out.put[0].Opened.Equal(at) {
		verb = "told"
	}
	out.entries = []guard.JournalEntry{{At: at, Who: "guard", Verb: verb, Subject: out.put[0].Resource.Account,
		Text: m.Title, Data: map[string]string{"rule": string(m.Rule), "count": fmt.Sprint(len(cs))}}}
	return out
}
