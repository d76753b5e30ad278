package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"guard"
)

// Check reads the whole ledger and returns everything in it that cannot be true,
// joined; each is guard.ErrDamaged. Tests call it at their end, like this:
//
//	t.Cleanup(func() { if err := l.Check(context.Background()); err != nil { t.Error(err) } })
//
// It proves that every record can be read; that the index of leases and the
// leases agree; that an open release has a target the ledger has seen or holds a
// lease of; that nothing is both open and in an archive; that the journal has no
// gap behind what was pruned; and that what is kept in memory is what the backend has.
func (l *Ledger) Check(ctx context.Context) error {
	c := &checker{}
	err := l.view(ctx, nil, func(v *View) error {
		c.v = v
		c.records()
		c.leases()
		c.findings()
		c.releases()
		c.messages()
		c.journal()
		return nil
	})
	return errors.Join(append(c.errs, err, l.checkMirror(ctx))...)
}

// checkMirror compares what is in memory with the backend. An update between the
// two looks may make a difference once, not for ever.
func (l *Ledger) checkMirror(ctx context.Context) error {
	var wrong []error
	for range 3 {
		wrong = nil
		i := l.pub.now()
		err := l.b.View(ctx, func(r Reader) error {
			for name, m := range i.tables {
				keys := m.keys("")
				if err := r.Scan(name, "", "", func(key string, _ []byte) bool {
					keys = append(keys, key)
					return true
				}); err != nil {
					return err
				}
				slices.Sort(keys)
				for _, key := range slices.Compact(keys) {
					value, err := r.Get(name, key)
					if err != nil {
						return err
					}
					if text, ok := m.differs(key, value); ok {
						wrong = append(wrong, fmt.Errorf("%w: record %q in the ledger's table %s %s", guard.ErrDamaged, key, name, text))
					}
				}
			}
			return nil
		})
		if err != nil || len(wrong) == 0 {
			return err
		}
	}
	return errors.Join(wrong...)
}

type checker struct {
	v    *View
	errs []error
}

func (c *checker) wrong(text string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%w: the ledger: %s", guard.ErrDamaged, fmt.Sprintf(text, args...)))
}

// each calls fn for every record that can be read and keeps the errors of the
// others.
func each[T any](c *checker, rows iter.Seq2[T, error], fn func(T)) {
	for r, err := range rows {
		if err != nil {
			c.errs = append(c.errs, err)
			continue
		}
		fn(r)
	}
}

// has tells whether a record is there; an unreadable one is reported by the pass
// over its table.
func has[T any](t Table[T], key string) bool {
	_, ok, err := t.Get(key)
	return ok || err != nil
}

func drop[T any](T) {}

// records reads the tables that no other pass reads.
func (c *checker) records() {
	each(c, c.v.Observed.All(""), drop)
	each(c, c.v.Metered.All(""), drop)
	each(c, c.v.Plans.All(""), drop)
	each(c, c.v.Scopes.All(""), drop)
	each(c, c.v.Accounts.All(""), drop)
	each(c, c.v.Mutes.All(""), drop)
	each(c, c.v.Tokens.All(""), drop)
	each(c, c.v.Egress.All(""), drop)
}

func (c *checker) leases() {
	indexed := map[string]bool{}
	each(c, leaseIndex.all(c.v.s, "", ""), func(refs leaseRefs) {
		if len(refs.Leases) == 0 {
			c.wrong("the index of %s is empty", refs.Resource)
		}
		for _, ref := range refs.Leases {
			l, ok, err := c.v.Leases.Get(ref.ID)
			switch {
			case err != nil: // reported below
			case !ok:
				c.wrong("the index of %s names lease %s, which is not there", refs.Resource, ref.ID)
			case resourceKey(l.Resource) != refs.Resource || !refOf(l).same(ref):
				c.wrong("the index of %s is not what lease %s says", refs.Resource, ref.ID)
			}
			indexed[ref.ID] = true
		}
	})
	each(c, c.v.Leases.All(""), func(l guard.Lease) {
		if resourceKey(l.Resource) != "" && !indexed[l.ID] {
			c.wrong("lease %s is missing from the index of %s", l.ID, l.Resource)
		}
	})
}

func (c *checker) findings() {
	each(c, c.v.Findings.All(""), func(f guard.Finding) {
		if !f.Closed.IsZero() {
			c.wrong("finding %q is among the open ones and closed", f.ID)
		}
		if has(c.v.ClosedFindings, f.ID) {
			c.wrong("finding %q is open and in the archive", f.ID)
		}
	})
	each(c, c.v.ClosedFindings.All(""), func(f guard.Finding) {
		if f.Closed.IsZero() {
			c.wrong("finding %q is in the archive and not closed", f.ID)
		}
	})
}

func (c *checker) releases() {
	each(c, c.v.Releases.All(""), func(r guard.Release) {
		if !r.State.Open() {
			c.wrong("release %q is among the open ones and %s", r.ID, r.State)
		}
		if has(c.v.EndedReleases, r.ID) {
			c.wrong("release %q is open and in the archive", r.ID)
		}
		if !has(c.v.Observed, r.Target.Key()) && !has(c.v.Leases, r.Lease) {
			c.wrong("release %q is of %s, which the ledger has neither seen nor a lease of", r.ID, r.Target)
		}
	})
	each(c, c.v.EndedReleases.All(""), func(r guard.Release) {
		if r.State.Open() {
			c.wrong("release %q is in the archive and %s", r.ID, r.State)
		}
	})
}

func (c *checker) messages() {
	each(c, c.v.Outbox.All(""), func(m guard.Message) {
		if has(c.v.SentMessages, m.ID) {
			c.wrong("message %q is pending and sent", m.ID)
		}
	})
	each(c, c.v.SentMessages.All(""), drop)
}

func (c *checker) journal() {
	first, err := readFirst(c.v.s)
	if err != nil {
		c.errs = append(c.errs, err)
		return
	}
	last, lines := first-1, 0
	each(c, journal.all(c.v.s, "", ""), func(e guard.JournalEntry) {
		if e.Seq != last+1 {
			c.wrong("the journal goes from entry %d to %d", last, e.Seq)
		}
		last = e.Seq
		for _, s := range indexedBy(e) {
			lines++
			if b, err := c.v.s.Get(journalIndex, indexKey(s, e.Seq)); err != nil || b == nil {
				c.wrong("journal entry %d is missing from the index of %q", e.Seq, s)
			}
		}
	})
	head, err := readSeq(c.v.s, journalHead)
	if err != nil {
		c.errs = append(c.errs, err)
	} else if head != last {
		c.wrong("the journal ends at entry %d and its counter says %d", last, head)
	}
	index := 0
	if err := c.v.s.Scan(journalIndex, "", "", func(string, []byte) bool { index++; return true }); err != nil {
		c.errs = append(c.errs, err)
	}
	if index != lines {
		c.wrong("the journal's index has %d lines for %d", index, lines)
	}
}
