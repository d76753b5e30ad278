package prometheus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"guard"
	"guard/providers"
	"guard/providers/signals/machine"
)

const (
	// lookback is how far a reading goes back at most.
	lookback = 6 * time.Hour
	// late is how long guard looks again for what came in late.
	late = 5 * time.Minute
	// points is how many moments are asked for in one call, so that no answer grows with
	// how long nobody asked.
	points = 30
	// settled is how long guard waits until a moment is believed to be all there: an
	// exporter is read, and what was read is written, within it.
	settled = 10 * time.Second
	// atOnce is how many queries run at a time.
	atOnce = 4
	// maxSeries bounds the series of one answer.
	maxSeries = 50_000
)

// Server is a source on a Prometheus server, or on what speaks its API (Thanos, Mimir,
// VictoriaMetrics).
type Server struct {
	cfg     Config
	queries map[string]string
	keys    []string // of the queries, sorted
	api     v1.API

	mu sync.Mutex
	// nothing is until when there was nothing of an instance, by its key, so that it is
	// not looked for in the same hours again and again. It may be lost.
	nothing map[string]time.Time
}

// New makes the source and calls nothing. base makes the HTTP calls; nil is a pooled
// transport. A CA file that cannot be used is guard.ErrInvalid.
func New(cfg Config, base http.RoundTripper) (*Server, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || !isURL(cfg.URL) {
		return nil, fmt.Errorf("%w: url: %s", guard.ErrInvalid, urlForm)
	}
	transport, err := cfg.transport(base)
	if err != nil {
		return nil, err
	}
	q := Queries(cfg.Queries, cfg.Interval)
	return &Server{cfg: cfg, queries: q, nothing: map[string]time.Time{}, keys: slices.Sorted(maps.Keys(q)),
		api: v1.NewAPI(&client{base: u, access: cfg.Access, transport: transport})}, nil
}

// String names the server and nothing else: a Server holds credentials.
func (s *Server) String() string { return "prometheus at " + providers.Scrub(s.cfg.URL) }

// GoString is String.
func (s *Server) GoString() string { return s.String() }

// Signals implements providers.SignalSource: each query once, for all instances and the
// whole time since the earliest sample that any of them has. A query that fails leaves
// its numbers unknown and its error with every instance.
func (s *Server) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	out := make([]providers.Signals, len(q.Of))
	from, to := s.window(ctx, q)
	if !from.Before(to) {
		return out
	}
	answers, err := s.ask(ctx, from, to)
	found := s.sort(q, answers)
	for i, of := range q.Of {
		out[i] = found.signals(i, of.Since, s.cfg.Interval)
		out[i].Err = errors.Join(out[i].Err, err)
	}
	s.note(q, out, to)
	return out
}

// window is what is asked for: from the last sample that an instance has, for rates
// begin at it, to the last moment that is all there.
func (s *Server) window(ctx context.Context, q providers.SignalQuery) (from, to time.Time) {
	now := providers.Clock(ctx)
	to = now.UTC().Add(-settled).Truncate(s.cfg.Interval)
	from = to
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range q.Of {
		since := of.Since
		if until := s.nothing[of.Resource.ID.Key()].Add(-late); until.After(since) {
			since = until
		}
		if since.Before(from) {
			from = since.UTC().Truncate(s.cfg.Interval)
		}
	}
	if earliest := to.Add(-lookback); from.Before(earliest) {
		from = earliest
	}
	return from, to
}

// note remembers of which instances there is nothing.
func (s *Server) note(q providers.SignalQuery, told []providers.Signals, to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.nothing) > 10*len(q.Of)+10_000 {
		clear(s.nothing)
	}
	for i, of := range q.Of {
		switch key := of.Resource.ID.Key(); {
		case len(told[i].Samples) > 0:
			delete(s.nothing, key)
		case told[i].Err == nil:
			s.nothing[key] = to
		}
	}
}

// ask runs the queries. The first one goes alone: where the server is away, or does not
// know us, the others would only wait for the same.
func (s *Server) ask(ctx context.Context, from, to time.Time) (map[metric]model.Matrix, error) {
	answers := make([]model.Matrix, len(s.keys))
	errs := make([]error, len(s.keys))
	one := func(i int) error {
		answers[i], errs[i] = s.query(ctx, s.keys[i], from, to)
		return nil
	}
	_ = one(0)
	if err := errs[0]; err != nil && !errors.Is(err, guard.ErrInvalid) {
		return nil, err
	}
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := 1; i < len(s.keys); i++ {
		all.Go(func() error { return one(i) })
	}
	_ = all.Wait() // each has its own error
	out := map[metric]model.Matrix{}
	for i, key := range s.keys {
		if errs[i] == nil {
			out[metric(key)] = answers[i]
		}
	}
	return out, several(errs)
}

// several is what is told of queries that fail: the first of them, for most have the same
// reason, and how many more there are.
func several(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return fmt.Errorf("%w; and so on, %d queries in all", errs[0], len(errs))
}

// query runs one, over the whole time.
func (s *Server) query(ctx context.Context, key string, from, to time.Time) (out model.Matrix, err error) {
	step := s.cfg.Interval
	for ; !from.After(to); from = from.Add(points * step) {
		end := from.Add((points - 1) * step)
		if end.After(to) {
			end = to
		}
		m, err := s.call(ctx, key, v1.Range{Start: from, End: end, Step: step})
		if err != nil {
			return nil, err
		}
		out = append(out, m...)
	}
	return out, nil
}

// call asks once. An answer with a warning may be a part of the truth (a store behind a
// Thanos is away, say) and is none.
func (s *Server) call(ctx context.Context, key string, r v1.Range) (model.Matrix, error) {
	what := "query " + key
	v, warnings, _, err := s.api.QueryRange(ctx, s.queries[key], r)
	if err != nil {
		return nil, failed(what, err, s.cfg.Access)
	}
	if len(warnings) > 0 {
		return nil, fmt.Errorf("%s: %w: the answer is not all of it: Prometheus warns: %s", what, guard.ErrBadReply,
			providers.Scrub(warnings[0], s.cfg.Token, s.cfg.Password))
	}
	m, ok := v.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("%s: %w: the answer holds no series; check the URL and the query", what, guard.ErrBadReply)
	}
	if len(m) > maxSeries {
		return nil, fmt.Errorf("%s: %w: %d series are more than guard believes; select fewer", what, guard.ErrBadReply, len(m))
	}
	for _, series := range m {
		for _, p := range series.Values {
			if at := p.Timestamp.Time(); at.Before(r.Start) || at.After(r.End) {
				return nil, fmt.Errorf("%s: %w: the answer is of another time than asked for", what, guard.ErrBadReply)
			}
		}
	}
	return m, nil
}

// name is what the series call an instance; "" where it has no such name.
func (s *Server) name(r guard.Resource) string {
	switch key, tag := strings.CutPrefix(s.cfg.Instance.Is, "tag:"); {
	case tag:
		return r.Tags[key]
	case s.cfg.Instance.Is == "id":
		return r.ID.ID
	}
	return r.Name
}

// found is what the series tell, by instance and time.
type found struct {
	names    []string // of the instances asked for
	is       string
	twins    map[int]bool
	readings map[int]map[time.Time]*reading
}

// sort gives each number to its instance.
func (s *Server) sort(q providers.SignalQuery, answers map[metric]model.Matrix) found {
	f := found{is: s.cfg.Instance.Is, twins: map[int]bool{}, readings: map[int]map[time.Time]*reading{}}
	by := map[string]int{}
	for i, of := range q.Of {
		name := s.name(of.Resource)
		f.names = append(f.names, name)
		if name == "" {
			continue
		}
		if twin, ok := by[name]; ok {
			f.twins[i], f.twins[twin] = true, true
			continue
		}
		by[name] = i
	}
	for m, matrix := range answers {
		label := s.cfg.Instance.NodeLabel
		if metrics[m].gpu != nil {
			label = s.cfg.Instance.Label
		}
		for _, series := range matrix {
			labels := func(name string) string { return string(series.Metric[model.LabelName(name)]) }
			i, ok := by[labels(label)]
			if !ok {
				host, _, err := net.SplitHostPort(labels(label))
				if i, ok = by[host]; err != nil || !ok {
					continue
				}
			}
			if f.readings[i] == nil {
				f.readings[i] = map[time.Time]*reading{}
			}
			for _, p := range series.Values {
				at := p.Timestamp.Time().UTC()
				r := f.readings[i][at]
				if r == nil {
					r = newReading()
					f.readings[i][at] = r
				}
				r.put(m, labels, float64(p.Value))
			}
		}
	}
	return f
}

// signals makes the samples of one instance after a time, the first of them with rates
// where there is a reading before it.
func (f found) signals(i int, since time.Time, interval time.Duration) providers.Signals {
	if f.twins[i] {
		return providers.Signals{Err: fmt.Errorf("%w: two instances have the %s %s, so its series may be of either; tell them apart with instance.is",
			guard.ErrConflict, f.is, providers.Text(f.names[i], 80))}
	}
	var (
		out     providers.Signals
		earlier *machine.Counters
		when    time.Time
	)
	for _, at := range slices.SortedFunc(maps.Keys(f.readings[i]), time.Time.Compare) {
		r := f.readings[i][at]
		if r.twice {
			out.Err = fmt.Errorf("%w: two machines answer to %s, so the series may be of either; check instance.label",
				guard.ErrConflict, providers.Text(f.names[i], 80))
			earlier = nil
			continue
		}
		x := r.sample(Kind, at, interval, earlier, at.Sub(when))
		if at.After(since) {
			out.Samples = append(out.Samples, x)
		}
		if len(r.nics) > 0 {
			earlier, when = &r.counters, at
		}
	}
	return out
}
