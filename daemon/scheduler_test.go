package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"guard"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

type loopFunc struct {
	name string
	once func(ctx context.Context, at guard.Instant) (guard.Instant, error)
}

func (l *loopFunc) Name() string { return l.name }
func (l *loopFunc) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	return l.once(ctx, at)
}

// asTold believes the machine's clocks.
func asTold(at guard.Instant) guard.Instant { return at }

func every(name string, d time.Duration, ran *[]string) *loopFunc {
	return &loopFunc{name, func(_ context.Context, at guard.Instant) (guard.Instant, error) {
		*ran = append(*ran, name+"@"+at.Elapsed.String())
		return at.Add(d), nil
	}}
}

var zero = guard.Instant{Wall: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Elapsed: time.Hour}

// drive runs a scheduler on virtual time for d.
func drive(t *testing.T, s *Scheduler, from guard.Instant, d time.Duration) {
	t.Helper()
	at := from
	for steps := 0; ; steps++ {
		if steps > 10_000 {
			t.Fatal("the scheduler does not come to rest")
		}
		if s.RunDue(t.Context(), at) {
			continue
		}
		next, ok := s.Next()
		if !ok || next.Sub(from) > d {
			return
		}
		at = from.Add(next.Sub(from))
	}
}

func TestSchedulerRunsInOrderOfTimeThenOfStart(t *testing.T) {
	var ran []string
	s := NewScheduler(quiet, asTold)
	if err := s.Replace(t.Context(), []Loop{every("b", 2*time.Minute, &ran), every("a", time.Minute, &ran)}, zero); err != nil {
		t.Fatal(err)
	}
	drive(t, s, zero, 2*time.Minute)
	want := []string{"b@1h0m0s", "a@1h0m0s", "a@1h1m0s", "b@1h2m0s", "a@1h2m0s"}
	if !reflect.DeepEqual(ran, want) {
		t.Fatalf("ran %v, want %v", ran, want)
	}
}

func TestSchedulerKick(t *testing.T) {
	var ran []string
	s := NewScheduler(quiet, asTold)
	sleeper := &loopFunc{"sleeper", func(_ context.Context, at guard.Instant) (guard.Instant, error) {
		ran = append(ran, "sleeper")
		return guard.Instant{}, nil
	}}
	kicker := &loopFunc{"kicker", func(_ context.Context, at guard.Instant) (guard.Instant, error) {
		ran = append(ran, "kicker")
		s.Kick("sleeper")
		s.Kick("nobody")
		return guard.Instant{}, nil
	}}
	if err := s.Replace(t.Context(), []Loop{sleeper, kicker}, zero); err != nil {
		t.Fatal(err)
	}
	drive(t, s, zero, time.Hour)
	if want := []string{"sleeper", "kicker", "sleeper"}; !reflect.DeepEqual(ran, want) {
		t.Fatalf("ran %v, want %v", ran, want)
	}
}

func TestSchedulerKickWhileRunningRunsOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewScheduler(quiet, asTold)
		runs := 0
		l := &loopFunc{"slow", func(ctx context.Context, at guard.Instant) (guard.Instant, error) {
			runs++
			if runs == 1 {
				s.Kick("slow")
				s.Kick("slow")
			}
			return guard.Instant{}, nil
		}}
		if err := s.Replace(t.Context(), []Loop{l}, zero); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		now := func() guard.Instant { return zero.Add(time.Since(start)) }
		go s.Run(ctx, now, Wait)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if runs != 2 {
			t.Fatalf("ran %d times, want 2", runs)
		}
	})
}

// A stop lets a call finish, and does not wait for one that hangs.
func TestSchedulerStops(t *testing.T) {
	for name, want := range map[string]struct{ takes, after time.Duration }{
		"a call under way":  {10 * time.Second, 10 * time.Second},
		"a call that hangs": {time.Hour, stopGrace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewScheduler(quiet, asTold)
				l := &loopFunc{"call", func(ctx context.Context, at guard.Instant) (guard.Instant, error) {
					select {
					case <-time.After(want.takes):
					case <-ctx.Done():
					}
					return at.Add(time.Minute), ctx.Err()
				}}
				if err := s.Replace(t.Context(), []Loop{l}, zero); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				start := time.Now()
				stopped := make(chan time.Duration, 1)
				go func() {
					s.Run(ctx, func() guard.Instant { return zero.Add(time.Since(start)) }, Wait)
					stopped <- time.Since(start)
				}()
				synctest.Wait()
				stop()
				if took := <-stopped; took != want.after {
					t.Errorf("stopped after %s, want %s", took, want.after)
				}
			})
		})
	}
}

func TestSchedulerPanicAndError(t *testing.T) {
	var ran []string
	s := NewScheduler(quiet, asTold)
	first := true
	bad := &loopFunc{"bad", func(_ context.Context, at guard.Instant) (guard.Instant, error) {
		ran = append(ran, "bad@"+at.Elapsed.String())
		if first {
			first = false
			panic("boom")
		}
		return guard.Instant{}, errors.New("still broken")
	}}
	if err := s.Replace(t.Context(), []Loop{bad, every("good", 20*time.Second, &ran)}, zero); err != nil {
		t.Fatal(err)
	}
	drive(t, s, zero, 30*time.Second)
	want := []string{"bad@1h0m0s", "good@1h0m0s", "good@1h0m20s", "bad@1h0m30s"}
	if !reflect.DeepEqual(ran, want) {
		t.Fatalf("ran %v, want %v", ran, want)
	}
	if st := s.Status(); st[0].Error != "still broken" || st[1].Error != "" {
		t.Fatalf("status %+v", st)
	}
}

// A stepped wall clock makes every loop solve its deadlines again, at once.
func TestSchedulerClockStep(t *testing.T) {
	var ran []string
	s := NewScheduler(quiet, asTold)
	if err := s.Replace(t.Context(), []Loop{every("hourly", time.Hour, &ran)}, zero); err != nil {
		t.Fatal(err)
	}
	drive(t, s, zero, time.Minute)
	at := zero.Add(30 * time.Second)
	if s.RunDue(t.Context(), at) {
		t.Fatal("ran without a reason")
	}
	at.Wall = at.Wall.Add(-2 * time.Hour)
	if !s.RunDue(t.Context(), at) {
		t.Fatal("a clock step woke nobody")
	}
}

func TestSchedulerReplaceDropsAndRefusesTwins(t *testing.T) {
	var ran []string
	s := NewScheduler(quiet, asTold)
	if err := s.Replace(t.Context(), []Loop{every("old", time.Second, &ran)}, zero); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(t.Context(), []Loop{every("new", time.Minute, &ran)}, zero); err != nil {
		t.Fatal(err)
	}
	drive(t, s, zero, 30*time.Second)
	if want := []string{"new@1h0m0s"}; !reflect.DeepEqual(ran, want) {
		t.Fatalf("ran %v, want %v", ran, want)
	}
	if err := s.Replace(t.Context(), []Loop{every("x", time.Second, &ran), every("x", time.Second, &ran)}, zero); !errors.Is(err, guard.ErrConflict) {
		t.Fatalf("twins: %v", err)
	}
}

// Real waits are bounded, so that a suspended machine is noticed soon after.
func TestSchedulerWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewScheduler(quiet, asTold)
		var ran []string
		if err := s.Replace(t.Context(), []Loop{every("rare", 24*time.Hour, &ran)}, zero); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var waits []time.Duration
		var passed atomic.Int64
		now := func() guard.Instant { return zero.Add(time.Duration(passed.Load())) }
		s.Run(ctx, now, func(_ context.Context, d time.Duration, _ <-chan struct{}) {
			synctest.Wait() // the loop has run, and asks for its next time
			waits = append(waits, d)
			passed.Add(int64(d))
			if len(waits) == 4 {
				cancel()
			}
		})
		for _, d := range waits {
			if d > maxWait {
				t.Fatalf("waited %s at once", d)
			}
		}
	})
}
