package daemon_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

const reporting = `mode: enforce
accounts:
  - {name: lab, provider: fake}
notify:
  slack: {token: {env: SLACK_BOT_TOKEN}, channel: "#x", admins: [{id: U01, name: root}, U02]}
  escalate: [10m, 20m, 30m]
  digest: "0 9 * * *"
  heartbeat: {url: {env: GUARD_HEARTBEAT_URL}, every: 5m}
`

func reports(t *testing.T, s fake.Script) *world {
	t.Helper()
	return newWorld(t, reporting, s)
}

// What the configuration says of people reaches the loops: the channel, the admins by the
// names that their channel knows, the fall-back channel.
func TestWhoIsCalled(t *testing.T) {
	s := lab(gpu("i-1", "3"))
	s.Faults = []fake.Fault{{Call: fake.CallRelease, Reply: fake.Reply{Status: 403}}}
	w := reports(t, s)
	w.pager = &pager{}
	w.boot()
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "1h", Owner: "ana"})
	w.until(2 * time.Hour)
	var called []string
	for _, p := range w.channel.posts {
		if strings.Contains(p.Title, "Nobody sees to it") {
			called = append(called, strings.Join(p.Mentions, "+"))
		}
	}
	if want := []string{"ana", "root+U02"}; !slices.Equal(called, want) {
		t.Errorf("called %q, want %q", called, want)
	}
	n := 0
	for _, p := range w.pager.posts {
		if strings.Contains(p.Title, "Nobody sees to it") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the fall-back channel is told %d times", n)
	}
	w.toldOnce()
}

// A heartbeat that does not arrive is told in guard status, and its address is not.
func TestHeartbeatInStatus(t *testing.T) {
	w := reports(t, lab())
	beats, down := 0, errors.New("no heartbeat reached watcher.example: refused")
	w.beat = func(to guard.Secret) func(context.Context) error {
		return func(context.Context) error {
			if !to.IsSet() {
				t.Error("no address")
			}
			beats++
			return down
		}
	}
	w.boot()
	w.until(20 * time.Minute)
	attention := func() string {
		s, err := w.client.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(s.Attention, "\n")
	}
	if got := attention(); beats == 0 || !strings.Contains(got, "the loop heartbeat fails and is tried again: heartbeat: no heartbeat reached watcher.example") {
		t.Errorf("after %d beats guard status tells %q", beats, got)
	}
	down = nil
	w.until(40 * time.Minute)
	if got := attention(); strings.Contains(got, "heartbeat") {
		t.Errorf("guard status tells %q", got)
	}
}

// A daemon that was told to stop says so when it is back.
func TestStoppedAndBack(t *testing.T) {
	w := reports(t, lab(gpu("i-1", "3")))
	w.until(10 * time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	w.daemon.Run(ctx)
	w.at = w.at.Add(2 * time.Hour)
	w.clouds["lab"].Advance(w.cloudTime(w.at))
	w.boot()
	w.until(w.offset() + 10*time.Minute)
	if got := w.posts("Nobody watched from"); len(got) != 1 || got[0] != "guard was stopped for 2h, and is back" {
		t.Errorf("told %q", got)
	}
}
