package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers"
	"guard/store"
)

// errMoved says that somebody else changed what a decision rests on.
var errMoved = errors.New("changed meanwhile")

// scene is what one order about one resource rests on, all read at one moment.
type scene struct {
	at       guard.Instant
	who      string
	acct     *providers.Account // nil where the account is not configured any more
	book     *book
	lead     time.Duration
	observed guard.Observed
	inLedger bool         // false: only the fresh read knows of the resource
	expected bool         // its instance has not been seen: there is a lease and nothing else
	lease    *guard.Lease // the one that counts, open or ended; nil: none
	release  *guard.Release
}

// edit is what an order writes, all in one transaction.
type edit struct {
	lease    *guard.Lease
	observed *guard.Observed
	entry    guard.JournalEntry
	// more writes what else belongs to it; nil: nothing.
	more func(tx *store.Tx) error
}

// empty reports an edit that leaves everything as it is.
func (e edit) empty() bool { return e.entry.Verb == "" && e.more == nil }

// open returns the open lease, or says what there is instead.
func (c *scene) open(verb string) (guard.Lease, error) {
	id := c.subject()
	switch l := c.lease; {
	case l == nil:
		return guard.Lease{}, faultf(guard.ErrConflict, "cannot %s %s: nobody has registered it", verb, id).
			hinted("Register it first: guard register %s --purpose … --ttl …", id)
	case !l.Status.Open() && c.expected:
		return guard.Lease{}, faultf(guard.ErrConflict, "cannot %s %s: it was expected, and that has ended", verb, id)
	case !l.Status.Open():
		return guard.Lease{}, faultf(guard.ErrConflict, "cannot %s %s: its lease has ended (%s)", verb, id, l.Status).
			hinted("If it runs again, register it: guard register %s --purpose … --ttl …", id)
	}
	return *c.lease, nil
}

// subject is what people call it: ACCOUNT/ID, of what is expected the lease's.
func (c *scene) subject() string {
	if c.expected && c.lease != nil {
		return nameOf(*c.lease)
	}
	return c.observed.Resource.ID.String()
}

// nameOf is what people call that which a lease is on.
func nameOf(l guard.Lease) string {
	if l.Resource.IsZero() {
		return l.Resource.Account + "/" + l.ID
	}
	return l.Resource.String()
}

// inTime refuses what comes too late: the provider has been told already.
func (c *scene) inTime(verb string) error {
	if r := c.release; r != nil && (r.State == guard.ReleaseIntended || r.State == guard.ReleaseIssued) {
		return faultf(guard.ErrConflict, "too late to %s %s: guard is releasing it since %s (%s)", verb, r.Target,
			r.IntendedAt.Format(time.RFC3339), r.Why).hinted("guard show %s tells how far it is.", r.Target)
	}
	return nil
}

// look gathers the scene of a resource of the ledger.
func (s *server) look(v *store.View, at guard.Instant, who, account, id string) (*scene, error) {
	b, err := read(v, account)
	if err != nil {
		return nil, err
	}
	c := s.place(b, at, who, account, id)
	if c.acct != nil {
		c.lead, err = lead(v, c.acct)
	}
	return c, err
}

// place is the scene of a resource in a book. Its lead is not known.
func (s *server) place(b *book, at guard.Instant, who, account, id string) *scene {
	c := &scene{at: at, who: who, book: b}
	if a, ok := s.Account(account); ok {
		c.acct = a
	}
	if o, ok := b.find(account, id); ok {
		c.observed, c.inLedger = o, true
		c.attach()
	} else if l, ok := b.awaits(account, id); ok {
		c.lease, c.expected = &l, true
	}
	return c
}

// scene is look in a view of its own.
func (s *server) scene(ctx context.Context, at guard.Instant, account, id string) (*scene, error) {
	var c *scene
	err := s.Ledger.View(ctx, func(v *store.View) (err error) {
		c, err = s.look(v, at, caller(ctx), account, id)
		return err
	})
	return c, err
}

// attach finds what hangs on the scene's resource.
func (c *scene) attach() {
	key := c.observed.Resource.ID.Key()
	c.lease, c.release = nil, nil
	if l, ok := c.book.leases[key]; ok {
		c.lease = &l
	}
	if r, ok := c.book.releases[key]; ok {
		c.release = &r
	}
}

// write makes an edit durable if what it rests on still stands.
func (s *server) write(ctx context.Context, c *scene, e edit) error {
	return s.Ledger.Update(ctx, func(tx *store.Tx) error { return s.put(ctx, tx, c, e) })
}

// put is write in an update that is open.
func (s *server) put(ctx context.Context, tx *store.Tx, c *scene, e edit) error {
	if err := c.stands(tx, e); err != nil {
		return err
	}
	if err := s.once(ctx, tx, c.at); err != nil {
		return err
	}
	if e.observed != nil {
		if err := tx.Observed.Put(*e.observed); err != nil {
			return err
		}
	}
	if e.lease != nil {
		if err := tx.Leases.Put(*e.lease); err != nil {
			return err
		}
	}
	if e.more != nil {
		if err := e.more(tx); err != nil {
			return err
		}
	}
	if e.entry.Verb == "" {
		return nil
	}
	return tx.Journal(signed(ctx, e.entry))
}

// stands reads again what the decision rests on.
func (c *scene) stands(tx *store.Tx, e edit) error {
	if c.expected {
		now := e.lease
		if now == nil {
			now = c.lease
		}
		l, ok, err := tx.Leases.Get(now.ID)
		if err == nil && moved(c.lease, l, ok) {
			err = errMoved
		}
		return err
	}
	key := c.observed.Resource.ID.Key()
	l, ok, err := tx.LeaseOf(key)
	if err != nil {
		return err
	}
	if moved(c.lease, l, ok) {
		return errMoved
	}
	r, ok, err := tx.Releases.Get(key)
	if err != nil {
		return err
	}
	if moved(c.release, r, ok) {
		return errMoved
	}
	o, ok, err := tx.Observed.Get(key)
	if err != nil {
		return err
	}
	if ok != c.inLedger || ok && o.Live() != c.book.observed[key].Live() {
		return errMoved
	}
	return nil
}

func moved[T any](seen *T, now T, ok bool) bool {
	return ok != (seen != nil) || ok && !reflect.DeepEqual(*seen, now)
}

// decide runs one order: it looks, lets judge decide, and writes; where the
// ledger moved in between it starts again.
func (s *server) decide(ctx context.Context, at guard.Instant, account, id string, judge func(*scene) (edit, error)) (*scene, edit, error) {
	for range 5 {
		c, err := s.scene(ctx, at, account, id)
		if err != nil {
			return nil, edit{}, err
		}
		e, err := judge(c)
		if err != nil || e.empty() {
			return c, e, err
		}
		if err = s.write(ctx, c, e); !errors.Is(err, errMoved) {
			return c, e, err
		}
	}
	return nil, edit{}, fmt.Errorf("%w: %s/%s changes faster than this order can be carried out; try again", guard.ErrConflict, account, id)
}

// entry is a line of the journal about a scene's resource.
func (c *scene) entry(verb, text string, changes []wire.Change) guard.JournalEntry {
	e := guard.JournalEntry{At: c.at.Wall, Who: c.who, Verb: verb, Subject: c.subject(), Text: text}
	if c.lease != nil {
		e.Lease = c.lease.ID
	}
	if len(changes) > 0 {
		e.Data = map[string]string{}
		for _, x := range changes {
			e.Data[x.Field] = orNone(x.From) + " → " + orNone(x.To)
		}
	}
	return e
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
