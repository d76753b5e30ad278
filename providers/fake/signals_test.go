package fake

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/providers"
)

// since asks for the samples of an instance after a time of the story.
func (s story) since(now, since time.Duration, id string) []guard.Sample {
	s.Helper()
	of := providers.SignalsOf{Resource: s.get(now, guard.Instance, id).Resource}
	if since >= 0 {
		of.Since = s.c.At(since).Wall
	}
	got := s.p.Signals(s.at(now), providers.SignalQuery{Of: []providers.SignalsOf{of}})
	if len(got) != 1 || got[0].Err != nil {
		s.Fatalf("%s: %+v", id, got)
	}
	return got[0].Samples
}

// ever asks for all samples.
func (s story) ever(now time.Duration, id string) []guard.Sample { return s.since(now, -1, id) }

// utils are the first GPU's utilisation in samples, with their offsets: "1m0s 93".
func utils(all []guard.Sample) string {
	var out []string
	for _, x := range all {
		text := "?"
		if len(x.GPUs) > 0 && x.GPUs[0].Util.OK {
			text = fmt.Sprint(x.GPUs[0].Util.V)
		}
		out = append(out, x.At.Sub(DefaultStart).String()+" "+text)
	}
	return strings.Join(out, ", ")
}

// monitored is one instance with eight GPUs, and what happens to it.
func monitored(events ...Event) Script {
	for i := range events {
		events[i].ID = "i-1"
	}
	return Script{Account: "lab", Resources: []Resource{{ID: "i-1", GPUs: 8, Created: -time.Hour}}, Timeline: events}
}

func util(at time.Duration, v float64) Event {
	return Event{At: at, Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(v)}}}
}

func TestSignalsAreToldAsTheyAre(t *testing.T) {
	start := uint64(9e12)
	s := tell(t, monitored(Event{Signals: &Signals{
		Of: map[string]Reading{
			"gpu_util":    {Each: []Value{Num(93), {}, {Word: "N/A"}, Num(math.NaN()), Num(37100), Num(-1), Num(1e300)}},
			"gpu_mem_mib": Every(61000), "gpu_power_w": Every(540), "gpu_power_limit_w": Every(700), "gpu_mem_total_mib": Every(81559),
			"engine_active": Every(0), "tensor_active": Every(0.25), "dram_active": Every(0.5),
			"cpu_cores": Every(6), "cores": Every(96), "rx_bytes_s": Every(20000), "tx_bytes_s": Every(8000), "disk_bytes_s": Every(0),
			"processes": Every(8), "sessions": Every(1), "session_input_age": Every(300), "heartbeat_age": Every(60),
		},
		GPUProcesses: []GPUProcess{{PID: 7, Util: Num(90), MemMB: Num(60000), Alive: guard.Yes}, {PID: 8, Alive: guard.No}, {PID: 9}},
		TxStart:      &start,
	}}))
	got := s.ever(2*time.Minute, "i-1")
	if len(got) != 2 {
		t.Fatalf("%d samples: %s", len(got), utils(got))
	}
	n := guard.Known
	gpu := guard.GPUSample{MemUsed: n(61000), MemTotal: n(81559), Power: n(540), PowerLimit: n(700), Energy: n(120 * 540), Engine: n(0), Tensor: n(0.25), DRAM: n(0.5)}
	want := guard.Sample{
		At: DefaultStart.Add(2 * time.Minute), Interval: time.Minute, Basis: guard.Instantaneous, Source: "fake", Boot: "boot-1",
		CPUCores: n(6), Cores: n(96), Rx: n(20000), Tx: n(8000), Disk: n(0),
		NICs:      []guard.NICSample{{Name: "eth0", Rx: 120 * 20000, Tx: 9e12 + 120*8000, Bits: 64}},
		Processes: n(8), Sessions: n(1), InputAge: n(300), HeartbeatAge: n(60),
		GPUProcesses: []guard.GPUProcess{{PID: 7, Util: n(90), MemUsed: n(60000), Alive: guard.Yes}, {PID: 8, Alive: guard.No}, {PID: 9}},
	}
	for _, util := range []guard.Gauge{n(93), {}, {}, {}, n(37100), n(-1), n(1e300), {}} {
		g := gpu
		g.Util = util
		want.GPUs = append(want.GPUs, g)
	}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestASampleTellsWhatWasJustBeforeIt(t *testing.T) {
	s := tell(t, monitored(util(0, 93), util(3*time.Minute, 0), util(4*time.Minute+30*time.Second, 50)))
	s.want("all", utils(s.ever(6*time.Minute, "i-1")), "1m0s 93, 2m0s 93, 3m0s 93, 4m0s 0, 5m0s 50, 6m0s 50")
	s.want("since is exclusive", utils(s.since(6*time.Minute, 4*time.Minute, "i-1")), "5m0s 50, 6m0s 50")
	s.want("nothing newer", utils(s.since(6*time.Minute, 6*time.Minute, "i-1")), "")
	s.want("between two", utils(s.since(6*time.Minute+59*time.Second, 4*time.Minute+time.Second, "i-1")), "5m0s 50, 6m0s 50")
	of := s.c.find("", "i-1").watch
	s.want("the API's since is exclusive, too", len(of.samples(DefaultStart.Add(4*time.Minute), DefaultStart.Add(6*time.Minute))), 2)
	before := tell(t, monitored(util(-3*time.Minute, 4)))
	s.want("before the story", utils(before.ever(time.Minute, "i-1")), "-2m0s 4, -1m0s 4, 0s 4, 1m0s 4")
	s.want("a day is kept", len(s.ever(100*time.Hour, "i-1")), 1440)
	s.want("since long ago", len(s.since(100*time.Hour, time.Hour, "i-1")), 1440)
}

func TestWhatIsLeftOutIsNotReported(t *testing.T) {
	s := tell(t, monitored(
		Event{Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(0), "processes": Every(1), "tx_bytes_s": Every(5)}}},
		Event{At: 90 * time.Second, Signals: &Signals{Of: map[string]Reading{"cpu_cores": Every(1)}}},
	))
	got := s.ever(2*time.Minute, "i-1")
	if len(got) != 2 || !got[0].Processes.OK || len(got[0].GPUs) != 8 || len(got[0].NICs) != 1 {
		t.Fatalf("%+v", got)
	}
	if x := got[1]; x.GPUs != nil || x.Processes.OK || x.Tx.OK || x.NICs != nil || x.CPUCores != guard.Known(1) {
		t.Errorf("%+v", x)
	}
	s = tell(t, Lab())
	s.want("nobody looks", len(s.ever(time.Hour, "i-1")), 0)
}

func TestSamplesExistOnlyWhileItRuns(t *testing.T) {
	up := func(at time.Duration, word string) Event { return Event{At: at, State: word} }
	sc := monitored(util(0, 9), up(2*time.Minute, stateStopped), up(5*time.Minute, stateRunning), up(7*time.Minute, "hung"), Event{At: 9 * time.Minute, Delete: true})
	sc.Lag.Disappears = time.Hour
	s := tell(t, sc)
	all := s.ever(20*time.Minute, "i-1")
	s.want("samples", utils(all), "1m0s 9, 2m0s 9, 6m0s 9, 7m0s 9")
	s.want("boots", []string{all[1].Boot, all[2].Boot}, []string{"boot-1", "boot-2"})

	late := Script{Account: "lab", Resources: []Resource{{ID: "i-1", Created: 150 * time.Second, State: "provisioning"}}, Timeline: []Event{
		{ID: "i-1", Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(1)}}}, {At: 4 * time.Minute, ID: "i-1", State: stateRunning},
		{ID: "i-2", Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(2)}}}, {At: 5 * time.Minute, Create: &Resource{ID: "i-2"}},
		{ID: "n", Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(3)}}}, {At: 6 * time.Minute, Create: &Resource{ID: "n", Count: 2}},
	}}
	s = tell(t, late)
	s.want("what begins later", utils(s.ever(6*time.Minute, "i-1")), "5m0s 1, 6m0s 1")
	s.want("one boot", s.ever(6*time.Minute, "i-1")[1].Boot, "boot-1")
	s.want("what is created later", utils(s.ever(7*time.Minute, "i-2")), "6m0s 2, 7m0s 2")
	s.want("many alike", utils(s.ever(7*time.Minute, "n-002")), "7m0s 3")
}

func TestMissingFrozenAndStuck(t *testing.T) {
	const begins = 3*time.Minute + 30*time.Second
	lost := func(how SignalLoss) story {
		return tell(t, monitored(
			Event{Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(50), "gpu_power_w": Every(10), "tx_bytes_s": Every(1)}}},
			util(2*time.Minute, 60), Event{At: begins, Signals: &Signals{Lost: how}},
			Event{At: 6 * time.Minute, Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(7)}}},
		))
	}
	before, after := "1m0s 50, 2m0s 50, 3m0s 60", ", 7m0s 7"
	s := lost(SignalsMissing)
	s.want("missing", utils(s.ever(7*time.Minute, "i-1")), before+after)
	s = lost(SignalsFrozen)
	s.want("frozen is never newer", utils(s.since(5*time.Minute, 3*time.Minute, "i-1")), "")
	s.want("frozen is told again", utils(s.since(5*time.Minute, 2*time.Minute, "i-1")), "3m0s 60")
	s.want("and over", utils(s.since(7*time.Minute, 2*time.Minute, "i-1")), "3m0s 60"+after)
	s = lost(SignalsStuck)
	s.want("stuck", utils(s.ever(7*time.Minute, "i-1")), before+", 4m0s 60, 5m0s 60, 6m0s 60"+after)
	// It is held as it was: nothing of what it counts moves, whatever it does.
	s = tell(t, monitored(
		Event{Signals: &Signals{Of: map[string]Reading{"gpu_power_w": Every(10), "tx_bytes_s": Every(1)}}},
		Event{At: begins, Signals: &Signals{Lost: SignalsStuck}},
	))
	all := s.ever(5*time.Minute, "i-1")
	s.want("counters", []any{all[2].GPUs[0].Energy, all[2].NICs[0].Tx, all[4].GPUs[0].Energy, all[4].NICs[0].Tx},
		[]any{guard.Known(1800), uint64(180), guard.Known(1800), uint64(180)})
	s = tell(t, monitored(Event{At: time.Minute, Signals: &Signals{Lost: SignalsStuck}}))
	s.want("stuck on nothing", len(s.ever(time.Hour, "i-1")), 0)
}

// A frozen monitor tells its old sample again, which the adapter does not take for news.
func TestFrozenIsToldWithItsOldTime(t *testing.T) {
	c := MustCloud(monitored(util(0, 1), Event{At: 90 * time.Second, Signals: &Signals{Lost: SignalsFrozen}}))
	c.Advance(DefaultStart.Add(time.Hour))
	all := c.find("", "i-1").watch.samples(DefaultStart.Add(30*time.Minute), c.Now())
	if len(all) != 1 || all[0]["at"] != stamp(DefaultStart.Add(time.Minute)) {
		t.Errorf("%v", all)
	}
}

func TestSampleOffset(t *testing.T) {
	for _, off := range []time.Duration{8 * time.Hour, -8 * time.Hour} {
		s := tell(t, monitored(util(0, 5), Event{At: 2 * time.Minute, SampleOffset: &off}))
		odd := fmt.Sprintf("%s 5, %s 5", off+3*time.Minute, off+4*time.Minute)
		right := "1m0s 5, 2m0s 5"
		want := right + ", " + odd
		if off < 0 {
			want = odd + ", " + right
		}
		s.want("all", utils(s.ever(4*time.Minute, "i-1")), want)
		s.want("since", utils(s.since(4*time.Minute, 2*time.Minute, "i-1")), map[bool]string{true: odd}[off > 0])
		if off > 0 {
			s.want("stamped later, and came before", utils(s.since(4*time.Minute, 3*time.Minute, "i-1")), "8h4m0s 5")
		}
		back := time.Duration(0)
		if err := s.c.Do(Event{ID: "i-1", SampleOffset: &back}); err != nil {
			t.Fatal(err)
		}
		if got := utils(s.since(6*time.Minute, 4*time.Minute, "i-1")); !strings.HasPrefix(got, "5m0s 5, 6m0s 5") {
			t.Errorf("right again: %s", got)
		}
	}
}

func TestPulses(t *testing.T) {
	pulse := func(basis guard.Basis, at, every, long time.Duration) story {
		return tell(t, monitored(
			Event{Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(0), "gpu_power_w": Every(60)}, Basis: basis}},
			Event{At: at, Pulse: &Pulse{Of: map[string]Reading{"gpu_util": Every(80), "gpu_power_w": Every(360)}, Every: every, For: long}},
		))
	}
	// Ten seconds of each three minutes: an instant sees them only if it falls into one.
	s := pulse(guard.Instantaneous, 70*time.Second, 3*time.Minute, 10*time.Second)
	s.want("an instant", utils(s.ever(5*time.Minute, "i-1")), "1m0s 0, 2m0s 0, 3m0s 0, 4m0s 0, 5m0s 0")
	s.want("energy tells", s.ever(5*time.Minute, "i-1")[4].GPUs[7].Energy, guard.Known(300*60+20*300))
	s = pulse(guard.Instantaneous, 55*time.Second, 2*time.Minute, 10*time.Second)
	s.want("an instant in it", utils(s.ever(4*time.Minute, "i-1")), "1m0s 80, 2m0s 0, 3m0s 80, 4m0s 0")
	s = pulse(guard.Instantaneous, time.Minute, 2*time.Minute, 10*time.Second)
	s.want("one that begins just then", utils(s.ever(3*time.Minute, "i-1")), "1m0s 0, 2m0s 0, 3m0s 0")
	s = pulse(guard.Instantaneous, 50*time.Second, 2*time.Minute, 10*time.Second)
	s.want("one that ends just then", utils(s.ever(3*time.Minute, "i-1")), "1m0s 80, 2m0s 0, 3m0s 80")
	s = pulse(guard.Average, 70*time.Second, 3*time.Minute, 15*time.Second)
	s.want("an average", utils(s.ever(5*time.Minute, "i-1")), "1m0s 0, 2m0s 20, 3m0s 0, 4m0s 0, 5m0s 20")
	s = pulse(guard.Summary, 70*time.Second, 3*time.Minute, 15*time.Second)
	got := s.ever(2*time.Minute, "i-1")[1]
	x := got.GPUs[3]
	s.want("a summary is one", got.Basis, guard.Summary)
	s.want("a summary", []guard.Gauge{x.Util, x.UtilMax, x.Busy}, []guard.Gauge{guard.Known(20), guard.Known(80), guard.Known(0.25)})
	low := util(0, 1.5)
	low.Signals.Basis = guard.Summary
	s.want("less than 2 is not busy", tell(t, monitored(low)).ever(time.Minute, "i-1")[0].GPUs[0].Busy, guard.Known(0))
	if err := s.c.Do(Event{ID: "i-1", Pulse: &Pulse{}}); err != nil {
		t.Fatal(err)
	}
	s.want("over", utils(s.since(30*time.Minute, 28*time.Minute, "i-1")), "29m0s 0, 30m0s 0")
}

func TestAverageAndInterval(t *testing.T) {
	avg := util(0, 90)
	avg.Signals.Basis, avg.Signals.Interval = guard.Average, 5*time.Minute
	s := tell(t, monitored(avg, util(8*time.Minute, 0), util(14*time.Minute, 100)))
	all := s.ever(16*time.Minute, "i-1")
	s.want("how it is told stays", utils(all), "5m0s 90, 10m0s 54, 15m0s 20")
	s.want("interval", []any{all[2].Interval, all[2].Basis}, []any{5 * time.Minute, guard.Average})
	word := Event{At: 2 * time.Minute, Signals: &Signals{Of: map[string]Reading{"gpu_util": {All: Value{Word: "N/A"}}}}}
	s = tell(t, monitored(avg, word))
	s.want("the mean of what is known", utils(s.ever(10*time.Minute, "i-1")), "5m0s 90, 10m0s ?")
}

func TestRebootAndCounters(t *testing.T) {
	start, back := uint64(math.MaxUint32-700), uint64(18446744073063945534)
	net := func(at time.Duration, start *uint64, bits int) Event {
		return Event{At: at, Signals: &Signals{Of: map[string]Reading{"tx_bytes_s": Every(10), "rx_bytes_s": Every(1e9)}, TxStart: start, CounterBits: bits}}
	}
	counters := func(s story, now time.Duration) (out []uint64) {
		for _, x := range s.ever(now, "i-1") {
			out = append(out, x.NICs[0].Tx)
		}
		return out
	}
	s := tell(t, monitored(net(0, &start, 64), Event{At: 150 * time.Second, Reboot: true}))
	s.want("a reboot", counters(s, 4*time.Minute), []uint64{math.MaxUint32 - 100, math.MaxUint32 + 500, 300, 900})
	all := s.ever(4*time.Minute, "i-1")
	s.want("boots", []string{all[1].Boot, all[2].Boot}, []string{"boot-1", "boot-2"})
	s.want("received", all[1].NICs[0].Rx, uint64(120e9))
	watts := Event{Signals: &Signals{Of: map[string]Reading{"gpu_power_w": {Each: []Value{Num(10), {}, {Word: "N/A"}}}}, GPUProcesses: []GPUProcess{{PID: 1}}}}
	s = tell(t, monitored(watts, Event{At: 150 * time.Second, Reboot: true}))
	all = s.ever(3*time.Minute, "i-1")
	s.want("energy", []any{all[1].GPUs[0].Energy, all[2].GPUs[0].Energy, all[2].GPUs[1].Energy, all[2].GPUs[2].Energy},
		[]any{guard.Known(1200), guard.Known(300), guard.Gauge{}, guard.Gauge{}})
	s.want("as many processes as are told of", all[2].Processes, guard.Known(1))
	s = tell(t, monitored(net(0, &start, 32)))
	s.want("32 bits", counters(s, 2*time.Minute), []uint64{math.MaxUint32 - 100, 499})
	s = tell(t, monitored(net(0, &start, 64), net(90*time.Second, &back, 0)))
	s.want("put to a value", counters(s, 2*time.Minute), []uint64{math.MaxUint32 - 100, back + 300})
}

func TestTraces(t *testing.T) {
	row := func(at time.Duration, v float64) TraceRow {
		return TraceRow{at, map[string]Reading{"gpu_util": Every(v)}}
	}
	m := time.Minute
	hole := row(9*m, 9)
	hole.Of["processes"] = Reading{}
	sc := monitored(
		Event{Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(1), "processes": Every(4)}}},
		Event{At: 2 * m, SignalsFile: &Trace{Rows: []TraceRow{row(0, 70), row(57*time.Second, 71), row(114*time.Second, 72), row(8*m, 80), hole}}},
	)
	s := tell(t, sc)
	all := s.ever(time.Hour, "i-1")
	s.want("its own times", utils(all), "1m0s 1, 2m0s 1, 2m57s 71, 3m54s 72, 10m0s 80, 11m0s 9")
	s.want("its step", all[2].Interval, m)
	s.want("over what holds", []guard.Gauge{all[3].Processes, all[5].Processes}, []guard.Gauge{guard.Known(4), {}})
	// What is told next ends it, whether more of it is to come or not.
	early := sc
	early.Timeline = append(slices.Clone(sc.Timeline), Event{At: 10*m + 30*time.Second, ID: "i-1", Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(3)}}})
	s = tell(t, early)
	s.want("ended within its last row", utils(s.since(13*m, 10*m, "i-1")), "11m0s 3, 12m0s 3, 13m0s 3")
	sc.Timeline = append(sc.Timeline, Event{At: 5 * m, ID: "i-1", Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(3)}}})
	s = tell(t, sc)
	s.want("ended by what is told next", utils(s.since(12*m, 3*m, "i-1")), "3m54s 72, 6m0s 3, 7m0s 3, 8m0s 3, 9m0s 3, 10m0s 3, 11m0s 3, 12m0s 3")
}

func TestSignalFaults(t *testing.T) {
	fleet := func(f Fault) (story, []providers.Signals) {
		f.Call = CallSignals
		sc := Script{Account: "lab", Resources: []Resource{{ID: "n", Count: 3}}, Faults: []Fault{f},
			Timeline: []Event{{ID: "n", Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(5), "processes": Every(0)}}}}}
		s := tell(t, sc)
		var q providers.SignalQuery
		for _, id := range []string{"n-003", "n-001", "stranger"} {
			q.Of = append(q.Of, providers.SignalsOf{Resource: guard.Resource{ID: s.c.ID(guard.Instance, id)}})
		}
		return s, s.p.Signals(s.at(2*time.Minute), q)
	}
	brief := func(all []providers.Signals) (out []string) {
		for _, x := range all {
			text := fmt.Sprint(len(x.Samples))
			for kind, err := range map[string]error{"not found": guard.ErrNotFound, "permission": guard.ErrPermission, "bad": guard.ErrBadReply,
				"unavailable": guard.ErrUnavailable, "throttled": guard.ErrThrottled} {
				if errors.Is(x.Err, err) {
					text = kind
				}
			}
			if x.Err != nil && len(x.Samples) > 0 {
				text += " and samples"
			}
			out = append(out, text)
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		reply Reply
		all   string // of a fault of the call
		one   string // of a fault of n-001
	}{
		{"none", Reply{}, "2 2 not found", "2 2 not found"},
		{"status", Reply{Status: 403}, "permission permission permission", "2 permission not found"},
		{"throttled", Reply{Status: 429, RetryAfter: "30"}, "throttled throttled throttled", "2 throttled not found"},
		{"unreachable", Reply{Unreachable: true}, "unavailable unavailable unavailable", "2 unavailable not found"},
		{"times out", Reply{TimesOut: true}, "unavailable unavailable unavailable", "2 unavailable not found"},
		{"empty", Reply{Empty: true}, "0 0 not found", "2 0 not found"},
		{"HTML", Reply{HTML: true}, "bad bad bad", "2 bad not found"},
		{"a body", Reply{Status: 200, Body: `{"results":[]}`}, "bad bad bad", "2 2 not found"},
		{"no times", Reply{NullFields: []string{"at"}}, "0 0 not found", "2 0 not found"},
	} {
		s, got := fleet(Fault{Reply: tt.reply})
		s.want(tt.name, strings.Join(brief(got), " "), tt.all)
		s.want("one try of what is sure", len(s.c.CallsOf(CallSignals, "n-001")) >= 1, true)
		s, got = fleet(Fault{ID: "n-001", Reply: tt.reply})
		s.want(tt.name+", of one", strings.Join(brief(got), " "), tt.one)
		s.want("in one call", len(s.c.CallsOf(CallSignals, "n-001")), 1)
	}
	s, got := fleet(Fault{Reply: Reply{NullFields: []string{"processes"}, SetFields: map[string]any{"gpu_util": []any{"0", nil, 12}, "interval_s": "soon", "basis": "hearsay"}}})
	x := got[0].Samples[1]
	s.want("odd fields", []any{x.Processes, len(x.GPUs), x.GPUs[0].Util, x.GPUs[1].Util, x.GPUs[2].Util, x.Interval, x.Basis},
		[]any{guard.Gauge{}, 3, guard.Gauge{}, guard.Gauge{}, guard.Known(12), time.Duration(0), guard.Instantaneous})
}

func TestManyAreAskedInOneCall(t *testing.T) {
	sc := Script{Account: "lab", Resources: []Resource{{ID: "n", Count: 250}}, Timeline: []Event{{ID: "n", Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(5)}}}}}
	s := tell(t, sc)
	var q providers.SignalQuery
	for i := range 250 {
		q.Of = append(q.Of, providers.SignalsOf{Resource: guard.Resource{ID: s.c.ID(guard.Instance, member("n", i+1))}, Since: DefaultStart.Add(time.Duration(i%3) * time.Minute)})
	}
	for i, x := range s.p.Signals(s.at(3*time.Minute), q) {
		if x.Err != nil || len(x.Samples) != 3-i%3 {
			t.Fatalf("%d: %d samples, %v", i, len(x.Samples), x.Err)
		}
	}
	s.want("calls", len(s.c.CallsOf(CallSignals, "")), 3)
}

func TestSignalMistakes(t *testing.T) {
	over := []TraceRow{{2 * time.Minute, nil}, {time.Minute, nil}}
	for want, e := range map[string]Event{
		`signals: "gpu_utl" is not one of`:           {Signals: &Signals{Of: map[string]Reading{"gpu_utl": Every(1)}}},
		"signals: processes is one number":           {Signals: &Signals{Of: map[string]Reading{"processes": {Each: []Value{Num(1)}}}}},
		`signals: "gone" must be missing`:            {Signals: &Signals{Lost: "gone"}},
		`basis "guess" must be`:                      {Signals: &Signals{Basis: "guess"}},
		"interval must be from 1s":                   {Signals: &Signals{Interval: time.Millisecond}},
		"counter_bits must be 32 or 64":              {Signals: &Signals{CounterBits: 16}},
		"pulse: for must be longer than 0s":          {Pulse: &Pulse{Of: map[string]Reading{"gpu_util": Every(1)}, Every: time.Minute, For: time.Hour}},
		`pulse: "x" is not one of`:                   {Pulse: &Pulse{Of: map[string]Reading{"x": Every(1)}, Every: time.Hour, For: time.Minute}},
		"signals_file: row 2 is not later":           {SignalsFile: &Trace{Rows: over}},
		"signals_file: it has no rows":               {SignalsFile: &Trace{}},
		"it must say one thing that happens, not 2":  {Reboot: true, Delete: true},
		`event 1 ("i-9"): there is no such resource`: {ID: "i-9", Reboot: true},
		`signals_file: "y" is not one of`:            {SignalsFile: &Trace{Rows: []TraceRow{{0, map[string]Reading{"y": {}}}}}},
		"signals: gpu_util is of at most 4096 GPUs":  {Signals: &Signals{Of: map[string]Reading{"gpu_util": {Each: make([]Value, 5000)}}}},
	} {
		if e.ID == "" {
			e.ID = "i-1"
		}
		_, err := NewCloud(Script{Resources: []Resource{{ID: "i-1"}}, Timeline: []Event{e}})
		if err == nil || !errors.Is(err, guard.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
