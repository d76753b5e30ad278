package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/store"
)

// errDead is what a crashed daemon's last calls are answered: nothing of them
// reaches the ledger, a cloud or a channel.
var errDead = errors.New("this daemon has crashed")

// tape is the ledger's backend of one life of the daemon. It tells the story what
// became durable, each transition of it, and lets nothing through after a crash.
type tape struct {
	store.Backend
	life *life
}

type write struct {
	table, key string
	value      []byte
}

// View implements store.Backend.
func (t *tape) View(ctx context.Context, fn func(store.Reader) error) error {
	if t.life.dead() {
		return errDead
	}
	return t.Backend.View(ctx, fn)
}

// Update implements store.Backend.
func (t *tape) Update(ctx context.Context, fn func(store.Writer) error) error {
	if t.life.dead() {
		return errDead
	}
	var writes []write
	// A crash may come between fn and the commit of another goroutine's update;
	// held together, what a dead daemon does cannot follow its death.
	t.life.commit.Lock()
	defer t.life.commit.Unlock()
	if t.life.dead() {
		return errDead
	}
	err := t.Backend.Update(ctx, func(w store.Writer) error {
		writes = writes[:0] // fn may run more than once
		return fn(&taped{w, &writes})
	})
	if err != nil {
		return err
	}
	// They became durable together: their order in the update says nothing.
	slices.SortStableFunc(writes, func(a, b write) int { return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.key, b.key)) })
	t.life.story.drain()
	for _, w := range writes {
		t.life.story.durable(t.life, w)
	}
	if t.life.dead() {
		return errDead
	}
	return nil
}

type taped struct {
	store.Writer
	writes *[]write
}

// Put implements store.Writer.
func (t *taped) Put(table, key string, value []byte) error {
	switch table {
	case "observed", "leases", "plans", "findings", "findings_closed", "releases", "releases_ended", "outbox", "outbox_sent", "egress":
		*t.writes = append(*t.writes, write{table, key, append([]byte{}, value...)})
	}
	return t.Writer.Put(table, key, value)
}

// versions is what one record was, from when on.
type versions[T any] []version[T]

type version[T any] struct {
	at time.Duration
	v  T
}

// last is the record as it was at a moment; false where there was none.
func (vs versions[T]) last(at time.Duration) (T, bool) {
	var out T
	found := false
	for _, v := range vs {
		if v.at > at {
			break
		}
		out, found = v.v, true
	}
	return out, found
}

// ledgerBook is what the ledger said over time.
type ledgerBook struct {
	leases   map[string]versions[guard.Lease]    // by resource, ACCOUNT/ID
	plans    map[string]versions[guard.Plan]     // by lease
	releases map[string]versions[guard.Release]  // by target, ACCOUNT/ID
	egress   map[string]versions[sent]           // by ACCOUNT/ID
	gone     map[string]versions[guard.Observed] // by ACCOUNT/ID: when it was found gone
	seen     map[string]string                   // by key: what was last said of it
	opened   map[string]bool                     // findings told, by ID
	subject  map[string]string                   // of a finding, by ID
	queued   map[string]bool
}

// sent is what stories ask of a guard.Egress, which is written at every poll.
type sent struct {
	Resource guard.ResourceID `json:"resource"`
	Sent     uint64           `json:"sent"`
	At       time.Time        `json:"at"`
}

func newLedgerBook() ledgerBook {
	return ledgerBook{leases: map[string]versions[guard.Lease]{}, plans: map[string]versions[guard.Plan]{},
		releases: map[string]versions[guard.Release]{}, gone: map[string]versions[guard.Observed]{}, egress: map[string]versions[sent]{},
		seen: map[string]string{}, opened: map[string]bool{}, subject: map[string]string{}, queued: map[string]bool{}}
}

// durable is told of each record once it is. It runs under the life's commit lock.
func (r *runner) durable(l *life, w write) {
	at := r.offset()
	switch w.table {
	case "observed":
		if o, ok := record[guard.Observed](r, w); ok {
			r.sawObserved(at, o)
		}
	case "leases":
		if x, ok := record[guard.Lease](r, w); ok {
			r.sawLease(at, x)
		}
	case "plans":
		if p, ok := record[guard.Plan](r, w); ok {
			r.ledger.plans[p.Lease] = append(r.ledger.plans[p.Lease], version[guard.Plan]{at, p})
		}
	case "egress":
		if x, ok := record[sent](r, w); ok {
			id := x.Resource.String()
			r.ledger.egress[id] = append(r.ledger.egress[id], version[sent]{at, x})
		}
	case "findings", "findings_closed":
		if f, ok := record[guard.Finding](r, w); ok {
			r.sawFinding(at, f)
		}
	case "releases", "releases_ended":
		if x, ok := record[guard.Release](r, w); ok {
			r.sawRelease(at, l, x)
		}
	case "outbox":
		if m, ok := record[guard.Message](r, w); ok && !m.Edit && !r.ledger.queued[m.ID] {
			r.ledger.queued[m.ID] = true
			r.book.add(at, messageEvent(evMessageQueued, m))
		}
	}
}

func record[T any](r *runner, w write) (T, bool) {
	var v T
	if err := json.Unmarshal(w.value, &v); err != nil {
		r.fail(0, "the ledger's table %s holds a record that cannot be read: %v", w.table, err)
		return v, false
	}
	return v, true
}

func (r *runner) sawObserved(at time.Duration, o guard.Observed) {
	id := o.Resource.ID
	state := string(o.Resource.State)
	if o.Gone != nil {
		state = "gone"
	}
	said := state + "|" + o.Resource.Rate.String()
	if r.ledger.seen[id.Key()] == said {
		return
	}
	r.ledger.seen[id.Key()] = said
	e := Event{Event: evObserved, Account: id.Account, ID: id.String(), Kind: string(id.Kind), State: state}
	if rate := o.Resource.Rate; rate.Known() {
		e.Text = rate.String()
	}
	if o.Gone != nil {
		e.Reason, e.Text = string(o.Gone.How), o.Gone.Proof
		if o.Gone.Estimated {
			e.Text += ", estimated"
		}
		r.ledger.gone[id.String()] = append(r.ledger.gone[id.String()], version[guard.Observed]{at, o})
	}
	r.book.add(at, e)
}

func (r *runner) sawLease(at time.Duration, l guard.Lease) {
	id := l.Resource.String()
	old, had := r.ledger.leases[id].last(longest)
	r.ledger.leases[id] = append(r.ledger.leases[id], version[guard.Lease]{at, l})
	brief := func(l guard.Lease) string {
		out := []string{string(l.Status), l.Purpose, l.Budget.String(), l.ExpiresAt.Format(time.RFC3339), l.Owner}
		for _, h := range l.Holds {
			out = append(out, h.Until.Format(time.RFC3339))
		}
		return strings.Join(out, "|")
	}
	if had && old.ID == l.ID && brief(old) == brief(l) && old.Protected == l.Protected {
		return
	}
	e := Event{Event: evLeaseChanged, Account: l.Resource.Account, ID: id, Lease: l.ID, State: string(l.Status), Text: l.Purpose}
	if l.Budget.IsSet() {
		e.Text += ", cap " + l.Budget.String()
	}
	if !l.ExpiresAt.IsZero() {
		e.Text += ", until " + offsetText(l.ExpiresAt.Sub(r.story.start))
	}
	r.book.add(at, e)
}

func (r *runner) sawFinding(at time.Duration, f guard.Finding) {
	e := Event{Account: f.Resource.Account, ID: f.Subject, Kind: string(f.Resource.Kind), Lease: f.Lease, Rule: string(f.Rule), Text: f.Title}
	if e.Account == "" {
		e.Account, _, _ = strings.Cut(f.Subject, "/")
	}
	r.ledger.subject[f.ID] = f.Subject
	if !r.ledger.opened[f.ID] {
		r.ledger.opened[f.ID] = true
		e.Event = evFindingOpened
		r.book.add(at, e)
	}
	if !f.Closed.IsZero() {
		e.Event = evFindingClosed
		r.book.add(at, e)
	}
}

func (r *runner) sawRelease(at time.Duration, l *life, x guard.Release) {
	id := x.Target.String()
	old, had := r.ledger.releases[id].last(longest)
	if had && old.ID == x.ID && old.State == x.State && old.Reason == x.Reason && old.Attempt == x.Attempt {
		return
	}
	r.ledger.releases[id] = append(r.ledger.releases[id], version[guard.Release]{at, x})
	if had && old.ID == x.ID && old.State == x.State && old.Reason == x.Reason {
		return // another attempt in the same state
	}
	e := Event{Event: evRelease + string(x.State), Account: x.Target.Account, ID: id, Kind: string(x.Target.Kind), Lease: x.Lease,
		State: string(x.State), Reason: string(x.Reason), Text: x.Why}
	if x.Reason == "" {
		e.Reason = string(x.Cause)
	}
	if x.State == guard.ReleaseBlocked && x.LastError != "" {
		e.Text = x.LastError
	}
	if c := x.Receipt; c != nil {
		var sums []string
		for _, m := range c.Spend {
			sums = append(sums, m.Round().String())
		}
		e.Spend, e.Text = strings.Join(sums, " + "), c.Proof
	}
	if (!had || old.ID != x.ID) && x.State != guard.ReleasePlanned {
		// Planned and noticed became durable together.
		p := e
		p.Event, p.State, p.Spend = evRelease+string(guard.ReleasePlanned), string(guard.ReleasePlanned), ""
		p.Reason, p.Text = string(x.Cause), x.Why
		r.book.add(at, p)
	}
	r.book.add(at, e)
	if x.State != guard.ReleaseIssued { // see gate
		r.crashAt(l, string(x.State), id)
	}
}

func messageEvent(kind string, m guard.Message) Event {
	e := Event{Event: kind, Channel: m.Channel, Rule: string(m.Rule), Text: m.Title}
	if len(m.About) > 0 {
		e.Account, e.ID = m.About[0].Account, m.About[0].String()
	}
	return e
}
