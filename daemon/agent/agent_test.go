//go:build linux

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"guard"
	"guard/daemon/wire"
)

// lab is a box with an agent on it, and a guardd that does as the test says; all in a
// bubble of virtual time.
type lab struct {
	t       *testing.T
	o       Options
	began   time.Time
	step    time.Duration // the wall clock was set by so much
	log     bytes.Buffer
	mu      sync.Mutex
	answer  func(wire.AgentRequest) (wire.AgentAnswer, error)
	calls   []time.Time
	taken   []guard.Sample
	fired   []time.Time
	last    wire.AgentRequest
	running context.CancelFunc
	over    chan error
}

// steady reads one GPU at 50 % every second.
type steady struct{}

func (steady) Run(ctx context.Context, reading func(guard.Sample), trouble func(string)) {
	trouble("")
	poll(ctx, time.Second, func() { reading(guard.Sample{Interval: time.Second, GPUs: []guard.GPUSample{{Util: guard.Known(50)}}}) })
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, began: time.Now()}
	root := t.TempDir()
	fill(t, root)
	l.o = Options{Resource: "lab/i-1", Version: "v1", Every: time.Minute, Dir: filepath.Join(root, "state"), Run: filepath.Join(root, "run"),
		GPUs: steady{}, Box: Box{Root: root, Beats: filepath.Join(root, "run", "beats"), Self: 1}, Chance: func() float64 { return 0.5 },
		Log: slog.New(slog.NewTextHandler(&l.log, nil)), Now: l.now, Send: l.send}
	l.answer = l.takes(0)
	return l
}

func (l *lab) now() guard.Instant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return guard.Instant{Wall: time.Now().UTC().Add(l.step), Elapsed: time.Hour + time.Since(l.began)}
}

func (l *lab) send(_ context.Context, r wire.AgentRequest) (wire.AgentAnswer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls, l.last = append(l.calls, time.Now()), r
	return l.answer(r)
}

// takes is a guardd that takes everything and tells of a limit so far ahead; 0: of none.
func (l *lab) takes(limit time.Duration) func(wire.AgentRequest) (wire.AgentAnswer, error) {
	end := time.Now().Add(limit)
	return func(r wire.AgentRequest) (wire.AgentAnswer, error) {
		for _, x := range r.Samples {
			var s guard.Sample
			if err := json.Unmarshal(x.Sample, &s); err != nil {
				l.t.Error(err)
			}
			l.taken = append(l.taken, s)
		}
		a := wire.AgentAnswer{Now: time.Now()}
		if limit != 0 {
			a.Orders.Limit = &end
		}
		return a, nil
	}
}

func (l *lab) becomes(answer func(wire.AgentRequest) (wire.AgentAnswer, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = answer
}

func fails(err error) func(wire.AgentRequest) (wire.AgentAnswer, error) {
	return func(wire.AgentRequest) (wire.AgentAnswer, error) { return wire.AgentAnswer{}, err }
}

var errAway = errors.New("nobody listens there")

func (l *lab) start() {
	ctx, cancel := context.WithCancel(l.t.Context())
	l.running, l.over = cancel, make(chan error, 1)
	go func() { l.over <- Run(ctx, l.o) }()
	synctest.Wait()
}

func (l *lab) stop() {
	l.running()
	if err := <-l.over; err != nil {
		l.t.Error(err)
	}
}

func (l *lab) pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// seen is what has happened so far.
func (l *lab) seen() (calls, fired []time.Time, taken []guard.Sample, last wire.AgentRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls), slices.Clone(l.fired), slices.Clone(l.taken), l.last
}

// fuse gives the agent a fuse that only notes that it fired.
func (l *lab) fuse(after time.Duration) {
	l.o.Fuse = &Fuse{After: after, Does: "powers the box off", Fire: func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.fired = append(l.fired, time.Now())
		return nil
	}}
}

// unbroken checks that n samples were taken, each once, in order, a minute apart.
func (l *lab) unbroken(n int) {
	l.t.Helper()
	_, _, taken, _ := l.seen()
	if len(taken) != n {
		l.t.Errorf("%d samples were taken, want %d", len(taken), n)
	}
	for i, s := range taken {
		if i > 0 && s.At.Sub(taken[i-1].At) != time.Minute || s.Interval != time.Minute || s.GPUs[0].Util != guard.Known(50) {
			l.t.Errorf("sample %d: %+v", i, s)
		}
	}
}

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
