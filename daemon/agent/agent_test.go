//go:build linux

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"guard/daemon/wire"
)

// TestAway: while guardd is away sampling goes on, tries get rarer, and in the end all
// comes in order, over a restart of the agent, too.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.start()
		l.pass(10*time.Minute + 30*time.Second)
		l.unbroken(10)
		l.becomes(fails(errAway))
		before, _, _, _ := l.seen()
		l.pass(3 * time.Hour)
		after, _, _, _ := l.seen()
		if tries := len(after) - len(before); tries < 30 || tries > 60 {
			t.Errorf("%d tries in three hours", tries)
		}
		if b, err := os.ReadFile(filepath.Join(l.o.Dir, samplesFile)); err != nil || bytes.Count(b, []byte("\n")) != 180 {
			t.Errorf("%d of 180 samples are on the disk (%v)", bytes.Count(b, []byte("\n")), err)
		}
		l.stop()
		l.start()
		l.pass(30*time.Second + time.Minute)
		l.becomes(l.takes(0))
		l.pass(10 * time.Minute)
		l.stop()
		_, _, taken, last := l.seen()
		if n := len(taken); n < 198 || n > 202 {
			t.Errorf("%d samples in the end", n)
		}
		for i := range taken[1:] {
			if gap := taken[i+1].At.Sub(taken[i].At); gap <= 0 || gap > 2*time.Minute {
				t.Errorf("sample %d comes %s after the one before it", i+1, gap)
			}
		}
		if last.Waiting != 0 || last.Lost != 0 {
			t.Errorf("%+v", last)
		}
		if said := strings.Count(l.log.String(), "takes no samples"); said != 2 {
			t.Errorf("told %d times that guardd is away: %s", said, l.log.String())
		}
		if b, err := os.ReadFile(filepath.Join(l.o.Dir, samplesFile)); err != nil || len(b) != 0 {
			t.Errorf("%d bytes wait on the disk (%v)", len(b), err)
		}
	})
}

// TestSlowLine: where not all that waits gets through at once, less is sent, and in the end
// all has come. Each reason is told once, with what to do.
func TestSlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.becomes(fails(errAway))
		l.start()
		l.pass(3 * time.Hour)
		l.becomes(fails(&wire.Error{Kind: wire.KindToken, Message: "that token is over", Hint: "Ask an admin."}))
		l.pass(time.Hour)
		takes := l.takes(0)
		l.becomes(func(r wire.AgentRequest) (wire.AgentAnswer, error) {
			if len(r.Samples) > 20 {
				return wire.AgentAnswer{}, &wire.Error{Kind: wire.KindUnavailable, Message: "it came too slowly"}
			}
			return takes(r)
		})
		l.pass(time.Hour)
		l.stop()
		if n := len(l.taken); n < 298 || l.last.Lost != 0 {
			t.Errorf("%d samples have come, %d were given up", n, l.last.Lost)
		}
		for _, once := range []string{"nobody listens", "that token is over", `hint="Ask an admin."`} {
			if n := strings.Count(l.log.String(), once); n != 1 {
				t.Errorf("told %d times: %s", n, once)
			}
		}
	})
}

// later is a refusal that says when to come again.
type later struct{ error }

func (later) RetryAfter() time.Duration { return 20 * time.Minute }
func (l later) Unwrap() error           { return l.error }

// TestAsked: what guardd asks to wait is waited, and what it cannot read is not sent for
// ever.
func TestAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.becomes(fails(later{&wire.Error{Kind: wire.KindThrottled}}))
		l.start()
		l.pass(65 * time.Minute)
		if calls, _, _, _ := l.seen(); len(calls) != 4 {
			t.Errorf("called at %v", calls)
		}
		l.becomes(fails(&wire.Error{Kind: wire.KindInvalid, Message: "no such field"}))
		l.pass(30 * time.Minute)
		l.becomes(l.takes(0))
		l.pass(30 * time.Minute)
		l.stop()
		if l.last.Lost == 0 || len(l.taken) == 0 {
			t.Errorf("%d lost, %d taken", l.last.Lost, len(l.taken))
		}
	})
}

// TestEndedWhileItIsTaken: that guardd is back is told, though the agent is ended while it
// answers; that it was ended is no trouble of guardd's.
func TestEndedWhileItIsTaken(t *testing.T) {
	for _, taken := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t)
			l.becomes(fails(errAway))
			l.start()
			l.pass(90 * time.Second)
			l.becomes(func(r wire.AgentRequest) (wire.AgentAnswer, error) {
				l.running()
				if taken {
					return l.takes(0)(r)
				}
				return wire.AgentAnswer{}, context.Canceled
			})
			l.pass(time.Hour)
			l.stop()
			log := l.log.String()
			if strings.Contains(log, "takes samples again") != taken || strings.Contains(log, context.Canceled.Error()) {
				t.Errorf("taken %v: %s", taken, log)
			}
		})
	}
}

// TestNotice: jobs on the box find the notice of a release, by the box's own clock, while
// there is one.
func TestNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.step = -2 * time.Hour // the box's clock is behind
		due := time.Now().Add(30 * time.Minute)
		l.becomes(func(wire.AgentRequest) (wire.AgentAnswer, error) {
			return wire.AgentAnswer{Now: time.Now(), Orders: wire.Orders{Release: &wire.Notice{ID: "r", Action: "release", Due: due}}}, nil
		})
		l.start()
		l.pass(time.Second)
		var n wire.Notice
		b, err := os.ReadFile(filepath.Join(l.o.Run, NoticeFile))
		if err != nil || json.Unmarshal(b, &n) != nil || !n.Due.Equal(due.Add(-2*time.Hour)) {
			t.Errorf("%s (%v)", b, err)
		}
		l.becomes(l.takes(0))
		l.pass(2 * time.Minute)
		if _, err := os.Stat(filepath.Join(l.o.Run, NoticeFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the notice stays: %v", err)
		}
		l.stop()
	})
}

// TestAlone: two agents do not work with one folder.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.start()
		if err := Run(t.Context(), l.o); err == nil || !strings.Contains(err.Error(), "another guard agent") {
			t.Errorf("%v", err)
		}
		l.stop()
	})
}

// TestSleep: no sample stands for a time that the box slept through.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.start()
		l.pass(2*time.Minute + time.Second)
		l.mu.Lock()
		l.began = l.began.Add(-8 * time.Hour) // what has elapsed counts sleep
		l.mu.Unlock()
		l.pass(3 * time.Minute)
		l.stop()
		if len(l.taken) != 4 {
			t.Errorf("%d samples", len(l.taken))
		}
		for _, s := range l.taken {
			if s.Interval != time.Minute {
				t.Errorf("a sample stands for %s", s.Interval)
			}
		}
	})
}
