package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"guard/cmd/guard/cli"
	"guard/daemon/bench"
	"guard/daemon/client"
)

// TestMain makes the test binary the fleet's cloud where it is told to be.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "cloud" {
		var f bench.Fleet
		if err := json.Unmarshal([]byte(os.Args[3]), &f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := bench.Serve(context.Background(), f, os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func options(t testing.TB, f bench.Fleet) bench.Options {
	t.Helper()
	fleet, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return bench.Options{Fleet: f, Due: time.Second, Minutes: 2,
		Cloud: func(ctx context.Context, socket string) *exec.Cmd {
			return exec.CommandContext(ctx, os.Args[0], "cloud", socket, string(fleet))
		},
		Guard: func(ctx context.Context, tr http.RoundTripper, out io.Writer, args ...string) int {
			return cli.Run(ctx, cli.IO{Out: out, Err: io.Discard, Dial: func(string) (*client.Client, error) {
				return client.New(client.Options{Transport: tr, Timeout: time.Hour})
			}}, args...)
		},
	}
}

// TestRun: every number is there and can be true.
func TestRun(t *testing.T) {
	var said []string
	o := options(t, bench.Fleet{Instances: 50, Volumes: 200, Snapshots: 200, Accounts: 10, Seed: 7})
	o.Progress = func(what string) { said = append(said, what) }
	r, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.JSON(&text); err != nil {
		t.Fatal(err)
	}
	var shape map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text.String()), &shape); err != nil {
		t.Fatal(err)
	}
	want := []string{"cycles", "deadlines", "goals", "machine", "memory", "month_report", "notes", "parameters", "people", "quiet_day", "start", "writes"}
	if got := slices.Sorted(maps.Keys(shape)); !slices.Equal(got, want) {
		t.Errorf("the result has %q, want %q", got, want)
	}
	if string(shape["month_report"]) != "null" {
		t.Error("a report that guard has no command for was measured")
	}
	if len(r.Goals) != 9 || len(said) != 10 {
		t.Errorf("%d goals, %d steps told", len(r.Goals), len(said))
	}
	for _, g := range r.Goals {
		if g.Value == nil || *g.Value < 0 || g.Met != (*g.Value <= g.Most) {
			t.Errorf("goal %q: %v of %v, met %v", g.Name, g.Value, g.Most, g.Met)
		}
	}

	c := r.Cycles
	for name, cost := range map[string]bench.Cost{"bare all": c.BareAll, "bare instances": c.BareInstances, "full": c.Full, "quiet": c.Quiet, "minute": c.Minute, "arming": c.Arming} {
		if cost.CPU <= 0 || cost.Wall <= 0 || cost.Alloc <= 0 || cost.N < 1 {
			t.Errorf("%s: %+v", name, cost)
		}
	}
	// By what they allocate: what a CPU spends on so few things is not exact.
	if c.BareAll.Puts != 0 || c.BareAll.Alloc < c.BareInstances.Alloc {
		t.Errorf("the bare loops: %+v and %+v", c.BareAll, c.BareInstances)
	}
	// Each thing is written once at least, and a quiet cycle writes none again.
	if things := int64(50 + 200 + 200); c.Full.Puts < 2*things || c.Quiet.Puts > things || c.Minute.Puts > c.Quiet.Puts {
		t.Errorf("puts: %d full, %d quiet, %d a minute", c.Full.Puts, c.Quiet.Puts, c.Minute.Puts)
	}
	for _, loop := range []string{"observe", "meter", "decide"} {
		if c.Full.Loops[loop] == 0 || c.Quiet.Loops[loop] == 0 {
			t.Errorf("%s did not run in a cycle: %v, %v", loop, c.Full.Loops, c.Quiet.Loops)
		}
	}

	d := r.Deadlines
	if d.Armed != r.Parameters.Leases || d.Due != 10 || d.Late != 0 || d.P50 <= 0 || d.P99 < d.P50 || d.Max < d.P99 {
		t.Errorf("deadlines: %+v of %d leases", d, r.Parameters.Leases)
	}
	// Not the calls: those of so few leases may begin when the last intent is durable, and
	// that is where the measurement ends.
	if d.Meanwhile.Loops["release"] == 0 {
		t.Errorf("no release ran while deadlines fell: %v", d.Meanwhile.Loops)
	}
	if m := r.Memory; m.Heap <= 0 || m.AfterGC < m.Heap || m.Peak < m.Heap || m.Cloud <= 0 {
		t.Errorf("memory: %+v", m)
	}
	if q := r.QuietDay; q.Minutes != 2 || q.Written <= 0 || q.Held <= 0 || q.File < q.Held {
		t.Errorf("quiet day: %+v", q)
	}
	if s := r.Start; s.Total <= 0 || s.N < 1 {
		t.Errorf("start: %+v", s)
	}
	for _, p := range r.People {
		if p.Wall <= 0 || p.Out == 0 && p.Line != "guard findings" {
			t.Errorf("%s: %+v", p.Line, p)
		}
	}
	for _, w := range r.Writes {
		if w.Bytes == 0 || w.Ours <= 0 || w.Bare <= 0 || w.XBare <= 0 {
			t.Errorf("writes: %+v", w)
		}
	}
	if len(r.People) == 0 || len(r.Writes) == 0 {
		t.Error("nothing typed, or nothing written")
	}
}

// TestNoCloud: a cloud that does not start is told, and ends the run.
func TestNoCloud(t *testing.T) {
	o := options(t, bench.Fleet{Instances: 1, Accounts: 1})
	o.Cloud = func(ctx context.Context, _ string) *exec.Cmd {
		return exec.CommandContext(ctx, os.Args[0], "cloud", "", strconv.Itoa(1))
	}
	if _, err := bench.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the fake cloud does not start") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkCycles is a full and a quiet cycle of 200 instances and what hangs on
// them, each over the CPU of the bare loop that reads the same pages.
func BenchmarkCycles(b *testing.B) {
	for b.Loop() {
		r, err := bench.Run(b.Context(), options(b, bench.Fleet{Instances: 200, Volumes: 800, Snapshots: 800, Accounts: 4, Seed: 1}))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(*r.Cycles.Full.XBare, "full-x-bare")
		b.ReportMetric(*r.Cycles.Quiet.XBare, "quiet-x-bare")
		b.ReportMetric(*r.Cycles.Minute.XBare, "minute-x-bare")
	}
}

// BenchmarkTraffic is quiet minutes of 100 instances of which a monitor tells each
// minute, with their byte counters, over the same without: the CPU, and what is written
// to the ledger.
func BenchmarkTraffic(b *testing.B) {
	f := bench.Fleet{Instances: 100, Volumes: 100, Accounts: 1, Seed: 1}
	for b.Loop() {
		var of [2]*bench.Result
		for i := range of {
			f.Traffic = i == 1
			o := options(b, f)
			o.Minutes = 10
			r, err := bench.Run(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			of[i] = r
		}
		written := func(r *bench.Result) float64 { return r.QuietDay.Written * float64(f.Instances) / (24 * 60 * 60) }
		b.ReportMetric(of[1].Cycles.Minute.CPU/of[0].Cycles.Minute.CPU, "minute-x-without")
		b.ReportMetric(of[1].Cycles.Minute.CPU, "minute-ms")
		b.ReportMetric(written(of[0]), "B/s-without")
		b.ReportMetric(written(of[1]), "B/s")
	}
}
