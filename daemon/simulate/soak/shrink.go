package soak

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/fake"
)

// Shrink looks for a smaller week that fails too, until nothing can be left out
// or the budget of real time is used up: accounts, resources, events, faults,
// orders and hits first, then the length, then values for plainer ones.
func Shrink(ctx context.Context, w Week, fails func(Week) bool, budget time.Duration) Week {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s := &shrinker{ctx: ctx, w: clone(w), fails: fails}
	for before := -1; before != s.smaller && ctx.Err() == nil; {
		before = s.smaller
		s.thin()
		s.shorten()
		s.simplify()
	}
	return s.w
}

type shrinker struct {
	ctx     context.Context //nolint:containedctx // it is one call's: Shrink's
	w       Week
	fails   func(Week) bool
	smaller int // steps that were taken
}

// try keeps a change if the week then still fails.
func (s *shrinker) try(change func(w *Week)) bool {
	if s.ctx.Err() != nil {
		return false
	}
	next := clone(s.w)
	change(&next)
	prune(&next)
	if string(next.YAML()) == string(s.w.YAML()) || !s.fails(next) || s.ctx.Err() != nil {
		return false
	}
	s.w = next
	s.smaller++
	return true
}

// thin leaves out what is not needed, halves first.
func (s *shrinker) thin() {
	leave(s, func(w *Week) *[]Account { return &w.Accounts })
	leave(s, func(w *Week) *[]Hit { return &w.Hits })
	leave(s, func(w *Week) *[]SlackFault { return &w.Slack })
	leave(s, func(w *Week) *[]Order { return &w.Orders })
	for i := range s.w.Accounts {
		leave(s, func(w *Week) *[]fake.Fault { return &w.Accounts[i].Script.Faults })
		leave(s, func(w *Week) *[]fake.Event { return &w.Accounts[i].Script.Timeline })
		leave(s, func(w *Week) *[]fake.Resource { return &w.Accounts[i].Script.Resources })
	}
}

// leave leaves out parts of one list.
func leave[T any](s *shrinker, list func(*Week) *[]T) {
	for size := len(*list(&s.w)); size > 0; size /= 2 {
		for from := 0; from < len(*list(&s.w)); {
			to := min(from+size, len(*list(&s.w)))
			if !s.try(func(w *Week) { *list(w) = slices.Delete(slices.Clone(*list(w)), from, to) }) {
				from = to
			}
		}
	}
}

// shorten moves the story towards its start, and ends it sooner.
func (s *shrinker) shorten() {
	for s.try(func(w *Week) { shift(w, first(*w)) }) {
	}
	for _, part := range []time.Duration{4, 2, 1} { // eighths that go
		for s.try(func(w *Week) { w.Length = max((w.Length - w.Length*part/8).Truncate(time.Minute), time.Minute) }) {
		}
	}
}

// first is when something first happens, in whole minutes; a minute is kept.
func first(w Week) time.Duration {
	at := w.Length
	for _, o := range w.Orders {
		at = min(at, o.At)
	}
	for _, a := range w.Accounts {
		for _, e := range a.Script.Timeline {
			at = min(at, e.At)
		}
		for _, f := range a.Script.Faults {
			at = min(at, f.From)
		}
	}
	for _, f := range w.Slack {
		at = min(at, f.From)
	}
	for _, h := range w.Hits {
		if h.CrashAt == "" || h.At > 0 {
			at = min(at, h.At)
		}
	}
	return max((at - time.Minute).Truncate(time.Minute), 0)
}

// shift lets all happen so much sooner.
func shift(w *Week, by time.Duration) {
	w.Length -= by
	for i := range w.Orders {
		w.Orders[i].At -= by
	}
	for i := range w.Hits {
		w.Hits[i].At = max(w.Hits[i].At-by, 0)
	}
	for i := range w.Slack {
		w.Slack[i].From -= by
	}
	for i := range w.Accounts {
		s := &w.Accounts[i].Script
		for j := range s.Timeline {
			s.Timeline[j].At -= by
		}
		for j := range s.Faults {
			s.Faults[j].From -= by
		}
	}
}

// simplify tries plainer values, one at a time.
func (s *shrinker) simplify() {
	for _, change := range []func(*Week){
		func(w *Week) { w.Start = starts[0] },
		func(w *Week) { w.Poll = 0 },
		func(w *Week) { w.Sweep = 0 },
		func(w *Week) { w.Grace = 0 },
		func(w *Week) { w.Warn = nil },
		func(w *Week) { w.SurprisePercent, w.SurpriseHour = 0, 0 },
		func(w *Week) { w.Life = 0 },
		func(w *Week) { w.Money = nil },
		func(w *Week) { w.Adopt = nil },
		func(w *Week) { w.Guesses = nil },
		func(w *Week) { w.Leftovers = nil },
		func(w *Week) { w.Quiet = nil },
		func(w *Week) { w.Low = 0 },
	} {
		s.try(change)
	}
	for i := range s.w.Orders {
		for _, change := range orderChanges {
			s.try(func(w *Week) { change(&w.Orders[i]) })
		}
	}
	for i := range s.w.Hits {
		s.try(func(w *Week) { w.Hits[i].At = (w.Hits[i].At / 2).Truncate(time.Minute) })
		s.try(func(w *Week) { w.Hits[i].At = w.Hits[i].At.Truncate(time.Hour) })
		s.try(func(w *Week) { w.Hits[i].Back = min(w.Hits[i].Back, time.Minute) })
		s.try(func(w *Week) { w.Hits[i].ID = "" })
	}
	for i := range s.w.Accounts {
		for _, change := range accountChanges {
			s.try(func(w *Week) { change(&w.Accounts[i].Script) })
		}
		for j := range s.w.Accounts[i].Script.Resources {
			for _, change := range resourceChanges {
				s.try(func(w *Week) { change(&w.Accounts[i].Script.Resources[j]) })
			}
		}
		for j := range s.w.Accounts[i].Script.Timeline {
			s.try(func(w *Week) {
				e := &w.Accounts[i].Script.Timeline[j]
				e.At = e.At.Truncate(time.Hour)
			})
			for _, change := range resourceChanges {
				s.try(func(w *Week) {
					if e := &w.Accounts[i].Script.Timeline[j]; e.Create != nil {
						change(e.Create)
					}
				})
			}
		}
		for j := range s.w.Accounts[i].Script.Faults {
			for _, change := range faultChanges {
				s.try(func(w *Week) { change(&w.Accounts[i].Script.Faults[j]) })
			}
		}
	}
}

var (
	orderChanges = []func(*Order){
		func(o *Order) { o.User = "" },
		func(o *Order) { o.At = (o.At / 2).Truncate(time.Minute) },
		func(o *Order) { o.At = o.At.Truncate(time.Hour) },
		func(o *Order) { o.At = o.At.Truncate(time.Minute) },
		func(o *Order) { o.Grace = 0 },
		func(o *Order) { o.NoGPU = false },
		func(o *Order) { o.Budget = guard.Money{} },
		func(o *Order) { o.TTL = max(o.TTL.Truncate(time.Hour), min(o.TTL, time.Hour)) },
		func(o *Order) { o.By = max(o.By.Truncate(time.Hour), min(o.By, time.Hour)) },
	}
	accountChanges = []func(*fake.Script){
		func(s *fake.Script) { s.Currency = "" },
		func(s *fake.Script) { s.IdentityKind = "" },
		func(s *fake.Script) { s.StopEffect = "" },
		func(s *fake.Script) { s.Billing.Granularity = 0 },
		func(s *fake.Script) { s.Billing.Minimum = 0 },
		func(s *fake.Script) { s.Lag.Appears = 0 },
		func(s *fake.Script) { s.Lag.State = 0 },
		func(s *fake.Script) { s.Lag.Disappears = 0 },
		func(s *fake.Script) { s.Lag.Disappears = min(s.Lag.Disappears, 5*time.Minute) },
		func(s *fake.Script) { s.ReleaseTakes = 0 },
		func(s *fake.Script) { s.PageSize = 0 },
		func(s *fake.Script) { s.Scopes = nil },
		func(s *fake.Script) { s.Egress = nil },
		func(s *fake.Script) { s.Ingress = nil },
		func(s *fake.Script) { s.Bill = 0 },
	}
	resourceChanges = []func(*fake.Resource){
		func(r *fake.Resource) { r.Name = "" },
		func(r *fake.Resource) { r.GPUModel = "" },
		func(r *fake.Resource) { r.GPUs = 0 },
		func(r *fake.Resource) { r.State = "" },
		func(r *fake.Resource) { r.Spot = false },
		func(r *fake.Resource) { r.Tags = nil },
		func(r *fake.Resource) { r.ListRate = nil },
		func(r *fake.Resource) { r.StoppedRate = nil },
		func(r *fake.Resource) { r.HideProtection = false },
		func(r *fake.Resource) { r.Protected = nil },
		func(r *fake.Resource) { r.GoesWithInstance = false },
		func(r *fake.Resource) { r.Attached = nil },
		func(r *fake.Resource) { r.Created = r.Created.Truncate(time.Hour) },
		func(r *fake.Resource) { r.Created = 0 },
		func(r *fake.Resource) {
			if r.Rate != nil {
				r.Rate = &fake.Rate{Amount: "2", Per: "hour"}
			}
		},
	}
	faultChanges = []func(*fake.Fault){
		func(f *fake.Fault) { f.Times = 0 },
		func(f *fake.Fault) { f.ID, f.Scope = "", "" },
		func(f *fake.Fault) { f.From = f.From.Truncate(time.Hour) },
		func(f *fake.Fault) { f.For = max(f.For.Truncate(time.Hour), min(f.For, time.Hour)) },
		func(f *fake.Fault) { f.Reply = fake.Reply{Status: 503} },
	}
)

// prune takes away what speaks of what is no longer there.
func prune(w *Week) {
	names := map[string]bool{}
	for i := range w.Accounts {
		names[w.Accounts[i].Script.Account] = true
		w.pruneCloud(&w.Accounts[i].Script)
	}
	knows := func(id string) bool {
		account, _, _ := strings.Cut(id, "/")
		return id == "" || names[account]
	}
	late := func(at time.Duration) bool { return at > w.Length }
	w.Orders = slices.DeleteFunc(w.Orders, func(o Order) bool { return !knows(o.ID) || late(o.At) })
	w.Slack = slices.DeleteFunc(w.Slack, func(f SlackFault) bool { return late(f.From) })
	w.Hits = slices.DeleteFunc(w.Hits, func(h Hit) bool {
		return !knows(h.ID) || late(h.At) || h.Reload != nil && !names[h.Reload.Account]
	})
}

func (w *Week) pruneCloud(s *fake.Script) {
	scopes := map[string]bool{"": true}
	for _, scope := range s.Scopes {
		scopes[scope] = true
	}
	ids := map[string]bool{}
	known := func(r *fake.Resource) {
		if !scopes[r.Scope] {
			r.Scope = ""
		}
		ids[r.ID] = true
	}
	for i := range s.Resources {
		known(&s.Resources[i])
	}
	s.Timeline = slices.DeleteFunc(s.Timeline, func(e fake.Event) bool { return e.At > w.Length })
	for i := range s.Timeline {
		if c := s.Timeline[i].Create; c != nil {
			known(c)
		}
	}
	unknown := func(id string) bool { return !ids[id] }
	for i := range s.Resources {
		s.Resources[i].Attached = slices.DeleteFunc(s.Resources[i].Attached, unknown)
	}
	s.Timeline = slices.DeleteFunc(s.Timeline, func(e fake.Event) bool {
		about := e.Create == nil && e.Identity == "" && e.TopUp == "" && e.Charge == nil
		return about && !ids[e.ID] || e.Charge != nil && !ids[e.Charge.ID] || e.Attach != "" && !ids[e.Attach]
	})
	s.Faults = slices.DeleteFunc(s.Faults, func(f fake.Fault) bool { return f.From > w.Length || !scopes[f.Scope] })
}

// clone is a week that shares nothing that is changed in place.
func clone(w Week) Week {
	w.Warn, w.Orders, w.Hits, w.Slack, w.Accounts = slices.Clone(w.Warn), slices.Clone(w.Orders), slices.Clone(w.Hits), slices.Clone(w.Slack), slices.Clone(w.Accounts)
	for i := range w.Accounts {
		s := &w.Accounts[i].Script
		s.Scopes, s.Resources, s.Timeline, s.Faults = slices.Clone(s.Scopes), slices.Clone(s.Resources), slices.Clone(s.Timeline), slices.Clone(s.Faults)
		for j := range s.Resources {
			s.Resources[j] = cloneResource(s.Resources[j])
		}
		for j := range s.Timeline {
			if c := s.Timeline[j].Create; c != nil {
				r := cloneResource(*c)
				s.Timeline[j].Create = &r
			}
		}
	}
	return w
}

func cloneResource(r fake.Resource) fake.Resource {
	r.Attached, r.Protected, r.Tags = slices.Clone(r.Attached), slices.Clone(r.Protected), maps.Clone(r.Tags)
	return r
}

// instances are those that an account's script has from its start or makes.
func (w Week) instances(a Account) []fake.Resource {
	var out []fake.Resource
	for r := range a.all() {
		if r.Kind == "" || r.Kind == guard.Instance {
			out = append(out, r)
		}
	}
	return out
}
