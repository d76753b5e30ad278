package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
	"guard/store"
)

const people = `
notify: {slack: {token: {env: SLACK_BOT_TOKEN}, app_token: {env: SLACK_APP_TOKEN}, channel: "#gpu-cost", users: [{id: U1, name: ana}], admins: [{id: U2, name: bo}]}}
`

// clickable begins a story in which ana has a box for two hours, and returns the message
// that warned of its end, as Slack has it.
func clickable(t *testing.T, config string) (*world, guard.Message) {
	t.Helper()
	w := newWorld(t, enforce+people+config, lab(gpu("i-1", "1"), gpu("i-2", "1")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", Owner: "ana", TTL: "2h", Grace: "30m"})
	w.until(time.Hour + 45*time.Minute)
	return w, w.inSlack(guard.RuleExpired)
}

// inSlack puts the newest message that guard told of a rule into Slack, too.
func (w *world) inSlack(rule guard.Rule) guard.Message {
	w.t.Helper()
	i := slices.IndexFunc(w.channel.posts, func(m guard.Message) bool { return m.Rule == rule && len(m.Offers) > 0 })
	if i < 0 {
		w.t.Fatalf("nothing about %s offers a click", rule)
	}
	m := w.channel.posts[i]
	m.ID, m.Channel = "slack|"+m.ID, "slack"
	if err := w.ledger.Update(w.t.Context(), func(tx *store.Tx) error { return tx.Sent(m) }); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) click(user string, m guard.Message, c guard.Click) wire.Click {
	w.t.Helper()
	i := slices.IndexFunc(m.Offers, func(o guard.Offer) bool { return o.Click == c })
	if i < 0 {
		w.t.Fatalf("%s is not offered: %+v", c, m.Offers)
	}
	return wire.Click{Channel: "slack", User: user, Message: m.ID, Offer: string(c), Key: m.Offers[i].Key}
}

func (w *world) expires(id string) time.Duration {
	w.t.Helper()
	return w.item(id).ExpiresAt.Sub(w.start)
}

// Twenty click the same button at once, on two messages that offer the same: it is done
// once, by one of them, and the others hear by whom. The journal has who it was in Slack.
func TestClickedAtOnce(t *testing.T) {
	t.Parallel()
	w, m := clickable(t, "")
	other := m
	other.ID = "slack|other"
	if err := w.ledger.Update(t.Context(), func(tx *store.Tx) error { return tx.Outbox.Put(other) }); err != nil {
		t.Fatal(err)
	}
	before := w.expires("lab/i-1")
	answers := make([]wire.ClickAnswer, 20)
	var wg sync.WaitGroup
	for i := range answers {
		c := w.click([]string{"U1", "U2"}[i%2], []guard.Message{m, other}[i/2%2], guard.ClickExtend)
		wg.Go(func() { answers[i] = w.daemon.Click(t.Context(), c) })
	}
	wg.Wait()
	done := 0
	for _, a := range answers {
		switch {
		case a.Done:
			done++
		case !strings.Contains(a.Text, "one already, by ") && !strings.Contains(a.Text, "Things have changed"):
			t.Errorf("%+v", a)
		}
	}
	if moved := w.expires("lab/i-1") - before; done != 1 || moved != 2*time.Hour {
		t.Errorf("done %d times, the end moved by %s", done, moved)
	}
	log, err := w.client.Log(t.Context(), "lab/i-1", 50)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(log.Entries, func(e wire.Entry) bool { return e.Verb == "extended" })
	if i < 0 {
		t.Fatal("the journal does not tell of it")
	}
	if e := log.Entries[i]; e.Who != map[string]string{"U1": "ana", "U2": "bo"}[e.Data["slack_user"]] {
		t.Errorf("%+v", e)
	}
}

// What a person may not do otherwise they may not by a click; and a click that is refused
// is not used up.
func TestClickHeedsCeilings(t *testing.T) {
	t.Parallel()
	w, m := clickable(t, "ceilings: {ttl: 5h}\n")
	c := w.click("U1", m, guard.ClickExtend)
	c.Nth, c.Form = 2, map[string]string{"by": "9h"}
	a := w.daemon.Click(t.Context(), c)
	if a.Done || !strings.Contains(fmt.Sprint(a), "ceiling") {
		t.Errorf("%+v", a)
	}
	c.Form = map[string]string{"by": "1h"}
	if a = w.daemon.Click(t.Context(), c); !a.Done || w.expires("lab/i-1") != 3*time.Hour+time.Minute {
		t.Errorf("%+v, until %s", a, w.expires("lab/i-1"))
	}
}

// Who may click is asked of the configuration in force.
func TestClickAfterReload(t *testing.T) {
	t.Parallel()
	w, m := clickable(t, "")
	for _, channel := range []string{"team", "url:1", "log", ""} { // another channel's users have other names
		c := w.click("U1", m, guard.ClickExtend)
		c.Channel = channel
		if a := w.daemon.Click(t.Context(), c); a.Done || !strings.Contains(a.Text, "does not know you") {
			t.Errorf("%s: %+v", channel, a)
		}
	}
	w.config = strings.Replace(w.config, "users: [{id: U1, name: ana}], admins: [{id: U2, name: bo}]", "users: [], admins: []", 1)
	if err := w.daemon.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"U1", "U2", "ana", ""} {
		if a := w.daemon.Click(t.Context(), w.click(user, m, guard.ClickExtend)); a.Done || !strings.Contains(a.Text, "does not know you") {
			t.Errorf("%s: %+v", user, a)
		}
	}
	if w.expires("lab/i-1") != 2*time.Hour+time.Minute {
		t.Error("the lease was extended")
	}
}

// A release by a click is asked about, goes through every refusal that guard release has,
// and is proven. After it the button is no good any more.
func TestClickReleases(t *testing.T) {
	t.Parallel()
	w, m := clickable(t, "")
	c := w.click("U1", m, guard.ClickRelease)
	a := w.daemon.Click(t.Context(), c)
	if a.Ask == nil || !strings.Contains(a.Ask.About, "erases the instance itself") {
		t.Fatalf("%+v", a)
	}
	c.Form = map[string]string{}
	if forged := w.daemon.Click(t.Context(), c); forged.Done || w.effective("lab", "i-1") != 0 {
		t.Errorf("a form that was never shown: %+v", forged)
	}
	c.State = a.Ask.State
	if a = w.daemon.Click(t.Context(), c); !a.Done {
		t.Fatalf("%+v", a)
	}
	if again := w.daemon.Click(t.Context(), c); again.Done || !strings.Contains(again.Text, "Done already, by ana") {
		t.Errorf("%+v", again)
	}
	w.until(2 * time.Hour)
	w.truth("lab", "i-1", fake.TruthGone)
	if n := w.effective("lab", "i-1"); n != 1 {
		t.Errorf("released %d times", n)
	}
}

// Whoever registers by a form has it, with the limits that they typed; what is wrong with
// them is told beside the field.
func TestClickRegisters(t *testing.T) {
	t.Parallel()
	w, _ := clickable(t, "")
	c := wire.Click{Channel: "slack", User: "U1", Offer: "register", Key: "lab/i-2", Form: map[string]string{"purpose": "lora", "ttl": "soon", "budget": "40USD"}}
	if a := w.daemon.Click(t.Context(), c); a.Done || !strings.Contains(a.Wrong["ttl"], "not a duration") {
		t.Errorf("%+v", a)
	}
	c.Form["ttl"], c.Form["budget"] = "10h", "lots"
	if a := w.daemon.Click(t.Context(), c); a.Done || a.Wrong["budget"] == "" {
		t.Errorf("%+v", a)
	}
	c.Form["budget"] = "40USD"
	if a := w.daemon.Click(t.Context(), c); !a.Done || !strings.Contains(a.Text, "lab/i-2 is registered to ana") {
		t.Errorf("%+v", a)
	}
	if it := w.item("lab/i-2"); it.Owner != "ana" || it.Purpose != "lora" || *it.Budget != "40.00 USD" {
		t.Errorf("%+v", it)
	}
	for command, want := range map[string]string{"ls": "lab/i-2", "mine": "lora", "report": "USD", "": "/guard ls", "register": "", "nonsense": "does not know nonsense"} {
		a := w.daemon.Click(t.Context(), wire.Click{Channel: "slack", User: "U1", Command: command})
		if text := a.Text + "\n" + strings.Join(a.Lines, "\n"); !strings.Contains(text, want) || command == "register" && a.Ask == nil {
			t.Errorf("/guard %s: %+v", command, a)
		}
	}
	typed := wire.Click{Channel: "slack", User: "U2", Command: `register lab/i-2 —purpose “two words” --ttl=4h --owner ana`}
	if a := w.daemon.Click(t.Context(), typed); !a.Done || w.item("lab/i-2").Purpose != "two words" {
		t.Errorf("%+v", a)
	}
}
