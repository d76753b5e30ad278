package release_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/policy/release"
)

// allowed is the table as a set of moves, and the one that law 5 adds to it:
// intended to withdrawn, where every call was refused and nobody wants the next.
var allowed = map[guard.ReleaseState][]guard.ReleaseState{
	planned:  {noticed, withdrawn},
	noticed:  {intended, withdrawn, blocked},
	intended: {issued, done, intended, blocked, withdrawn},
	issued:   {done, intended, blocked},
	blocked:  {noticed},
}

func anyInput(t *rapid.T, now time.Time) release.Input {
	errs := []error{nil, guard.ErrUnavailable, guard.ErrThrottled, guard.ErrPermission, guard.ErrProtected, guard.ErrAccount,
		guard.ErrUncertain, guard.ErrNotFound, errOdd, &guard.RetryError{Err: guard.ErrThrottled, After: 90 * time.Second}}
	in := release.Input{At: now, Verify: verify, Configured: rapid.IntRange(0, 9).Draw(t, "configured") > 0,
		Noticed: rapid.Bool().Draw(t, "noticed"), Unprotect: rapid.IntRange(0, 9).Draw(t, "unprotect") == 0}
	in.Look.Found = rapid.SampledFrom([]release.Found{release.NotLooked, release.Same, release.Same, release.Ending, release.Ended,
		release.Missing, release.Other, release.Mismatch, release.Unread}).Draw(t, "found")
	in.Look.At = now.Add(-rapid.SampledFrom([]time.Duration{0, 10 * time.Second, 30 * time.Second, 31 * time.Second, time.Hour}).Draw(t, "read"))
	in.Look.Protected = rapid.SampledFrom([]guard.Tri{guard.Unknown, guard.Yes, guard.No}).Draw(t, "protected")
	in.Look.Complete = now.Add(-rapid.SampledFrom([]time.Duration{0, 9 * time.Minute, 11 * time.Minute}).Draw(t, "complete"))
	in.Look.Immutable = rapid.Bool().Draw(t, "immutable")
	if in.Look.Found == release.Unread {
		in.Look.Err = rapid.SampledFrom(errs[1:]).Draw(t, "read error")
	}
	in.Judged.Standing = rapid.SampledFrom([]release.Standing{release.NotJudged, release.Stands, release.Stands, release.Void, release.Barred}).Draw(t, "standing")
	in.Judged.Due = now.Add(rapid.SampledFrom([]time.Duration{-time.Hour, 0, time.Minute}).Draw(t, "due"))
	if in.Judged.Standing == release.Barred {
		in.Judged.Block = rapid.SampledFrom([]guard.BlockReason{guard.BlockProtected, guard.BlockSurprise, guard.BlockClock}).Draw(t, "block")
	}
	if rapid.IntRange(0, 2).Draw(t, "call") == 0 {
		in.Call = &release.Call{Err: rapid.SampledFrom(errs).Draw(t, "call error")}
	}
	return in
}

// TestLaws drives a release through whatever can happen to it.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := at(planned, func(r *guard.Release) {
			r.Cause = rapid.SampledFrom([]guard.Cause{guard.CauseExpiry, guard.CauseBudget, guard.CausePerson}).Draw(t, "cause")
		})
		now, out, lastCall := t0.Add(-time.Hour), false, time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 15 * time.Second, time.Minute, 6 * time.Minute, 2 * time.Hour}).Draw(t, "wait"))
			in := anyInput(t, now)
			if !out {
				in.Call = nil // no outcome without a call
			}
			was := r
			o := release.Step(r, in)
			again := release.Step(was, in)
			if !slices.Equal(o.Moves, again.Moves) || o.Call != again.Call {
				t.Fatalf("the same input gave %v and %v", o.Moves, again.Moves)
			}
			r = o.Release
			state := was.State
			for _, m := range o.Moves {
				if m.From != state || !slices.Contains(allowed[m.From], m.To) {
					t.Fatalf("%s to %s is not in the table (from %s, moves %v)", m.From, m.To, was.State, o.Moves)
				}
				state = m.To
			}
			if state != r.State {
				t.Fatalf("moves end in %s, the release is %s", state, r.State)
			}
			if !was.State.Open() && (r.State != was.State || o.Call) {
				t.Fatalf("%s is not the end: %v", was.State, o.Moves)
			}
			if r.State == issued && was.State != issued && was.State != intended {
				t.Fatalf("issued from %s: no durable intent before the call", was.State)
			}
			if o.Call {
				if r.State != intended || r.Attempt != was.Attempt+1 || !r.IntendedAt.Equal(now) {
					t.Fatalf("a call from %s, attempt %d after %d", r.State, r.Attempt, was.Attempt)
				}
				if in.Judged.Standing != release.Stands || in.At.Before(r.Due) || now.Sub(in.Look.At) > 30*time.Second {
					t.Fatalf("a call that is not due, judged or read: %+v", in)
				}
				if !lastCall.IsZero() && !in.Look.At.After(lastCall) {
					t.Fatalf("a call on a read from before the last one: %s, %s", in.Look.At, lastCall)
				}
				switch in.Look.Found {
				case release.Same, release.Ending:
				case release.Unread:
					if r.Cause != guard.CauseBudget || !in.Look.Immutable || now.Sub(in.Look.Complete) > 10*time.Minute {
						t.Fatalf("a blind call: %+v", in.Look)
					}
				default:
					t.Fatalf("a call on what is %s", in.Look.Found)
				}
				if in.Look.Found == release.Same && in.Look.Protected == guard.Yes && !in.Unprotect {
					t.Fatal("a call on what is protected")
				}
				if !lastCall.IsZero() && now.Sub(lastCall) < 15*time.Second {
					t.Fatalf("calls %s apart", now.Sub(lastCall))
				}
				lastCall = now
			}
			if was.State.Open() && r.State == withdrawn && in.Look.Found != release.Ended && r.Calls != r.Attempt &&
				!(in.Look.Found == release.Same && now.Sub(r.IntendedAt) >= verify) {
				t.Fatal("withdrawn although a call may be out")
			}
			if was.State.Open() && r.State == done && in.Look.Found != release.Ended {
				t.Fatal("released without proof")
			}
			if r.State == blocked && r.Reason == "" || r.State != blocked && r.Reason != "" {
				t.Fatalf("%s with reason %q", r.State, r.Reason)
			}
			if r.State.Open() && r.State != planned && release.WakeAt(r, false).IsZero() {
				t.Fatalf("%s never wakes", r.State)
			}
			out = r.State == intended && (o.Call || out && r.Calls < r.Attempt)
		}
	})
}
