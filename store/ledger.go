package store

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"guard"
)

// Ledger is what guard knows: typed records over a [Backend]. Its methods may be
// called from several goroutines. A record that it returns is the caller's own.
//
// The tables of what is open and known now are kept in memory as well, packed: a
// View reads them from there, and so does an Update what none before it that is
// still on its way to the disk has written. So a backend belongs to one Ledger at a time.
type Ledger struct {
	b        Backend
	meta     meta
	upgraded Upgrade
	pub      *publisher
}

// Open makes a Ledger of a backend. An empty backend gets the present schema and
// a random deployment ID; an older schema is upgraded step by step, where the
// backend is a [Keeper] after a copy is kept; a newer one is refused
// (guard.ErrRefused), and records without a schema are guard.ErrDamaged. The backend stays the caller's to close where Open fails;
// afterwards [Ledger.Close] closes it.
func Open(ctx context.Context, b Backend, at guard.Instant) (*Ledger, error) {
	return open(ctx, b, at, upgrades)
}

func open(ctx context.Context, b Backend, at guard.Instant, steps []upgrade) (*Ledger, error) {
	m, done, err := prepare(ctx, b, at, steps)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	i, err := load(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &Ledger{b: b, meta: m, upgraded: done, pub: newPublisher(i)}, nil
}

// Deployment is the ledger's random ID, made once: the value of the tag
// guard:deployment on everything this ledger acts on.
func (l *Ledger) Deployment() string { return l.meta.Deployment }

// Upgraded is what Open did to a ledger of an earlier schema, and whether it was one.
func (l *Ledger) Upgraded() (Upgrade, bool) { return l.upgraded, l.upgraded.From < l.upgraded.To }

// Update runs fn and makes all its writes durable together before it returns, or
// none of them where fn returns an error, which comes back as it is.
//
// fn may run more than once: it has no side effects but through tx, and it reads
// again inside tx whatever it decides on. It calls neither Update nor View. At
// most MaxWrites keys fit; a record is one key, and beyond that Leases.Put costs
// one more, moving to an archive one more, a journal entry up to three and the
// first entry of an update one more. Use UpdateEach for more.
func (l *Ledger) Update(ctx context.Context, fn func(tx *Tx) error) error {
	var turn uint64
	var kept map[place]string // what to publish; nil until it is durable
	defer func() { l.pub.publish(turn, kept) }()
	var writes map[place]string
	err := l.b.Update(ctx, func(w Writer) error {
		// One that fails takes its turn, too: whoever looks again must see what it
		// was decided on.
		turn, writes = l.pub.draw(turn), nil
		tx := newTx(w, l.pub)
		defer tx.o.end()
		if err := fn(tx); err != nil {
			return err
		}
		if err := tx.o.flush(); err != nil {
			return err
		}
		writes = tx.o.mirrored(l.pub.now())
		l.pub.written(turn, writes)
		return nil
	})
	if err == nil {
		kept = writes
	}
	return err
}

// UpdateEach runs fn for 0 to n-1, in order, in as few updates as hold them. What
// fn writes for one i is always in one update; what it wrote for smaller ones is
// durable when an error or the end of ctx stops it. fn is as in Update.
func (l *Ledger) UpdateEach(ctx context.Context, n int, fn func(tx *Tx, i int) error) error {
	for i := 0; i < n; {
		next, failed := i, false
		err := l.Update(ctx, func(tx *Tx) error {
			next, failed = i, false
			for ; next < n; next++ {
				tx.o.mark()
				if err := fn(tx, next); err != nil {
					failed = true
					return err
				}
				if len(tx.o.writes) <= MaxWrites {
					continue
				}
				if next == i {
					return ErrTooManyWrites
				}
				tx.o.rollback()
				return nil
			}
			return nil
		})
		if failed && next > i {
			// One failed; those before it in the same update still count.
			err = cmp.Or(l.UpdateEach(ctx, next-i, func(tx *Tx, j int) error { return fn(tx, i+j) }), err)
		}
		if err != nil {
			return err
		}
		i = next
	}
	return nil
}

// View runs fn on a consistent snapshot. Keep fn short and free of other I/O: a
// view that stays open holds up writers in some backends. It calls neither
// Update nor View.
//
// The archives and the journal may be ahead of the open tables by an update that
// has just become durable: what it moved may stand in both, never in neither.
func (l *Ledger) View(ctx context.Context, fn func(v *View) error) error {
	return l.view(ctx, l.pub.now(), fn)
}

// view reads the mirrored tables from an image, or, without one, as the others
// from the backend.
func (l *Ledger) view(ctx context.Context, i *image, fn func(v *View) error) error {
	return l.b.View(ctx, func(r Reader) error {
		v := newView(r, i)
		defer v.s.end()
		return fn(v)
	})
}

// Backup writes a consistent copy of the ledger while work goes on. To make a
// file of it, use the backend's own function, which proves the copy as well.
func (l *Ledger) Backup(ctx context.Context, w io.Writer) error { return l.b.Backup(ctx, w) }

// Close waits for what is going on and closes the backend.
func (l *Ledger) Close() error { return l.b.Close() }
