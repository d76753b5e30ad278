package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cw "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"golang.org/x/sync/errgroup"

	"guard"
	"guard/providers"
)

// CloudWatch says what is read of Amazon's own monitoring. Each metric asked for costs
// money: an instance with basic monitoring about half a dollar a month.
type CloudWatch struct {
	// Off: nothing is.
	Off bool `yaml:"off"`
	// Agent: the CloudWatch agent on the instances tells of their GPUs (nvidia_smi_*).
	Agent bool `yaml:"agent"`
}

const (
	// mostQueries is what CloudWatch takes in one call.
	mostQueries = 500
	// settled is how long after its end a period is believed to be all there.
	settled = 3 * time.Minute
	// lookback is how far a reading goes back at most.
	lookback = 3 * time.Hour
	// The periods of instances with and without detailed monitoring.
	detailedPeriod = time.Minute
	basicPeriod    = 5 * time.Minute
)

// watched is what is remembered for CloudWatch; all of it may be lost.
type watched struct {
	mu sync.Mutex
	of map[string]watch // by instance
	// nothing is until when an instance had no numbers at all, so that it does not cost
	// the same questions again and again.
	nothing map[string]time.Time
	// agents are the GPU metrics that there are, by region.
	agents map[string]agents
}

// watch is how an instance is watched: with a number a minute or every five, and its
// processors, which CloudWatch tells percents of.
type watch struct {
	detailed bool
	cores    int
}

func (w *watched) remember(id string, is watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil || len(w.of) > maxRemembered {
		w.of = map[string]watch{}
	}
	w.of[id] = is
}

// ask is one instance that is asked about, in periods from one time to another.
type ask struct {
	i        int // in the question
	id       guard.ResourceID
	period   time.Duration
	from, to time.Time
	cores    int
	sheets   map[time.Time]*sheet
	errs     []error
}

// Signals implements providers.SignalSource, on CloudWatch: averages over 1 or 5
// minutes of what every instance tells, and of its GPUs where the CloudWatch agent runs
// there. A metric that CloudWatch could not read is unknown, and told as an error.
func (p *Provider) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	out := make([]providers.Signals, len(q.Of))
	if p.cloudwatch.Off {
		for i := range out {
			out[i].Err = fmt.Errorf("%w: account %s reads nothing of CloudWatch (cloudwatch.off)", guard.ErrUnsupported, p.name)
		}
		return out
	}
	now := providers.Clock(ctx)
	ctx = providers.Read(ctx)
	errs := p.meet(ctx, q)
	byRegion := map[string][]*ask{}
	for i, of := range q.Of {
		out[i].Err = errs[of.Resource.ID.ID]
		if a := p.ask(of, now.UTC()); a != nil && out[i].Err == nil {
			a.i = i
			byRegion[a.id.Scope] = append(byRegion[a.id.Scope], a)
		}
	}
	var all errgroup.Group
	all.SetLimit(regionsAtOnce)
	for region, asks := range byRegion {
		all.Go(func() error {
			p.read(ctx, region, asks)
			for _, a := range asks {
				out[a.i] = a.signals(q.Of[a.i].Since)
				p.note(a, len(out[a.i].Samples) > 0)
			}
			return nil
		})
	}
	_ = all.Wait() // each instance has its own error
	return out
}

// meet reads instances that no listing has told of yet, and tells why one cannot be.
func (p *Provider) meet(ctx context.Context, q providers.SignalQuery) map[string]error {
	var ids []guard.ResourceID
	p.watched.mu.Lock()
	for _, of := range q.Of {
		id := of.Resource.ID
		if _, known := p.watched.of[id.ID]; !known && p.readable(id) == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	p.watched.mu.Unlock()
	out := map[string]error{}
	for _, x := range p.Get(ctx, ids...) {
		out[x.ID.ID] = x.Err
	}
	return out
}

// ask is what is to be asked about an instance; nil where there cannot be anything new.
func (p *Provider) ask(of providers.SignalsOf, now time.Time) *ask {
	id := of.Resource.ID
	p.watched.mu.Lock()
	defer p.watched.mu.Unlock()
	is, known := p.watched.of[id.ID]
	if !known || id.Scope == "" {
		return nil
	}
	a := &ask{id: id, period: basicPeriod, cores: is.cores, sheets: map[time.Time]*sheet{}}
	if is.detailed {
		a.period = detailedPeriod
	}
	since := of.Since
	if until := p.watched.nothing[id.ID]; until.After(since) {
		since = until
	}
	a.to = now.Add(-settled).Truncate(a.period)
	a.from = since.UTC().Truncate(a.period)
	if earliest := a.to.Add(-lookback); a.from.Before(earliest) {
		a.from = earliest
	}
	if !a.from.Before(a.to) {
		return nil
	}
	return a
}

// read asks CloudWatch in one region. Instances with the same period are asked about
// together, as many as fit into a call.
func (p *Provider) read(ctx context.Context, region string, asks []*ask) {
	var gpus map[string][]gpuMetric
	if p.cloudwatch.Agent {
		var err error
		if gpus, err = p.agentMetrics(ctx, region); err != nil {
			for _, a := range asks {
				a.errs = append(a.errs, err)
			}
		}
	}
	for _, period := range []time.Duration{detailedPeriod, basicPeriod} {
		var all []query
		var from, to time.Time
		for _, a := range asks {
			if a.period != period {
				continue
			}
			all = append(all, a.queries(gpus[a.id.ID])...)
			if from.IsZero() || a.from.Before(from) {
				from = a.from
			}
			to = a.to
		}
		for some := range slices.Chunk(all, mostQueries) {
			p.metricData(ctx, region, period, from, to, some)
		}
	}
}

// note remembers that there is nothing of an instance.
func (p *Provider) note(a *ask, something bool) {
	w := &p.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nothing == nil || len(w.nothing) > maxRemembered {
		w.nothing = map[string]time.Time{}
	}
	if something {
		delete(w.nothing, a.id.ID)
	} else if len(a.errs) == 0 {
		w.nothing[a.id.ID] = a.to
	}
}

// metricData makes one call, and as many more as it has pages. What fails is the error of
// the instances it was about.
func (p *Provider) metricData(ctx context.Context, region string, period time.Duration, from, to time.Time, queries []query) {
	in := &cloudwatch.GetMetricDataInput{StartTime: &from, EndTime: &to, ScanBy: cw.ScanByTimestampAscending}
	for i, q := range queries {
		in.MetricDataQueries = append(in.MetricDataQueries, q.ask(fmt.Sprintf("q%d", i), period))
	}
	// A result comes in parts, over pages: its last word on its state counts.
	states := make([]cw.StatusCode, len(queries))
	err := pages(func(token *string) (int, *string, error) {
		in.NextToken = token
		out, err := p.cw.GetMetricData(ctx, in, func(o *cloudwatch.Options) { o.Region = region })
		if err != nil {
			return 0, nil, err
		}
		for _, r := range out.MetricDataResults {
			var i int
			if _, err := fmt.Sscanf(sdk.ToString(r.Id), "q%d", &i); err != nil || i < 0 || i >= len(queries) || len(r.Timestamps) != len(r.Values) {
				return 0, nil, &oddReply{"it tells of a metric that was not asked for"}
			}
			states[i] = r.StatusCode
			for j, at := range r.Timestamps {
				queries[i].put(at.UTC(), r.Values[j], period)
			}
		}
		return len(out.MetricDataResults), out.NextToken, nil
	})
	for i, q := range queries {
		switch {
		case err != nil:
			q.of.fail(p.fail(err, "read the metrics of", region, metricDataCall, reading))
		case states[i] == cw.StatusCodeForbidden:
			q.drop()
			q.of.fail(fmt.Errorf("%w: read %s of %s: these credentials may not read it in CloudWatch; %s", guard.ErrPermission, q.name, q.of.id, fmt.Sprintf(addIt, metricDataCall)))
		case states[i] != cw.StatusCodeComplete:
			q.drop()
			q.of.fail(fmt.Errorf("%w: read %s of %s: CloudWatch told a part of it (%s)", guard.ErrUnavailable, q.name, q.of.id, cmp.Or(states[i], "no state")))
		}
	}
}

const (
	metricDataCall  = "cloudwatch:GetMetricData"
	listMetricsCall = "cloudwatch:ListMetrics"
)

// fail notes an error once.
func (a *ask) fail(err error) {
	if !slices.ContainsFunc(a.errs, func(e error) bool { return e.Error() == err.Error() }) {
		a.errs = append(a.errs, err)
	}
}

// signals makes the samples of an instance after a time. A time without numbers has none.
func (a *ask) signals(since time.Time) providers.Signals {
	out := providers.Signals{Err: errors.Join(a.errs...)}
	for _, at := range slices.SortedFunc(maps.Keys(a.sheets), time.Time.Compare) {
		end := at.Add(a.period)
		if s := a.sheets[at].sample(a, end); s != nil && end.After(since) && !at.Before(a.from) && at.Before(a.to) {
			out.Samples = append(out.Samples, *s)
		}
	}
	return out
}

// cloudName is the service that a call is of, as people know it.
func cloudName(call string) string {
	switch service, _, _ := strings.Cut(call, ":"); service {
	case "cloudwatch":
		return "CloudWatch"
	case "autoscaling":
		return "Auto Scaling"
	}
	return "EC2"
}

var _ providers.SignalSource = (*Provider)(nil)
