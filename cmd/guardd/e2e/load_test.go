package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon/client"
	"guard/daemon/wire"
	"guard/store"
)

// claim is what a lease says, as far as people told it.
type claim struct {
	purpose string
	until   time.Time
}

// String is the claim as a failure prints it.
func (c claim) String() string {
	return fmt.Sprintf("%q until %s", c.purpose, c.until.Format(time.RFC3339))
}

// promise is what is known of one box. An order whose answer never came may have
// been carried out or not: until somebody looks, both are possible.
type promise struct {
	person  int
	could   []claim // what the lease may say
	none    bool    // there may be no lease
	ordered bool    // a person may have ordered its release
	late    []order // kept by the CLI, and carried out with any later command of it
}

// possible is what the lease may say, with what was kept carried out or not.
func (p *promise) possible() []claim {
	out := slices.Clone(p.could)
	for _, o := range p.late {
		for _, c := range slices.Clone(out) {
			out = append(out, o.on(c))
		}
		if p.none {
			out = append(out, o.on(claim{}))
		}
	}
	return out
}

// order is one thing that a person asks for.
type order struct {
	id      string
	purpose string
	until   time.Time // zero: as it is
	release bool
}

func (o order) on(c claim) claim {
	if o.release {
		return c
	}
	c.purpose = o.purpose
	if !o.until.IsZero() {
		c.until = o.until
	}
	return c
}

// load is people at work: they register, extend, release and look, and write down
// what guard has promised them.
type load struct {
	t     *testing.T
	guard *guardd
	cloud *cloud
	most  int // boxes of each person

	mu       sync.Mutex
	promises map[string]*promise
	acks     int
	refusals map[string]int // by what was said, IDs left out
	over     chan struct{}
	workers  sync.WaitGroup
}

const (
	people = 3
	nobody = -1 // whose boxes are left as they are
)

// work puts people to work on a guardd that runs, one of them with the CLI.
func work(t *testing.T, g *guardd, c *cloud, most int, seed uint64) *load {
	l := &load{t: t, guard: g, cloud: c, most: most, promises: map[string]*promise{}, refusals: map[string]int{}, over: make(chan struct{})}
	c.ended = l.ended
	// Whatever comes of the rest, some fall due while guardd is killed.
	for i := range 4 {
		id := c.run()
		l.promises[id] = &promise{person: nobody, none: true}
		l.ask(l.byClient, order{id: id, purpose: "first", until: soon(time.Duration(4+4*i) * time.Second)})
	}
	for i := range people {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		hand := l.byClient
		if i == 0 {
			hand = l.byCLI
		}
		l.workers.Go(func() {
			for n := 0; l.pause(time.Duration(5+r.IntN(30)) * time.Millisecond); n++ {
				l.act(r, hand, fmt.Sprintf("job %d-%d", i, n), i)
			}
		})
	}
	return l
}

// pause waits a moment; false once the work is over.
func (l *load) pause(d time.Duration) bool {
	select {
	case <-l.over:
		return false
	case <-time.After(d):
		return true
	}
}

// stop ends the work. What was kept is handed over, and everybody looks what became of what
// they asked last: from then on it is certain what is due.
func (l *load) stop() {
	l.t.Helper()
	close(l.over)
	l.workers.Wait()
	l.guard.until("nothing that was kept waits", func() bool {
		if _, code := l.guard.try("spool", "--deliver"); code != 0 {
			return false
		}
		waiting, err := filepath.Glob(filepath.Join(l.guard.dir, "guard", "spool", "*"+wire.SpoolWaiting))
		if err != nil {
			l.t.Fatal(err)
		}
		return len(waiting) == 0
	})
	for id, p := range l.promises {
		if len(p.could) > 1 || p.none || len(p.late) > 0 {
			l.guard.until("it is known what became of "+id, func() bool { return l.resolve(id) })
			l.mu.Lock()
			p.late = nil
			l.mu.Unlock()
		}
	}
}

// act is one thing that a person does. Everybody minds their own boxes.
func (l *load) act(r *rand.Rand, hand func(order) error, purpose string, person int) {
	mine := l.of(person)
	what := r.IntN(10)
	switch {
	case what < 3 && len(mine) < l.most:
		id := l.cloud.run()
		l.mu.Lock()
		l.promises[id] = &promise{person: person, none: true}
		l.mu.Unlock()
		ttl := time.Duration(3+r.IntN(10)) * time.Second
		if r.IntN(3) == 0 {
			ttl = 8 * time.Hour
		}
		l.ask(hand, order{id: id, purpose: purpose, until: soon(ttl)})
	case what < 6 && len(mine) > 0:
		o := order{id: mine[r.IntN(len(mine))], purpose: purpose}
		if r.IntN(3) == 0 || l.unregistered(o.id) {
			o.until = soon(8*time.Hour + time.Duration(r.IntN(3600))*time.Second)
		}
		l.ask(hand, o)
	case what == 6 && r.IntN(4) == 0 && len(mine) > 0:
		if id := mine[r.IntN(len(mine))]; !l.unregistered(id) {
			l.ask(hand, order{id: id, release: true})
		}
	default:
		l.look(r)
	}
}

func soon(d time.Duration) time.Time { return time.Now().UTC().Truncate(time.Second).Add(d) }

// of is the boxes that a person still has plans for, in order.
func (l *load) of(person int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id, p := range l.promises {
		if p.person == person && !p.ordered {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (l *load) unregistered(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.promises[id].none
}

// look reads what people read.
func (l *load) look(r *rand.Rand) {
	ctx := context.Background()
	var err error
	switch r.IntN(4) {
	case 0:
		_, err = l.guard.api.List(ctx, client.Filter{All: true})
	case 1:
		_, err = l.guard.api.Status(ctx)
	case 2:
		_, err = l.guard.api.Log(ctx, "", 20)
	case 3:
		_, err = l.guard.api.Findings(ctx, true)
	}
	if said := (*wire.Error)(nil); errors.As(err, &said) {
		l.t.Errorf("reading: %v", err)
	}
}

// errKept is an order that the CLI keeps, and may have been carried out already.
var errKept = errors.New("kept")

// errRefused is an order that certainly was not carried out.
var errRefused = errors.New("refused")

// anyBox is a box as it is named in a sentence, and a moment.
var anyBox = regexp.MustCompile(`research/i-\w+|\d{4}-\d\d-\d\dT[\d:]+Z|job [\d-]+`)

func (l *load) byClient(o order) error {
	var err error
	if o.release {
		var a wire.ReleaseAnswer
		a, err = l.guard.api.Release(context.Background(), wire.ReleaseRequest{IDs: []string{"research/" + o.id}, Reason: "done"})
		if err == nil && a.Results[0].Outcome == wire.OutcomeRefused {
			err = a.Results[0].Error
		}
	} else {
		in := wire.RegisterRequest{ID: "research/" + o.id, Purpose: o.purpose}
		if !o.until.IsZero() {
			in.Until = o.until.Format(time.RFC3339)
		}
		_, err = l.guard.api.Register(context.Background(), in)
	}
	said := (*wire.Error)(nil)
	if !errors.As(err, &said) {
		return err
	}
	switch said.Kind {
	case wire.KindConflict, wire.KindThrottled: // it is being released, or is gone
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refusals[anyBox.ReplaceAllString(said.Message, "BOX")]++
		return errRefused
	}
	l.t.Errorf("%+v: %v (%s)", o, err, said.Kind)
	return err
}

func (l *load) byCLI(o order) error {
	args := []string{"register", "research/" + o.id, "--purpose", o.purpose}
	if !o.until.IsZero() {
		args = append(args, "--until", o.until.Format(time.RFC3339))
	}
	if o.release {
		args = []string{"release", "research/" + o.id, "--yes", "--reason", "done"}
	}
	out, code, err := l.guard.cli(args...)
	if code == 0 || err != nil {
		return err
	}
	if code != 1 && code != 3 {
		l.t.Errorf("guard %v: exit %d: %s", args, code, out)
	}
	if code == 3 && !o.release {
		return errKept
	}
	return errors.New("failed") // refused, or nobody knows
}

// ask gives an order and writes down what may be true from then on, and what
// certainly is once there is an answer.
func (l *load) ask(hand func(order) error, o order) {
	l.mu.Lock()
	p := l.promises[o.id]
	before, was := p.possible(), *p
	p.could = before
	for _, c := range before {
		p.could = append(p.could[:len(p.could):len(p.could)], o.on(c))
	}
	if was.none {
		p.could = append(p.could, o.on(claim{}))
	}
	p.ordered = o.release
	l.mu.Unlock()

	err := hand(o)

	l.mu.Lock()
	switch {
	case err == nil:
		p.could = p.could[len(before):]
		p.none = false
		if !o.release {
			p.late = nil // what was typed before a change does not undo it
		}
		l.acks++
	case errors.Is(err, errKept):
		p.late = append(p.late, o)
	case errors.Is(err, errRefused):
		*p = was
	}
	l.mu.Unlock()
	for err != nil && !errors.Is(err, errRefused) && !l.resolve(o.id) && l.pause(20*time.Millisecond) {
	}
}

// resolve looks what became of an order; false where nobody answers.
func (l *load) resolve(id string) bool {
	s, err := l.guard.api.Show(context.Background(), "research/"+id)
	said := (*wire.Error)(nil)
	unknown := errors.As(err, &said) && said.Kind == wire.KindNotFound // guard has not seen the box at all
	if err != nil && !unknown {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.promises[id]
	if unknown || s.Item.Lease == "" {
		l.settle(p, id, claim{}, false)
		return true
	}
	l.settle(p, id, claim{s.Item.Purpose, s.Item.ExpiresAt.UTC()}, true)
	if s.Release == nil || s.Release.Cause != string(guard.CausePerson) {
		p.ordered = false
	}
	return true
}

// settle takes over what was read, which must be one of the possible things.
func (l *load) settle(p *promise, id string, found claim, leased bool) {
	if !p.allows(found, leased) {
		l.t.Errorf("%s: guard says %+v (registered: %t), and promised one of %+v (none: %t)", id, found, leased, p.possible(), p.none)
	}
	// What was kept before the one that is there now is over.
	if i := slices.IndexFunc(p.late, func(o order) bool { return leased && o.purpose == found.purpose }); i >= 0 {
		p.late = p.late[i+1:]
	}
	p.could, p.none = nil, !leased
	if leased {
		p.could = []claim{found}
	} else {
		p.ordered = false
	}
}

func (p *promise) allows(found claim, leased bool) bool {
	if !leased {
		return p.none
	}
	return slices.Contains(p.possible(), found)
}

// ended checks a call that ends a box: it must be due by a promise that may
// stand, and must not have been made before.
func (l *load) ended(id string, at time.Time, alive bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.promises[id]
	switch {
	case p == nil:
		l.t.Errorf("%s is ended, and nobody registered it", id)
	case !alive:
		l.t.Errorf("%s is ended once more", id)
	case !p.ordered && !slices.ContainsFunc(p.possible(), func(c claim) bool { return !at.Before(c.until) }):
		l.t.Errorf("%s is ended at %s, and is not due: %+v", id, at.Format(time.RFC3339Nano), p.possible())
	}
}

// boxKey is a box's key in the ledger.
func boxKey(id string) string {
	return guard.ResourceID{Account: "research", Kind: guard.Instance, ID: id}.Key()
}

// kept checks that a ledger has all that was promised, and the intent of
// everything that the cloud was told to end.
func (l *load) kept(v *store.View) error {
	if err := l.intended(v); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for id, p := range l.promises {
		le, ok, err := v.LeaseOf(boxKey(id))
		if err != nil {
			return err
		}
		if found := (claim{le.Purpose, le.ExpiresAt.UTC()}); !p.allows(found, ok) {
			errs = append(errs, fmt.Errorf("%s: the ledger has %+v (registered: %t), and guard promised one of %+v (none: %t)", id, found, ok, p.possible(), p.none))
		}
		if !ok {
			continue
		}
		entries, err := v.JournalOf(le.ID, 0)
		if err != nil {
			return err
		}
		n := 0
		for _, e := range entries {
			if e.Verb == "registered" {
				n++
			}
		}
		if n != 1 {
			errs = append(errs, fmt.Errorf("%s: its journal says %d times that it was registered", id, n))
		}
	}
	return errors.Join(errs...)
}

func (l *load) intended(v *store.View) error {
	attempts := map[string]int{}
	for _, table := range []store.Table[guard.Release]{v.Releases, v.EndedReleases} {
		for r, err := range table.All("") {
			if err != nil {
				return err
			}
			attempts[r.Target.ID] += r.Attempt
		}
	}
	var errs []error
	for id, n := range l.cloud.told() {
		if attempts[id] < n {
			errs = append(errs, fmt.Errorf("%s: the cloud was told %d times to end it, and the ledger has the intent of %d", id, n, attempts[id]))
		}
	}
	return errors.Join(errs...)
}

// due reports whether a box must be ended; false, too, where it must not be.
func (p *promise) due(at time.Time) bool {
	return p.ordered || len(p.could) == 1 && !at.Before(p.could[0].until)
}
