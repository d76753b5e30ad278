package meter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/spend"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

// bench is the meter over a ledger that the test writes as observe would.
type bench struct {
	t       testing.TB
	cloud   *fake.Cloud
	account *providers.Account
	backend *memory.Backend
	ledger  *store.Ledger
	loop    *Loop
	sweeps  int
	next    guard.Instant
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, cloud: fake.MustCloud(fake.Lab()), backend: memory.New()}
	b.account = b.cloud.Account()
	b.restart()
	return b
}

func (b *bench) restart() {
	ledger, err := store.Open(context.Background(), b.backend, b.at(0))
	if err != nil {
		b.t.Fatal(err)
	}
	b.ledger = ledger
	b.loop = New(Config{Ledger: ledger, Rules: policy.DefaultRules(), Sweep: func(string) { b.sweeps++ },
		Account: func(name string) (*providers.Account, bool) { return b.account, name == b.account.Name }})
}

func (b *bench) at(d time.Duration) guard.Instant { return b.cloud.At(d) }
func (b *bench) wall(d time.Duration) time.Time   { return b.at(d).Wall }

func (b *bench) once(d time.Duration) {
	b.t.Helper()
	at := b.at(d)
	next, err := b.loop.Once(guard.WithInstant(context.Background(), at), at)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.next = next; !at.Before(next) {
		b.t.Fatalf("at %v the meter wants to run at once, for ever", d)
	}
}

func (b *bench) put(fn func(tx *store.Tx) error) {
	b.t.Helper()
	if err := b.ledger.Update(context.Background(), fn); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) view(fn func(v *store.View) error) {
	b.t.Helper()
	if err := b.ledger.View(context.Background(), fn); err != nil {
		b.t.Fatal(err)
	}
}

func cny(amount string, per time.Duration) guard.Rate {
	return guard.Rate{Amount: guard.MustMoney(amount + " CNY"), Per: per, Source: "api"}
}

// see writes an observation: a thing of a kind with a rate from a moment on.
func (b *bench) see(kind guard.Kind, id string, at time.Duration, rate guard.Rate, change func(*guard.Observed)) {
	b.t.Helper()
	rid := b.cloud.ID(kind, id)
	b.put(func(tx *store.Tx) error {
		o, ok, err := tx.Observed.Get(rid.Key())
		if err != nil {
			return err
		}
		if !ok {
			o = guard.Observed{Identity: "acct-1", FirstSeen: b.wall(at)}
			o.Resource.Created = b.wall(at)
		}
		m, _, err := tx.Metered.Get(rid.Key())
		if err != nil {
			return err
		}
		o.Resource.ID, o.Resource.State, o.Resource.Rate, o.Seen = rid, guard.StateRunning, rate, b.wall(at)
		o.Pending = append(slices.Clone(o.Unmetered(m)), guard.Change{At: b.wall(at), State: guard.StateRunning, Bills: guard.Yes, Rate: rate})
		if change != nil {
			change(&o)
		}
		o.Number(m)
		return tx.Observed.Put(o)
	})
}

// poll writes that a complete list was read.
func (b *bench) poll(at time.Duration) {
	b.t.Helper()
	b.put(func(tx *store.Tx) error {
		for _, kind := range []guard.Kind{guard.Instance, guard.Volume} {
			st := guard.ScopeStatus{Account: "lab", Scope: b.cloud.ID(kind, "x").Scope, Kind: kind, Complete: b.wall(at)}
			if err := tx.Scopes.Put(st); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) lease(id, budget string, at time.Duration, change func(*guard.Lease)) {
	b.t.Helper()
	l := guard.Lease{ID: "L-" + id, Resource: b.cloud.ID(guard.Instance, id), RegisteredAt: b.wall(at), Status: guard.LeaseActive,
		Identity: "acct-1", UpdatedAt: b.wall(at), UpdatedBy: "ana"}
	if budget != "" {
		l.Budget = guard.MustMoney(budget)
	}
	if change != nil {
		change(&l)
	}
	b.put(func(tx *store.Tx) error { return tx.Leases.Put(l) })
}

func (b *bench) plan(id string) (p guard.Plan) {
	b.t.Helper()
	b.view(func(v *store.View) (err error) {
		p, _, err = v.Plans.Get("L-" + id)
		return err
	})
	return p
}

func (b *bench) budget(id string) guard.Deadline {
	b.t.Helper()
	d, ok := b.plan(id).Deadline(guard.DeadlineBudget)
	if !ok {
		b.t.Fatalf("no budget deadline in %+v", b.plan(id))
	}
	return d
}

// spent is what the lease's family owes.
func (b *bench) spent(id string, at time.Duration) string {
	b.t.Helper()
	var segs []guard.Segment
	b.view(func(v *store.View) error {
		for m, err := range v.Metered.All("") {
			if err != nil {
				return err
			}
			for _, s := range m.Segments {
				if s.Lease == "L-"+id {
					segs = append(segs, s)
				}
			}
		}
		return nil
	})
	return spend.Spent(segs, b.wall(at)).In("CNY").Round().String()
}

func (b *bench) verbs() (out []string) {
	b.t.Helper()
	b.view(func(v *store.View) error {
		es, err := v.JournalSince(0, 0)
		for _, e := range es {
			out = append(out, e.Verb)
		}
		return err
	})
	return out
}

const hour = time.Hour

func TestBudgetCountsTheFamilyFromTheProvidersStart(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("240", hour), nil)
	b.see(guard.Volume, "v-1", 0, cny("10", hour), func(o *guard.Observed) { o.Instance = b.cloud.ID(guard.Instance, "i-1") })
	b.see(guard.Volume, "v-9", 0, cny("99", hour), nil) // nobody's
	b.once(30 * time.Minute)
	b.lease("i-1", "2500 CNY", hour, nil)
	b.once(hour)
	d := b.budget("i-1")
	lead := spend.Lead(b.account.Provider.Truths(), 0)
	if !d.Limit.Equal(b.wall(10*hour)) || !d.Due.Equal(b.wall(10*hour).Add(-lead)) || d.Lead != lead {
		t.Errorf("got %+v", d)
	}
	if !d.Stood.Equal(b.wall(hour)) {
		t.Errorf("stood since %v", d.Stood)
	}
	if got := b.spent("i-1", 2*hour); got != "500.00 CNY" {
		t.Errorf("spent %s", got)
	}
	// The instance goes, its disk stays: the disk goes on counting.
	b.put(func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(b.cloud.ID(guard.Instance, "i-1").Key())
		if err != nil {
			return err
		}
		o.Gone = &guard.Gone{At: b.wall(2 * hour), How: guard.ByReclaim}
		l, _, err := tx.Leases.Get("L-i-1")
		if err != nil {
			return err
		}
		l.Status, l.EndedAt = guard.LeaseGone, b.wall(2*hour)
		if err := tx.Leases.Put(l); err != nil {
			return err
		}
		return tx.Observed.Put(o)
	})
	b.once(3 * hour)
	if got := b.spent("i-1", 12*hour); got != "600.00 CNY" {
		t.Errorf("spent %s", got)
	}
	if p := b.plan("i-1"); p.Lease != "" {
		t.Errorf("an ended lease has a plan: %+v", p)
	}
}

func TestQuietRunsWriteNothing(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("240", hour), nil)
	b.lease("i-1", "2500 CNY", 0, func(l *guard.Lease) { l.ExpiresAt = b.wall(8 * hour) })
	b.once(time.Minute)
	first := b.plan("i-1")
	for i := 2; i < 60; i++ {
		b.poll(time.Duration(i) * time.Minute)
		b.once(time.Duration(i) * time.Minute)
	}
	if !b.plan("i-1").SolvedAt.Equal(first.SolvedAt) {
		t.Errorf("solved again at %v", b.plan("i-1").SolvedAt)
	}
	if wait := b.next.Sub(b.at(59 * time.Minute)); wait != idle {
		t.Errorf("it wants to run in %v", wait)
	}
}

func TestATenfoldPriceNeedsASecondReadingAndNotice(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
	b.lease("i-1", "100 CNY", 0, nil)
	b.once(time.Minute)
	was := b.budget("i-1")
	odd := 5 * hour // half is spent: at 290 an hour the cap is ten minutes away
	b.see(guard.Instance, "i-1", odd, cny("290", hour), nil)
	b.once(odd)
	d := b.budget("i-1")
	if !d.Due.Equal(was.Due) || d.Candidate == nil {
		t.Fatalf("one reading moved the deadline: %+v", d)
	}
	if !strings.Contains(d.Candidate.Why, "lab/i-1") {
		t.Errorf("it does not say why: %q", d.Candidate.Why)
	}
	if wait := b.next.Sub(b.at(odd)); wait != 2*time.Minute {
		t.Errorf("the second reading is awaited in %v", wait)
	}
	// Crash and restart: still one reading.
	b.restart()
	b.once(odd + time.Minute)
	b.poll(odd + time.Minute)
	b.once(odd + 90*time.Second)
	if d := b.budget("i-1"); d.Candidate == nil {
		t.Fatalf("adopted too soon: %+v", d)
	}
	now := odd + 2*time.Minute + time.Second
	b.poll(now)
	b.once(now)
	d = b.budget("i-1")
	if d.Candidate != nil || !d.Due.Equal(b.wall(now+spend.Notice)) || !d.Stood.Equal(b.wall(now)) {
		t.Fatalf("got %+v", d)
	}
	b.once(now + 3*time.Minute)
	if again := b.budget("i-1"); !again.Due.Equal(d.Due) {
		t.Errorf("the notice was cut short: %+v", again)
	}
}

func TestOnePollOfAnotherPriceLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("2.40", hour), nil)
	b.lease("i-1", "100 CNY", 0, nil)
	b.once(time.Minute)
	was := b.budget("i-1")
	b.see(guard.Instance, "i-1", hour, cny("24", hour), nil)
	b.once(hour)
	b.see(guard.Instance, "i-1", hour+time.Minute, cny("2.40", hour), nil)
	b.once(hour + time.Minute)
	d := b.budget("i-1")
	if !d.Due.Equal(was.Due) || d.Candidate != nil {
		t.Errorf("got %+v, was %+v", d, was)
	}
	if got := b.spent("i-1", 10*hour); got != "24.00 CNY" {
		t.Errorf("spent %s", got)
	}
	if got := b.verbs(); !slices.Equal(got, []string{"price_changed", "spend_corrected"}) {
		t.Errorf("journal: %v", got)
	}
}

func TestCentsForCurrencyUnits(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("2.40", hour), nil)
	b.lease("i-1", "100 CNY", 0, nil)
	b.once(time.Minute)
	was := b.budget("i-1")
	b.see(guard.Instance, "i-1", 8*hour, cny("240", hour), nil)
	for i := range 30 {
		b.poll(8*hour + time.Duration(i)*time.Minute)
		b.once(8*hour + time.Duration(i)*time.Minute)
	}
	if d := b.budget("i-1"); !d.Due.Equal(was.Due) || d.Candidate != nil {
		t.Errorf("got %+v", d)
	}
	if got := b.verbs(); !slices.Equal(got, []string{"unit_mismatch"}) {
		t.Errorf("journal: %v", got)
	}
	// A person says that it is right.
	b.lease("i-1", "1000 CNY", 0, func(l *guard.Lease) { l.Price, l.UpdatedAt = cny("240", hour), b.wall(9*hour) })
	b.once(9 * hour)
	if got := b.spent("i-1", 9*hour); got != "259.20 CNY" {
		t.Errorf("spent %s", got)
	}
	if d := b.budget("i-1"); !d.Stood.Equal(b.wall(9 * hour)) {
		t.Errorf("a person's price did not count as a person's: %+v", d)
	}
}

func TestUnknownPricesAndOtherCurrencies(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, guard.Rate{}, nil)
	b.lease("i-1", "100 CNY", 0, nil)
	b.once(time.Minute)
	p := b.plan("i-1")
	if len(p.Unknown) != 1 || !strings.Contains(p.Unknown[0], "no known price") {
		t.Errorf("got %+v", p)
	}
	if _, ok := p.Deadline(guard.DeadlineBudget); ok {
		t.Error("a deadline was solved from an unknown price")
	}
	b.see(guard.Volume, "v-1", 0, guard.Rate{Amount: guard.MustMoney("1 USD"), Per: hour}, func(o *guard.Observed) { o.Instance = b.cloud.ID(guard.Instance, "i-1") })
	b.see(guard.Instance, "i-1", hour, cny("10", hour), nil)
	b.once(hour)
	p = b.plan("i-1")
	if len(p.Unknown) != 1 || !strings.Contains(p.Unknown[0], "USD") {
		t.Errorf("got %+v", p)
	}
	if d := b.budget("i-1"); !d.Limit.Equal(b.wall(10 * hour)) {
		t.Errorf("got %+v", d)
	}
	if got := b.spent("i-1", 5*hour); got != "50.00 CNY" {
		t.Errorf("spent %s", got)
	}
}

// A price that comes to be known must not shoot either: before, no limit was in
// sight at all.
func TestAPriceOutOfNowhereNeedsASecondReading(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, guard.Rate{}, nil)
	b.lease("i-1", "100 CNY", 0, nil)
	b.once(time.Minute)
	b.see(guard.Instance, "i-1", 5*hour, cny("30", hour), nil)
	b.once(5 * hour)
	d := b.budget("i-1")
	if d.Candidate == nil || d.Due.Before(b.wall(6*hour)) {
		t.Fatalf("got %+v", d)
	}
	now := 5*hour + 3*time.Minute
	b.poll(now)
	b.once(now)
	if d := b.budget("i-1"); d.Candidate != nil || !d.Due.Equal(b.wall(now+spend.Notice)) {
		t.Fatalf("got %+v", d)
	}
}

func TestLeadIsTheLongestOfTheLastReleases(t *testing.T) {
	b := newBench(t)
	for i := range 120 {
		took := 40 * time.Second
		switch i {
		case 3:
			took = time.Hour // too long ago to count
		case 60:
			took = 4 * time.Minute
		}
		b.put(func(tx *store.Tx) error {
			return tx.EndRelease(guard.Release{ID: fmt.Sprintf("R%03d", i), Target: b.cloud.ID(guard.Instance, "i-2"), Action: guard.ActRelease,
				State: guard.ReleaseDone, EndedAt: b.wall(time.Duration(i-200) * time.Hour), Receipt: &guard.Receipt{Took: took}})
		})
	}
	b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
	b.lease("i-1", "100 CNY", 0, nil)
	b.once(time.Minute)
	if d := b.budget("i-1"); d.Lead != spend.Lead(guard.Truths{}, 4*time.Minute) || !d.Due.Equal(b.wall(10*hour-d.Lead)) {
		t.Errorf("got %+v", d)
	}
}

func TestExtensionIsAPersonsDoing(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
	b.lease("i-1", "", 0, func(l *guard.Lease) { l.ExpiresAt = b.wall(8 * hour) })
	b.once(time.Minute)
	b.lease("i-1", "", 0, func(l *guard.Lease) { l.ExpiresAt, l.UpdatedAt = b.wall(2*hour), b.wall(2*hour-time.Minute) })
	b.once(2*hour - time.Minute)
	d, _ := b.plan("i-1").Deadline(guard.DeadlineExpiry)
	if !d.Due.Equal(b.wall(2*hour)) || d.Candidate != nil || !d.Stood.Equal(b.wall(2*hour-time.Minute)) {
		t.Errorf("got %+v", d)
	}
}

// A crash between the poll and the meter, and a guard that was down for hours:
// the thing ran, and is counted once.
func TestDownTimeIsCountedOnce(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
	b.lease("i-1", "1000 CNY", 0, nil)
	b.restart()
	b.once(5 * hour)
	b.restart()
	b.once(5*hour + time.Minute)
	if got := b.spent("i-1", 9*hour); got != "90.00 CNY" {
		t.Errorf("spent %s", got)
	}
	if left := b.unmetered("i-1"); len(left) > 0 {
		t.Errorf("still pending: %+v", left)
	}
}

func TestAChildsOddPriceAsksForASweep(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("1", hour), nil)
	b.see(guard.Volume, "v-1", 0, cny("1", hour), func(o *guard.Observed) { o.Instance = b.cloud.ID(guard.Instance, "i-1") })
	b.lease("i-1", "100 CNY", 0, nil)
	b.once(time.Minute)
	b.see(guard.Volume, "v-1", hour, cny("20", hour), nil)
	b.once(hour)
	if b.sweeps > 0 {
		t.Error("a sweep before a second reading counts")
	}
	b.once(hour + 2*time.Minute)
	if b.sweeps == 0 {
		t.Error("nobody reads the volume again")
	}
}

func TestAnIDUsedAgainIsNotTheOldLeases(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
	b.lease("i-1", "1000 CNY", 0, func(l *guard.Lease) { l.ResourceCreated = b.wall(0) })
	b.once(time.Minute)
	b.lease("i-1", "1000 CNY", 0, func(l *guard.Lease) {
		l.ResourceCreated, l.Status, l.EndedAt = b.wall(0), guard.LeaseGone, b.wall(hour)
	})
	b.see(guard.Instance, "i-1", 3*hour, cny("10", hour), func(o *guard.Observed) {
		o.FirstSeen, o.Resource.Created = b.wall(3*hour), b.wall(3*hour)
	})
	b.once(3 * hour)
	if got := b.spent("i-1", 9*hour); got != "30.00 CNY" {
		t.Errorf("the old lease pays for the new thing: %s", got)
	}
}
