package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
)

// Options say how long and what is played.
type Options struct {
	Run   Runner
	Check Checker
	Knobs Knobs
	// Duration is the real time in which new weeks are begun, one in any case; those that
	// run at its end are played to theirs. 0: until Weeks are played.
	Duration time.Duration
	Weeks    int // at most; 0: no bound
	// Seed is the first week's; the next one's is one more.
	Seed int64
	// Parallel is how many weeks are played at once; 0: as Go thinks right.
	Parallel int
	// Out is the folder for the shrunk scenario files; "": none is written.
	Out string
	// KeepGoing plays on after a failure.
	KeepGoing bool
	// Shrink is the real time spent on making one failure small; 0: two minutes.
	Shrink time.Duration
	// Progress is told every few seconds how it goes; nil: nobody is.
	Progress io.Writer
}

// mostShrunk is how many failures of different kinds one soak makes small.
const mostShrunk = 10

// Soak plays weeks until the time is over, or until the first that fails. The
// error is one of the machinery, or the context's: what guard did wrong is in the
// Report.
func Soak(ctx context.Context, o Options) (*Report, error) {
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.Shrink == 0 {
		o.Shrink = 2 * time.Minute
	}
	s := &soak{o: o, began: time.Now(), report: newReport(o.Seed)}
	s.report.usual = reflect.DeepEqual(o.Knobs, Usual())
	if err := cmp.Or(ctx.Err(), s.play(ctx), ctx.Err()); err != nil {
		return nil, err
	}
	s.report.RealSeconds = time.Since(s.began).Round(10 * time.Millisecond).Seconds()
	s.report.finish()
	return s.report, s.shrink(ctx)
}

type soak struct {
	o     Options
	began time.Time

	mu     sync.Mutex
	begun  int64
	report *Report
	errs   []error
	failed []failed
}

// failed is a week that broke a promise.
type failed struct {
	week  Week
	found []Violation
}

func (s *soak) play(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	for range s.o.Parallel {
		workers.Go(func() {
			for {
				seed, more := s.next(ctx)
				if !more {
					return
				}
				if s.one(ctx, seed) && !s.o.KeepGoing {
					cancel() // what others play now is not counted
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { workers.Wait(); close(over) }()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return errors.Join(s.errs...)
		case <-tick.C:
			s.progress()
		}
	}
}

// next is the next week's seed; false where no other is to be begun.
func (s *soak) next(ctx context.Context) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := s.o.Duration > 0 && time.Since(s.began) >= s.o.Duration && s.begun > 0
	if ctx.Err() != nil || over || s.o.Weeks > 0 && s.begun >= int64(s.o.Weeks) {
		return 0, false
	}
	s.begun++
	return s.o.Seed + s.begun - 1, true
}

// one plays one week; true where a promise was broken.
func (s *soak) one(ctx context.Context, seed int64) bool {
	w := DrawSeed(seed, s.o.Knobs)
	found, tale, err := Judge(ctx, w, s.o.Run, s.o.Check)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			s.errs = append(s.errs, fmt.Errorf("seed %d: %w", seed, err))
		}
		return err != nil
	}
	s.report.add(w, tale, found)
	if len(found) > 0 {
		s.failed = append(s.failed, failed{w, found})
	}
	return len(found) > 0
}

func (s *soak) progress() {
	if s.o.Progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.o.Progress, "%s: %d weeks, %.0f instance-days, %d faults met, %d crashes, %d violations\n",
		time.Since(s.began).Round(time.Second), s.report.Weeks, s.report.InstanceDays, s.report.faults(), s.report.Crashes, s.report.Violations)
}

// shrink makes the first failure of each kind small, and writes it as a file: the first by
// its seed, whichever week was over first.
func (s *soak) shrink(ctx context.Context) error {
	if s.o.Out == "" {
		return nil
	}
	slices.SortFunc(s.failed, func(a, b failed) int { return cmp.Compare(a.week.Seed, b.week.Seed) })
	kinds := map[string]bool{}
	for _, f := range s.failed {
		for _, v := range f.found {
			if kinds[v.sort()] || len(kinds) >= mostShrunk {
				continue
			}
			kinds[v.sort()] = true
			if s.o.Progress != nil {
				fmt.Fprintf(s.o.Progress, "seed %d: %s; making it small\n", f.week.Seed, v)
			}
			small, v := s.small(ctx, f.week, v)
			if err := ctx.Err(); err != nil {
				return err
			}
			path := filepath.Join(s.o.Out, fmt.Sprintf("soak-%d-%s.yaml", f.week.Seed, strings.ReplaceAll(v.sort(), " ", "-")))
			if err := os.WriteFile(path, s.file(ctx, small, v), 0o644); err != nil { //nolint:gosec // a story for anybody to read
				return fmt.Errorf("write the scenario of seed %d: %w", f.week.Seed, err)
			}
			s.report.file(f.week.Seed, v, path)
		}
	}
	return nil
}

// small is a smaller week with the same sort of violation, and that violation.
func (s *soak) small(ctx context.Context, w Week, v Violation) (Week, Violation) {
	fails := func(w Week) bool { _, still := s.still(ctx, w, v); return still }
	began := time.Now()
	if n := narrow(w, v); fails(n) {
		w = n
	}
	w = Shrink(ctx, w, fails, s.o.Shrink-time.Since(began))
	if now, still := s.still(ctx, w, v); still {
		v = now
	}
	return w, v
}

// still is the violation of the same sort that a week has, if it has one.
func (s *soak) still(ctx context.Context, w Week, v Violation) (Violation, bool) {
	found, _, err := Judge(ctx, w, s.o.Run, s.o.Check)
	for _, x := range found {
		if err == nil && x.sort() == v.sort() {
			return x, true
		}
	}
	return Violation{}, false
}

// narrow is what is likely to be enough of a week for a violation: its account,
// and not much more time.
func narrow(w Week, v Violation) Week {
	w = clone(w)
	w.Length = min(w.Length, (v.At + Tail).Truncate(time.Hour))
	account, _, _ := strings.Cut(v.ID, "/")
	for i, a := range w.Accounts {
		if a.Script.Account == account {
			w.Accounts = w.Accounts[i : i+1]
			break
		}
	}
	prune(&w)
	return w
}

// file is a failure as a scenario file, with an expectation that does not hold
// where the violation can be said as one.
func (s *soak) file(ctx context.Context, w Week, v Violation) []byte {
	head := "# " + strings.ReplaceAll(fmt.Sprintf("%s\nShrunk from the week of seed %d.", v, w.Seed), "\n", "\n# ") + "\n"
	text := w.YAML()
	if line := v.expectation(); line != "" {
		with := append(append([]byte{}, text...), "expect:\n  - "+line+"\n"...)
		if failsAsFile(ctx, with, w.Seed, s.o.Run) {
			text = with
		}
	}
	return append([]byte(head), text...)
}

// String is the violation in a line, and its text.
func (v Violation) String() string {
	out := v.Kind
	if v.Law > 0 {
		out += fmt.Sprintf(" (law %d)", v.Law)
	}
	out += " at " + spanText(v.At)
	if v.ID != "" {
		out += ", " + v.ID
	}
	if v.Lost.IsSet() {
		out += ", " + v.Lost.Round().String() + " lost"
	}
	return out + ": " + v.Text
}

// sort is what a smaller week must still break.
func (v Violation) sort() string { return fmt.Sprintf("law %d %s", v.Law, v.Kind) }

// expectation is what a scenario file would say, where it can.
func (v Violation) expectation() string {
	account, _, ok := strings.Cut(v.ID, "/")
	if !ok || account == "" {
		return ""
	}
	f := &flow{}
	switch v.Kind {
	case "wrong release":
		f.put("calls", "release")
		f.text("id", v.ID)
		f.put("between", "["+spanText(v.At.Truncate(time.Second))+", "+spanText(v.At.Truncate(time.Second)+time.Second)+"]")
		f.put("never", "true")
	case "missed limit", "false hold":
		f.put("calls", "release")
		f.text("id", v.ID)
		f.put("by", spanText(v.At))
		f.put("at_least", "1")
	default:
		return ""
	}
	return f.String()
}

// lost are sums of money in several currencies.
type lost map[string]guard.Money

func (l lost) add(m guard.Money) {
	if !m.IsSet() {
		return
	}
	sum, ok := l[m.Currency()]
	if !ok {
		l[m.Currency()] = m
		return
	}
	if sum, err := sum.Add(m); err == nil {
		l[m.Currency()] = sum
	}
}
