//go:build linux

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"guard"
	"guard/daemon/wire"
)

// TestFuse plays the whole life of one: heard, silent, burnt; and told of in each request.
func TestFuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.fuse(6 * time.Hour)
		l.becomes(l.takes(2 * time.Hour))
		l.start()
		l.pass(time.Second)
		if _, _, _, last := l.seen(); last.Fuse == nil || last.Fuse.State != "armed" || last.Fuse.After != "6h" {
			t.Errorf("as soon as guard is heard: %+v", last.Fuse)
		}
		l.pass(time.Hour)
		_, _, _, last := l.seen()
		if f := last.Fuse; f == nil || f.State != "armed" || f.Does != "powers the box off" || f.At == nil || time.Until(*f.At).Round(10*time.Minute) != 6*time.Hour {
			t.Errorf("%+v", f)
		}
		silent := time.Now()
		l.becomes(fails(errAway))
		l.pass(5*time.Hour + 50*time.Minute)
		if _, fired, _, _ := l.seen(); len(fired) != 0 {
			t.Fatalf("fired at %v, silent since %s", fired, silent)
		}
		// A clock that is set neither fires it nor puts it off.
		l.mu.Lock()
		l.step = -1000 * time.Hour
		l.mu.Unlock()
		l.pass(20 * time.Minute)
		_, fired, _, _ := l.seen()
		if len(fired) != 3 || fired[0].Sub(silent) < 6*time.Hour-time.Minute || fired[1].Sub(fired[0]) < fireAgain {
			t.Fatalf("fired at %v, silent since %s", fired, silent)
		}
		// Guard is back: whatever it says of the limit, it is there itself.
		l.becomes(l.takes(-time.Hour))
		l.pass(5 * time.Hour)
		if _, fired, _, _ := l.seen(); len(fired) > 4 {
			t.Errorf("fired at %v although guard is heard", fired)
		}
		l.stop()
		if !strings.Contains(l.log.String(), "dead-man fuse") || !strings.Contains(l.log.String(), "the fuse fires") {
			t.Error(l.log.String())
		}
	})
}

// TestFuseAsked: where guard has no way of its own it asks, and the box ends itself; not
// where it asks no more, was asked before it was started again, or has no fuse.
func TestFuseAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.fuse(6 * time.Hour)
		asks := func(why string) func(wire.AgentRequest) (wire.AgentAnswer, error) {
			return func(wire.AgentRequest) (wire.AgentAnswer, error) {
				return wire.AgentAnswer{Now: time.Now(), Orders: wire.Orders{End: why}}, nil
			}
		}
		l.start()
		l.pass(5*time.Minute + time.Second)
		l.becomes(asks("its time has ended"))
		l.pass(3 * time.Minute)
		if _, fired, _, last := l.seen(); len(fired) != 1 || last.Fuse.State != string(FuseFired) || !strings.Contains(last.Fuse.Why, "its time has ended") {
			t.Fatalf("fired at %v: %+v", fired, last.Fuse)
		}
		l.becomes(asks(""))
		l.pass(20 * time.Minute)
		if _, fired, _, _ := l.seen(); len(fired) != 1 {
			t.Errorf("fired at %v, and guard asks no more", fired)
		}
		l.becomes(asks("its time has ended"))
		l.pass(3 * time.Minute)
		l.becomes(fails(&wire.Error{Kind: wire.KindToken, Message: "revoked"}))
		l.pass(20 * time.Minute)
		if _, fired, _, _ := l.seen(); len(fired) != 2 {
			t.Errorf("fired at %v, and guard confirms nothing", fired)
		}
		l.stop()
	})
	asked := Heard{Boot: "one", At: guard.Instant{Wall: time.Unix(1e9, 0), Elapsed: time.Hour}, End: "its time has ended"}
	now := Scene{At: asked.At.Add(time.Minute), Boot: "one"}
	if v := Judge(time.Hour, asked, now); v.Burn != FuseFired {
		t.Errorf("%+v", v)
	}
	now.Boot = "two"
	if v := Judge(time.Hour, asked, now); v.Burn != FuseOff {
		t.Errorf("after a start: %+v", v)
	}
}

// TestFuseHolds: where guard's own word comes back, though a refusal, guard lives; where
// it failed inside, nobody knows. A dry run does nothing.
func TestFuseHolds(t *testing.T) {
	for _, c := range []struct {
		err   error
		dry   bool
		fires bool
	}{
		{&wire.Error{Kind: wire.KindToken, Message: "revoked"}, false, false},
		{&wire.Error{Kind: wire.KindThrottled}, false, false},
		{fmt.Errorf("wrapped: %w", &wire.Error{Kind: wire.KindNotFound}), false, false},
		{&wire.Error{Kind: wire.KindUnavailable}, false, true},
		{&wire.Error{Kind: wire.KindBadReply, Message: "not guardd"}, false, true},
		{errAway, true, false},
		{errAway, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t)
			l.fuse(time.Hour)
			l.o.Fuse.DryRun = c.dry
			l.becomes(l.takes(10 * time.Minute))
			l.start()
			l.pass(2 * time.Minute)
			l.becomes(fails(c.err))
			l.pass(90 * time.Minute)
			l.stop()
			if (len(l.fired) > 0) != c.fires {
				t.Errorf("%v, dry %v: fired at %v", c.err, c.dry, l.fired)
			}
			if c.dry != strings.Contains(l.log.String(), "would fire now") {
				t.Errorf("dry %v: %s", c.dry, l.log.String())
			}
		})
	}
}

// TestFuseReboot: it is armed again after a reboot by what is on the disk, looks for guard
// first, and is not armed on another box with a copy of the disk.
func TestFuseReboot(t *testing.T) {
	for _, resource := range []string{"lab/i-1", "lab/i-2"} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t)
			l.fuse(time.Hour)
			l.becomes(l.takes(10 * time.Minute))
			l.start()
			l.pass(5 * time.Minute)
			l.stop()
			l.becomes(fails(errAway))
			l.pass(3 * time.Hour)
			boot := filepath.Join(l.o.Box.Root, "proc/sys/kernel/random/boot_id")
			if err := os.WriteFile(boot, []byte("22222222-2222-2222-2222-222222222222\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			l.began = time.Now().Add(time.Hour) // up for no time at all
			l.o.Resource = resource
			l.start()
			l.pass(settle - 90*time.Second)
			if _, fired, _, _ := l.seen(); len(fired) != 0 {
				t.Errorf("%s fired %s after the reboot", resource, time.Since(l.began.Add(-time.Hour)))
			}
			l.pass(3 * time.Minute)
			l.stop()
			if (len(l.fired) > 0) != (resource == "lab/i-1") {
				t.Errorf("%s fired at %v", resource, l.fired)
			}
		})
	}
}

// TestFuseSleep: a box that wakes up after its limit looks for guard first, however long it
// had called in vain before it slept.
func TestFuseSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.fuse(time.Hour)
		l.becomes(l.takes(10 * time.Minute))
		l.start()
		l.pass(2 * time.Minute)
		l.becomes(fails(errAway))
		l.pass(30 * time.Minute)
		l.mu.Lock()
		l.began = l.began.Add(-8 * time.Hour)
		l.mu.Unlock()
		l.pass(settle - time.Minute)
		if _, fired, _, _ := l.seen(); len(fired) != 0 {
			t.Errorf("fired at %v, right after it woke up", fired)
		}
		l.pass(10 * time.Minute)
		l.stop()
		if _, fired, _, _ := l.seen(); len(fired) == 0 {
			t.Error("it never fired")
		}
	})
}

// TestFuseSkew: guard's limit is a time by guard's clock, however wrong the box's own is.
func TestFuseSkew(t *testing.T) {
	for _, step := range []time.Duration{5 * time.Hour, -5 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t)
			l.step = step
			l.fuse(time.Hour)
			l.becomes(l.takes(4 * time.Hour))
			l.start()
			l.pass(2 * time.Minute)
			l.becomes(fails(errAway))
			l.pass(3*time.Hour + 50*time.Minute)
			if _, fired, _, _ := l.seen(); len(fired) != 0 {
				t.Errorf("off by %s: fired at %v, before the limit", step, fired)
			}
			l.pass(20 * time.Minute)
			l.stop()
			if _, fired, _, _ := l.seen(); len(fired) == 0 {
				t.Errorf("off by %s: never fired", step)
			}
		})
	}
}
