package prometheus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"guard"
	"guard/providers"
	"guard/providers/signals/machine"
)

// forgotten is how old a reading may be for rates to be made of it.
const forgotten = 2 * time.Hour

// scrapesAtOnce is how many exporters are read at a time.
const scrapesAtOnce = 16

// Scraper is a source that reads exporters itself. Of what it read last it keeps the
// counters, in memory: rates need two readings, and the first ones after a start have
// none.
type Scraper struct {
	cfg       ScrapeConfig
	transport *providers.Transport

	mu   sync.Mutex
	last map[string]scraped // by resource
}

// scraped is the last reading of one instance.
type scraped struct {
	at       time.Time
	counters machine.Counters
}

// NewScraper makes the source and calls nothing; see New.
func NewScraper(cfg ScrapeConfig, base http.RoundTripper) (*Scraper, error) {
	transport, err := cfg.transport(base)
	if err != nil {
		return nil, err
	}
	return &Scraper{cfg: cfg, transport: transport, last: map[string]scraped{}}, nil
}

// String names the source and nothing else: a Scraper holds credentials.
func (s *Scraper) String() string { return fmt.Sprintf("%d exporters", len(s.cfg.Targets)) }

// GoString is String.
func (s *Scraper) GoString() string { return s.String() }

// Signals implements providers.SignalSource: a sample of now of each instance that has
// targets. Where one of several targets fails, its numbers are unknown.
func (s *Scraper) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	out := make([]providers.Signals, len(q.Of))
	now := providers.Clock(ctx)
	var all errgroup.Group
	all.SetLimit(scrapesAtOnce)
	for i, of := range q.Of {
		targets := s.targets(of.Resource.ID)
		if len(targets) == 0 {
			continue
		}
		all.Go(func() error {
			out[i] = s.scrape(ctx, of, targets, now.UTC())
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	return out
}

func (s *Scraper) targets(id guard.ResourceID) []Target {
	return slices.DeleteFunc(slices.Clone(s.cfg.Targets), func(t Target) bool { return t.Resource != id.String() })
}

func (s *Scraper) scrape(ctx context.Context, of providers.SignalsOf, targets []Target, now time.Time) (out providers.Signals) {
	r, read := newReading(), 0
	for _, t := range targets {
		families, err := s.fetch(ctx, t)
		if err != nil {
			out.Err = errors.Join(out.Err, err)
			continue
		}
		read++
		for name, f := range families {
			take(r, name, f)
		}
	}
	if read == 0 || !now.After(of.Since) {
		return out
	}
	key := of.Resource.ID.String()
	s.mu.Lock()
	last, ok := s.last[key]
	s.mu.Unlock()
	var earlier *machine.Counters
	interval := time.Minute
	if ok && now.After(last.at) && now.Sub(last.at) < forgotten {
		earlier, interval = &last.counters, now.Sub(last.at)
	}
	x := r.sample(ScrapeKind, now, interval, earlier, interval)
	if len(x.GPUs) == 0 && len(x.NICs) == 0 && !x.Cores.OK {
		out.Err = errors.Join(out.Err, fmt.Errorf("%w: the exporters of %s tell nothing that guard knows; is this a dcgm-exporter or a node-exporter?",
			guard.ErrBadReply, key))
		return out
	}
	out.Samples = []guard.Sample{x}
	s.mu.Lock()
	s.last[key] = scraped{now, r.counters}
	s.mu.Unlock()
	return out
}

// fetch reads one exporter.
func (s *Scraper) fetch(ctx context.Context, t Target) (map[string]*dto.MetricFamily, error) {
	what := "scrape " + t.Resource
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: the target is not a URL", what, guard.ErrInvalid)
	}
	s.cfg.sign(req)
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := s.transport.Do(req) //nolint:bodyclose // Do has read and closed it
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: the reply broke off", what, guard.ErrUnavailable)
	}
	resp.Request = req
	if err := providers.StatusError(resp, body); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil || len(families) == 0 {
		return nil, fmt.Errorf("%s: %w: this is not the text of an exporter; check the URL (most answer under /metrics)", what, guard.ErrBadReply)
	}
	return families, nil
}

// byFamily are the metrics of GPUs by the exporter's name of them.
var byFamily = func() map[string]metric {
	out := map[string]metric{}
	for m, t := range metrics {
		if t.family != "" {
			out[t.family] = m
		}
	}
	return out
}()

// take takes in one family of an exporter's text.
func take(r *reading, name string, f *dto.MetricFamily) {
	for _, m := range f.GetMetric() {
		labels := func(name string) string {
			for _, l := range m.GetLabel() {
				if l.GetName() == name {
					return l.GetValue()
				}
			}
			return ""
		}
		v := valueOf(m)
		if gpu, ok := byFamily[name]; ok {
			r.put(gpu, labels, v/max(metrics[gpu].unit, 1))
			continue
		}
		switch name {
		case "node_network_receive_bytes_total":
			r.put(rx, labels, v)
		case "node_network_transmit_bytes_total":
			r.put(tx, labels, v)
		case "node_boot_time_seconds":
			r.put(boot, labels, v)
		case "node_cpu_seconds_total":
			r.worked(labels("cpu"), labels("mode"), v)
		case "node_disk_read_bytes_total", "node_disk_written_bytes_total":
			r.moved(labels("device"), v)
		}
	}
}

// valueOf is the number of a series of any plain type.
func valueOf(m *dto.Metric) float64 {
	switch {
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue()
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	}
	return m.GetUntyped().GetValue()
}
