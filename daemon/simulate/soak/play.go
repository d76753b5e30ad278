package soak

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"guard/daemon/simulate"
)

// Runner runs the command lines of people; see simulate.Options.
type Runner func(ctx context.Context, c simulate.Command) int

// Checker says which promises were broken in a week that was played.
type Checker func(w Week, h *simulate.History) []Violation

// Tale is a week that was played.
type Tale struct {
	History *simulate.History // nil where the machinery broke
	Events  []simulate.Event
	// Broken is what no story may lead to: a panic, a daemon that does not start
	// or does not come to rest, a ledger that cannot be read.
	Broken []Violation
}

// Play lets the real daemon live through a week. The error is that of a week
// that is no story, or the context's.
func Play(ctx context.Context, w Week, run Runner) (*Tale, error) {
	const file = "week.yaml"
	story, err := simulate.Parse(w.YAML(), file, nil)
	if err != nil {
		return nil, fmt.Errorf("week of seed %d: %w", w.Seed, err)
	}
	log := &panics{}
	tale := &Tale{}
	r, err := lived(ctx, story, simulate.Options{Run: run, Seed: w.Seed, Log: slog.New(log)}, tale)
	if err != nil {
		return nil, err
	}
	if r != nil {
		tale.History, tale.Events = r.History, r.Events
		for _, f := range r.Failures {
			tale.Broken = append(tale.Broken, Violation{Kind: "crash", At: w.Length, Text: f.Text})
		}
	}
	for _, text := range log.texts {
		tale.Broken = append(tale.Broken, Violation{Kind: "crash", At: w.Length, Text: text})
	}
	return tale, nil
}

// Judge plays a week and says all that was wrong.
func Judge(ctx context.Context, w Week, run Runner, check Checker) ([]Violation, *Tale, error) {
	tale, err := Play(ctx, w, run)
	if err != nil {
		return nil, nil, err
	}
	found := tale.Broken
	if tale.History != nil {
		found = append(found, check(w, tale.History)...)
	}
	return found, tale, nil
}

func lived(ctx context.Context, s *simulate.Story, o simulate.Options, tale *Tale) (r *simulate.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, nil
			tale.Broken = append(tale.Broken, Violation{Kind: "crash", Text: fmt.Sprintf("a panic: %v\n%s", p, debug.Stack())})
		}
	}()
	return s.Run(ctx, o)
}

// panics is a log that keeps what the daemon survived and should not have to.
type panics struct {
	mu    sync.Mutex
	texts []string
}

// Enabled implements slog.Handler.
func (p *panics) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle implements slog.Handler.
func (p *panics) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "panic" {
			return true
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		text := r.Message
		r.Attrs(func(a slog.Attr) bool { text += fmt.Sprintf(" %s=%v", a.Key, a.Value); return true })
		p.texts = append(p.texts, text)
		return false
	})
	return nil
}

// WithAttrs implements slog.Handler; what a panic was about stands in its record.
func (p *panics) WithAttrs([]slog.Attr) slog.Handler { return p }

// WithGroup implements slog.Handler.
func (p *panics) WithGroup(string) slog.Handler { return p }

// instanceDays is how long all instances of a week existed within it, in days.
func (w Week) instanceDays(h *simulate.History) float64 {
	var sum time.Duration
	for _, a := range w.Accounts {
		cloud := h.Clouds[a.Script.Account]
		for _, r := range w.instances(a) {
			from, to := max(r.Created, 0), w.Length
			if gone := cloud.Gone(r.ID); !gone.IsZero() {
				to = min(to, gone.Sub(h.Start))
			}
			sum += max(to-from, 0)
		}
	}
	return sum.Hours() / 24
}

// failsAsFile reports whether an expectation of a scenario file does not hold.
func failsAsFile(ctx context.Context, text []byte, seed int64, run Runner) bool {
	story, err := simulate.Parse(text, "week.yaml", nil)
	if err != nil {
		return false
	}
	r, err := lived(ctx, story, simulate.Options{Run: run, Seed: seed}, &Tale{})
	return err == nil && r != nil && len(r.Failures) > 0
}
