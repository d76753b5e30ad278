package release_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/policy/release"
)

var (
	t0     = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	verify = 5 * time.Minute
)

const (
	planned   = guard.ReleasePlanned
	noticed   = guard.ReleaseNoticed
	intended  = guard.ReleaseIntended
	issued    = guard.ReleaseIssued
	blocked   = guard.ReleaseBlocked
	done      = guard.ReleaseDone
	withdrawn = guard.ReleaseWithdrawn
)

// a release of each state as it is right when it is due at t0.
func at(state guard.ReleaseState, change ...func(*guard.Release)) guard.Release {
	r := guard.Release{ID: "r", Target: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"},
		Action: guard.ActRelease, Cause: guard.CauseExpiry, By: "guard", Why: "its time is up", State: state,
		Due: t0, PlannedAt: t0.Add(-time.Hour), Stood: t0.Add(-10 * time.Hour)}
	if state != planned {
		r.NoticedAt = t0.Add(-time.Hour)
	}
	switch state {
	case intended:
		r.IntendedAt, r.Attempt, r.NextAt = t0.Add(-15*time.Second), 1, t0
	case issued:
		r.IntendedAt, r.IssuedAt, r.Attempt, r.Calls = t0.Add(-time.Minute), t0.Add(-time.Minute), 1, 1
		r.NextAt, r.VerifyBy = t0, t0.Add(4*time.Minute)
	case blocked:
		r.Reason, r.BlockedAt, r.NextAt, r.Paged = guard.BlockPermission, t0.Add(-5*time.Minute), t0, t0.Add(-5*time.Minute)
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func budget(r *guard.Release) { r.Cause = guard.CauseBudget }

func reason(b guard.BlockReason) func(*guard.Release) {
	return func(r *guard.Release) { r.Reason = b }
}

func refusedOnce(r *guard.Release) { r.Calls, r.Failures = 1, 1 }

// input is a look and a judgement at t0.
func input(found release.Found, standing release.Standing, change ...func(*release.Input)) release.Input {
	in := release.Input{At: t0, Verify: verify, Configured: true,
		Look:   release.Look{Found: found, At: t0},
		Judged: release.Judgement{Standing: standing, Due: t0, Why: "its time is up"}}
	if standing == release.NotJudged {
		in.Judged = release.Judgement{}
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func failing(err error) func(*release.Input) {
	return func(in *release.Input) { in.Look.Found, in.Look.Err = release.Unread, err }
}

func barred(b guard.BlockReason) func(*release.Input) {
	return func(in *release.Input) {
		in.Judged = release.Judgement{Standing: release.Barred, Block: b, Why: string(b)}
	}
}

func called(err error) func(*release.Input) {
	return func(in *release.Input) { in.Call = &release.Call{Err: err} }
}

func later(d time.Duration) func(*release.Input) {
	return func(in *release.Input) { in.At, in.Look.At = in.At.Add(d), in.Look.At.Add(d) }
}

func seen(ago time.Duration, immutable bool) func(*release.Input) {
	return func(in *release.Input) { in.Look.Complete, in.Look.Immutable = t0.Add(-ago), immutable }
}

func noticedNow(in *release.Input)   { in.Noticed = true }
func unconfigured(in *release.Input) { in.Configured = false }
func protected(in *release.Input)    { in.Look.Protected = guard.Yes }

// TestTable is every row of the table in the design, and the guards around it.
func TestTable(t *testing.T) {
	none := release.NotLooked
	tests := []struct {
		name string
		r    guard.Release
		in   release.Input
		want guard.ReleaseState
		why  guard.BlockReason
		call bool
	}{
		// planned
		{"a plan whose notice is queued is noticed", at(planned, later10), input(none, release.NotJudged, noticedNow), noticed, "", false},
		{"a plan without a notice waits", at(planned), input(release.Same, release.Stands), planned, "", false},
		{"a plan that is void is withdrawn", at(planned), input(none, release.Void), withdrawn, "", false},
		{"a plan for what is gone is withdrawn", at(planned), input(release.Ended, release.NotJudged), withdrawn, "", false},

		// noticed
		{"not due", at(noticed, later10), input(release.Same, release.Stands, due10), noticed, "", false},
		{"due, read and judged", at(noticed), input(release.Same, release.Stands), intended, "", true},
		{"due and not read", at(noticed), input(none, release.Stands), noticed, "", false},
		{"due and not judged", at(noticed), input(release.Same, release.NotJudged), noticed, "", false},
		{"due, and the read is too old", at(noticed), input(release.Same, release.Stands, func(in *release.Input) { in.Look.At = t0.Add(-31 * time.Second) }), noticed, "", false},
		{"due, and the read began 30 s ahead", at(noticed), input(release.Same, release.Stands, func(in *release.Input) { in.Look.At = t0.Add(-30 * time.Second) }), intended, "", true},
		{"the judgement moved the deadline", at(noticed), input(release.Same, release.Stands, due10), noticed, "", false},
		{"extended", at(noticed), input(release.Same, release.Void), withdrawn, "", false},
		{"extended before it is due", at(noticed, later10), input(none, release.Void), withdrawn, "", false},
		{"gone already", at(noticed), input(release.Ended, release.Stands), withdrawn, "", false},
		{"gone before it is due", at(noticed, later10), input(release.Ended, release.NotJudged), withdrawn, "", false},
		{"not found, which proves nothing", at(noticed), input(release.Missing, release.Stands), noticed, "", false},
		{"somebody else is ending it", at(noticed), input(release.Ending, release.Stands), noticed, "", false},
		{"somebody else began to end it long ago", at(noticed), input(release.Ending, release.Stands, later(verify)), intended, "", true},
		{"not the same", at(noticed), input(release.Other, release.Stands), blocked, guard.BlockNotSame, false},
		{"another account", at(noticed), input(release.Mismatch, release.Stands), blocked, guard.BlockAccount, false},
		{"provider's protection", at(noticed), input(release.Same, release.Stands, protected), blocked, guard.BlockProtected, false},
		{"provider's protection that may be stripped", at(noticed), input(release.Same, release.Stands, protected, func(in *release.Input) { in.Unprotect = true }), intended, "", true},
		{"account not configured", at(noticed), input(none, release.Stands, unconfigured), blocked, guard.BlockProvider, false},
		{"account not configured, not due", at(noticed, later10), input(none, release.Stands, unconfigured, due10), noticed, "", false},
		{"surprise", at(noticed), input(release.Same, release.NotJudged, barred(guard.BlockSurprise)), blocked, guard.BlockSurprise, false},
		{"clock", at(noticed), input(release.Same, release.NotJudged, barred(guard.BlockClock)), blocked, guard.BlockClock, false},
		{"protected by an admin", at(noticed, budget), input(release.Same, release.NotJudged, barred(guard.BlockProtected)), blocked, guard.BlockProtected, false},
		{"the read is refused", at(noticed), input(none, release.Stands, failing(guard.ErrPermission)), blocked, guard.BlockPermission, false},
		{"the read is refused at a cap", at(noticed, budget), input(none, release.Stands, failing(guard.ErrPermission), seen(time.Minute, true)), blocked, guard.BlockPermission, false},
		{"the read fails at an expiry", at(noticed), input(none, release.Stands, failing(guard.ErrUnavailable), seen(time.Minute, true)), blocked, guard.BlockUnreadable, false},
		{"the read fails at a cap, seen 3 min ago", at(noticed, budget), input(none, release.Stands, failing(guard.ErrUnavailable), seen(3*time.Minute, true)), intended, "", true},
		{"the read fails at a cap, seen 10 min ago", at(noticed, budget), input(none, release.Stands, failing(guard.ErrUnavailable), seen(10*time.Minute, true)), intended, "", true},
		{"the read fails at a cap, seen 30 min ago", at(noticed, budget), input(none, release.Stands, failing(guard.ErrUnavailable), seen(30*time.Minute, true)), blocked, guard.BlockUnreadable, false},
		{"the read fails at a cap, never seen complete", at(noticed, budget), input(none, release.Stands, failing(guard.ErrUnavailable), func(in *release.Input) { in.Look.Immutable = true }), blocked, guard.BlockUnreadable, false},
		{"the read fails at a cap, and IDs come again", at(noticed, budget), input(none, release.Stands, failing(guard.ErrUnavailable), seen(time.Minute, false)), blocked, guard.BlockUnreadable, false},

		// intended
		{"accepted", at(intended), input(none, release.NotJudged, called(nil)), issued, "", false},
		{"refused for now", at(intended), input(none, release.NotJudged, called(guard.ErrUnavailable)), intended, "", false},
		{"throttled", at(intended), input(none, release.NotJudged, called(guard.ErrThrottled)), intended, "", false},
		{"outcome unknown", at(intended), input(none, release.NotJudged, called(guard.ErrUncertain)), intended, "", false},
		{"permission denied", at(intended), input(none, release.NotJudged, called(guard.ErrPermission)), blocked, guard.BlockPermission, false},
		{"protection found by the call", at(intended), input(none, release.NotJudged, called(guard.ErrProtected)), blocked, guard.BlockProtected, false},
		{"another account, by the call", at(intended), input(none, release.NotJudged, called(guard.ErrAccount)), blocked, guard.BlockAccount, false},
		{"a retry is read and judged first", at(intended, refusedOnce), input(release.Same, release.Stands), intended, "", true},
		{"a retry without a read", at(intended, refusedOnce), input(none, release.Stands), intended, "", false},
		{"a retry without a judgement", at(intended, refusedOnce), input(release.Same, release.NotJudged), intended, "", false},
		{"a retry on a read from before the last call", at(intended, refusedOnce), input(release.Same, release.Stands, func(in *release.Input) { in.Look.At = t0.Add(-15 * time.Second) }), intended, "", false},
		{"a retry too soon", at(intended, refusedOnce, func(r *guard.Release) { r.NextAt = t0.Add(time.Second) }), input(release.Same, release.Stands), intended, "", false},
		{"a retry that nobody wants any more", at(intended, refusedOnce), input(release.Same, release.Void), withdrawn, "", false},
		{"a call may be out, so it is not withdrawn", at(intended), input(release.Same, release.Void), intended, "", false},
		{"after a crash it is read, and called", at(intended), input(release.Same, release.Stands), intended, "", true},
		{"after a crash it is on its way out", at(intended), input(release.Ending, release.Stands), issued, "", false},
		{"after a crash it is not found", at(intended), input(release.Missing, release.Stands), intended, "", false},
		{"proof before the outcome is known", at(intended), input(release.Ended, release.NotJudged), done, "", false},
		{"the read fails before a retry", at(intended, refusedOnce), input(none, release.Stands, failing(guard.ErrUnavailable), seen(time.Minute, true)), intended, "", false},
		{"the read fails before a retry at a cap", at(intended, refusedOnce, budget), input(none, release.Stands, failing(guard.ErrUnavailable), seen(time.Minute, true)), intended, "", true},
		{"the read fails before a retry at a cap for long", at(intended, refusedOnce, budget), input(none, release.Stands, failing(guard.ErrUnavailable), seen(11*time.Minute, true)), intended, "", false},
		{"not the same before a retry", at(intended, refusedOnce), input(release.Other, release.Stands), blocked, guard.BlockNotSame, false},
		{"another account before a retry", at(intended, refusedOnce), input(release.Mismatch, release.Stands), blocked, guard.BlockAccount, false},
		{"protected before a retry", at(intended, refusedOnce), input(release.Same, release.NotJudged, barred(guard.BlockProtected)), blocked, guard.BlockProtected, false},
		{"account dropped before a retry", at(intended, refusedOnce), input(none, release.Stands, unconfigured), blocked, guard.BlockProvider, false},

		// issued
		{"proof", at(issued), input(release.Ended, release.NotJudged), done, "", false},
		{"still there", at(issued), input(release.Same, release.NotJudged), issued, "", false},
		{"on its way", at(issued), input(release.Ending, release.NotJudged), issued, "", false},
		{"not found once", at(issued), input(release.Missing, release.NotJudged), issued, "", false},
		{"the read is throttled", at(issued), input(none, release.NotJudged, failing(guard.ErrThrottled), later(verify)), issued, "", false},
		{"alive past the verify deadline", at(issued), input(release.Same, release.NotJudged, later(verify)), intended, "", false},
		{"ending past the verify deadline", at(issued), input(release.Ending, release.NotJudged, later(verify)), intended, "", false},
		{"alive past the verify deadline, judged", at(issued), input(release.Same, release.Stands, later(verify)), intended, "", true},
		{"nobody looked past the verify deadline", at(issued), input(none, release.NotJudged, later(verify)), issued, "", false},
		{"another account while it is proven", at(issued), input(release.Mismatch, release.NotJudged), blocked, guard.BlockAccount, false},
		{"not the same while it is proven", at(issued), input(release.Other, release.NotJudged), blocked, guard.BlockNotSame, false},
		{"permission lost while it is proven", at(issued), input(none, release.NotJudged, failing(guard.ErrPermission)), blocked, guard.BlockPermission, false},
		{"account dropped while it is proven", at(issued), input(none, release.NotJudged, unconfigured), blocked, guard.BlockProvider, false},

		// blocked
		{"permission: too soon to try again", at(blocked, func(r *guard.Release) { r.NextAt = t0.Add(time.Second) }), input(release.Same, release.Stands), blocked, guard.BlockPermission, false},
		{"permission: tried again after five minutes", at(blocked), input(release.Same, release.Stands), intended, "", true},
		{"permission: still not readable", at(blocked), input(none, release.Stands, failing(guard.ErrPermission)), blocked, guard.BlockPermission, false},
		{"protected: still", at(blocked, reason(guard.BlockProtected)), input(release.Same, release.Stands, protected), blocked, guard.BlockProtected, false},
		{"protected: not any more", at(blocked, reason(guard.BlockProtected)), input(release.Same, release.Stands), intended, "", true},
		{"protected by an admin: still", at(blocked, reason(guard.BlockProtected)), input(release.Same, release.NotJudged, barred(guard.BlockProtected)), blocked, guard.BlockProtected, false},
		{"account: still another", at(blocked, reason(guard.BlockAccount)), input(release.Mismatch, release.Stands), blocked, guard.BlockAccount, false},
		{"account: right again", at(blocked, reason(guard.BlockAccount)), input(release.Same, release.Stands), intended, "", true},
		{"not the same: still", at(blocked, reason(guard.BlockNotSame)), input(release.Other, release.Stands), blocked, guard.BlockNotSame, false},
		{"not the same: a wrong answer, once", at(blocked, reason(guard.BlockNotSame)), input(release.Same, release.Stands), intended, "", true},
		{"provider: back", at(blocked, reason(guard.BlockProvider)), input(none, release.Stands), noticed, "", false},
		{"provider: still missing", at(blocked, reason(guard.BlockProvider)), input(none, release.Stands, unconfigured), blocked, guard.BlockProvider, false},
		{"surprise: still", at(blocked, reason(guard.BlockSurprise)), input(none, release.NotJudged, barred(guard.BlockSurprise)), blocked, guard.BlockSurprise, false},
		{"surprise: let through", at(blocked, reason(guard.BlockSurprise)), input(none, release.Stands), noticed, "", false},
		{"clock: trusted again", at(blocked, reason(guard.BlockClock)), input(none, release.Stands), noticed, "", false},
		{"unreadable: readable again", at(blocked, reason(guard.BlockUnreadable)), input(release.Same, release.Stands), intended, "", true},
		{"unreadable: still", at(blocked, reason(guard.BlockUnreadable)), input(none, release.Stands, failing(guard.ErrUnavailable)), blocked, guard.BlockUnreadable, false},
		{"unreadable at a cap: listed again", at(blocked, reason(guard.BlockUnreadable), budget), input(none, release.Stands, failing(guard.ErrUnavailable), seen(time.Minute, true)), intended, "", true},
		{"blocked and extended", at(blocked), input(none, release.Void), withdrawn, "", false},
		{"blocked and gone", at(blocked), input(release.Ended, release.NotJudged), withdrawn, "", false},
		{"blocked after the call and gone", at(blocked, func(r *guard.Release) { r.Attempt, r.Calls = 1, 1 }), input(release.Ended, release.NotJudged), done, "", false},
		{"blocked for another reason now", at(blocked), input(release.Mismatch, release.Stands), blocked, guard.BlockAccount, false},

		// the ends
		{"released is the end", at(done), input(release.Same, release.Stands, called(nil)), done, "", false},
		{"withdrawn is the end", at(withdrawn), input(release.Same, release.Stands, called(nil)), withdrawn, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := release.Step(tt.r, tt.in)
			if got.Release.State != tt.want || got.Release.Reason != tt.why {
				t.Errorf("state %s %q, want %s %q (moves %v)", got.Release.State, got.Release.Reason, tt.want, tt.why, got.Moves)
			}
			if got.Call != tt.call {
				t.Errorf("call %v, want %v", got.Call, tt.call)
			}
			if !got.Release.State.Open() && tt.r.State.Open() && got.Release.EndedAt.IsZero() {
				t.Error("it ended and does not say when")
			}
		})
	}
}

func later10(r *guard.Release) { r.Due = t0.Add(10 * time.Minute) }
func due10(in *release.Input)  { in.Judged.Due = t0.Add(10 * time.Minute) }

// TestProviderThatNeverAccepts: the retries go on for ever, slower, and people
// hear of them once.
func TestProviderThatNeverAccepts(t *testing.T) {
	r := release.Step(at(noticed), input(release.Same, release.Stands)).Release
	now, told := t0, 0
	var waits []time.Duration
	for range 50 {
		o := release.Step(r, release.Input{At: now, Verify: verify, Configured: true, Call: &release.Call{Err: guard.ErrUnavailable}})
		if o.Failing {
			told++
		}
		r = o.Release
		waits = append(waits, r.NextAt.Sub(now))
		now = r.NextAt
		o = release.Step(r, input(release.Same, release.Stands, later(now.Sub(t0))))
		if !o.Call {
			t.Fatalf("at %s the retry was not made: %+v", now, o)
		}
		r = o.Release
	}
	if diff := cmp.Diff([]time.Duration{15 * time.Second, 30 * time.Second, time.Minute, time.Minute}, waits[:4]); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if waits[49] != time.Minute || told != 1 || r.Attempt != 51 {
		t.Errorf("wait %s, told %d times, %d attempts", waits[49], told, r.Attempt)
	}
	if r.Due != t0 {
		t.Errorf("the due time moved to %s", r.Due)
	}
}

// TestHint: no call comes sooner than the provider asked for.
func TestHint(t *testing.T) {
	hint := &guard.RetryError{Err: guard.ErrUnavailable, After: 60 * time.Second}
	o := release.Step(at(intended), input(release.NotLooked, release.NotJudged, called(fmt.Errorf("release: %w", hint))))
	if got := o.Release.NextAt.Sub(t0); got != time.Minute {
		t.Fatalf("next try after %s, want the hint of 1m", got)
	}
	early := release.Step(o.Release, input(release.Same, release.Stands, later(59*time.Second)))
	if early.Call {
		t.Error("called before the hint was over")
	}
	if o := release.Step(o.Release, input(release.Same, release.Stands, later(time.Minute))); !o.Call {
		t.Error("not called when the hint was over")
	}
}

// TestPermission: a refusal that stays is tried every five minutes, never more
// often, and paged by its cause.
func TestPermission(t *testing.T) {
	for _, tt := range []struct {
		cause guard.Cause
		pages int
	}{{guard.CauseExpiry, 1}, {guard.CauseBudget, 3}} {
		r := at(noticed, func(r *guard.Release) { r.Cause = tt.cause })
		var calls []time.Duration
		pages := 0
		for now := time.Duration(0); now < 2*time.Hour+time.Minute; now += 15 * time.Second {
			o := release.Step(r, input(release.Same, release.Stands, later(now)))
			if o.Page {
				pages++
			}
			r = o.Release
			if !o.Call {
				continue
			}
			calls = append(calls, now)
			o = release.Step(r, release.Input{At: t0.Add(now), Verify: verify, Configured: true, Call: &release.Call{Err: guard.ErrPermission}})
			if o.Page {
				pages++
			}
			r = o.Release
		}
		for i := 1; i < len(calls); i++ {
			if d := calls[i] - calls[i-1]; d < 5*time.Minute {
				t.Errorf("%s: calls %s apart", tt.cause, d)
			}
		}
		if len(calls) < 20 || pages != tt.pages {
			t.Errorf("%s: %d calls, %d pages, want %d", tt.cause, len(calls), pages, tt.pages)
		}
		if r.State != blocked || r.Reason != guard.BlockPermission {
			t.Errorf("%s: %s %s", tt.cause, r.State, r.Reason)
		}
	}
}

// TestStaleNotice: a block of hours ends with a new notice, not with a call out
// of the blue; a person's own order needs none.
func TestStaleNotice(t *testing.T) {
	r := at(blocked, reason(guard.BlockAccount), func(r *guard.Release) { r.BlockedAt = t0.Add(-2 * time.Hour) })
	o := release.Step(r, input(release.Same, release.Stands))
	if o.Release.State != noticed || !o.Renotice || o.Call || !o.Release.NoticedAt.Equal(t0) {
		t.Errorf("after two hours: %+v", o)
	}
	r.Cause = guard.CausePerson
	if o := release.Step(r, input(release.Same, release.Stands)); !o.Call || o.Renotice {
		t.Errorf("a person's order: %+v", o)
	}
}

// TestStalled: alive past the deadline is said, and asked again.
func TestStalled(t *testing.T) {
	o := release.Step(at(issued), input(release.Same, release.Stands, later(verify)))
	if !o.Stalled || !o.Call || o.Release.Attempt != 2 {
		t.Errorf("%+v", o)
	}
	if o := release.Step(at(issued), input(release.Same, release.Stands, later(verify-2*time.Minute))); o.Stalled {
		t.Error("stalled before the deadline")
	}
}

// TestClockSetBack: what was written under a clock years ahead holds nothing up.
func TestClockSetBack(t *testing.T) {
	years := 10 * 365 * 24 * time.Hour
	for _, state := range []guard.ReleaseState{intended, issued, blocked} {
		r := at(state, func(r *guard.Release) {
			r.IntendedAt, r.NextAt, r.Paged = t0.Add(years), t0.Add(years), t0.Add(years)
			if state == issued {
				r.IssuedAt, r.VerifyBy = t0.Add(years), t0.Add(years)
			}
		})
		got := release.Step(r, input(release.Same, release.Stands)).Release
		if got.NextAt.After(t0.Add(time.Hour)) || got.VerifyBy.After(t0.Add(verify)) {
			t.Errorf("%s: next at %s, verify by %s", state, got.NextAt, got.VerifyBy)
		}
	}
}

func TestTextsSayWhatMatters(t *testing.T) {
	view := release.Scene{Purpose: "lora 70b", Hourly: guard.MustMoney("240 CNY"), Zone: time.FixedZone("CST", 8*3600)}
	r := at(blocked, func(r *guard.Release) { r.LastError = "ec2:TerminateInstances is not allowed" })
	got := release.Blocked(r, view)
	want := release.Said{Stage: "blocked permission 2026-03-06T09:55:00Z", Rule: guard.RuleReleaseBlocked, Urgent: true,
		Title: "lab/i-1 (lora 70b): guard cannot release it: permission denied",
		Lines: []string{
			"It was due at 2026-03-06T18:00:00+08:00: its time is up.",
			"What stands in the way: ec2:TerminateInstances is not allowed.",
			"It goes on billing 240.00 CNY per hour.",
			"Give guard's credentials the permission that the provider's message names; guard tries again every 5 minutes.",
			"Or end it at the provider."}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocked (-want +got):\n%s", diff)
	}
	r = at(done, func(r *guard.Release) {
		r.Receipt = &guard.Receipt{Proof: guard.ProofTerminal, GoneAt: t0.Add(time.Minute), ProvenAt: t0.Add(2 * time.Minute), Attempts: 1,
			Spend: []guard.Money{guard.MustMoney("2399.5 CNY")}, Budget: guard.MustMoney("2400 CNY"), Unspent: guard.MustMoney("0.5 CNY"),
			Leftovers: []guard.ResourceID{{Account: "lab", Kind: guard.Volume, ID: "v-1"}}}
	})
	if diff := cmp.Diff([]string{"Why: its time is up.",
		"Gone at 2026-03-06T18:01:00+08:00; proof: terminal state, read twice, last at 2026-03-06T18:02:00+08:00.",
		"Spent 2399.50 CNY of 2400.00 CNY; 0.50 CNY left.",
		"Left behind and still billing, as far as is known: volume v-1."}, release.Released(r, view).Lines); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
}

var errOdd = errors.New("odd")

// TestInUse: what is left behind and in use is asked less and less often, at least once a
// day; anything else is asked every minute.
func TestInUse(t *testing.T) {
	now := t0
	busy := fmt.Errorf("%w: in use", guard.ErrConflict)
	for _, c := range []struct {
		cause    guard.Cause
		failures int
		err      error
		want     time.Duration
	}{
		{guard.CauseOrphan, 1, busy, time.Minute},
		{guard.CauseOrphan, 4, busy, 8 * time.Minute},
		{guard.CauseOrphan, 40, busy, 24 * time.Hour},
		{guard.CauseOrphan, 40, guard.ErrUnavailable, time.Minute},
		{guard.CauseExpiry, 40, busy, time.Minute},
	} {
		r := guard.Release{Cause: c.cause, State: guard.ReleaseIntended, Attempt: 1, Failures: c.failures - 1, Action: guard.ActRelease}
		o := release.Step(r, release.Input{At: now, Configured: true, Verify: time.Minute, Call: &release.Call{Err: c.err}})
		if got := o.Release.NextAt.Sub(now); got != c.want {
			t.Errorf("%s, refused %d times (%v): %s, want %s", c.cause, c.failures, c.err, got, c.want)
		}
	}
}

// TestEnded: what is stopped is not told of as gone.
func TestEnded(t *testing.T) {
	for _, state := range []guard.ReleaseState{intended, issued} {
		for action, want := range map[guard.Action]string{guard.ActRelease: "proven gone", guard.ActStop: "seen stopped, or gone"} {
			out := release.Step(at(state, func(r *guard.Release) { r.Action = action }), input(release.Ended, release.Stands))
			if m := out.Moves[len(out.Moves)-1]; m.To != done || m.Why != want {
				t.Errorf("a %s that is %s: %+v", action, state, m)
			}
		}
	}
}
