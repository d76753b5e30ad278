package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/daemon/wire"
)

// appToken opens Socket Mode, and nothing else.
const appToken = "xapp-e2e-canary"

// team is a workspace whose people click.
type team struct {
	*guardd
	*workspace
	socket *notifytest.Socket
}

// newTeam configures a guardd for a cloud and a Slack with Socket Mode, in which U1 is
// ana and nobody else may do anything.
func newTeam(t *testing.T, c *cloud) *team {
	slack := notifytest.NewSlack(slackToken, "gpu")
	socket := notifytest.NewSocket(slack, appToken)
	w := &workspace{slack, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket.ServeHTTP(w, r.WithContext(guard.WithInstant(r.Context(), now())))
	}))}
	socket.Host = w.loopback.URL
	g := unpack(t)
	g.watch(guard.Enforce, filepath.Join(g.dir, "ledger.db"), c, w)
	file := filepath.Join(g.dir, "guard.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g.write("app", appToken)
	g.write("guard.yaml", strings.Replace(string(text), "slack: {", "slack: {app_token: {file: app}, users: [{id: U1, name: ana}], ", 1))
	return &team{g, w, socket}
}

// button waits for a button of a click on what is shown about a box.
func (m *team) button(id string, click guard.Click) (in notifytest.Post, b notifytest.Button) {
	m.t.Helper()
	m.within(20*time.Millisecond, "a button to "+string(click), func() bool {
		for _, p := range slices.Backward(m.Shown()) {
			i := slices.IndexFunc(p.Buttons, func(b notifytest.Button) bool { return strings.HasPrefix(b.Action, "guard:"+string(click)) })
			if i >= 0 && strings.Contains(p.Text+p.Blocks, id) {
				in, b = p, p.Buttons[i]
				return true
			}
		}
		return false
	})
	return in, b
}

// sends sends what a person did, as soon as guardd listens.
func (m *team) sends(envelope []byte) {
	m.t.Helper()
	m.within(20*time.Millisecond, "guardd listens to Slack", func() bool { return m.socket.Send(envelope, false) })
}

// answered waits for the next answer, which has these words.
func (m *team) answered(before int, words ...string) {
	m.t.Helper()
	m.within(20*time.Millisecond, "an answer", func() bool { return len(m.socket.Answers()) > before })
	got := m.socket.Answers()[before].Text
	for _, w := range words {
		if !strings.Contains(strings.ToLower(got), w) {
			m.t.Errorf("the answer is %q, without %q", got, w)
		}
	}
}

func (m *team) lease(id string) wire.Item {
	m.t.Helper()
	var out wire.Show
	if !m.json(&out, "show", "research/"+id) {
		m.t.Fatalf("guard show %s fails", id)
	}
	return out.Item
}

// TestClicks: with the real binaries and a Slack over loopback, a person registers a box
// that nobody had registered, extends it once though the button is pressed twice and guardd
// is killed in between, and a stranger does nothing. Slack's tokens are nowhere to be read.
func TestClicks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	m := newTeam(t, c)
	id := c.run()
	m.start()

	post, register := m.button(id, guard.ClickRegister)
	m.sends(m.socket.Pressed("U9", post, register))
	m.answered(0, "u9")
	m.sends(m.socket.Pressed("U1", post, register))
	m.within(20*time.Millisecond, "a form", func() bool { return len(m.socket.Views()) == 1 })
	m.sends(m.socket.Submitted("U1", m.socket.Views()[0], map[string]string{"purpose": "lora <70b>", "ttl": "40m"}))
	m.within(20*time.Millisecond, "a lease", func() bool { return m.lease(id).Owner == "ana" })
	if got := m.lease(id); got.Purpose != "lora <70b>" {
		t.Errorf("registered: %+v", got)
	}

	// It ends within the hour, so that its owner is told and asked.
	post, extend := m.button(id, guard.ClickExtend)
	before, ends := len(m.socket.Answers()), m.lease(id).ExpiresAt
	m.sends(m.socket.Pressed("U1", post, extend))
	m.within(20*time.Millisecond, "a later end", func() bool { return m.lease(id).ExpiresAt.After(*ends) })
	m.answered(before, "done")
	later := m.lease(id).ExpiresAt
	_, opened := m.socket.Open()
	m.kill()
	m.start()
	// What is sent over the dead one's connection would be lost.
	m.within(20*time.Millisecond, "a new connection", func() bool { _, n := m.socket.Open(); return n > opened })
	before = len(m.socket.Answers())
	m.sends(m.socket.Pressed("U1", post, extend))
	m.answered(before, "already", "ana")
	if got := m.lease(id).ExpiresAt; !got.Equal(*later) || later.Sub(*ends) < time.Hour {
		t.Errorf("it ends at %v, then %v, then %v", ends, later, got)
	}
	before = len(m.socket.Answers())
	m.sends(m.socket.Typed("U1", "mine"))
	m.answered(before, id, "lora")

	for _, wrong := range m.socket.Wrong() {
		t.Errorf("Slack says: %s", wrong)
	}
	m.stop()
	for what, text := range map[string]string{"the log": m.log.tail(), "the journal": m.ledger("ledger.db")} {
		for _, secret := range []string{appToken, slackToken, "answer-secret", "ticket-secret"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %s", what, secret)
			}
		}
	}
}

// ledger is a file of the daemon's, as it lies there.
func (g *guardd) ledger(name string) string {
	g.t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}
