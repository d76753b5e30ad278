package people_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/people"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
	"guard/store/memory"
)

var (
	start = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	box   = guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}
)

// desk is People over a ledger, with an API that notes what it is asked.
type desk struct {
	*testing.T
	ledger *store.Ledger
	at     guard.Instant
	people *people.People
	log    bytes.Buffer
	lang   guard.Lang

	asked []string // the calls, with who makes them
	once  string   // of the last one
	fails error
	plan  string
	// outcome is what an order to release comes to.
	outcome string
	items   []wire.Item
	lease   guard.Lease
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, at: guard.Instant{Wall: start, Elapsed: time.Hour}, plan: "plan-1"}
	var err error
	if d.ledger, err = store.Open(t.Context(), memory.New(), d.at); err != nil {
		t.Fatal(err)
	}
	known := map[string]people.Person{"U1": {Name: "ana", Role: guard.Operator}, "U2": {Name: "bo", Role: guard.Admin}}
	d.people = people.New(people.Config{Ledger: d.ledger, Log: slog.New(slog.NewTextHandler(&d.log, nil)),
		Who: func(channel, user string) (people.Person, bool) {
			p, ok := known[user]
			return p, ok && channel == "slack"
		},
		Lang: func(string) guard.Lang { return d.lang },
		Zone: func() *time.Location { return time.UTC },
		As: func(p people.Person, channel, user, once string) people.Verbs {
			d.once = once
			return stub{d, p.Name + "(" + channel + " " + user + ")"}
		}})
	d.lease = guard.Lease{ID: "l-1", Resource: box, Owner: "ana", OnLimit: guard.ActRelease, Status: guard.LeaseActive, ExpiresAt: start.Add(time.Hour), RegisteredAt: start.Add(-time.Hour)}
	d.put(func(tx *store.Tx) error {
		return errors.Join(tx.Leases.Put(d.lease), tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: box, GPUs: 1, State: guard.StateRunning, Created: start.Add(-time.Hour)}, Identity: "acct-1"}))
	})
	return d
}

func (d *desk) put(f func(tx *store.Tx) error) {
	d.Helper()
	if err := d.ledger.Update(d.Context(), f); err != nil {
		d.Fatal(err)
	}
}

// offers are those of the present state, each with its key.
func (d *desk) offers() []guard.Offer {
	f := policy.Facts{At: d.at.Wall, Lease: &d.lease, Mode: guard.Enforce, Configured: true, May: policy.May{GPU: true},
		Observed: &guard.Observed{Resource: guard.Resource{ID: box, GPUs: 1, State: guard.StateRunning}, Identity: "acct-1"}}
	return policy.Offers(policy.DefaultRules(), f, []guard.Rule{guard.RuleExpired})
}

// message queues a message with the offers of now.
func (d *desk) message(id string) guard.Message {
	d.Helper()
	m := guard.Message{ID: id, Channel: "slack", Lang: d.lang, Thread: box.Key(), About: []guard.ResourceID{box}, Title: "t", CreatedAt: d.at.Wall, Offers: d.offers()}
	d.put(func(tx *store.Tx) error { return tx.Outbox.Put(m) })
	return m
}

// click clicks the first offer of a kind.
func (d *desk) click(user string, m guard.Message, c guard.Click) wire.Click {
	d.Helper()
	i := slices.IndexFunc(m.Offers, func(o guard.Offer) bool { return o.Click == c })
	if i < 0 {
		d.Fatalf("%s is not offered: %+v", c, m.Offers)
	}
	return wire.Click{Channel: "slack", User: user, Message: m.ID, Offer: string(c), Key: m.Offers[i].Key}
}

func (d *desk) handle(c wire.Click) wire.ClickAnswer {
	return d.people.Handle(d.Context(), d.at, c)
}

// refused are the refusals in the journal.
func (d *desk) refused() (out []guard.JournalEntry) {
	d.Helper()
	err := d.ledger.View(d.Context(), func(v *store.View) error {
		all, err := v.JournalSince(0, 10_000)
		if err != nil {
			return err
		}
		for _, e := range all {
			if e.Verb == "click refused" {
				out = append(out, e)
			}
		}
		return nil
	})
	if err != nil {
		d.Fatal(err)
	}
	return out
}

// stub is the API of one caller.
type stub struct {
	d   *desk
	who string
}

func (s stub) note(verb string, r any) error {
	s.d.asked = append(s.d.asked, fmt.Sprintf("%s %s %+v", s.who, verb, r))
	return s.d.fails
}

func (s stub) change(verb, field string, r any) (wire.Changed, error) {
	end := s.d.lease.ExpiresAt.Add(2 * time.Hour)
	return wire.Changed{Changes: []wire.Change{{Field: field, To: "then"}}, Item: wire.Item{ExpiresAt: &end, HeldUntil: &end}, Notes: []string{"a note"}}, s.note(verb, r)
}

func (s stub) Extend(_ context.Context, r wire.ExtendRequest) (wire.Changed, error) {
	out, err := s.change("extend", "expires_at", r)
	if r.Budget != "" {
		out.Changes = append(out.Changes, wire.Change{Field: "budget", To: "2500.00 CNY"})
	}
	if r.By == "" && r.Until == "" {
		out.Changes = out.Changes[1:]
	}
	return out, err
}
func (s stub) Hold(_ context.Context, r wire.HoldRequest) (wire.Changed, error) {
	return s.change("hold", "held_until", r)
}
func (s stub) Veto(_ context.Context, r wire.MuteRequest) (wire.Changed, error) {
	return s.change("veto", "veto", r)
}
func (s stub) Snooze(_ context.Context, r wire.MuteRequest) (wire.Changed, error) {
	return s.change("snooze", "snooze", r)
}
func (s stub) Ack(_ context.Context, r wire.MuteRequest) (wire.Changed, error) {
	return s.change("ack", "ack", r)
}
func (s stub) Register(_ context.Context, r wire.RegisterRequest) (wire.Registered, error) {
	return wire.Registered{Item: wire.Item{Owner: "ana"}, Erases: []string{"its disk"}}, s.note("register", r)
}
func (s stub) Release(_ context.Context, r wire.ReleaseRequest) (wire.ReleaseAnswer, error) {
	err := s.note("release", r)
	out := wire.ReleaseOutcome{Outcome: wire.OutcomeWould, Name: "trainer", Erases: []string{"its disk"}, Survives: []string{"v-1"}}
	if !r.DryRun {
		out.Outcome, out.Text = s.d.outcome, "as the API says"
	}
	return wire.ReleaseAnswer{Plan: s.d.plan, Results: []wire.ReleaseOutcome{out}}, err
}
func (s stub) Why(_ context.Context, id string) (wire.Why, error) {
	return wire.Why{Lines: []string{"because of " + id}}, s.note("why", id)
}
func (s stub) Report(_ context.Context, lang guard.Lang) (wire.Report, error) {
	return wire.Report{Title: "yesterday", Lines: []string{"12.00 USD in " + string(lang)}}, s.d.fails
}
func (s stub) Live(context.Context) (wire.List, error) {
	return wire.List{Now: s.d.at.Wall, Items: s.d.items}, s.d.fails
}

// must checks an answer, and what the API was asked.
func (d *desk) must(a wire.ClickAnswer, done bool, text string, asked ...string) {
	d.Helper()
	if a.Done != done || !strings.Contains(a.Text, text) {
		d.Errorf("%+v, want %q", a, text)
	}
	if !slices.Equal(d.asked, asked) {
		d.Errorf("asked %q, want %q", d.asked, asked)
	}
	d.asked = nil
}

// A click is carried out as whoever clicked, with what the offer says, under a key.
func TestClick(t *testing.T) {
	d := newDesk(t)
	m := d.message("slack|card|x")
	d.must(d.handle(d.click("U1", m, guard.ClickExtend)), true, "lab/i-1 is yours to use until 2026-03-06T13:00:00Z now", "ana(slack U1) extend {ID:lab/i-1 By:2h Until: Budget:}")
	if len(d.once) < 32 {
		t.Errorf("once %q", d.once)
	}
	first := d.once
	d.must(d.handle(d.click("U2", m, guard.ClickHold)), true, "held until", "bo(slack U2) hold {ID:lab/i-1 For:2h Until: Reason:}")
	if d.once == first {
		t.Error("two clicks have one key")
	}
	d.must(d.handle(d.click("U1", m, guard.ClickWhy)), true, "lab/i-1", "ana(slack U1) why lab/i-1")
	// The same offer in another message is the same click.
	other := d.message("slack|other")
	d.handle(d.click("U2", other, guard.ClickExtend))
	if d.once != first {
		t.Errorf("%q, %q", first, d.once)
	}
	if r := d.refused(); len(r) > 0 {
		t.Errorf("%+v", r)
	}
}

// The second click finds the first one done, by whom and when; after it the state may come
// again, and what was offered since then counts.
func TestTwice(t *testing.T) {
	d := newDesk(t)
	m := d.message("slack|card|x")
	c := d.click("U1", m, guard.ClickExtend)
	d.handle(c)
	d.asked = nil
	d.put(func(tx *store.Tx) error {
		return tx.SetValue(guard.ClicksName, []guard.Clicked{{Key: d.once, By: "ana", At: start}})
	})
	d.at.Wall, d.at.Elapsed = start.Add(time.Minute), d.at.Elapsed+time.Minute
	d.must(d.handle(c), false, "Done already, by ana at 2026-03-06T10:00:00Z")
	// Also where the message shows a later state by now.
	later := m
	later.Offers = nil
	d.put(func(tx *store.Tx) error { return tx.Outbox.Put(later) })
	d.must(d.handle(c), false, "Done already, by ana")
	// Of two at once the API lets one through.
	fresh := d.message("slack|new")
	d.fails = &wire.Error{Kind: wire.KindConflict, Message: "done already, by bo at noon"}
	c = d.click("U1", fresh, guard.ClickExtend)
	a := d.handle(c)
	d.asked = nil
	if a.Done || !strings.Contains(a.Text, "done already, by bo") && !strings.Contains(a.Text, "Done already, by bo") {
		t.Errorf("%+v", a)
	}
	d.fails = nil
	d.must(d.handle(c), true, "", "ana(slack U1) extend {ID:lab/i-1 By:2h Until: Budget:}")
	if kinds := kindsOf(d.refused()); kinds != "twice twice conflict" {
		t.Errorf("%s", kinds)
	}
}

func kindsOf(entries []guard.JournalEntry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Data["kind"])
	}
	return strings.Join(out, " ")
}

// What must not be done changes nothing, is answered politely and stands in the journal
// with who it was.
func TestRefused(t *testing.T) {
	d := newDesk(t)
	m := d.message("slack|card|x")
	good := d.click("U1", m, guard.ClickExtend)
	with := func(change func(*wire.Click)) wire.Click { c := good; change(&c); return c }
	team := m
	team.ID, team.Channel = "team|card|x", "team"
	many := m
	many.ID, many.Thread, many.About = "slack|many", "", []guard.ResourceID{box, {Account: "lab", Kind: guard.Instance, ID: "i-2"}}
	old := m
	old.ID, old.Offers = "slack|old", slices.Clone(m.Offers)
	for i := range old.Offers {
		old.Offers[i].Until = start
	}
	d.put(func(tx *store.Tx) error {
		return errors.Join(tx.Outbox.Put(team), tx.Outbox.Put(many), tx.Outbox.Put(old))
	})
	for name, x := range map[string]struct {
		c          wire.Click
		kind, text string
	}{
		"a stranger":                 {with(func(c *wire.Click) { c.User = "U9" }), "stranger", "your member ID, U9, under notify.slack.users"},
		"nobody":                     {with(func(c *wire.Click) { c.User = "" }), "stranger", "does not know you"},
		"another channel's user":     {with(func(c *wire.Click) { c.Channel = "team" }), "stranger", "does not know you"},
		"another channel's message":  {with(func(c *wire.Click) { c.Message = team.ID }), "unknown", "no longer has this message"},
		"no message":                 {with(func(c *wire.Click) { c.Message = "slack|none" }), "unknown", "no longer has this message"},
		"an endless message":         {with(func(c *wire.Click) { c.Message = strings.Repeat("x", 1<<20) }), "unknown", "no longer has this message"},
		"about many":                 {with(func(c *wire.Click) { c.Message = many.ID }), "unknown", "no single thing"},
		"a forged key":               {with(func(c *wire.Click) { c.Key = strings.Repeat("a", 32) }), "stale", "Things have changed with lab/i-1"},
		"an empty key":               {with(func(c *wire.Click) { c.Key = "" }), "stale", "Things have changed"},
		"another click under a key":  {with(func(c *wire.Click) { c.Offer = "release" }), "stale", "Things have changed"},
		"a click that there is none": {with(func(c *wire.Click) { c.Offer = "destroy" }), "stale", "Things have changed"},
		"one too many":               {with(func(c *wire.Click) { c.Nth = 3 }), "stale", "Things have changed"},
		"too late":                   {with(func(c *wire.Click) { c.Message = old.ID }), "over", "counted until 2026-03-06T10:00:00Z"},
	} {
		before := len(d.refused())
		d.at.Elapsed += time.Hour // none is one too many
		d.must(d.handle(x.c), false, x.text)
		r := d.refused()
		if len(r) != before+1 || r[before].Data["kind"] != x.kind || len(r[before].Data["slack_user"]+r[before].Data["team_user"]) != len(x.c.User) {
			t.Errorf("%s: %+v", name, r[before:])
		}
	}
	// The state has changed since: last week's message, or another's click.
	d.lease.ExpiresAt = start.Add(2 * time.Hour)
	d.put(func(tx *store.Tx) error { return tx.Leases.Put(d.lease) })
	d.must(d.handle(good), false, "Things have changed with lab/i-1")
	if r := d.refused(); r[len(r)-1].Data["kind"] != "changed" || r[len(r)-1].Who != "ana" || r[len(r)-1].Subject != "lab/i-1" {
		t.Errorf("%+v", r[len(r)-1])
	}
	// Why it is so may be asked of an old message, too.
	d.must(d.handle(d.click("U1", m, guard.ClickWhy)), true, "lab/i-1", "ana(slack U1) why lab/i-1")
}

// A flood of clicks fills no journal.
func TestFlood(t *testing.T) {
	d := newDesk(t)
	for range 1000 {
		d.must(d.handle(wire.Click{Channel: "slack", User: "U9", Command: "ls"}), false, "does not know you")
	}
	if n := len(d.refused()); n != 5 {
		t.Errorf("%d entries of one stranger", n)
	}
	for i := range 1000 {
		d.handle(wire.Click{Channel: "slack", User: fmt.Sprint("V", i)})
	}
	if n := len(d.refused()); n != 50 {
		t.Errorf("%d entries of everybody", n)
	}
	d.at.Elapsed += time.Hour
	d.handle(wire.Click{Channel: "slack", User: "U9"})
	r := d.refused()
	if last := r[len(r)-1]; len(r) != 51 || !strings.HasPrefix(last.Data["before"], "955 more") {
		t.Errorf("%d, %+v", len(r), last)
	}
}

// A release is asked about once more, with what it erases, and ends what was shown only.
func TestRelease(t *testing.T) {
	d := newDesk(t)
	m := d.message("slack|card|x")
	c := d.click("U1", m, guard.ClickRelease)
	a := d.handle(c)
	if a.Ask == nil || len(a.Ask.Fields) != 0 || a.Ask.State != "plan-1" || !strings.Contains(a.Ask.About, "lab/i-1 (trainer) is released now. That erases its disk. What stays, and goes on billing: v-1.") {
		t.Fatalf("%+v", a.Ask)
	}
	d.must(a, false, "", "ana(slack U1) release {IDs:[lab/i-1] All:false Match:map[] Reason: DryRun:true ConfirmGone:false Plan: Goes:[]}")
	c.Form, c.State = map[string]string{}, a.Ask.State
	d.plan = "plan-2"
	d.must(d.handle(c), false, "has changed since it was shown", "ana(slack U1) release {IDs:[lab/i-1] All:false Match:map[] Reason: DryRun:true ConfirmGone:false Plan: Goes:[]}")
	d.plan = "plan-1"
	d.outcome = wire.OutcomeRefused // what was shown would go, and does not
	if a = d.handle(c); a.Done || !strings.Contains(a.Text, "Nothing was done: as the API says") {
		t.Errorf("%+v", a)
	}
	d.asked = nil
	d.outcome = wire.OutcomeOrdered
	d.must(d.handle(c), true, "the release of lab/i-1 is ordered", "ana(slack U1) release {IDs:[lab/i-1] All:false Match:map[] Reason: DryRun:true ConfirmGone:false Plan: Goes:[]}",
		"ana(slack U1) release {IDs:[lab/i-1] All:false Match:map[] Reason: DryRun:false ConfirmGone:false Plan:plan-1 Goes:[lab/i-1]}")
	d.lang = guard.Chinese
	if a = d.handle(d.click("U1", d.message("slack|zh"), guard.ClickRelease)); !strings.Contains(a.Text, "lab/i-1（trainer）") {
		t.Errorf("%+v", a)
	}
}

// What is typed is answered in columns, or carried out.
func TestCommands(t *testing.T) {
	d := newDesk(t)
	rate, end := "16.00 USD", start.Add(90*time.Minute)
	d.items = []wire.Item{{Account: "lab", ID: "i-2", Kind: "instance", Name: "大模型训练", State: "running"}, {Account: "lab", ID: "v-1", Kind: "volume"},
		{Account: "lab", ID: "i-1", Kind: "instance", Purpose: "lora\u202e 70b", Owner: "ana", State: "running", Rate: &rate, Deadline: &end, DeadlineReason: "expiry"}}
	say := func(user, command string) string {
		a := d.handle(wire.Click{Channel: "slack", User: user, Command: command})
		return strings.Join(append([]string{a.Text}, a.Lines...), "\n")
	}
	want := "2 machines; what ends first comes first.\n" +
		"MACHINE  PURPOSE     OWNER   STATE    AN HOUR    SPENT    ENDS\n" +
		"lab/i-1  lora 70b    ana     running  16.00 USD  unknown  1h30m (expiry)\n" +
		"lab/i-2  大模型训练  nobody  running  unknown    unknown  -"
	if got := say("U1", " LS "); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := say("U1", "mine"); !strings.Contains(got, "lab/i-1") || strings.Contains(got, "lab/i-2") {
		t.Error(got)
	}
	if got := say("U2", "mine"); got != "Nothing that lives is registered to you (bo)." {
		t.Error(got)
	}
	if got := say("U1", "report"); got != "yesterday\n12.00 USD in " {
		t.Error(got)
	}
	for command, want := range map[string]string{"": "/guard ls", "help": "/guard register ACCOUNT/ID --purpose", "ls all": "does not know all here", "register lab/i-1 --colour red": "does not know --colour here",
		"register lab/i-1 --ttl": "--ttl wants a value", "register --ttl 1h": "Register which machine?", `ls "x`: "a quote is not closed", strings.Repeat("a ", 100): "too long", "\x00": "It knows:"} {
		if got := say("U1", command); !strings.Contains(got, want) {
			t.Errorf("%q: %s", command, got)
		}
	}
	if len(d.asked) > 0 {
		t.Errorf("%q", d.asked)
	}
	d.must(d.handle(wire.Click{Channel: "slack", User: "U1", Command: "register lab/i-2 —purpose “two words” --ttl=4h"}), true, "lab/i-2 is registered to ana",
		"ana(slack U1) register {ID:lab/i-2 Purpose:two words Owner: TTL:4h Until: Budget: Price: Tags:map[] OnLimit: Grace: NoGPUOK:false AllowUnprotect:false Reassign:false Expect:<nil> Key: AskedAt:<nil>}")
	// Without more it asks; without a machine for that, too.
	for command, fields := range map[string]int{"register lab/i-2": 3, "register": 4} {
		a := d.handle(wire.Click{Channel: "slack", User: "U1", Command: command})
		if a.Ask == nil || len(a.Ask.Fields) != fields || a.Ask.Offer != "register" || a.Ask.Key != strings.TrimPrefix(strings.TrimPrefix(command, "register"), " ") {
			t.Errorf("%s: %+v", command, a.Ask)
		}
	}
	a := d.handle(wire.Click{Channel: "slack", User: "U1", Offer: "register", Form: map[string]string{"id": "", "purpose": " "}})
	if a.Done || a.Wrong["id"] == "" || a.Wrong["purpose"] == "" || a.Wrong["ttl"] != "" {
		t.Errorf("%+v", a)
	}
}

// Nobody but those who are configured, however they come: with empty lists that is nobody.
func TestNobody(t *testing.T) {
	d := newDesk(t)
	p := people.New(people.Config{Ledger: d.ledger, Log: slog.New(slog.DiscardHandler), Lang: func(string) guard.Lang { return guard.Chinese }, Zone: func() *time.Location { return time.UTC },
		Who: func(string, string) (people.Person, bool) { return people.Person{}, false },
		As:  func(people.Person, string, string, string) people.Verbs { t.Error("the API was asked"); return nil }})
	m := d.message("slack|card|x")
	for _, c := range []wire.Click{d.click("U1", m, guard.ClickExtend), {Channel: "slack", User: "U1", Command: "ls"}, {Channel: "slack", User: "U1", Offer: "register", Form: map[string]string{"id": "lab/i-1"}}} {
		if a := p.Handle(t.Context(), d.at, c); a.Done || !strings.Contains(a.Text, "guard 不认识你") {
			t.Errorf("%+v", a)
		}
	}
	if n := len(d.refused()); n != 3 {
		t.Errorf("%d refusals in the journal", n)
	}
}

// What goes wrong inside ends nothing, and tells nothing of itself.
func TestPanic(t *testing.T) {
	d := newDesk(t)
	p := people.New(people.Config{Ledger: d.ledger, Log: slog.New(slog.NewTextHandler(&d.log, nil)), Lang: func(string) guard.Lang { return "" }, Zone: func() *time.Location { return time.UTC },
		Who: func(string, string) (people.Person, bool) { panic("secret") }})
	if a := p.Handle(t.Context(), d.at, wire.Click{}); a.Done || !strings.Contains(a.Text, "guard failed at this") || strings.Contains(a.Text, "secret") {
		t.Errorf("%+v", a)
	}
	if !strings.Contains(d.log.String(), "a click panicked") {
		t.Error("the log does not tell")
	}
}
