package compshare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/compshare/compsharetest"
	"guard/providers/providertest"
)

// about asks for signals of instances since a time.
func about(p *Provider, since time.Time, ids ...string) providers.SignalQuery {
	var q providers.SignalQuery
	for _, id := range ids {
		q.Of = append(q.Of, providers.SignalsOf{Resource: guard.Resource{ID: p.id(guard.Instance, id)}, Since: since})
	}
	return q
}

// TestSignals: ten in one call, each GPU by itself, with what an instance is known to have.
func TestSignals(t *testing.T) {
	var things []providertest.Thing
	var ids []string
	for i := range 25 {
		ids = append(ids, uhostID(i))
		things = append(things, thing(uhostID(i)))
	}
	c := cloud(things...)
	c.Clock = func() time.Time { return noon.Wall.Add(30 * time.Second) }
	c.Instances[ids[0]] = compsharetest.Instance{Util: []int{42, 0}}
	p := on(t, c)
	listed(at(t), t, p, guard.Instance)
	before := len(c.Calls())
	got := p.Signals(later(t, 30*time.Second), about(p, time.Time{}, ids...))
	if n := len(c.Calls()) - before; n != 3 {
		t.Errorf("%d calls for 25 instances, want 3", n)
	}
	for i, x := range got {
		if x.Err != nil || (len(x.Samples) == 1) != (i == 0) {
			t.Errorf("answer %d: %+v", i, x)
		}
	}
	s := got[0].Samples[0]
	want := "12:00:00 instant of 1m0s: 42% 12288/24576, 0% 12288/24576, 4 of 16 cores"
	if is := fmt.Sprintf("%s %s of %s: %g%% %g/%g, %g%% %g/%g, %g of %g cores", s.At.Format("15:04:05"), s.Basis, s.Interval, s.GPUs[0].Util.V, s.GPUs[0].MemUsed.V, s.GPUs[0].MemTotal.V,
		s.GPUs[1].Util.V, s.GPUs[1].MemUsed.V, s.GPUs[1].MemTotal.V, s.CPUCores.V, s.Cores.V); is != want {
		t.Errorf("%s, want %s", is, want)
	}
	if x := p.Signals(later(t, 30*time.Second), about(p, noon.Wall, ids[0]))[0]; x.Err != nil || len(x.Samples) != 0 {
		t.Errorf("what is known already: %+v", x)
	}
	fresh := on(t, c)
	before = len(c.Calls())
	x := fresh.Signals(later(t, 30*time.Second), about(fresh, time.Time{}, ids[0], "nobody", ids[0]))
	if calls := strings.Join(c.Calls()[before:], " "); len(x[0].Samples) != 1 || len(x[2].Samples) != 1 || len(x[1].Samples) != 0 || x[1].Err != nil ||
		calls != "DescribeCompShareInstance GetCompShareInstanceMonitor" {
		t.Errorf("of what was never listed: %+v after %s", x, calls)
	}
}

// TestSamplesOfAMinute: each reading is one, in the order of their time.
func TestSamplesOfAMinute(t *testing.T) {
	values := []any{}
	for _, s := range []int64{40, 0, 20} {
		values = append(values, map[string]any{"Timestamp": noon.Wall.Unix() - s, "Value": s})
	}
	c := cloud(thing("a"))
	c.Clock = func() time.Time { return noon.Wall }
	c.Instances["a"] = compsharetest.Instance{Monitor: map[string]any{"Metrics": []any{
		map[string]any{"MetricKey": gpuUtil, "Results": []any{map[string]any{"TagMap": map[string]any{"gpu_bus_id": "0"}, "Values": values}}},
		map[string]any{"MetricKey": "cloudwatch_sys_disk_used_per", "Results": []any{map[string]any{"Values": values}}},
	}}}
	p := on(t, c)
	var got []string
	for _, s := range p.Signals(at(t), about(p, noon.Wall.Add(-30*time.Second), "a"))[0].Samples {
		got = append(got, fmt.Sprintf("%s of %s %g", s.At.Format("04:05"), s.Interval, s.GPUs[0].Util.V))
	}
	if want := "[59:40 of 20s 20 00:00 of 20s 0]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestWhichGPU: however an answer tells one GPU from another, none hides another's work.
func TestWhichGPU(t *testing.T) {
	values := func(v int) []any {
		return []any{map[string]any{"Timestamp": noon.Wall.Unix(), "Value": v}}
	}
	metric := func(tags any, results ...any) any {
		return map[string]any{"MetricKey": gpuUtil, "Tags": tags, "Results": results}
	}
	bus := func(id any) map[string]any { return map[string]any{"gpu_bus_id": id} }
	for name, metrics := range map[string][]any{
		"by each result":          {metric(bus([]any{"0", "1"}), map[string]any{"TagMap": bus("0"), "Values": values(95)}, map[string]any{"TagMap": bus("1"), "Values": values(0)})},
		"by each metric":          {metric(bus([]any{"0"}), map[string]any{"Values": values(95)}), metric(bus("1"), map[string]any{"Values": values(0)})},
		"by the order of one's":   {metric(bus([]any{"0", "1"}), map[string]any{"Values": values(95)}, map[string]any{"Values": values(0)})},
		"by nothing":              {metric(nil, map[string]any{"Values": values(95)}, map[string]any{"Values": values(0)})},
		"by tags of another form": {metric([]any{}, map[string]any{"TagMap": []any{}, "Values": values(95)}, map[string]any{"TagMap": 7, "Values": values(0)})},
		"not at all":              {metric(bus("0"), map[string]any{"Values": values(95)}), metric(bus("0"), map[string]any{"Values": values(0)})},
	} {
		c := cloud(thing("a"))
		c.Clock = func() time.Time { return noon.Wall }
		c.Instances["a"] = compsharetest.Instance{Monitor: map[string]any{"Metrics": metrics}}
		p := on(t, c)
		x := p.Signals(at(t), about(p, time.Time{}, "a"))[0]
		want := "95 0"
		if name == "not at all" {
			want = "95"
		}
		var got []string
		for _, s := range x.Samples {
			for _, g := range s.GPUs {
				got = append(got, fmt.Sprint(g.Util.V))
			}
		}
		if strings.Join(got, " ") != want || len(x.Samples) != 1 {
			t.Errorf("%s: %v, want %s: %+v", name, got, want, x)
		}
	}
}
