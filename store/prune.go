package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
)

// PruneOptions are of [Ledger.Prune].
type PruneOptions struct {
	// At is now, and Keep how long what is over is kept. Spend of a month is read from
	// what Prune removes: keep more than the months that are still asked for.
	At   guard.Instant
	Keep time.Duration
}

// Pruned counts what Prune has removed.
type Pruned struct {
	Leases    int // ended ones, with their plans
	Resources int // gone ones, with what was metered of them and their threads
	Findings  int // closed ones
	Releases  int // ended ones
	Messages  int // sent ones
	Mutes     int // over
	Tokens    int // revoked or expired
	Entries   int // of the journal
}

// All is how many records that is.
func (p Pruned) All() int {
	return p.Leases + p.Resources + p.Findings + p.Releases + p.Messages + p.Mutes + p.Tokens + p.Entries
}

// releasesKept is how many of each account's finished releases are kept whatever
// their age: how long they took is what the next ones' deadlines rest on.
const releasesKept = 100

// chunk is how many rows of an archive are looked at in one view.
const chunk = 1000

// Prune removes what has been over for longer than opt.Keep, and never what is open
// or what that rests on:
//
//   - an ended lease goes when no resource that stays, no open release and no open
//     finding refers to it;
//   - a gone resource goes when no lease counts it, and nothing that stays hung on it;
//   - a sent message goes when the finding and the release that it is about are
//     over: what it says would be said again otherwise;
//   - the last hundred finished releases of each account stay.
//
// It works in small updates, each of which decides afresh and leaves a true ledger:
// cut off anywhere, the next one goes on. A record that cannot be read stays, and
// is told at the end.
func (l *Ledger) Prune(ctx context.Context, opt PruneOptions) (Pruned, error) {
	if opt.Keep <= 0 {
		return Pruned{}, fmt.Errorf("%w: prune the ledger: how long is what is over to be kept?", guard.ErrInvalid)
	}
	p := &pruner{l: l, ctx: ctx, before: opt.At.Wall.Add(-opt.Keep)}
	for _, step := range []func() error{p.leases, p.resources, p.findings, p.releases, p.messages, p.mutes, p.tokens, p.journal} {
		if err := step(); err != nil {
			return p.done, fmt.Errorf("prune the ledger: %w", errors.Join(append(p.errs, err)...))
		}
	}
	if err := errors.Join(p.errs...); err != nil {
		return p.done, fmt.Errorf("prune the ledger: %w", err)
	}
	return p.done, nil
}

type pruner struct {
	l      *Ledger
	ctx    context.Context
	before time.Time // what was over earlier may go
	done   Pruned
	errs   []error // of records that cannot be read
}

// old reports whether something was over long ago; one that does not say when
// stays.
func (p *pruner) old(over time.Time) bool { return !over.IsZero() && over.Before(p.before) }

// each removes what keys name, some of them in each update. remove looks again, and
// reports whether it was removed.
func (p *pruner) each(keys []string, count *int, remove func(tx *Tx, key string) (bool, error)) error {
	gone := make([]bool, len(keys)) // an update may run more than once
	err := p.l.UpdateEach(p.ctx, len(keys), func(tx *Tx, i int) (err error) {
		gone[i], err = remove(tx, keys[i])
		return err
	})
	if err != nil {
		return err
	}
	for _, g := range gone {
		if g {
			*count++
		}
	}
	return nil
}

// rows calls fn for every record of an open table that can be read.
func rows[T any](p *pruner, t Table[T], fn func(T)) {
	for r, err := range t.All("") {
		if err != nil {
			p.errs = append(p.errs, err)
			continue
		}
		fn(r)
	}
}

// pick returns the keys of an archive's records for which fn is true, chunk by
// chunk, so that no view is long.
func pick[T any](p *pruner, t table[T], fn func(T) bool) ([]string, error) {
	var picked []string
	for after, more := "", true; more; {
		err := p.l.View(p.ctx, func(v *View) error {
			n := 0
			err := v.s.Scan(t.name, "", after, func(key string, b []byte) bool {
				after = key
				if r, err := t.decode(key, b); err != nil {
					p.errs = append(p.errs, err)
				} else if fn(r) {
					picked = append(picked, key)
				}
				n++
				return n < chunk
			})
			more = n == chunk
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return picked, nil
}

func (p *pruner) findings() error {
	closed, err := pick(p, closedFindings, func(f guard.Finding) bool { return p.old(f.Closed) })
	if err != nil {
		return err
	}
	return p.each(closed, &p.done.Findings, func(tx *Tx, id string) (bool, error) {
		return true, tx.o.delete(closedFindings.name, id)
	})
}

func (p *pruner) releases() error {
	took := map[string][]guard.Release{} // by account
	over := map[string]bool{}
	_, err := pick(p, endedReleases, func(r guard.Release) bool {
		over[r.ID] = p.old(r.EndedAt)
		if r.State == guard.ReleaseDone && r.Action == guard.ActRelease && r.Receipt != nil {
			took[r.Target.Account] = append(took[r.Target.Account], guard.Release{ID: r.ID, EndedAt: r.EndedAt})
		}
		return false
	})
	if err != nil {
		return err
	}
	for _, of := range took {
		slices.SortFunc(of, func(a, b guard.Release) int {
			return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(a.ID, b.ID))
		})
		for _, r := range of[:min(len(of), releasesKept)] {
			over[r.ID] = false
		}
	}
	return p.each(sorted(over), &p.done.Releases, func(tx *Tx, id string) (bool, error) {
		return true, tx.o.delete(endedReleases.name, id)
	})
}

// sorted are the names that are true.
func sorted(set map[string]bool) []string {
	var names []string
	for name, in := range set {
		if in {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p *pruner) messages() error {
	open := map[string]bool{}
	err := p.l.View(p.ctx, func(v *View) error {
		rows(p, v.Findings, func(f guard.Finding) { open[f.ID] = true })
		rows(p, v.Releases, func(r guard.Release) { open[r.ID] = true })
		return nil
	})
	if err != nil {
		return err
	}
	sent, err := pick(p, sentMessages, func(m guard.Message) bool {
		return p.old(later(m.Acked, m.CreatedAt)) && !tellsOf(m, open)
	})
	if err != nil {
		return err
	}
	return p.each(sent, &p.done.Messages, func(tx *Tx, id string) (bool, error) {
		return true, tx.o.delete(sentMessages.name, id)
	})
}

// tellsOf reports whether a message is about one of some findings and releases. Its
// ID, which is what keeps it from being said again, is made of the channel, that
// cause and a stage.
func tellsOf(m guard.Message, causes map[string]bool) bool {
	if causes[m.Finding] || causes[m.Release] {
		return true
	}
	_, cause, _ := strings.Cut(m.ID, "|")
	for i := strings.LastIndex(cause, "|"); i > 0; i = strings.LastIndex(cause, "|") {
		if cause = cause[:i]; causes[cause] {
			return true
		}
	}
	return false
}

func (p *pruner) mutes() error {
	return pruneOpen(p, func(v *View) Table[guard.Mute] { return v.Mutes }, func(tx *Tx) Rows[guard.Mute] { return tx.Mutes },
		&p.done.Mutes, func(m guard.Mute) bool { return p.old(m.Until) })
}

func (p *pruner) tokens() error {
	return pruneOpen(p, func(v *View) Table[guard.Token] { return v.Tokens }, func(tx *Tx) Rows[guard.Token] { return tx.Tokens },
		&p.done.Tokens, func(t guard.Token) bool { return p.old(t.RevokedAt) || p.old(t.ExpiresAt) })
}

// pruneOpen removes the records of an open table of which over is true.
func pruneOpen[T any](p *pruner, from func(*View) Table[T], in func(*Tx) Rows[T], count *int, over func(T) bool) error {
	var keys []string
	err := p.l.View(p.ctx, func(v *View) error {
		t := from(v)
		rows(p, t, func(r T) {
			if over(r) {
				keys = append(keys, t.t.key(r))
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	return p.each(keys, count, func(tx *Tx, key string) (bool, error) {
		r, ok, err := in(tx).Get(key)
		if err != nil || !ok || !over(r) {
			return false, err
		}
		return true, in(tx).Delete(key)
	})
}

// journal removes entries from the front, up to the first that stays: the history
// that is left has no gap.
func (p *pruner) journal() error {
	for {
		var old []string
		err := p.l.View(p.ctx, func(v *View) error {
			for e, err := range journal.all(v.s, "", "") {
				if err != nil {
					return err
				}
				if !p.old(e.At) || len(old) == chunk {
					break
				}
				old = append(old, seqKey(e.Seq))
			}
			return nil
		})
		if err != nil || len(old) == 0 {
			return err
		}
		if err := p.each(old, &p.done.Entries, (*Tx).forget); err != nil {
			return err
		}
	}
}
