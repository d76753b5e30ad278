package aws

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cw "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"guard"
	"guard/providers"
)

// field is what a metric tells.
type field string

// The metrics of every instance, by EC2's names ("List the available CloudWatch metrics
// for your instances"). Sums are bytes in the period.
const (
	cpuPercent field = "CPUUtilization"
	networkIn  field = "NetworkIn"
	networkOut field = "NetworkOut"
	ebsRead    field = "EBSReadBytes"
	ebsWrite   field = "EBSWriteBytes"
)

// The metrics of each GPU, by the CloudWatch agent's names.
const (
	gpuUtil     field = "nvidia_smi_utilization_gpu"
	gpuMemory   field = "nvidia_smi_memory_used"  // MiB
	gpuMemories field = "nvidia_smi_memory_total" // MiB
	gpuPower    field = "nvidia_smi_power_draw"   // W
)

const (
	average = "Average"
	maximum = "Maximum"
	sum     = "Sum"
)

// query is one metric of one instance.
type query struct {
	of         *ask
	namespace  string
	name       field
	stat       string
	dimensions []cw.Dimension
	gpu        int // of the metrics of a GPU
}

// queries are all metrics of an instance; gpus are those that its agent writes.
func (a *ask) queries(gpus []gpuMetric) []query {
	var out []query
	self := []cw.Dimension{{Name: sdk.String("InstanceId"), Value: &a.id.ID}}
	for _, m := range []struct {
		name field
		stat string
	}{{cpuPercent, average}, {networkIn, sum}, {networkOut, sum}, {ebsRead, sum}, {ebsWrite, sum}} {
		out = append(out, query{of: a, namespace: "AWS/EC2", name: m.name, stat: m.stat, dimensions: self})
	}
	for _, g := range gpus {
		q := query{of: a, namespace: agentNamespace, name: g.name, stat: average, dimensions: g.dimensions, gpu: g.gpu}
		out = append(out, q)
		if g.name == gpuUtil {
			q.stat = maximum
			out = append(out, q)
		}
	}
	return out
}

func (q query) ask(id string, period time.Duration) cw.MetricDataQuery {
	return cw.MetricDataQuery{Id: &id, ReturnData: sdk.Bool(true), MetricStat: &cw.MetricStat{
		Metric: &cw.Metric{Namespace: &q.namespace, MetricName: (*string)(&q.name), Dimensions: q.dimensions},
		Period: sdk.Int32(int32(period.Seconds())), Stat: &q.stat,
	}}
}

// sheet is what is told of one period.
type sheet struct {
	numbers map[field]float64
	gpus    []guard.GPUSample
}

// put takes in one number: at the beginning of its period.
func (q query) put(at time.Time, v float64, period time.Duration) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	s := q.of.sheets[at]
	if s == nil {
		s = &sheet{numbers: map[field]float64{}}
		q.of.sheets[at] = s
	}
	if q.namespace != agentNamespace {
		if q.stat == sum {
			v /= period.Seconds()
		}
		s.numbers[q.name] = v
		return
	}
	for len(s.gpus) <= q.gpu {
		s.gpus = append(s.gpus, guard.GPUSample{})
	}
	*q.gauge(s) = guard.Known(v)
}

func (q query) gauge(s *sheet) *guard.Gauge {
	g := &s.gpus[q.gpu]
	switch {
	case q.name == gpuUtil && q.stat == maximum:
		return &g.UtilMax
	case q.name == gpuUtil:
		return &g.Util
	case q.name == gpuMemory:
		return &g.MemUsed
	case q.name == gpuMemories:
		return &g.MemTotal
	}
	return &g.Power
}

// drop takes back the numbers of a metric that did not come whole.
func (q query) drop() {
	for _, s := range q.of.sheets {
		if q.namespace != agentNamespace {
			delete(s.numbers, q.name)
		} else if q.gpu < len(s.gpus) {
			*q.gauge(s) = guard.Gauge{}
		}
	}
}

// sample makes a sample of a period that ended; nil where nothing is known of it.
func (s *sheet) sample(a *ask, end time.Time) *guard.Sample {
	told := func(f field) guard.Gauge {
		v, ok := s.numbers[f]
		return guard.Gauge{V: v, OK: ok}
	}
	out := &guard.Sample{At: end, Interval: a.period, Basis: guard.Average, Source: "cloudwatch",
		Rx: told(networkIn), Tx: told(networkOut), GPUs: s.gpus}
	if read, written := told(ebsRead), told(ebsWrite); read.OK && written.OK {
		out.Disk = guard.Known(read.V + written.V)
	}
	if a.cores > 0 {
		out.Cores = guard.Known(float64(a.cores))
		if cpu := told(cpuPercent); cpu.OK {
			out.CPUCores = guard.Known(cpu.V / 100 * float64(a.cores))
		}
	}
	known := func(g guard.GPUSample) bool { return g != guard.GPUSample{} }
	if !out.CPUCores.OK && !out.Rx.OK && !out.Tx.OK && !out.Disk.OK && !slices.ContainsFunc(s.gpus, known) {
		return nil
	}
	return out
}

// agentNamespace is where the CloudWatch agent writes unless it is told otherwise.
const agentNamespace = "CWAgent"

// listEvery is how often guard looks which metrics there are: a new agent's are seen
// after that long.
const listEvery = 15 * time.Minute

// agents are the GPU metrics of a region, by instance.
type agents struct {
	at time.Time
	of map[string][]gpuMetric
}

// gpuMetric is a metric of one GPU. Its dimensions are part of its name: the agent's
// configuration decides on them.
type gpuMetric struct {
	name       field
	gpu        int
	dimensions []cw.Dimension
}

// agentMetrics lists the GPU metrics that CloudWatch got in the last three hours.
func (p *Provider) agentMetrics(ctx context.Context, region string) (map[string][]gpuMetric, error) {
	now := providers.Clock(ctx)
	p.watched.mu.Lock()
	kept, ok := p.watched.agents[region]
	p.watched.mu.Unlock()
	if ok && now.Sub(kept.at) < listEvery && !now.Before(kept.at) {
		return kept.of, nil
	}
	found := agents{at: now, of: map[string][]gpuMetric{}}
	for _, name := range []field{gpuUtil, gpuMemory, gpuMemories, gpuPower} {
		in := &cloudwatch.ListMetricsInput{Namespace: sdk.String(agentNamespace), MetricName: (*string)(&name), RecentlyActive: cw.RecentlyActivePt3h}
		err := pages(func(token *string) (int, *string, error) {
			in.NextToken = token
			out, err := p.cw.ListMetrics(ctx, in, func(o *cloudwatch.Options) { o.Region = region })
			if err != nil {
				return 0, nil, err
			}
			for _, m := range out.Metrics {
				found.add(name, m.Dimensions)
			}
			return len(out.Metrics), out.NextToken, nil
		})
		if err != nil {
			return kept.of, p.fail(err, "list the metrics of", region, listMetricsCall, reading)
		}
	}
	p.watched.mu.Lock()
	defer p.watched.mu.Unlock()
	if p.watched.agents == nil {
		p.watched.agents = map[string]agents{}
	}
	p.watched.agents[region] = found
	return found.of, nil
}

// probeMetrics asks CloudWatch for next to nothing: there are no dry runs there.
func (p *Provider) probeMetrics(ctx context.Context) []providers.Check {
	if p.cloudwatch.Off {
		return nil
	}
	to := providers.Clock(ctx)
	to = to.Truncate(basicPeriod)
	from := to.Add(-basicPeriod)
	q := query{namespace: "AWS/EC2", name: cpuPercent, stat: average}
	_, err := p.cw.GetMetricData(ctx, &cloudwatch.GetMetricDataInput{StartTime: &from, EndTime: &to,
		MetricDataQueries: []cw.MetricDataQuery{q.ask("q0", basicPeriod)}})
	checks := []providers.Check{p.metricsCheck(metricDataCall, err)}
	if p.cloudwatch.Agent {
		_, err := p.cw.ListMetrics(ctx, &cloudwatch.ListMetricsInput{Namespace: sdk.String(agentNamespace), MetricName: sdk.String(string(gpuUtil))})
		checks = append(checks, p.metricsCheck(listMetricsCall, err))
	}
	return checks
}

func (p *Provider) metricsCheck(call string, err error) providers.Check {
	if err == nil {
		return providers.Check{Name: call, Outcome: providers.CheckOK}
	}
	c := problem(call, p.fail(err, "try", "account "+p.name, call, reading))
	if c.Outcome == providers.CheckRefused {
		c.Do += ", or set cloudwatch: {off: true} in the account"
	}
	return c
}

// add takes in one metric, if it says of which GPU of which instance it is.
func (f agents) add(name field, dimensions []cw.Dimension) {
	m := gpuMetric{name: name, gpu: -1, dimensions: dimensions}
	var instance string
	for _, d := range dimensions {
		switch sdk.ToString(d.Name) {
		case "InstanceId":
			instance = sdk.ToString(d.Value)
		case "index":
			if n, err := strconv.Atoi(sdk.ToString(d.Value)); err == nil && n >= 0 && n < mostGPUs {
				m.gpu = n
			}
		}
	}
	same := func(o gpuMetric) bool { return o.name == m.name && o.gpu == m.gpu }
	if instance != "" && m.gpu >= 0 && !slices.ContainsFunc(f.of[instance], same) {
		f.of[instance] = append(f.of[instance], m)
	}
}
