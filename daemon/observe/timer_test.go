package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
)

const timerGrace = 20 * time.Minute

// timed is a bench whose cloud has timers, with a lease on i-1 for 8 hours from the first
// minute on.
func timed(t *testing.T, how string, change func(*fake.Script)) *bench {
	b := newBench(t, func(s *fake.Script) {
		s.Timer = how
		if change != nil {
			change(s)
		}
	})
	b.once(time.Minute)
	b.register("i-1", func(l *guard.Lease) { l.OnLimit, l.Grace = guard.ActRelease, timerGrace })
	return b
}

// due is when the timer of an expiry goes off, as an offset.
func (b *bench) due(expires time.Duration) time.Time {
	return b.cloud.At(expires + timerGrace + policy.TimerSlack).Wall
}

func (b *bench) change(id string, fn func(*guard.Lease)) {
	b.t.Helper()
	l := b.lease(id)
	fn(&l)
	b.put(func(tx *store.Tx) error { return tx.Leases.Put(l) })
}

// isTimed checks the cloud's truth and what the lease tells.
func (b *bench) isTimed(want time.Time) {
	b.t.Helper()
	if got := b.cloud.Timer("i-1"); !got.Equal(want) {
		b.t.Errorf("at %v the cloud's timer is %v, want %v", b.now.Wall, got, want)
	}
	if x := b.lease("L-i-1").Timer; !x.At.Equal(want) || x.Error != "" {
		b.t.Errorf("at %v the lease tells %+v, want %v", b.now.Wall, x, want)
	}
}

func (b *bench) timerCalls() (arm, armed int) {
	return len(b.cloud.CallsOf(fake.CallArm, "")), len(b.cloud.CallsOf(fake.CallArmed, ""))
}

// timerVerbs are the journal's words about timers.
func (b *bench) timerVerbs() string {
	return strings.Join(slices.DeleteFunc(b.verbs("lab/i-1"), func(v string) bool { return !strings.HasPrefix(v, "timer_") }), " ")
}

// TestTimerIsKept: set later than the limit, read back, moved when the limit moves, and
// read again now and then.
func TestTimerIsKept(t *testing.T) {
	b := timed(t, fake.TimerKept, nil)
	b.once(2 * time.Minute)
	end := time.Minute + 8*time.Hour
	b.isTimed(b.due(end))
	if x := b.lease("L-i-1").Timer; !x.Asked.Equal(b.due(end)) || !x.Read.Equal(b.now.Wall) {
		t.Errorf("%+v", x)
	}
	if arm, armed := b.timerCalls(); arm != 1 || armed != 1 {
		t.Errorf("%d and %d calls", arm, armed)
	}
	for m := 3; m < 17; m++ {
		b.once(time.Duration(m) * time.Minute)
	}
	if arm, armed := b.timerCalls(); arm != 1 || armed != 1 {
		t.Errorf("a quarter of an hour on: %d and %d calls", arm, armed)
	}
	b.once(17 * time.Minute)
	if arm, armed := b.timerCalls(); arm != 1 || armed != 2 || !b.lease("L-i-1").Timer.Read.Equal(b.now.Wall) {
		t.Errorf("not read again: %d and %d calls", arm, armed)
	}
	for i, by := range []time.Duration{4 * time.Hour, -6 * time.Hour} {
		end += by
		b.change("L-i-1", func(l *guard.Lease) { l.ExpiresAt = l.ExpiresAt.Add(by) })
		b.once(time.Duration(18+i) * time.Minute)
		b.isTimed(b.due(end))
	}
	b.change("L-i-1", func(l *guard.Lease) { l.Holds = []guard.Hold{{Until: b.cloud.At(9 * time.Hour).Wall}} })
	b.once(20 * time.Minute)
	b.isTimed(b.due(9 * time.Hour))
	b.put(func(tx *store.Tx) error {
		return tx.Mutes.Put(guard.Mute{Kind: guard.Veto, Subject: "lab/i-1", Rule: guard.RuleExpired, Until: b.cloud.At(11 * time.Hour).Wall})
	})
	b.once(21 * time.Minute)
	b.isTimed(b.due(11 * time.Hour))
	if got := b.timerVerbs(); got != "timer_set timer_set timer_set timer_set timer_set" {
		t.Errorf("journal %q", got)
	}
	b.restart() // what the ledger tells is read back before it is believed
	_, before := b.timerCalls()
	b.once(22 * time.Minute)
	if arm, armed := b.timerCalls(); arm != 5 || armed != before+1 {
		t.Errorf("after a restart: %d arm, %d armed", arm, armed-before)
	}
}

// TestTimerIsTakenAway: where guard would not release it any more, the provider must not.
func TestTimerIsTakenAway(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"observe":   func(b *bench) { b.account.Mode = guard.Observe },
		"protected": func(b *bench) { b.change("L-i-1", func(l *guard.Lease) { l.Protected = true }) },
		"alert":     func(b *bench) { b.change("L-i-1", func(l *guard.Lease) { l.OnLimit = guard.ActAlert }) },
		"no expiry": func(b *bench) { b.change("L-i-1", func(l *guard.Lease) { l.ExpiresAt = time.Time{} }) },
		"a person is asked": func(b *bench) {
			b.put(func(tx *store.Tx) error {
				return tx.Releases.Put(guard.Release{ID: "R", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseBlocked, Reason: guard.BlockSurprise, Cause: guard.CauseExpiry})
			})
		},
	} {
		b := timed(t, fake.TimerKept, nil)
		b.once(2 * time.Minute)
		change(b)
		b.once(3 * time.Minute)
		b.isTimed(time.Time{})
		if b.lease("L-i-1").Timer != (guard.Timer{}) || b.timerVerbs() != "timer_set timer_taken_away" {
			t.Errorf("%s: %+v, journal %q", name, b.lease("L-i-1").Timer, b.timerVerbs())
		}
		arm, _ := b.timerCalls()
		b.once(40 * time.Minute)
		if now, _ := b.timerCalls(); now != arm {
			t.Errorf("%s: %d calls more", name, now-arm)
		}
	}
}

// TestTimerOfSomebodyElse: where guard set none, it touches none.
func TestTimerOfSomebodyElse(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"observe":      func(b *bench) { b.account.Mode = guard.Observe },
		"unregistered": func(b *bench) { b.change("L-i-1", func(l *guard.Lease) { l.Status = guard.LeaseGone }) },
		"paused": func(b *bench) {
			b.put(func(tx *store.Tx) error {
				return tx.SetValue(guard.PauseName, guard.Pause{Cause: guard.PauseRestored, Why: "x", Since: b.now.Wall})
			})
		},
	} {
		b := timed(t, fake.TimerKept, nil)
		change(b)
		own := b.cloud.At(5 * time.Hour).Wall
		if err := b.account.Timer.Arm(t.Context(), b.cloud.ID(guard.Instance, "i-1"), own); err != nil {
			t.Fatal(err)
		}
		b.once(2 * time.Minute)
		b.once(30 * time.Minute)
		if arm, armed := b.timerCalls(); arm != 1 || armed != 0 || !b.cloud.Timer("i-1").Equal(own) {
			t.Errorf("%s: %d and %d calls, %v", name, arm, armed, b.cloud.Timer("i-1"))
		}
	}
}

// TestTimerOfARelease: what guard is releasing needs no timer any more.
func TestTimerOfARelease(t *testing.T) {
	b := timed(t, fake.TimerKept, nil)
	b.put(func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "R", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseIssued, Action: guard.ActRelease, IssuedAt: b.now.Wall})
	})
	b.once(2 * time.Minute)
	if arm, armed := b.timerCalls(); arm != 0 || armed != 0 {
		t.Errorf("%d and %d calls", arm, armed)
	}
}

// TestTimerIsPausedAsItIs: a guard that acts nowhere takes no net away either.
func TestTimerIsPausedAsItIs(t *testing.T) {
	b := timed(t, fake.TimerKept, nil)
	b.once(2 * time.Minute)
	b.put(func(tx *store.Tx) error {
		return tx.SetValue(guard.PauseName, guard.Pause{Cause: guard.PauseRival, Since: b.now.Wall})
	})
	b.account.Mode = guard.Observe
	b.once(3 * time.Minute)
	b.isTimed(b.due(time.Minute + 8*time.Hour))
}

// TestTimerAcceptedAndNotKept: told once as not armed, tried again less and less often.
func TestTimerAcceptedAndNotKept(t *testing.T) {
	b := timed(t, fake.TimerIgnored, nil)
	for m := 2; m <= 6*60; m++ {
		b.once(time.Duration(m) * time.Minute)
	}
	x := b.lease("L-i-1").Timer
	if !x.At.IsZero() || x.Asked.IsZero() || x.Read.IsZero() || !strings.Contains(x.Error, "shows none") {
		t.Errorf("%+v", x)
	}
	if got := b.timerVerbs(); got != "timer_not_set" {
		t.Errorf("journal %q", got)
	}
	if arm, armed := b.timerCalls(); arm < 8 || arm > 12 || armed != arm {
		t.Errorf("%d and %d calls in six hours", arm, armed)
	}
	b.change("L-i-1", func(l *guard.Lease) { l.Protected = true })
	b.once(6*time.Hour + time.Minute)
	if b.lease("L-i-1").Timer != (guard.Timer{}) || b.timerVerbs() != "timer_not_set" {
		t.Errorf("%+v, journal %q", b.lease("L-i-1").Timer, b.timerVerbs())
	}
}

// TestTimerForgotten: told once, and set again each time.
func TestTimerForgotten(t *testing.T) {
	b := timed(t, fake.TimerKept, nil)
	b.once(2 * time.Minute)
	for i := range 3 {
		if err := b.account.Timer.Arm(t.Context(), b.cloud.ID(guard.Instance, "i-1"), time.Time{}); err != nil {
			t.Fatal(err)
		}
		b.once(time.Duration(20*(i+1)) * time.Minute)
		b.isTimed(b.due(time.Minute + 8*time.Hour))
	}
	if got := b.timerVerbs(); got != "timer_set timer_forgotten" {
		t.Errorf("journal %q", got)
	}
}

// TestTimerFails: one failure is told once, costs the poll nothing, and is over when it
// works.
func TestTimerFails(t *testing.T) {
	for name, c := range map[string]struct {
		fault fake.Fault
		calls int // of arm within the first five minutes
		after time.Duration
		verbs string
	}{
		"not permitted":          {fake.Fault{Call: fake.CallArm, For: 10 * time.Minute, Reply: fake.Reply{Status: 403}}, 3, 18 * time.Minute, "timer_not_set timer_set"},
		"come back":              {fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{Status: 429, RetryAfter: "600"}}, 1, 12 * time.Minute, "timer_not_set timer_set"},
		"come back, unavailable": {fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{Status: 503, RetryAfter: "600"}}, 1, 12 * time.Minute, "timer_not_set timer_set"},
		"the reply is lost":      {fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{DoneButTimesOut: true}}, 1, 5 * time.Minute, "timer_set"},
		"not readable":           {fake.Fault{Call: fake.CallArmed, For: 4 * time.Minute, Reply: fake.Reply{Status: 403}}, 3, 16 * time.Minute, "timer_not_set timer_set"},
	} {
		b := timed(t, fake.TimerKept, func(s *fake.Script) { s.Faults = []fake.Fault{c.fault} })
		for m := 2; m <= 5; m++ {
			b.once(time.Duration(m) * time.Minute)
			if b.err != nil || b.next.Sub(b.now) != time.Minute {
				t.Errorf("%s: the poll returns %v, next in %v", name, b.err, b.next.Sub(b.now))
			}
		}
		if arm, _ := b.timerCalls(); arm != c.calls {
			t.Errorf("%s: %d calls in five minutes, want %d", name, arm, c.calls)
		}
		for m := 6; m <= int(c.after/time.Minute); m++ {
			b.once(time.Duration(m) * time.Minute)
		}
		b.isTimed(b.due(time.Minute + 8*time.Hour))
		if got := b.timerVerbs(); got != c.verbs {
			t.Errorf("%s: journal %q, want %q", name, got, c.verbs)
		}
	}
}

// TestTimerUnreadIsNotNone: that a timer cannot be read takes away nothing that is known.
func TestTimerUnreadIsNotNone(t *testing.T) {
	b := timed(t, fake.TimerKept, nil)
	b.once(2 * time.Minute)
	b.cloud.Fault(fake.Fault{Call: fake.CallArmed, Reply: fake.Reply{Status: 500}})
	b.once(20 * time.Minute)
	if x := b.lease("L-i-1").Timer; !x.At.Equal(b.due(time.Minute+8*time.Hour)) || !x.Read.Equal(b.cloud.At(2*time.Minute).Wall) || x.Error == "" {
		t.Errorf("%+v", x)
	}
}

// TestTimerIntent: what was about to be set when guard died may be there, and is taken
// away where it must not be.
func TestTimerIntent(t *testing.T) {
	b := timed(t, fake.TimerKept, nil)
	id, at := b.cloud.ID(guard.Instance, "i-1"), b.cloud.At(5*time.Hour).Wall
	b.account.Timer = dies{b.account.Timer, func() { panic("killed") }}
	func() {
		defer func() { _ = recover() }()
		b.once(2 * time.Minute)
	}()
	if x := b.lease("L-i-1").Timer; !x.Asked.Equal(b.due(time.Minute+8*time.Hour)) || !x.At.IsZero() {
		t.Fatalf("when it died: %+v", x)
	}
	b.account = b.cloud.Account() // in observe mode
	b.account.Poll, b.account.Sweep = time.Minute, time.Hour
	if err := b.account.Timer.Arm(t.Context(), id, at); err != nil {
		t.Fatal(err)
	}
	b.restart()
	b.once(3 * time.Minute)
	b.isTimed(time.Time{})
}

// dies does something right before a timer is set.
type dies struct {
	providers.TTLArmer
	do func()
}

func (d dies) Arm(ctx context.Context, id guard.ResourceID, at time.Time) error {
	d.do()
	return d.TTLArmer.Arm(ctx, id, at)
}

// TestTimerAndAnExtension: a limit that moves while the call is under way is seen right
// after it.
func TestTimerAndAnExtension(t *testing.T) {
	b := timed(t, fake.TimerKept, nil)
	real, once := b.account.Timer, true
	b.account.Timer = dies{real, func() {
		if once {
			once = false
			b.change("L-i-1", func(l *guard.Lease) { l.ExpiresAt = l.ExpiresAt.Add(4 * time.Hour) })
		}
	}}
	b.kicks = nil
	b.once(2 * time.Minute)
	if !slices.Contains(b.kicks, b.loop.Name()) {
		t.Errorf("kicked %q", b.kicks)
	}
	b.once(2*time.Minute + time.Second)
	b.isTimed(b.due(time.Minute + 12*time.Hour))
}

// TestTimerOverdue: one that could not be set in time is set a while ahead, once.
func TestTimerOverdue(t *testing.T) {
	b := timed(t, fake.TimerKept, func(s *fake.Script) {
		s.Faults = []fake.Fault{{Call: fake.CallArm, For: 10 * time.Hour, Reply: fake.Reply{Status: 503}}}
	})
	for m := 2; m < 12*60; m++ {
		b.once(time.Duration(m) * time.Minute)
	}
	first := b.lease("L-i-1").Timer.At
	if gone := b.cloud.Gone("i-1"); gone.IsZero() || !gone.Equal(first) {
		t.Errorf("gone at %v, and its timer was %v", gone, first)
	}
	for _, c := range b.cloud.CallsOf(fake.CallArm, "") {
		if c.Status == 200 && (first.Before(c.At.Add(policy.TimerSlack-5*time.Minute)) || first.After(c.At.Add(policy.TimerSlack))) {
			t.Errorf("set to %v at %v", first, c.At)
		}
	}
	if arm, _ := b.timerCalls(); arm > 25 {
		t.Errorf("%d calls", arm)
	}
}

// TestTimersAreBounded: a run spends a few calls on timers, and the rest follows.
func TestTimersAreBounded(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Timer = fake.TimerKept
		s.Resources = append(s.Resources, fake.Resource{ID: "n", Count: 45})
	})
	b.once(time.Minute)
	for i := range 45 {
		b.register(fmt.Sprintf("n-%03d", i+1), func(l *guard.Lease) { l.OnLimit = guard.ActRelease })
	}
	for run, want := range []int{20, 40, 45, 45} {
		b.once(time.Duration(2+run) * time.Minute)
		if arm, _ := b.timerCalls(); arm != want {
			t.Errorf("after run %d: %d set, want %d", run, arm, want)
		}
	}
}

// TestTimersWait: who is asked too often is left alone, all of its timers.
func TestTimersWait(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Timer = fake.TimerKept
		s.Resources = append(s.Resources, fake.Resource{ID: "n", Count: 5})
		s.Faults = []fake.Fault{{Call: fake.CallArm, Times: 1, Reply: fake.Reply{Status: 429, RetryAfter: "300"}}}
	})
	b.once(time.Minute)
	for i := range 5 {
		b.register(fmt.Sprintf("n-%03d", i+1), func(l *guard.Lease) { l.OnLimit = guard.ActRelease })
	}
	for _, c := range []struct {
		minute time.Duration
		calls  int
	}{{2, 1}, {6, 1}, {8, 6}} {
		b.once(c.minute * time.Minute)
		if arm, _ := b.timerCalls(); arm != c.calls {
			t.Errorf("at minute %d: %d calls, want %d", c.minute, arm, c.calls)
		}
	}
}
