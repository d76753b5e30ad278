//go:build linux

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
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
