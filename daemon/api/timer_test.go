package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
)

// armed is a bench whose cloud has timers, and a lease of i-1 for 10 hours whose timer is
// set and read back, as the loop does it.
func armed(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, func(s *fake.Script) { s.Timer = fake.TimerKept })
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora", TTL: "10h"})
	b.arm(b.wanted(10 * time.Hour))
	b.kicks = nil
	return b
}

// wanted is the timer of an expiry that is this far ahead.
func (b *bench) wanted(ahead time.Duration) time.Time {
	return b.at.Wall.Add(ahead + b.rules.Defaults.Grace + policy.TimerSlack)
}

func (b *bench) arm(at time.Time) {
	b.Helper()
	if err := b.acct.Timer.Arm(b.Context(), b.cloud.ID(guard.Instance, "i-1"), at); err != nil {
		b.Fatal(err)
	}
	b.timed(guard.Timer{Asked: at, At: at, Read: b.at.Wall})
}

func (b *bench) timed(x guard.Timer) {
	b.Helper()
	b.put(func(tx *store.Tx) error {
		l, _, err := tx.LeaseOf(b.cloud.ID(guard.Instance, "i-1").Key())
		l.Timer = x
		return cmpErr(err, tx.Leases.Put(l))
	})
}

// isTimed checks the cloud's truth, and that the lease tells the same.
func (b *bench) isTimed(want time.Time) {
	b.Helper()
	l, _ := b.lease("i-1")
	if got := b.cloud.Timer("i-1"); !got.Equal(want) || !l.Timer.At.Equal(want) || !l.Timer.Asked.Equal(want) || l.Timer.Error != "" {
		b.Errorf("the cloud's timer is %v and the lease tells %+v, want %v", got, l.Timer, want)
	}
}

// putsOff are orders that put a limit off, and how far ahead the timer is then; 0: none.
var putsOff = map[string]struct {
	who, path string
	in        any
	ahead     time.Duration
}{
	"extend":   {"ana", "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "4h"}, 14 * time.Hour},
	"a little": {"ana", "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "10m"}, 10*time.Hour + 10*time.Minute},
	"register": {"ana", "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "20h"}, 20 * time.Hour},
	"hold":     {"ana", "/hold", wire.HoldRequest{ID: "lab/i-1", For: "12h"}, 12 * time.Hour},
	"veto":     {"ana", "/veto", wire.MuteRequest{ID: "lab/i-1", Rule: "expired", For: "13h"}, 13 * time.Hour},
	"alert":    {"ana", "/register", wire.RegisterRequest{ID: "lab/i-1", OnLimit: "alert"}, 0},
	"protect":  {"bo", "/protect", wire.IDRequest{ID: "lab/i-1"}, 0},
}

func (b *bench) after(ahead time.Duration) time.Time {
	if ahead == 0 {
		return time.Time{}
	}
	return b.wanted(ahead)
}

// TestTimerMovesFirst: what puts a limit off moves the provider's timer and reads it
// back, and only then is in the ledger.
func TestTimerMovesFirst(t *testing.T) {
	for name, c := range putsOff {
		b := armed(t)
		before, _ := b.lease("i-1")
		checked := false
		b.acct.Timer = watched{b.acct.Timer, func(call string) {
			l, _ := b.lease("i-1")
			if checked = checked || call == "armed"; !l.ExpiresAt.Equal(before.ExpiresAt) || len(l.Holds) > 0 || l.Protected || l.OnLimit != before.OnLimit {
				t.Errorf("%s: in the ledger before the timer was moved", name)
			}
		}}
		if status, body := b.call(c.who, http.MethodPost, c.path, c.in); status != http.StatusOK {
			t.Fatalf("%s: %s", name, body)
		}
		if !checked {
			t.Errorf("%s: not read back", name)
		}
		if got, want := b.cloud.Timer("i-1"), b.after(c.ahead); !got.Equal(want) {
			t.Errorf("%s: the timer is %v, want %v", name, got, want)
		}
		b.isTimed(b.after(c.ahead))
		if slices.Contains(b.kicks, "observe/lab") && c.path != "/register" {
			t.Errorf("%s: the loop is woken for nothing", name)
		}
	}
}

// watched tells of the calls before they are made.
type watched struct {
	providers.TTLArmer
	tell func(call string)
}

func (w watched) Arm(ctx context.Context, id guard.ResourceID, at time.Time) error {
	w.tell("arm")
	return w.TTLArmer.Arm(ctx, id, at)
}

func (w watched) Armed(ctx context.Context, id guard.ResourceID) (time.Time, error) {
	w.tell("armed")
	return w.TTLArmer.Armed(ctx, id)
}

// TestTimerStuck: what cannot be moved, or does not read back, is refused with the reason;
// the second try works. (OWN-06)
func TestTimerStuck(t *testing.T) {
	for name, c := range putsOff {
		for fault, f := range map[string]struct {
			fault  fake.Fault
			status int
			kind   string
		}{
			"refused":      {fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{Status: 403}}, 403, wire.KindPermission},
			"throttled":    {fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{Status: 429, RetryAfter: "30"}}, 429, wire.KindThrottled},
			"unreachable":  {fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{Unreachable: true}}, 503, wire.KindUnavailable},
			"ignored":      {fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{AcceptedIgnored: true}}, 502, wire.KindBadReply},
			"not readable": {fake.Fault{Call: fake.CallArmed, Times: 1, Reply: fake.Reply{Status: 403}}, 403, wire.KindPermission},
		} {
			b := armed(t)
			b.cloud.Fault(f.fault)
			before, _ := b.lease("i-1")
			journal := len(b.journal())
			if name == "protect" {
				out := good[wire.Changed](b, c.who, http.MethodPost, c.path, c.in)
				l, _ := b.lease("i-1")
				if !l.Protected || l.Timer.Error == "" || !strings.Contains(strings.Join(out.Notes, " "), "may still end it") || !slices.Contains(b.kicks, "observe/lab") {
					t.Errorf("protect, %s: %+v, notes %q, kicked %q", fault, l.Timer, out.Notes, b.kicks)
				}
				continue
			}
			b.bad(c.who, http.MethodPost, c.path, c.in, f.status, f.kind, "the provider's own timer would end it at 2026-03-07T", "Nothing has changed. Try again")
			if l, _ := b.lease("i-1"); !l.ExpiresAt.Equal(before.ExpiresAt) || len(l.Holds) > 0 || l.OnLimit != before.OnLimit || l.Timer != before.Timer || len(b.journal()) != journal {
				t.Errorf("%s, %s: %+v", name, fault, l)
			}
			if status, body := b.call(c.who, http.MethodPost, c.path, c.in); status != http.StatusOK {
				t.Errorf("%s, %s, the second time: %s", name, fault, body)
			}
			b.isTimed(b.after(c.ahead))
		}
	}
}

// TestTimerReplyLost: it is what reads back that counts, not whether the reply came.
func TestTimerReplyLost(t *testing.T) {
	b := armed(t)
	b.cloud.Fault(fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{DoneButTimesOut: true}})
	good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "4h"})
	b.isTimed(b.wanted(14 * time.Hour))
}

// TestTimerIsLeftAlone: what puts nothing off asks the provider for nothing, and what no
// provider ever told back holds nobody up.
func TestTimerIsLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		timer guard.Timer
		path  string
		in    any
		kick  bool
	}{
		"shorter":       {guard.Timer{}, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"}, true},
		"a purpose":     {guard.Timer{}, "/register", wire.RegisterRequest{ID: "lab/i-1", Purpose: "other"}, true},
		"money":         {guard.Timer{}, "/extend", wire.ExtendRequest{ID: "lab/i-1", Budget: "5000CNY"}, false},
		"a short hold":  {guard.Timer{}, "/hold", wire.HoldRequest{ID: "lab/i-1", For: "1h"}, false},
		"another rule":  {guard.Timer{}, "/veto", wire.MuteRequest{ID: "lab/i-1", Rule: "hung"}, false},
		"a snooze":      {guard.Timer{}, "/snooze", wire.MuteRequest{ID: "lab/i-1"}, false},
		"a late one":    {guard.Timer{At: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "4h"}, true},
		"not set yet":   {guard.Timer{Error: "none"}, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "4h"}, true},
		"a small thing": {guard.Timer{Asked: time.Date(2026, 3, 6, 10, 1, 0, 0, time.UTC), At: time.Date(2026, 3, 6, 10, 1, 0, 0, time.UTC)}, "/snooze", wire.MuteRequest{ID: "lab/i-1"}, true},
	} {
		b := armed(t)
		if c.timer != (guard.Timer{}) {
			b.timed(c.timer)
		}
		b.acct.Timer = watched{b.acct.Timer, func(call string) { t.Errorf("%s: a call of %s", name, call) }}
		if status, body := b.call("ana", http.MethodPost, c.path, c.in); status != http.StatusOK {
			t.Errorf("%s: %s", name, body)
		}
		if got := slices.Contains(b.kicks, "observe/lab"); got != c.kick {
			t.Errorf("%s: kicked %q", name, b.kicks)
		}
	}
}

// TestTimerNeverToldBack: a provider that accepts timers and keeps none does not keep
// people from extending; one that cannot be read does.
func TestTimerNeverToldBack(t *testing.T) {
	b := newBench(t, func(s *fake.Script) { s.Timer = fake.TimerIgnored })
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "10h"})
	b.timed(guard.Timer{Asked: b.wanted(10 * time.Hour), Read: b.at.Wall, Error: "the provider accepts it and shows none"})
	b.cloud.Fault(fake.Fault{Call: fake.CallArmed, Times: 1, Reply: fake.Reply{Status: 403}})
	in := wire.ExtendRequest{ID: "lab/i-1", By: "4h"}
	b.bad("ana", http.MethodPost, "/extend", in, 403, wire.KindPermission, "whether it is set cannot be read")
	good[wire.Changed](b, "ana", http.MethodPost, "/extend", in)
	if n := len(b.cloud.CallsOf(fake.CallArm, "")); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// TestTimerThatShouldBeGone: one that could not be taken away when the account went over
// to observe mode is taken away before an extension is confirmed.
func TestTimerThatShouldBeGone(t *testing.T) {
	b := armed(t)
	b.acct.Mode = guard.Observe
	b.cloud.Fault(fake.Fault{Call: fake.CallArm, Times: 1, Reply: fake.Reply{Status: 403}})
	in := wire.ExtendRequest{ID: "lab/i-1", By: "4h"}
	b.bad("ana", http.MethodPost, "/extend", in, 403, wire.KindPermission, "could not be moved")
	good[wire.Changed](b, "ana", http.MethodPost, "/extend", in)
	if l, _ := b.lease("i-1"); !b.cloud.Timer("i-1").IsZero() || l.Timer != (guard.Timer{}) {
		t.Errorf("%v, %+v", b.cloud.Timer("i-1"), l.Timer)
	}
}

// TestTimerHangs: a provider that does not answer holds an order up for a bounded time.
func TestTimerHangs(t *testing.T) {
	b := armed(t)
	b.acct.Timer = hangs{b.acct.Timer}
	b.bad("ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "4h"}, 503, wire.KindUnavailable, "does not answer within 10s")
}

type hangs struct{ providers.TTLArmer }

func (hangs) Arm(ctx context.Context, _ guard.ResourceID, _ time.Time) error {
	end, ok := ctx.Deadline()
	if !ok || time.Until(end) > 10*time.Second {
		return nil
	}
	return context.DeadlineExceeded
}

// TestShowTimer: what show tells of a timer.
func TestShowTimer(t *testing.T) {
	b := armed(t)
	show := func() *wire.Timer {
		return good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil).Timer
	}
	at := b.wanted(10 * time.Hour)
	if x := show(); x == nil || x.At == nil || !x.At.Equal(at) || x.Read == nil || x.Error != "" {
		t.Errorf("%+v", x)
	}
	b.timed(guard.Timer{Asked: at, Error: "no"})
	if x := show(); x == nil || x.At != nil || x.Asked == nil || x.Error != "no" {
		t.Errorf("%+v", x)
	}
	b.timed(guard.Timer{})
	if x := show(); x != nil {
		t.Errorf("%+v", x)
	}
}
