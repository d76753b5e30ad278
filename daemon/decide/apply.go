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
	most = 40
)

// subject is one thing that is judged: a resource, an account or guard itself.
type subject struct {
	key     string // of the resource; "" for the others
	account string // "" for guard itself
	spend   policy.Spend
	scopes  []guard.ScopeStatus
}

// job is what is written in one transaction: one subject, or several that share
// a message.
type job struct {
	subjects []subject
	rule     guard.Rule // what they share; "" for one alone
}

// pending is what a run has to write, and when something changes by itself.
type pending struct {
	jobs []job
	next time.Time
}

// compare judges every subject and keeps those in which something is to be
// written.
func (l *Loop) compare(s *snapshot) pending {
	var p pending
	groups := map[string]job{}
	for _, sub := range s.subjects() {
		f, open, err := l.gather(s.source(), s.found(), s, sub)
		if err != nil {
			continue // a snapshot's maps do not fail
		}
		if sub.key != "" {
			f.Spend, f.Scopes = l.spent(s, f, sub.key), s.scopes[sub.account]
			sub.spend, sub.scopes = f.Spend, f.Scopes
		}
		out := policy.Evaluate(l.Rules, f)
		if !out.Next.IsZero() && (p.next.IsZero() || out.Next.Before(p.next)) {
			p.next = out.Next
		}
		c := l.change(f, open, out)
		if c.empty() {
			continue
		}
		if rule, ok := c.grouped(); ok {
			name := string(rule) + "|" + sub.account
			g := groups[name]
			g.rule, g.subjects = rule, append(g.subjects, sub)
			groups[name] = g
			continue
		}
		p.jobs = append(p.jobs, job{subjects: []subject{sub}})
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		if len(g.subjects) <= few {
			for _, sub := range g.subjects {
				p.jobs = append(p.jobs, job{subjects: []subject{sub}})
			}
			continue
		}
		for chunk := range slices.Chunk(g.subjects, most) {
			p.jobs = append(p.jobs, job{subjects: chunk, rule: g.rule})
		}
	}
	return p
}

// subjects is everything that is judged, in a fixed order.
func (s *snapshot) subjects() []subject {
	keys := map[string]string{}
	for key, o := range s.observed {
		keys[key] = o.Resource.ID.Account
	}
	for key, le := range s.leases {
		keys[key] = le.Resource.Account
	}
	var out []subject
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		out = append(out, subject{key: key, account: keys[key]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.accounts)) {
		out = append(out, subject{account: name})
	}
	return append(out, subject{})
}

// found gives the open findings of a subject.
type found func(subject string) ([]guard.Finding, error)

func (s *snapshot) found() found {
	return func(subject string) ([]guard.Finding, error) { return s.findings[subject], nil }
}

func foundIn(tx *store.Tx) found {
	return func(subject string) ([]guard.Finding, error) {
		var out []guard.Finding
		for _, rule := range append(policy.Names(), guard.RuleReleaseBlocked, guard.RuleReleaseStalled) {
			f, ok, err := tx.Findings.Get(guard.Finding{Rule: rule, Subject: subject}.Key())
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, f)
			}
		}
		return out, nil
	}
}

// gather reads one subject's facts and open findings.
func (l *Loop) gather(src source, open found, s *snapshot, sub subject) (policy.Facts, []guard.Finding, error) {
	var f policy.Facts
	var err error
	switch {
	case sub.key != "":
		f, err = l.facts(src, sub.key, sub.account, s.now)
		f.Spend, f.Scopes = sub.spend, sub.scopes
	case sub.account != "":
		f, err = l.account(src, s, sub.account)
	default:
		f = l.own(s)
	}
	if err != nil {
		return f, nil, err
	}
	fs, err := open(f.Subject())
	return f, fs, err
}

// apply writes the jobs. Each is judged again inside its transaction, on what is
// there then: somebody may have extended a lease meanwhile.
func (l *Loop) apply(ctx context.Context, s *snapshot, p pending) error {
	if len(p.jobs) == 0 {
		return nil
	}
	kicks := map[string]bool{}
	err := l.Ledger.UpdateEach(ctx, len(p.jobs), func(tx *store.Tx, i int) error {
		var shared []change
		for _, sub := range p.jobs[i].subjects {
			f, open, err := l.gather(fromTx(tx), foundIn(tx), s, sub)
			if err != nil {
				return err
			}
			c := l.change(f, open, policy.Evaluate(l.Rules, f))
			if len(c.told) > 0 {
				kicks["notify"] = true
			}
			if c.release != nil {
				kicks["release/"+sub.account] = true
			}
			if rule, ok := c.grouped(); ok && rule == p.jobs[i].rule {
				shared = append(shared, c)
				continue
			}
			if err := l.write(tx, c); err != nil {
				return err
			}
		}
		if len(shared) == 0 {
			return nil
		}
		return l.write(tx, l.merge(shared, s.now))
	})
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
	m := policy.Grouped(out.put, at)
	out.told = []told{{cause: out.put[0].ID, stage: fmt.Sprintf("with %d more", len(cs)-1), message: m}}
	out.entries = []guard.JournalEntry{{At: at, Who: "guard", Verb: "found", Subject: out.put[0].Resource.Account,
		Text: m.Title, Data: map[string]string{"rule": string(m.Rule), "count": fmt.Sprint(len(cs))}}}
	return out
}
