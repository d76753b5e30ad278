package aws

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

// monitored is the part of a fake EC2 that speaks as CloudWatch does: results in parts
// over two pages, their points in no order, and none for a period in which there is
// nothing.
type monitored struct {
	// value is a metric of an instance in the period that begins at a time.
	value func(instance, metric, stat string, at time.Time) (float64, bool)
	// state is what is said of a metric; "" is Complete.
	state func(instance, metric string) string
	// listed are the metrics of agents: NAME, then dimensions as KEY=VALUE.
	listed [][]string
	asked  [][]string // "INSTANCE METRIC STAT PERIOD" of each first page
}

const stamp = "2006-01-02T15:04:05Z"

func (m *monitored) answer(form url.Values) answer {
	if form.Get("Action") == "ListMetrics" {
		return m.list(form)
	}
	from, err1 := time.Parse(stamp, form.Get("StartTime"))
	to, err2 := time.Parse(stamp, form.Get("EndTime"))
	if err1 != nil || err2 != nil || !from.Before(to) {
		return refuse(400, "ValidationError", "The parameter StartTime must be less than the parameter EndTime.")
	}
	second := form.Get("NextToken") != ""
	var results strings.Builder
	var asked []string
	for i := 1; ; i++ {
		at := fmt.Sprintf("MetricDataQueries.member.%d.", i)
		id := form.Get(at + "Id")
		if id == "" {
			break
		}
		if i > mostQueries {
			return refuse(400, "ValidationError", "The collection MetricDataQueries must not have a size greater than 500.")
		}
		metric, stat := form.Get(at+"MetricStat.Metric.MetricName"), form.Get(at+"MetricStat.Stat")
		var period int
		fmt.Sscan(form.Get(at+"MetricStat.Period"), &period)
		instance := ""
		var dimensions []string
		for d := 1; form.Has(fmt.Sprintf("%sMetricStat.Metric.Dimensions.member.%d.Name", at, d)); d++ {
			name := form.Get(fmt.Sprintf("%sMetricStat.Metric.Dimensions.member.%d.Name", at, d))
			value := form.Get(fmt.Sprintf("%sMetricStat.Metric.Dimensions.member.%d.Value", at, d))
			if dimensions = append(dimensions, name+"="+value); name == "InstanceId" {
				instance = value
			}
		}
		asked = append(asked, fmt.Sprintf("%s %s %s %d", instance, metric, stat, period))
		if form.Get(at+"MetricStat.Metric.Namespace") == agentNamespace {
			metric += " " + strings.Join(dimensions, " ")
		}
		m.result(&results, id, instance, metric, stat, from, to, time.Duration(period)*time.Second, second)
	}
	token := "<NextToken>second</NextToken>"
	if second {
		token = ""
	} else {
		m.asked = append(m.asked, asked)
	}
	return ok(`<GetMetricDataResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><GetMetricDataResult><MetricDataResults>` +
		results.String() + `</MetricDataResults>` + token + `</GetMetricDataResult></GetMetricDataResponse>`)
}

func (m *monitored) result(b *strings.Builder, id, instance, metric, stat string, from, to time.Time, period time.Duration, second bool) {
	var times []time.Time
	for t := from; t.Before(to); t = t.Add(period) {
		if odd := t.Sub(from)/period%2 == 1; odd == second {
			times = append(times, t)
		}
	}
	slices.Reverse(times)
	var stamps, values strings.Builder
	for _, t := range times {
		if v, ok := m.value(instance, metric, stat, t); ok {
			stamps.WriteString("<member>" + t.Format(stamp) + "</member>")
			fmt.Fprintf(&values, "<member>%g</member>", v)
		}
	}
	state := "PartialData"
	if second {
		state = "Complete"
		if m.state != nil && m.state(instance, metric) != "" {
			state = m.state(instance, metric)
		}
	}
	fmt.Fprintf(b, "<member><Id>%s</Id><Label>%s</Label><StatusCode>%s</StatusCode><Timestamps>%s</Timestamps><Values>%s</Values></member>", id, metric, state, stamps.String(), values.String())
}

func (m *monitored) list(form url.Values) answer {
	var b strings.Builder
	for _, one := range m.listed {
		if one[0] != form.Get("MetricName") {
			continue
		}
		b.WriteString("<member><Namespace>CWAgent</Namespace><MetricName>" + one[0] + "</MetricName><Dimensions>")
		for _, d := range one[1:] {
			name, value, _ := strings.Cut(d, "=")
			b.WriteString("<member><Name>" + name + "</Name><Value>" + value + "</Value></member>")
		}
		b.WriteString("</Dimensions></member>")
	}
	return ok(`<ListMetricsResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><ListMetricsResult><Metrics>` + b.String() + `</Metrics></ListMetricsResult></ListMetricsResponse>`)
}

// plain is an instance whose metrics are 50 % of its processors and 600 bytes a second.
func plain(_, metric, _ string, _ time.Time) (float64, bool) {
	if metric == string(cpuPercent) {
		return 50, true
	}
	return 36_000, !strings.HasPrefix(metric, "nvidia")
}

// watchedWorld is a server of the conformance suite: detailed monitoring of all
// instances but the last, which has no numbers.
func watchedWorld(_ *testing.T, w providertest.World) providertest.Watched {
	e := newEC2(w)
	e.detailed = true
	e.monitored.value = func(instance, metric, stat string, at time.Time) (float64, bool) {
		v, ok := plain(instance, metric, stat, at)
		return v, ok && instance != w.Instances[len(w.Instances)-1].ID
	}
	return providertest.Watched{Server: e, At: guard.Instant{Wall: watchAt}}
}

// watchAt is when CloudWatch is asked in these tests.
var watchAt = time.Date(2026, 3, 6, 10, 13, 20, 0, time.UTC)

// watch is an account of some instances, asked about since a time.
type watchCase struct {
	detailed bool
	agent    bool
	off      bool
	since    time.Time
	m        monitored
	change   func(action string, form url.Values) (answer, bool)
}

func (c *watchCase) open(t *testing.T, ids ...string) (*Provider, providers.SignalQuery) {
	t.Helper()
	cleanEnvironment(t)
	w := providertest.World{Scopes: []string{"us-east-1"}, PageSize: 1000}
	for _, id := range ids {
		w.Instances = append(w.Instances, providertest.Thing{ID: id, Scope: "us-east-1"})
	}
	e := newEC2(w)
	e.detailed, e.instead, e.monitored = c.detailed, c.change, &c.m
	if c.m.value == nil {
		c.m.value = plain
	}
	p, err := New(t.Context(), Options{Name: "research", Base: e, Config: Config{
		Regions: w.Scopes, AccessKeyID: guard.NewSecret(canaryKey), SecretAccessKey: guard.NewSecret(canarySecret),
		CloudWatch: CloudWatch{Off: c.off, Agent: c.agent},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c.since.IsZero() {
		c.since = watchAt.Add(-20 * time.Minute)
	}
	var q providers.SignalQuery
	for _, id := range ids {
		q.Of = append(q.Of, providers.SignalsOf{Resource: guard.Resource{ID: iid(id)}, Since: c.since})
	}
	return p, q
}

func (c *watchCase) read(t *testing.T, ids ...string) []providers.Signals {
	t.Helper()
	p, q := c.open(t, ids...)
	return p.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: watchAt}), q)
}

func clock(s string) time.Time {
	at, err := time.Parse("15:04", s)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 3, 6, at.Hour(), at.Minute(), 0, 0, time.UTC)
}

func TestSignals(t *testing.T) {
	known := guard.Known
	// Every five minutes; a sample stands at the end of its period.
	c := &watchCase{}
	want := func(end string) guard.Sample {
		return guard.Sample{At: clock(end), Interval: 5 * time.Minute, Basis: guard.Average, Source: "cloudwatch",
			CPUCores: known(2), Cores: known(4), Rx: known(120), Tx: known(120), Disk: known(240)}
	}
	got := c.read(t, idA)
	if diff := cmp.Diff([]providers.Signals{{Samples: []guard.Sample{want("09:55"), want("10:00"), want("10:05"), want("10:10")}}}, got); diff != "" {
		t.Error(diff)
	}
	// Every minute, where that is paid for; what is not settled yet comes later.
	c = &watchCase{detailed: true}
	x := c.read(t, idA)[0]
	if n := len(x.Samples); x.Err != nil || n != 17 || x.Samples[0].Interval != time.Minute || x.Samples[0].Rx != known(600) || !x.Samples[n-1].At.Equal(clock("10:10")) {
		t.Errorf("%d samples, %+v", len(x.Samples), x)
	}
	if a := c.m.asked[0]; len(c.m.asked) != 1 || !slices.Contains(a, idA+" CPUUtilization Average 60") || !slices.Contains(a, idA+" NetworkOut Sum 60") {
		t.Errorf("asked %q", c.m.asked)
	}
}

// Points come in no order and not for every period: what is missing is missing, and not 0.
func TestSignalsWithHoles(t *testing.T) {
	c := &watchCase{detailed: true}
	c.m.value = func(instance, metric, _ string, at time.Time) (float64, bool) {
		switch {
		case instance == idB:
			return 0, false // no numbers at all
		case metric == string(cpuPercent):
			return map[string]float64{"10:01": 0.3, "10:02": 62, "10:05": 71, "10:06": 0.2}[at.Format("15:04")], slices.Contains([]string{"10:01", "10:02", "10:05", "10:06"}, at.Format("15:04"))
		}
		return 0, metric == string(networkIn) && at.Equal(clock("10:03"))
	}
	got := c.read(t, idA, idB)
	var told []string
	for _, s := range got[0].Samples {
		told = append(told, fmt.Sprintf("%s %.3f %v", s.At.Format("15:04"), s.CPUCores.V, s.CPUCores.OK))
	}
	if want := []string{"10:02 0.012 true", "10:03 2.480 true", "10:04 0.000 false", "10:06 2.840 true", "10:07 0.008 true"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if got[1].Err != nil || len(got[1].Samples) > 0 {
		t.Errorf("one without numbers: %+v", got[1])
	}
}

func TestSignalsOfAgents(t *testing.T) {
	c := &watchCase{agent: true, detailed: true, since: clock("10:08")}
	for gpu := range 2 {
		for _, name := range []field{gpuUtil, gpuMemory, gpuMemories, gpuPower} {
			c.m.listed = append(c.m.listed, []string{string(name), "InstanceId=" + idA, fmt.Sprintf("index=%d", gpu), "name=NVIDIA A10G"})
		}
	}
	c.m.listed = append(c.m.listed, []string{string(gpuUtil), "host=ip-10-0-0-1", "index=0"}, []string{string(gpuUtil), "InstanceId=" + idA, "index=many"})
	c.m.value = func(_, metric, stat string, _ time.Time) (float64, bool) {
		name, dimensions, _ := strings.Cut(metric, " ")
		second := strings.Contains(dimensions, "index=1")
		switch {
		case field(name) == gpuUtil && stat == maximum:
			return 40, !second
		case field(name) == gpuUtil:
			return 3, !second
		case field(name) == gpuMemory:
			return 500, true
		case field(name) == gpuMemories:
			return 24_000, true
		case field(name) == gpuPower:
			return 60, second
		}
		return 0, false
	}
	got := c.read(t, idA)[0]
	known := guard.Known
	want := []guard.GPUSample{{Util: known(3), UtilMax: known(40), MemUsed: known(500), MemTotal: known(24_000)},
		{MemUsed: known(500), MemTotal: known(24_000), Power: known(60)}}
	if got.Err != nil || len(got.Samples) != 2 {
		t.Fatalf("got %+v", got)
	}
	if diff := cmp.Diff(want, got.Samples[0].GPUs); diff != "" {
		t.Error(diff)
	}
}

// 500 metrics are what a call takes.
func TestSignalsOfMany(t *testing.T) {
	c := &watchCase{}
	var ids []string
	for i := range 230 {
		ids = append(ids, fmt.Sprintf("i-%017x", i+1))
	}
	for i, x := range c.read(t, ids...) {
		if x.Err != nil || len(x.Samples) != 4 {
			t.Fatalf("%s: %+v", ids[i], x)
		}
	}
	if n := len(c.m.asked); n != 3 {
		t.Errorf("%d calls for 1150 metrics", n)
	}
}

// Who has no numbers is not asked about again before there can be any.
func TestSignalsAskOnce(t *testing.T) {
	c := &watchCase{}
	c.m.value = func(string, string, string, time.Time) (float64, bool) { return 0, false }
	p, q := c.open(t, idA)
	for _, after := range []time.Duration{0, time.Minute, 4 * time.Minute, 5 * time.Minute} {
		if got := p.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: watchAt.Add(after)}), q)[0]; got.Err != nil {
			t.Error(got.Err)
		}
	}
	if n := len(c.m.asked); n != 2 {
		t.Errorf("asked %d times in one period and a bit", n)
	}
}

// What CloudWatch could not read is unknown and told; the rest counts.
func TestSignalsInPart(t *testing.T) {
	for state, kind := range map[string]error{"PartialData": guard.ErrUnavailable, "InternalError": guard.ErrUnavailable, "Forbidden": guard.ErrPermission} {
		c := &watchCase{}
		c.m.state = func(_, metric string) string {
			if metric == string(networkOut) {
				return state
			}
			return ""
		}
		got := c.read(t, idA)[0]
		if !errors.Is(got.Err, kind) || !strings.Contains(fmt.Sprint(got.Err), "NetworkOut") || len(got.Samples) != 4 || got.Samples[0].Tx.OK || !got.Samples[0].Rx.OK {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

func TestSignalsFail(t *testing.T) {
	for name, c := range map[string]struct {
		action string
		answer answer
		kind   error
		says   string
	}{
		"not permitted":    {"GetMetricData", refuse(403, "AccessDenied", "User "+canarySecret+" is not authorized"), guard.ErrPermission, "may not call cloudwatch:GetMetricData"},
		"throttled":        {"GetMetricData", refuse(400, "Throttling", "Rate exceeded"), guard.ErrThrottled, "asks to wait 10s"},
		"failed":           {"GetMetricData", refuse(500, "InternalFailure", "no"), guard.ErrUnavailable, "CloudWatch failed"},
		"a web page":       {"GetMetricData", ok("<!DOCTYPE html><html></html>"), guard.ErrBadReply, "web page"},
		"another's answer": {"GetMetricData", reply("DescribeVolumes", ""), guard.ErrBadReply, ""},
		"not asked for": {"GetMetricData", ok(`<GetMetricDataResponse><GetMetricDataResult><MetricDataResults><member><Id>q77</Id><StatusCode>Complete</StatusCode></member></MetricDataResults></GetMetricDataResult></GetMetricDataResponse>`),
			guard.ErrBadReply, "not asked for"},
		"nothing told": {"GetMetricData", ok(`<GetMetricDataResponse><GetMetricDataResult><MetricDataResults/></GetMetricDataResult></GetMetricDataResponse>`), guard.ErrUnavailable, "a part of it"},
		"no instance":  {"DescribeInstances", refuse(403, "UnauthorizedOperation", "no"), guard.ErrPermission, "ec2:DescribeInstances"},
	} {
		w := &watchCase{change: func(action string, _ url.Values) (answer, bool) { return c.answer, action == c.action }}
		got := w.read(t, idA)[0]
		if !errors.Is(got.Err, c.kind) || !strings.Contains(fmt.Sprint(got.Err), c.says) || len(got.Samples) > 0 || strings.Contains(fmt.Sprint(got.Err), "canary") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	throttled := &watchCase{change: func(action string, _ url.Values) (answer, bool) {
		return refuse(400, "Throttling", "Rate exceeded"), action == "GetMetricData"
	}}
	if wait, ok := guard.RetryAfter(throttled.read(t, idA)[0].Err); !ok || wait != throttleWait {
		t.Errorf("throttled, and asks to wait %v", wait)
	}
	off := &watchCase{off: true}
	if got := off.read(t, idA)[0]; !errors.Is(got.Err, guard.ErrUnsupported) || len(off.m.asked) > 0 {
		t.Errorf("off: %+v", got)
	}
	// An agent's metrics that cannot be listed take nothing from the instance's own.
	agent := &watchCase{agent: true, change: func(action string, _ url.Values) (answer, bool) {
		return refuse(http.StatusForbidden, "AccessDenied", "no"), action == "ListMetrics"
	}}
	if got := agent.read(t, idA)[0]; !errors.Is(got.Err, guard.ErrPermission) || !strings.Contains(fmt.Sprint(got.Err), listMetricsCall) || len(got.Samples) != 4 {
		t.Errorf("no word of agents: %+v", got)
	}
}
