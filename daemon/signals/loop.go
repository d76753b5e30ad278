package signals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
	"guard/providers"
	"guard/store"
)

const (
	// patience bounds one question to a source.
	patience = 60 * time.Second
	// backfill is how far back the first question goes, and farthest any: who begins to
	// watch an idle box should not have to wait another hour, and who was away for a
	// week need not know all of it.
	backfill = 3 * time.Hour
	farthest = 24 * time.Hour
	// late is how long after its time a sample may come of what a source has told
	// already. Where nothing that it tells can be believed, no more is read again.
	late = 30 * time.Minute
)

// Source is one that tells of the instances of several accounts.
type Source struct {
	Name string
	providers.SignalSource
	// Accounts are those that it is asked about; empty: all.
	Accounts []string
}

// Loop asks one source about the instances of one account. Each source has a loop of its
// own, so that one that does not answer holds up no other.
type Loop struct {
	book    *Book
	account *providers.Account
	source  Source
	own     bool
	had     int // how many instances there were last time
}

// New makes the loop of an account's own source, which also keeps watch over what all
// others tell of the account.
func New(b *Book, a *providers.Account) *Loop {
	return &Loop{book: b, account: a, source: Source{Name: a.Kind, SignalSource: a.Signals}, own: true}
}

// NewOf makes the loop of a further source of an account.
func NewOf(b *Book, a *providers.Account, s Source) *Loop {
	return &Loop{book: b, account: a, source: s}
}

// Name is "signals/ACCOUNT", or "signals/ACCOUNT/SOURCE".
func (l *Loop) Name() string {
	if l.own {
		return "signals/" + l.account.Name
	}
	return "signals/" + l.account.Name + "/" + l.source.Name
}

// Once asks for what is new since the last time and takes it in. It returns an error
// where the source tells nothing at all; of single instances the book keeps why.
func (l *Loop) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	next := at.Add(l.account.Poll)
	if l.account.PollAt != nil {
		next = at.Reach(l.account.PollAt(at.Wall))
	}
	l.book.start(at)
	here, err := l.instances(ctx)
	if err != nil {
		return next, fmt.Errorf("read the instances of %s: %w", l.account.Name, err)
	}
	err = l.ask(ctx, at, here)
	if wait, ok := guard.RetryAfter(err); ok && next.Before(at.Add(wait)) {
		next = at.Add(wait)
	}
	if l.own {
		l.book.look(ctx, at, l.account, here)
	}
	return next, err
}

// instances are those of the account that live.
func (l *Loop) instances(ctx context.Context) (here []guard.Resource, err error) {
	err = l.book.Ledger.View(ctx, func(v *store.View) error {
		here = make([]guard.Resource, 0, l.had)
		for o, err := range v.Observed.All(l.account.Name + "/" + string(guard.Instance) + "/") {
			if err != nil {
				return err
			}
			if o.Live() {
				here = append(here, o.Resource)
			}
		}
		l.had = len(here)
		return nil
	})
	return here, err
}

// ask asks the source about every instance that runs, but for those that a finer source
// tells of.
func (l *Loop) ask(ctx context.Context, at guard.Instant, here []guard.Resource) error {
	if l.source.SignalSource == nil {
		return nil
	}
	q := providers.SignalQuery{Of: make([]providers.SignalsOf, 0, len(here))}
	for _, r := range here {
		if !boxOf(r).Running {
			continue
		}
		if since, ok := l.wants(r, at); ok {
			q.Of = append(q.Of, providers.SignalsOf{Resource: r, Since: since})
		}
	}
	if len(q.Of) == 0 {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	answers := l.source.Signals(asking, q)
	cancel()
	if len(answers) != len(q.Of) {
		return fmt.Errorf("%w: %s was asked of %d instances and told of %d", guard.ErrBadReply, l.source.Name, len(q.Of), len(answers))
	}
	each := make([]told, len(answers))
	var first error
	failed := 0
	for i, a := range answers {
		asked := a.Err == nil
		if errors.Is(a.Err, guard.ErrUnsupported) || errors.Is(a.Err, guard.ErrNotFound) {
			a.Err = nil // it is none of those that tell, or knows of no such instance
		}
		if a.Err != nil {
			if failed++; first == nil {
				first = a.Err
			}
		}
		r := q.Of[i].Resource
		each[i] = told{id: r.ID, box: boxOf(r), source: l.source.Name, samples: a.Samples, err: a.Err,
			asked: asked, paysIn: r.Egress.InPerGB.IsPositive()}
	}
	if _, err := l.book.take(ctx, at, each); err != nil {
		return fmt.Errorf("keep the signals of %s: %w", l.account.Name, err)
	}
	if failed < len(answers) {
		first = nil
	}
	if l.book.answered(l, at.Wall, first); first == nil {
		return nil
	}
	return fmt.Errorf("signals of %s from %s: %w", l.account.Name, l.source.Name, first)
}

// wants tells since when samples of an instance are wanted; false where a finer source
// tells of it.
func (l *Loop) wants(r guard.Resource, at guard.Instant) (since time.Time, ok bool) {
	b := l.book
	e := b.entry(r.ID.Key())
	h, heard := e.Heard[l.source.Name]
	b.mu.RLock()
	began := b.began
	b.mu.RUnlock()
	if !heard && l.own {
		h.Rank = rank("")
	}
	// How fine a further source is, its first samples tell.
	if (heard || l.own) && !e.judges(l.source.Name, h.Rank, true, at.Wall, began) {
		return since, false
	}
	since = at.Wall.Add(-backfill)
	if since.Before(r.Created) {
		since = r.Created
	}
	if heard && h.At.After(at.Wall.Add(-farthest)) {
		since = h.At
	}
	if known := e.answered[l.source.Name].Add(-late); known.After(since) {
		since = known
	}
	return since.UTC(), true
}
