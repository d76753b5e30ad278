package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy"
	"guard/store"
)

// thread begins the thread of an instance in a channel, with a post that has a card.
func (w *world) thread(channel, name string, card *guard.Card, offers ...guard.Offer) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error { return begin(tx, channel, id(name).Key(), card, offers...) })
}

func begin(tx *store.Tx, channel, key string, card *guard.Card, offers ...guard.Offer) error {
	first := guard.Message{ID: channel + "|first|" + key, Channel: channel, Thread: key, Card: card, Offers: offers}
	return put(tx.SetValue(store.ThreadName(channel, key), "1700000000.000100"), tx.SetValue(store.FirstName(channel, key), first.ID), tx.Sent(first))
}

// edits are the messages that bring cards up to date, delivered since they were last asked
// for.
func (w *world) edits() []guard.Message {
	w.t.Helper()
	w.deliver()
	out := w.edited
	w.edited = nil
	return out
}

// after runs the loop some time later.
func (w *world) after(d time.Duration) {
	w.t.Helper()
	w.at = w.at.Reach(w.at.Wall.Add(d))
	w.once()
}

// journal is all that was written into it.
func (w *world) journal() (out []guard.JournalEntry) {
	w.t.Helper()
	w.view(func(v *store.View) (err error) {
		out, err = v.JournalSince(0, 1000)
		return err
	})
	return out
}

func offered(m guard.Message) string {
	var out []string
	for _, o := range m.Offers {
		out = append(out, string(o.Click))
	}
	return strings.Join(out, " ")
}

// TestOverOffersNothing: the message that something is over offers nothing that it is not
// about, whatever else may be done then.
func TestOverOffersNothing(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.to(20 * time.Minute)
	w.lease("i-1", 10*time.Hour)
	w.to(21 * time.Minute)
	said := w.said()
	if m := said[len(said)-1]; !strings.HasPrefix(m.Title, "Over: ") || m.Card == nil || offered(m) != "why" {
		t.Errorf("%q offers %s", m.Title, offered(m))
	}
}

// TestMessagesCarryTheirCard: beside its text a message has how its instance does once it is
// told, what may be done by a click, and whom it wants something of.
func TestMessagesCarryTheirCard(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.to(time.Hour)
	said := w.said()
	if len(said) != 1 || said[0].Card == nil {
		t.Fatalf("said: %+v", said)
	}
	m := said[0]
	c := m.Card
	if c.Owner != "ana" || c.Purpose != "lora 70b" || c.State != guard.StateRunning || c.Release != guard.ReleaseNoticed || !c.Ends.Equal(zero.Add(2*time.Hour)) ||
		c.Does != guard.ActRelease || c.By != guard.CauseExpiry || !slices.Equal(c.Open, []guard.Rule{guard.RuleExpired}) || !c.AsOf.Equal(w.at.Wall) {
		t.Errorf("card: %+v", c)
	}
	if len(c.Spent) != 1 || c.Spent[0].String() != "240.00 CNY" || c.Hourly.String() != "240.00 CNY" {
		t.Errorf("money on the card: %s, %s per hour", c.Spent, c.Hourly)
	}
	if got := offered(m); got != "extend extend hold release snooze why" || !slices.Equal(m.Mentions, []string{"ana"}) || m.Waits {
		t.Errorf("offers %q, mentions %q, waits %t", got, m.Mentions, m.Waits)
	}
	f := policy.Facts{At: w.at.Wall}
	w.view(func(v *store.View) error {
		l, _, err := v.Leases.Get("l-i-1")
		r, _, err2 := v.Releases.Get(id("i-1").Key())
		f.Lease, f.Release = &l, &r
		return put(err, err2)
	})
	for _, o := range m.Offers {
		if !policy.Good(f, o.Click, o.Key) {
			t.Errorf("%s does not count in the state that the message left behind", o.Click)
		}
	}
	w.change("i-1", func(l *guard.Lease) { l.ExpiresAt = l.ExpiresAt.Add(100 * time.Hour) })
	w.after(time.Second)
	said = w.said()
	if m := said[len(said)-1]; len(said) != 2 || m.Card == nil || m.Card.Release != "" || !m.Card.Ends.Equal(zero.Add(102*time.Hour)) || offered(m) != "why" {
		t.Errorf("withdrawn: %+v, card %+v", m, m.Card)
	}
}

// TestGroupedMessagesCarryNone: what is about several has no card, and waits where all do.
func TestGroupedMessagesCarryNone(t *testing.T) {
	w := newWorld(t, guard.Observe)
	for _, name := range []string{"i-1", "i-2", "i-3", "i-4"} {
		w.instance(name)
	}
	w.to(time.Hour)
	said := w.said()
	if len(said) != 1 || len(said[0].About) != 4 || said[0].Card != nil || said[0].Offers != nil || said[0].Waits {
		t.Errorf("said: %+v", said)
	}
}

// TestCardIsEdited: once for each change, in the channels that have a thread; amounts once
// an hour; and when it is gone.
func TestCardIsEdited(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 100*time.Hour)
	w.instance("i-2") // nobody ever heard of it
	w.lease("i-2", 100*time.Hour)
	w.thread("slack", "i-1", nil)
	w.once()
	if got := w.edits(); len(got) != 1 || got[0].Card == nil {
		t.Fatalf("a post without a card: %+v", got)
	}
	w.after(2 * time.Minute)
	if got := w.edits(); len(got) > 0 {
		t.Fatalf("nothing has changed: %+v", got)
	}
	journal := len(w.journal())
	w.to(3*time.Hour + 30*time.Minute)
	if got := w.edits(); len(got) != 2 || policy.Differs(*got[0].Card, *got[1].Card) || !policy.Ticked(*got[0].Card, *got[1].Card) {
		t.Errorf("amounts in three hours: %+v", got)
	}
	steps := []struct {
		name string
		do   func()
		is   func(c guard.Card) bool
	}{
		{"extended", func() { w.change("i-1", func(l *guard.Lease) { l.ExpiresAt = l.ExpiresAt.Add(2 * time.Hour) }) },
			func(c guard.Card) bool { return c.Ends.Equal(zero.Add(102 * time.Hour)) }},
		{"held", func() {
			w.change("i-1", func(l *guard.Lease) { l.Holds = []guard.Hold{{Until: w.at.Wall.Add(30 * time.Minute), By: "ana"}} })
		}, func(c guard.Card) bool { return !c.Held.IsZero() }},
		{"snoozed", func() {
			w.mute(guard.Mute{Subject: "lab/i-1", Kind: guard.Snooze, Until: w.at.Wall.Add(30 * time.Minute)})
		}, func(c guard.Card) bool { return !c.Snoozed.IsZero() }},
		{"stopping", func() { w.state("i-1", guard.StateStopping) }, func(c guard.Card) bool { return c.State == guard.StateStopping }},
	}
	for _, s := range steps {
		s.do()
		w.once()
		w.after(5 * time.Second)
		got := w.edits()
		if len(got) != 1 {
			t.Errorf("%s: %d edits", s.name, len(got))
			continue
		}
		m := got[0]
		if m.ID != "slack|card|"+id("i-1").Key() || m.Channel != "slack" || m.Thread != id("i-1").Key() || m.Title != "" || m.Card == nil || !s.is(*m.Card) || offered(m) == "" {
			t.Errorf("%s: %+v, card %+v", s.name, m, m.Card)
		}
	}
	if got := w.journal(); len(got) != journal {
		t.Errorf("journal: %+v", got[journal:])
	}
}

// TestNewestCardWins: what still waits is replaced, also where only the clicks that it
// offers would not count any more.
func TestNewestCardWins(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.thread("slack", "i-1", nil)
	w.once()
	for _, d := range []time.Duration{2 * time.Hour, 2 * time.Hour, time.Minute} {
		w.change("i-1", func(l *guard.Lease) { l.ExpiresAt = l.ExpiresAt.Add(d) })
		w.once()
	}
	if got := w.edits(); len(got) != 1 || !got[0].Card.Ends.Equal(zero.Add(14*time.Hour+time.Minute)) {
		t.Errorf("edits: %+v", got)
	}
}

// TestCardIsEditedAtOnce: what changes with what is told is shown in the same transaction.
func TestCardIsEditedAtOnce(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.thread("slack", "i-1", nil)
	w.once()
	w.edits()
	w.at = w.at.Reach(zero.Add(time.Hour))
	w.once()
	if said, got := w.said(), w.edits(); len(said) != 1 || len(got) != 1 || got[0].Card.Release != guard.ReleaseNoticed || offered(got[0]) != offered(said[0]) {
		t.Errorf("said %+v, edited %+v", said, got)
	}
}

// TestCardOfWhatIsGone: its end is shown, by the next process where this one did not come to
// it, and once; nothing of it ticks.
func TestCardOfWhatIsGone(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 100*time.Hour)
	w.thread("slack", "i-1", nil)
	w.once()
	w.deliver()
	w.update(func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(id("i-1").Key())
		o.Gone = &guard.Gone{At: w.at.Wall, How: guard.ByOutside, Proof: guard.ProofAbsence, ProvenAt: w.at.Wall}
		return put(err, tx.Observed.Put(o))
	})
	w.edited = nil
	w.restart() // before it was judged
	w.once()
	if got := w.edits(); len(got) != 1 || got[0].Card.State != guard.StateGone || got[0].Card.Ended != guard.ByOutside {
		t.Errorf("by a new process: %+v", got)
	}
	w.skip(3 * time.Hour)
	w.restart()
	w.once()
	w.skip(30 * time.Hour)
	if got := w.edits(); len(got) > 0 {
		t.Errorf("again: %+v", got)
	}
}

// TestTheFirstPostIsBroughtUpToDate: what changed while it waited for its channel is shown
// once it is posted, and a post that is up to date is left alone.
func TestTheFirstPostIsBroughtUpToDate(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	for _, name := range []string{"i-1", "i-2"} {
		w.instance(name)
		w.lease(name, 2*time.Hour)
	}
	w.at = w.at.Reach(zero.Add(time.Hour))
	w.once() // the notices
	notices := w.said()
	w.change("i-1", func(l *guard.Lease) { l.ExpiresAt = l.ExpiresAt.Add(40 * time.Hour) })
	w.once()
	if got := w.edits(); len(got) > 0 || len(notices) != 2 {
		t.Fatalf("nothing is posted yet: %+v, %+v", got, notices)
	}
	for i, name := range []string{"i-1", "i-2"} {
		w.thread("slack", name, notices[i].Card, notices[i].Offers...)
		w.state(name, guard.StateRunning) // has it judged
	}
	w.after(time.Second)
	if got := w.edits(); len(got) != 1 || got[0].Thread != id("i-1").Key() || !got[0].Card.Ends.Equal(zero.Add(42*time.Hour)) {
		t.Errorf("edits: %+v", got)
	}
}

// TestEachInTheirLanguage: one transaction tells each channel in its own, findings of a kind
// that share a message too; what is kept is English.
func TestEachInTheirLanguage(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.config.Audience = []guard.Audience{{Channel: "slack"}, {Channel: "feishu", Lang: guard.Chinese}, {Channel: "log"}}
	w.restart()
	for _, name := range []string{"i-1", "i-2", "i-3", "i-4"} {
		w.instance(name)
	}
	w.instance("i-9")
	w.lease("i-9", 2*time.Hour)
	w.to(time.Hour)
	w.change("i-9", func(l *guard.Lease) { l.ExpiresAt = l.ExpiresAt.Add(40 * time.Hour) })
	w.to(2 * time.Hour)
	by := map[string][]guard.Message{}
	w.view(func(v *store.View) error {
		clear(by)
		for m, err := range v.SentMessages.All("") {
			if err != nil {
				return err
			}
			if !m.Edit {
				by[m.Channel] = append(by[m.Channel], m)
			}
		}
		return nil
	})
	if len(by["feishu"]) != len(by["slack"]) || len(by["feishu"]) < 3 {
		t.Fatalf("%d in Chinese, %d in English", len(by["feishu"]), len(by["slack"]))
	}
	for _, m := range by["feishu"] {
		if m.Lang != guard.Chinese || !chinese(m.Title) {
			t.Errorf("%s: %s", m.ID, m.Title)
		}
	}
	for _, m := range slices.Concat(by["slack"], by["log"]) {
		if chinese(m.Title + strings.Join(m.Lines, "")) {
			t.Errorf("%s: %s %q", m.ID, m.Title, m.Lines)
		}
	}
	f, ok := w.finding(guard.RuleUnregistered, "lab/i-1")
	if !ok || chinese(f.Title) || !chinese(f.TitleIn(guard.Chinese)) {
		t.Errorf("kept: %t %q %q", ok, f.Title, f.TitleIn(guard.Chinese))
	}
	for _, e := range w.journal() {
		if chinese(e.Text) {
			t.Errorf("journal: %s", e.Text)
		}
	}
}

func chinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff })
}

func (w *world) state(name string, s guard.State) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(id(name).Key())
		o.Resource.State = s
		return put(err, tx.Observed.Put(o))
	})
}

// TestTell: what a release says has the card of the ledger as it is from then on, with what
// its receipt says of money.
func TestTell(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.to(time.Hour)
	tell := func(stage string, rule guard.Rule, change func(*store.Tx, *guard.Release) error) guard.Message {
		t.Helper()
		r, ok := w.release("i-1")
		if !ok {
			t.Fatal("no release")
		}
		w.update(func(tx *store.Tx) error {
			if err := change(tx, &r); err != nil {
				return err
			}
			return w.loop.Tell(tx, w.at, r, stage, func(guard.Lang) guard.Message {
				return guard.Message{Rule: rule, Release: r.ID, Thread: r.Target.Key(), About: []guard.ResourceID{r.Target}, Title: stage, CreatedAt: w.at.Wall}
			})
		})
		said := w.said()
		i := slices.IndexFunc(said, func(m guard.Message) bool { return m.Title == stage })
		if i < 0 || said[i].Card == nil {
			t.Fatalf("%s: %+v", stage, said)
		}
		return said[i]
	}
	m := tell("blocked permission", guard.RuleReleaseBlocked, func(tx *store.Tx, r *guard.Release) error {
		r.State, r.Reason = guard.ReleaseBlocked, guard.BlockPermission
		f := guard.Finding{Rule: guard.RuleReleaseBlocked, Subject: "lab/i-1", Resource: r.Target, Opened: w.at.Wall, Urgent: true}
		f.ID = policy.FindingID(f)
		return put(tx.Releases.Put(*r), tx.Findings.Put(f))
	})
	if c := m.Card; c.Release != guard.ReleaseBlocked || c.Blocked != guard.BlockPermission || !slices.Contains(c.Open, guard.RuleReleaseBlocked) ||
		!strings.HasPrefix(offered(m), "ack ") || !slices.Equal(m.Mentions, []string{"ana"}) || m.Waits {
		t.Errorf("blocked: %+v, card %+v", m, c)
	}
	m = tell("released", "", func(tx *store.Tx, r *guard.Release) error {
		r.State, r.EndedAt, r.Receipt = guard.ReleaseDone, w.at.Wall, &guard.Receipt{Spend: []guard.Money{guard.MustMoney("777 CNY")}}
		o, _, err := tx.Observed.Get(r.Target.Key())
		o.Gone = &guard.Gone{At: w.at.Wall, How: guard.ByRelease, ProvenAt: w.at.Wall}
		return put(err, tx.Observed.Put(o), tx.EndRelease(*r))
	})
	if c := m.Card; c.State != guard.StateGone || c.Ended != guard.ByRelease || c.Release != "" || len(c.Spent) != 1 || c.Spent[0].String() != "777.00 CNY" ||
		offered(m) != "why" || m.Mentions != nil || !m.Waits {
		t.Errorf("released: %+v, card %+v", m, c)
	}
}
