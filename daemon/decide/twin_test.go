package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"guard"
	"guard/daemon/decide"
	"guard/policy"
	"guard/policy/activity"
	"guard/policy/presence"
	"guard/providers"
	"guard/store"
	"guard/store/memory"
)

// twin is one of two ledgers with the same history, and the loop on it.
type twin struct {
	ledger *store.Ledger
	loop   *decide.Loop
}

// twins are a loop that judges what it must, and one that judges everything in
// every run.
type twins struct {
	t           *rapid.T
	some, every twin
	at          guard.Instant
	belief      presence.Belief // but for its instant
	next        guard.Instant
	eyes        map[string]activity.State // what samples tell, by key
	stirred     []string                  // whose changed, in order; its length is the version
}

// TestAsAFullPass: whatever happens to the ledger, and whenever the loop runs, it
// writes what it would write if it judged everything.
func TestAsAFullPass(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &twins{t: rt, at: guard.Instant{Wall: zero, Elapsed: time.Hour}, eyes: map[string]activity.State{}}
		w.next = w.at
		w.some, w.every = newTwin(t, w), newTwin(t, w)
		w.change(fleet)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				w.change(w.draw())
			}
			w.run()
			w.compare(t)
			w.pass()
		}
	})
}

// fleet is what is there at first: a leased instance with a cap and a disk, one in
// observe mode, and one that nobody registered.
func fleet(tx *store.Tx) error {
	rate, err := guard.ParseRate("240CNY/h")
	errs := []error{err}
	lab, eye := id("i-1"), guard.ResourceID{Account: "eye", Kind: guard.Instance, ID: "i-1"}
	for i, r := range []guard.ResourceID{lab, eye, id("i-2"), id("v-1")} {
		o := guard.Observed{Identity: "acct", FirstSeen: zero, Seen: zero, Resource: guard.Resource{ID: r, State: guard.StateRunning, Created: zero, GPUs: 1, HasGPU: guard.Yes, Rate: rate, Bills: guard.Yes}}
		if r.Kind == guard.Volume {
			o.Instance = lab
		}
		errs = append(errs, tx.Observed.Put(o), tx.Metered.Put(guard.Metered{Resource: r, Segments: []guard.Segment{{Resource: r, State: guard.StateRunning, Rate: rate, From: zero}}}))
		if i < 2 {
			errs = append(errs, tx.Leases.Put(guard.Lease{ID: "l-" + r.Key(), Resource: r, Identity: "acct", Purpose: "lora 70b", Owner: "ana", RegisteredAt: zero, ExpiresAt: zero.Add(3 * time.Hour),
				Budget: guard.MustMoney("1200CNY"), OnLimit: guard.ActRelease, Grace: 10 * time.Minute, Status: guard.LeaseActive, UpdatedAt: zero, UpdatedBy: "ana"}),
				tx.Plans.Put(guard.Plan{Lease: "l-" + r.Key(), SolvedAt: zero, Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget,
					Limit: zero.Add(5 * time.Hour), Due: zero.Add(5*time.Hour - 45*time.Second), Lead: 45 * time.Second, Stood: zero}}}))
		}
	}
	return put(append(errs,
		tx.Accounts.Put(guard.AccountStatus{Name: "lab", Mode: guard.Enforce, Identity: guard.Identity{ID: "acct"}}),
		tx.Accounts.Put(guard.AccountStatus{Name: "eye", Mode: guard.Observe, Identity: guard.Identity{ID: "acct-2"}}))...)
}

func newTwin(t *testing.T, w *twins) twin {
	l, err := store.Open(t.Context(), memory.New(), w.at)
	if err != nil {
		t.Fatal(err)
	}
	account := func(name string, mode guard.Mode) *providers.Account {
		return &providers.Account{Name: name, Kind: "still", Provider: still{}, Mode: mode, MayRelease: providers.MayRelease{GPU: true}}
	}
	return twin{l, decide.New(decide.Config{Ledger: l, Rules: policy.DefaultRules(), Audience: []guard.Audience{{Channel: "log"}},
		Accounts: []*providers.Account{account("lab", guard.Enforce), account("eye", guard.Observe)},
		Activity: func(key string) (activity.State, bool) { s, ok := w.eyes[key]; return s, ok },
		Stirred: func(since uint64) ([]string, bool, uint64) {
			now := uint64(len(w.stirred))
			return w.stirred[min(since, now):], rapid.IntRange(0, 9).Draw(w.t, "all") == 0, now
		},
		Clock: func() presence.Belief { return w.belief }})}
}

func (w *twins) change(fn func(tx *store.Tx) error) {
	w.t.Helper()
	for _, tw := range []twin{w.some, w.every} {
		if err := tw.ledger.Update(w.t.Context(), fn); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *twins) run() {
	w.t.Helper()
	w.every.loop.Forget()
	var next [2]guard.Instant
	for i, tw := range []twin{w.some, w.every} {
		var err error
		if next[i], err = tw.loop.Once(w.t.Context(), w.at); err != nil {
			w.t.Fatal(err)
		}
	}
	if next[1].Before(next[0]) {
		w.t.Fatalf("it runs again at %s; a judgement changes at %s", next[0].Wall, next[1].Wall)
	}
	w.next = next[0]
}

// pass lets time go by, as it does and as it should not.
func (w *twins) pass() {
	switch rapid.SampledFrom([]string{"next", "soon", "soon", "soon", "later", "later", "later", "later", "step", "sleep"}).Draw(w.t, "pass") {
	case "next":
		w.at = w.next
	case "soon":
		w.at = w.at.Add(rapid.SampledFrom([]time.Duration{1, time.Second, 10 * time.Second, 57 * time.Second, 59500 * time.Millisecond, 90 * time.Second}).Draw(w.t, "soon"))
	case "later":
		w.at = w.at.Add(time.Duration(rapid.IntRange(1, 55).Draw(w.t, "minutes")) * time.Minute)
	case "step":
		w.at = w.at.Add(time.Second)
		w.at.Wall = w.at.Wall.Add(rapid.SampledFrom([]time.Duration{-40 * time.Second, -10 * time.Minute, 30 * time.Second, 10 * time.Minute, 3 * time.Hour}).Draw(w.t, "step"))
	case "sleep":
		w.at = w.at.Add(2 * time.Hour)
	}
}

// history is everything that the loop has written.
func (tw twin) history(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := tw.ledger.View(t.Context(), func(v *store.View) error {
		entries, err := v.JournalSince(0, 0)
		for _, e := range entries {
			out[fmt.Sprintf("journal %d", e.Seq)] = e
		}
		return put(err,
			keep(out, "finding", v.Findings, guard.Finding.Key), keep(out, "closed", v.ClosedFindings, func(f guard.Finding) string { return f.ID }),
			keep(out, "release", v.Releases, func(r guard.Release) string { return r.Target.Key() }), keep(out, "ended", v.EndedReleases, func(r guard.Release) string { return r.ID }),
			keep(out, "lease", v.Leases, func(l guard.Lease) string { return l.ID }),
			keep(out, "message", v.Outbox, func(m guard.Message) string { return m.ID }), keep(out, "account", v.Accounts, func(a guard.AccountStatus) string { return a.Name }))
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func keep[T any](out map[string]any, table string, rows store.Table[T], key func(T) string) error {
	for v, err := range rows.All("") {
		if err != nil {
			return err
		}
		out[table+" "+key(v)] = v
	}
	return nil
}

func (w *twins) compare(t *testing.T) {
	w.t.Helper()
	some, every := w.some.history(t), w.every.history(t)
	for _, key := range slices.Sorted(maps.Keys(every)) {
		if diff := cmp.Diff(every[key], some[key]); diff != "" {
			w.t.Fatalf("at %s, %s (-a full pass +what was judged):\n%s", w.at.Wall.Sub(zero), key, diff)
		}
	}
	if len(some) != len(every) {
		w.t.Fatalf("at %s: %d records, a full pass writes %d", w.at.Wall.Sub(zero), len(some), len(every))
	}
}

// moment draws a time around now, or none.
func (w *twins) moment(name string) time.Time {
	d := rapid.SampledFrom([]time.Duration{-30 * time.Hour, -2 * time.Hour, -20 * time.Minute, -time.Minute, 0, 3 * time.Second, time.Minute, 12 * time.Minute,
		50 * time.Minute, 3 * time.Hour, 25 * time.Hour, 1 << 62}).Draw(w.t, name)
	if d == 1<<62 {
		return time.Time{}
	}
	return w.at.Wall.Add(d)
}

func (w *twins) some1(name string, of ...string) string { return rapid.SampledFrom(of).Draw(w.t, name) }

func (w *twins) maybe(name string) bool { return rapid.Bool().Draw(w.t, name) }

func (w *twins) instance() guard.ResourceID {
	return guard.ResourceID{Account: w.some1("account", "lab", "lab", "lab", "lab", "eye", "far"), Kind: guard.Instance, ID: w.some1("instance", "i-1", "i-1", "i-1", "i-2", "i-3")}
}

func (w *twins) resource() guard.ResourceID {
	r := w.instance()
	if w.maybe("volume") {
		r.Kind, r.ID = guard.Volume, "v"+r.ID[1:]
	}
	return r
}

func (w *twins) rate() guard.Rate {
	s := w.some1("rate", "240CNY/h", "240CNY/h", "7.77CNY/h", "0.35CNY/month", "3USD/h", "")
	if s == "" {
		return guard.Rate{}
	}
	r, err := guard.ParseRate(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// draw draws one change of the ledger by somebody else.
func (w *twins) draw() func(tx *store.Tx) error {
	switch w.some1("what", "observed", "observed", "observed", "metered", "metered", "lease", "lease", "plan", "plan", "release", "stuck", "account", "scope", "clock", "gone", "mute", "mute", "activity", "activity", "activity", "expected", "expected", "stray") {
	case "observed":
		return w.observed()
	case "metered":
		return w.metered()
	case "lease":
		return w.lease()
	case "plan":
		return w.plan()
	case "release":
		return w.release()
	case "stuck":
		return w.stuck()
	case "mute":
		return w.mute()
	case "activity":
		return w.activity()
	case "expected":
		return w.expected()
	case "stray":
		return w.stray()
	case "account":
		return w.account()
	case "scope":
		s := guard.ScopeStatus{Account: w.some1("account", "lab", "eye", "far"), Kind: guard.Kind(w.some1("kind", "instance", "volume")), Complete: w.moment("complete"), Failing: w.moment("failing"), Error: w.some1("error", "", "503")}
		return func(tx *store.Tx) error {
			if had, _, err := tx.Scopes.Get(store.ScopeKey(s)); err != nil {
				return err
			} else if had.Complete.After(s.Complete) {
				s.Complete = had.Complete // what was read whole once was
			}
			return tx.Scopes.Put(s)
		}
	case "clock":
		w.belief = presence.Belief{Doubt: rapid.IntRange(0, 9).Draw(w.t, "doubt") == 0, Least: w.at}
		if w.maybe("off") {
			w.belief.Off, w.belief.Since = 3*time.Hour, w.at.Wall
		}
		return func(*store.Tx) error { return nil }
	default: // records that go
		key, lease, about := w.resource().Key(), "l-"+w.instance().Key(), w.some1("table", "observed", "metered", "plan", "lease")
		return func(tx *store.Tx) error {
			switch about {
			case "observed":
				return tx.Observed.Delete(key)
			case "metered":
				return tx.Metered.Delete(key)
			case "plan":
				return tx.Plans.Delete(lease)
			}
			return tx.Leases.Delete(lease)
		}
	}
}

func (w *twins) observed() func(tx *store.Tx) error {
	id := w.resource()
	o := guard.Observed{Identity: "acct", FirstSeen: w.moment("first seen"), Seen: w.at.Wall, Resource: guard.Resource{ID: id, Created: w.moment("created"), GPUs: 1, HasGPU: guard.Yes, Rate: w.rate(), Bills: guard.Yes,
		State:     guard.State(w.some1("state", "running", "running", "running", "running", "stopped", "releasing", "unknown")),
		Ended:     guard.How(w.some1("ended", "", "reclaim")),
		StopSaves: guard.StopEffect(w.some1("saves", "", "", "nothing", "unsupported")),
		Tags:      map[string]string{w.some1("tag", "team", "team", "team", "team", "team", "guard:keep", "Keep", guard.TagDeployment): "true"}}}
	if o.FirstSeen.IsZero() {
		o.FirstSeen = w.at.Wall
	}
	if id.Kind == guard.Volume && w.maybe("attached") {
		o.Instance = w.instance()
		o.DetachedAt = w.moment("detached")
	}
	if at := w.moment("gone"); !at.IsZero() && !at.After(w.at.Wall) && w.maybe("is gone") {
		o.Gone = &guard.Gone{At: at, ProvenAt: at.Add(time.Minute), How: guard.How(w.some1("how", "reclaim", "outside", "release")), Proof: guard.ProofTerminal}
	}
	return func(tx *store.Tx) error { return tx.Observed.Put(o) }
}

// mute is a veto or a snooze, or the end of one.
func (w *twins) mute() func(tx *store.Tx) error {
	m := guard.Mute{Subject: w.resource().String(), Kind: guard.Snooze, Until: w.moment("until"), By: "ana", Since: w.at.Wall}
	if w.maybe("veto") {
		m.Kind, m.Rule = guard.Veto, guard.Rule(w.some1("rule", "expired", "budget_exceeded", "idle_empty", "parked", "unregistered", "orphan_volume"))
	}
	if w.maybe("lifted") {
		return func(tx *store.Tx) error { return tx.Mutes.Delete(m.Key()) }
	}
	return func(tx *store.Tx) error { return tx.Mutes.Put(m) }
}

// activity is what samples tell of an instance from now on, or that they tell nothing
// new, or that there are none.
func (w *twins) activity() func(tx *store.Tx) error {
	key := w.instance().Key()
	w.stirred = append(w.stirred, key)
	if w.maybe("nothing") {
		delete(w.eyes, key)
		return func(*store.Tx) error { return nil }
	}
	at := w.at.Wall.Add(-rapid.SampledFrom([]time.Duration{0, 30 * time.Second, 4 * time.Minute}).Draw(w.t, "age"))
	s := activity.State{At: at, Heard: at, Interval: rapid.SampledFrom([]time.Duration{time.Minute, time.Hour}).Draw(w.t, "interval"), Source: "agent",
		Basis: guard.Basis(w.some1("basis", "summary", "summary", "instant")), BootAt: w.moment("booted"),
		Sort: activity.Quiet(w.some1("sort", "empty", "empty", "resident", "blind")), Sorted: w.moment("sorted"), Unused: []int{1}}
	if s.BootAt.After(at) {
		s.BootAt = at
	}
	for _, x := range []*activity.Span{&s.Idle, &s.GPUsQuiet, &s.Parked, &s.Hung, &s.Phantom, &s.Underused, &s.Lost} {
		since := at.Add(-rapid.SampledFrom([]time.Duration{0, time.Minute, 25 * time.Minute, 35 * time.Minute, 70 * time.Minute, 4 * time.Hour}).Draw(w.t, "since"))
		if since.Before(s.BootAt) {
			since = s.BootAt // a span of an earlier boot is over
		}
		if w.maybe("holds") {
			*x = activity.Span{Since: since, End: at, Seen: at.Sub(since) * time.Duration(rapid.SampledFrom([]int{10, 10, 9, 7}).Draw(w.t, "seen")) / 10, Why: "so it is"}
		}
	}
	if w.maybe("worked") {
		s.Worked, s.Work = at, "gpu 93 %"
	}
	if w.maybe("told") {
		for i := range s.Told {
			s.Told[i] = at
		}
	}
	w.eyes[key] = s
	return func(*store.Tx) error { return nil }
}

// expected is the lease of what nobody has seen, of which a person may say that it is
// seen, or over.
func (w *twins) expected() func(tx *store.Tx) error {
	l := guard.Lease{ID: w.some1("lease", "x-1", "x-2"), Resource: guard.ResourceID{Account: w.some1("account", "lab", "lab", "eye"), Kind: guard.Instance}, Purpose: "lora 70b", Owner: "ana",
		RegisteredAt: w.at.Wall, ExpiresAt: w.moment("expires"), OnLimit: guard.ActRelease, Status: guard.LeaseExpected, UpdatedAt: w.at.Wall, UpdatedBy: "ana",
		Expect: &guard.Expect{Name: w.some1("name", "", "trainer", "trainer"), From: w.at.Wall.Add(-time.Hour), Until: w.at.Wall.Add(12 * time.Minute)}}
	switch w.some1("is", "expected", "expected", "expected", "seen", "over") {
	case "seen":
		l.Resource, l.Status, l.Expect = w.instance(), guard.LeaseActive, nil
	case "over":
		l.Status, l.EndedAt = guard.LeaseGone, w.at.Wall
	}
	return func(tx *store.Tx) error { return tx.Leases.Put(l) }
}

// stray is an instance that may be expected.
func (w *twins) stray() func(tx *store.Tx) error {
	id := guard.ResourceID{Account: w.some1("account", "lab", "lab", "eye"), Kind: guard.Instance, ID: w.some1("stray", "s-1", "s-2")}
	o := guard.Observed{Identity: "acct", FirstSeen: w.at.Wall, Seen: w.at.Wall, Resource: guard.Resource{ID: id, Name: w.some1("name", "trainer", "other"), State: guard.StateRunning,
		Created: w.at.Wall.Add(-time.Minute), GPUs: rapid.IntRange(0, 1).Draw(w.t, "gpus"), Bills: guard.Yes, Tags: map[string]string{guard.TagLease: w.some1("tag", "", "", "x-1", "x-2")}}}
	o.Resource.HasGPU = guard.TriOf(o.Resource.GPUs > 0)
	return func(tx *store.Tx) error { return tx.Observed.Put(o) }
}

func (w *twins) metered() func(tx *store.Tx) error {
	m := guard.Metered{Resource: w.resource()}
	at := w.at.Wall.Add(-5 * time.Hour)
	for range rapid.IntRange(1, 3).Draw(w.t, "segments") {
		s := guard.Segment{Resource: m.Resource, State: guard.State(w.some1("state", "running", "stopped")), Rate: w.rate(), From: at,
			Granularity: rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(w.t, "granularity")}
		at = at.Add(time.Duration(rapid.IntRange(1, 8*3600).Draw(w.t, "lasts")) * time.Second)
		s.To = at
		m.Segments = append(m.Segments, s)
	}
	if w.maybe("goes on") {
		m.Segments[len(m.Segments)-1].To = time.Time{}
	}
	if r := w.rate(); r.Known() && w.maybe("odd") {
		m.Odd, m.OddSince = &r, w.at.Wall
	}
	return func(tx *store.Tx) error { return tx.Metered.Put(m) }
}

func (w *twins) lease() func(tx *store.Tx) error {
	id := w.resource()
	l := guard.Lease{ID: "l-" + w.instance().Key(), Resource: id, Identity: "acct", Purpose: "lora 70b", Owner: "ana", RegisteredAt: w.moment("registered"), ExpiresAt: w.moment("expires"),
		OnLimit: guard.Action(w.some1("on limit", "release", "release", "stop", "alert")), Grace: rapid.SampledFrom([]time.Duration{0, 2 * time.Second, 10 * time.Minute, 3 * time.Hour}).Draw(w.t, "grace"),
		Status: guard.LeaseStatus(w.some1("status", "active", "active", "active", "expected", "stopped", "gone")), UpdatedAt: w.moment("updated"), UpdatedBy: "bo", Protected: rapid.IntRange(0, 9).Draw(w.t, "protected") == 0}
	if b := w.some1("budget", "", "100CNY", "1200CNY", "1300CNY", "2400CNY", "10000CNY"); b != "" {
		l.Budget = guard.MustMoney(b)
	}
	if until := w.moment("held"); w.maybe("is held") {
		l.Holds = []guard.Hold{{Until: until, By: "ana", Since: w.at.Wall}}
	}
	if !l.Status.Open() {
		l.EndedAt = w.at.Wall
	}
	return func(tx *store.Tx) error { return tx.Leases.Put(l) }
}

func (w *twins) plan() func(tx *store.Tx) error {
	p := guard.Plan{Lease: "l-" + w.instance().Key(), SolvedAt: w.at.Wall}
	if at := w.moment("due"); !at.IsZero() {
		d := guard.Deadline{Reason: guard.DeadlineBudget, Limit: at.Add(45 * time.Second), Due: at, Lead: 45 * time.Second, Stood: w.moment("stood")}
		if w.maybe("outdated") {
			d.Basis = "another word"
		}
		p.Deadlines = []guard.Deadline{d}
	}
	if w.maybe("unknown") {
		p.Unknown = []string{"a part"}
	}
	return func(tx *store.Tx) error { return tx.Plans.Put(p) }
}

// release is a person's order, or what the release loop makes of one.
func (w *twins) release() func(tx *store.Tx) error {
	id, at := w.instance(), w.at.Wall
	state := guard.ReleaseState(w.some1("to", "planned", "noticed", "intended", "issued", "blocked", "released"))
	return func(tx *store.Tx) error {
		r, ok, err := tx.Releases.Get(id.Key())
		if err != nil {
			return err
		}
		if !ok {
			return tx.Releases.Put(guard.Release{ID: "r-" + id.Key() + at.String(), Target: id, Action: guard.ActRelease, Cause: guard.CausePerson, By: "bo", Why: "ordered by bo",
				State: guard.ReleasePlanned, PlannedAt: at, Due: at})
		}
		if r.State = state; !state.Open() {
			r.EndedAt = at
			return tx.EndRelease(r)
		}
		return tx.Releases.Put(r)
	}
}

// stuck is what the release loop tells of a release.
func (w *twins) stuck() func(tx *store.Tx) error {
	id, at := w.instance(), w.at.Wall
	f := guard.Finding{ID: "stuck " + id.Key() + at.String(), Rule: guard.RuleReleaseBlocked, Subject: id.String(), Resource: id, Opened: at, Since: at, Title: "stuck"}
	return func(tx *store.Tx) error {
		if have, ok, err := tx.Findings.Get(f.Key()); err != nil || ok {
			have.Closed = at
			return put(err, tx.CloseFinding(have))
		}
		return tx.Findings.Put(f)
	}
}

func (w *twins) account() func(tx *store.Tx) error {
	a := guard.AccountStatus{Name: w.some1("account", "lab", "eye", "far"), Mode: guard.Mode(w.some1("mode", "observe", "enforce")), Polled: w.at.Wall,
		Identity: guard.Identity{ID: "acct", Self: w.some1("self", "", "", "i-1")}, Mismatch: w.some1("mismatch", "", "", "acct-9"), Failing: w.moment("failing"), Error: w.some1("error", "", "503")}
	if w.maybe("fresh") {
		a.FreshFrom, a.FreshWhy = w.at.Wall, "of a test"
	}
	return func(tx *store.Tx) error { return tx.Accounts.Put(a) }
}
