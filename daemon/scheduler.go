package daemon

import (
	"container/heap"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sort"
	"sync"
	"time"

	"guard"
)

// Loop is one piece of the daemon's work that the scheduler drives. Once does
// what is due at the instant and returns when it wants to run next; a zero next
// means "only when kicked". It never sleeps inside and never runs twice at once. A
// loop is told from others by ==, so it is a pointer.
type Loop interface {
	Name() string
	Once(ctx context.Context, at guard.Instant) (next guard.Instant, err error)
}

// patient is a loop of which one run may take long.
type patient interface{ Patience() time.Duration }

const (
	// maxWait bounds a real wait: after it the clocks are compared again, so a
	// stepped clock or a sleeping machine is noticed within it.
	maxWait = 30 * time.Second
	// maxRun bounds one run of a loop; loops bound their own calls well below.
	maxRun = 5 * time.Minute
	// afterPanic is when a loop that panicked is tried again.
	afterPanic = 30 * time.Second
	// stopGrace is how long a run in progress may take once the daemon stops: a
	// little more than the longest call.
	stopGrace = 28 * time.Second
	// stepped is how far the machine's wall clock, or the time that guard goes by,
	// drifts from what has elapsed between two wakes before all loops solve their
	// deadlines again.
	stepped = time.Second
)

// Scheduler runs loops at the instants they ask for. It is ordered by elapsed
// time; the same scheduler serves production (Run), the demo (Run on sped-up
// time) and the simulation (RunDue on virtual time).
type Scheduler struct {
	log     *slog.Logger
	believe func(guard.Instant) guard.Instant

	mu      sync.Mutex
	entries map[string]*entry
	queue   queue
	order   int
	offsets [2]time.Duration // of the machine's clock and the time gone by, at the last wake
	synced  bool
	wake    chan struct{}
	running sync.WaitGroup
	paused  bool
	between []func() // to be run once no loop runs
}

type entry struct {
	loop    Loop
	next    guard.Instant // zero: only when kicked
	order   int
	pos     int // in the queue; -1 where it is not
	running bool
	ended   chan struct{} // closed when the present run ends
	kicked  bool          // run again as soon as the present run ends
	removed bool
	status  LoopStatus
}

// LoopStatus is how one loop is doing, for the health endpoint.
type LoopStatus struct {
	Name  string        `json:"name"`
	Last  time.Time     `json:"last,omitzero"` // start of the last run, UTC
	Next  guard.Instant `json:"next,omitzero"` // zero: when kicked
	Took  time.Duration `json:"took"`
	Error string        `json:"error,omitzero"`
	Since guard.Instant `json:"-"` // start of the run in progress
	// Patience is how long a run may take where that is long.
	Patience time.Duration `json:"-"`
	Running  bool          `json:"running"`
	Runs     uint64        `json:"runs"`
}

// NewScheduler makes an empty scheduler. Believe turns an instant of the machine's
// clocks, which is what Run and RunDue are given, into the one that the loops go by.
func NewScheduler(log *slog.Logger, believe func(guard.Instant) guard.Instant) *Scheduler {
	return &Scheduler{log: log, believe: believe, entries: map[string]*entry{}, wake: make(chan struct{}, 1)}
}

// Replace swaps the set of loops: it waits for the runs in progress of those that are
// not in the new set, drops them and makes every new one due at once. A loop that is
// in both sets goes on as if nothing had happened. Loops start in the order given.
func (s *Scheduler) Replace(ctx context.Context, loops []Loop, at guard.Instant) error {
	stays := map[Loop]bool{}
	for _, l := range loops {
		stays[l] = true
	}
	s.mu.Lock()
	s.paused = true
	var ending []chan struct{}
	for _, e := range s.entries {
		if e.running && !stays[e.loop] {
			ending = append(ending, e.ended)
		}
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.paused = false
		s.mu.Unlock()
		s.nudge()
	}()
	for _, ended := range ending {
		select {
		case <-ended:
		case <-ctx.Done():
			return fmt.Errorf("%w: loops still running: %v", guard.ErrUnavailable, context.Cause(ctx))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.entries
	s.entries = map[string]*entry{}
	for _, l := range loops {
		if s.entries[l.Name()] != nil {
			s.entries = old
			return fmt.Errorf("%w: two loops named %q", guard.ErrConflict, l.Name())
		}
		e := old[l.Name()]
		if e == nil || e.loop != l {
			e = &entry{loop: l, pos: -1, status: LoopStatus{Name: l.Name()}}
			if p, ok := l.(patient); ok {
				e.status.Patience = p.Patience()
			}
		}
		s.entries[l.Name()] = e
	}
	s.queue = nil
	for _, e := range old {
		e.removed, e.pos = s.entries[e.loop.Name()] != e, -1
	}
	for _, l := range loops {
		e := s.entries[l.Name()]
		s.order++
		e.order = s.order
		switch {
		case e.running:
		case old[l.Name()] == e:
			s.schedule(e, e.next)
		default:
			s.schedule(e, at)
		}
	}
	return nil
}

// Between runs fn once no loop runs, and no loop before fn has returned: a loop asks
// for a swap of the loops by it.
func (s *Scheduler) Between(fn func()) {
	s.mu.Lock()
	s.between = append(s.between, fn)
	s.mu.Unlock()
	s.nudge()
}

// settle runs what is to be run between the loops, where none of them runs.
func (s *Scheduler) settle() {
	s.mu.Lock()
	for _, e := range s.entries {
		if e.running {
			s.mu.Unlock()
			return
		}
	}
	fns := s.between
	s.between = nil
	s.mu.Unlock()
	for _, fn := range fns {
		fn()
	}
}

// Kick makes a loop due now; while it runs, it runs once more afterwards. An
// unknown name does nothing: the loop was removed by a reload.
func (s *Scheduler) Kick(name string) {
	s.mu.Lock()
	e := s.entries[name]
	if e != nil {
		e.kicked = true
	}
	s.mu.Unlock()
	if e != nil {
		s.nudge()
	}
}

func (s *Scheduler) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// schedule puts an idle entry into the queue for its next run.
func (s *Scheduler) schedule(e *entry, next guard.Instant) {
	e.next = next
	e.status.Next = next
	switch {
	case next.IsZero() && e.pos >= 0:
		heap.Remove(&s.queue, e.pos)
	case next.IsZero():
	case e.pos >= 0:
		heap.Fix(&s.queue, e.pos)
	default:
		heap.Push(&s.queue, e)
	}
}

// take marks the loops due at an instant of the machine's clocks as running and
// returns them in the order of their time, then of their start, and the instant that
// they go by.
func (s *Scheduler) take(machine guard.Instant) ([]*entry, guard.Instant) {
	at := s.believe(machine)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused || len(s.between) > 0 {
		return nil, at
	}
	offsets := [2]time.Duration{offset(machine), offset(at)}
	for i, clock := range []string{"the machine's", "the time that guard goes by"} {
		if by := offsets[i] - s.offsets[i]; s.synced && by.Abs() > stepped {
			s.log.Warn("clock stepped", "clock", clock, "by", by.String())
			for _, e := range s.entries {
				e.kicked = true
			}
		}
	}
	s.offsets, s.synced = offsets, true
	var due []*entry
	for s.queue.Len() > 0 && s.queue[0].next.Elapsed <= at.Elapsed {
		due = append(due, heap.Pop(&s.queue).(*entry))
	}
	var kicked []*entry
	for _, e := range s.entries {
		if e.kicked && !e.running && e.pos >= 0 {
			heap.Remove(&s.queue, e.pos)
			kicked = append(kicked, e)
		} else if e.kicked && !e.running && !contains(due, e) {
			kicked = append(kicked, e)
		}
	}
	sort.Slice(kicked, func(i, j int) bool { return kicked[i].order < kicked[j].order })
	due = append(due, kicked...)
	for _, e := range due {
		e.running, e.kicked, e.ended = true, false, make(chan struct{})
		e.status.Running, e.status.Last, e.status.Since = true, at.Wall, at
		s.running.Add(1)
	}
	return due, at
}

// offset is how far an instant's wall time is from its elapsed time.
func offset(i guard.Instant) time.Duration { return i.Wall.Sub(time.Unix(0, 0)) - i.Elapsed }

func contains(es []*entry, e *entry) bool {
	for _, x := range es {
		if x == e {
			return true
		}
	}
	return false
}

// run performs one run of a loop and schedules the next.
func (s *Scheduler) run(ctx context.Context, e *entry, at guard.Instant, now func() guard.Instant) {
	defer s.running.Done()
	next, err := s.once(ctx, e.loop, at)
	took := now().Sub(at)
	s.mu.Lock()
	defer s.mu.Unlock()
	e.running = false
	close(e.ended)
	e.status.Running, e.status.Took = false, took
	e.status.Runs++
	before := e.status.Error
	e.status.Error = ""
	if err == nil && before != "" {
		s.log.Info("loop runs again", "loop", e.loop.Name())
	}
	if err != nil && ctx.Err() == nil {
		e.status.Error = err.Error()
		if e.status.Error != before { // once, not with every poll of an outage
			s.log.Warn("loop failed", "loop", e.loop.Name(), "error", err.Error())
		}
		if next.IsZero() {
			next = at.Add(took + afterPanic)
		}
	}
	if !e.removed {
		s.schedule(e, next)
	}
	s.nudge()
}

func (s *Scheduler) once(ctx context.Context, l Loop, at guard.Instant) (next guard.Instant, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("loop panicked", "loop", l.Name(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			next, err = at.Add(afterPanic), fmt.Errorf("%w: loop %s panicked; tried again in %s", guard.ErrUnavailable, l.Name(), afterPanic)
		}
	}()
	ctx, cancel := context.WithTimeout(guard.WithInstant(ctx, at), maxRun)
	defer cancel()
	return l.Once(ctx, at)
}

// RunDue runs, one after the other on this goroutine, everything that is due at
// the instant, what that kicks included, and reports whether anything ran.
func (s *Scheduler) RunDue(ctx context.Context, machine guard.Instant) bool {
	s.settle()
	due, at := s.take(machine)
	for _, e := range due {
		s.run(ctx, e, at, func() guard.Instant { return machine })
	}
	return len(due) > 0
}

// Next is when the next loop wants to run; false where all wait for a kick.
func (s *Scheduler) Next() (guard.Instant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.Len() == 0 {
		return guard.Instant{}, false
	}
	return s.queue[0].next, true
}

// Run drives the loops until ctx ends, then waits for the runs in progress, which
// are cut off after stopGrace. now tells the time; wait returns after d of it, or
// when ctx ends or wake is signalled.
func (s *Scheduler) Run(ctx context.Context, now func() guard.Instant, wait func(ctx context.Context, d time.Duration, wake <-chan struct{})) {
	// A call to a cloud that is under way is better finished than forgotten.
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() {
		late := time.AfterFunc(stopGrace, cut)
		context.AfterFunc(work, func() { late.Stop() })
	})()
	for ctx.Err() == nil {
		s.settle()
		due, at := s.take(now())
		for _, e := range due {
			go s.run(work, e, at, now)
		}
		d := maxWait
		if next, ok := s.Next(); ok {
			d = min(d, max(0, next.Sub(now())))
		}
		wait(ctx, d, s.wake)
	}
	s.running.Wait()
}

// Status tells how every loop is doing, in the order they were started.
func (s *Scheduler) Status() []LoopStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	es := make([]*entry, 0, len(s.entries))
	for _, e := range s.entries {
		es = append(es, e)
	}
	sort.Slice(es, func(i, j int) bool { return es[i].order < es[j].order })
	out := make([]LoopStatus, len(es))
	for i, e := range es {
		out[i] = e.status
	}
	return out
}

// queue is a heap of entries by elapsed time, then by order of start.
type queue []*entry

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].next.Elapsed != q[j].next.Elapsed {
		return q[i].next.Elapsed < q[j].next.Elapsed
	}
	return q[i].order < q[j].order
}
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].pos, q[j].pos = i, j
}
func (q *queue) Push(x any) {
	e := x.(*entry)
	e.pos = len(*q)
	*q = append(*q, e)
}
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	e.pos = -1
	*q = old[:len(old)-1]
	return e
}
