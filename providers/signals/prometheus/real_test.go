package prometheus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"guard"
	"guard/providers"
	"guard/providers/signals/prometheustest"
)

// TestRealServer asks every default query of a real Prometheus, about exporters that it
// read every 15 seconds, by their own names of what they tell.
func TestRealServer(t *testing.T) {
	to := time.Now().Truncate(time.Minute).Add(-time.Minute)
	from := to.Add(-20 * time.Minute)
	gpu := func(host, n string) string {
		return fmt.Sprintf(`gpu=%q,UUID="GPU-%s%s",device="nvidia%s",modelName="X",Hostname=%q,instance="10.0.0.1:9400",job="dcgm"`, n, host, n, n, host)
	}
	part := gpu("a", "1") + `,GPU_I_ID="3",GPU_I_PROFILE="1g.10gb"`
	node := func(more string) string { return more + `,instance="a:9100",job="node"` }
	constant := func(v float64) func(time.Time) float64 { return func(time.Time) float64 { return v } }
	counter := func(perSecond float64) func(time.Time) float64 {
		return func(at time.Time) float64 { return 1e6 + perSecond*at.Sub(from).Seconds() }
	}
	// One burst of 15 seconds, that no reading at the end of a minute sees.
	burst := func(at time.Time) float64 {
		if at.Second() == 15 {
			return 80
		}
		return 0
	}
	var text strings.Builder
	named := ""
	write := func(name, labels string, value func(time.Time) float64, until time.Time) {
		kind, family := "gauge", name
		if strings.HasSuffix(name, "_total") {
			kind, family = "counter", strings.TrimSuffix(name, "_total")
		}
		if family != named {
			fmt.Fprintf(&text, "# TYPE %s %s\n", family, kind)
			named = family
		}
		for at := from; !at.After(until); at = at.Add(15 * time.Second) {
			fmt.Fprintf(&text, "%s{%s} %g %d\n", name, labels, value(at), at.Unix())
		}
	}
	write("DCGM_FI_DEV_GPU_UTIL", gpu("a", "0"), burst, to)
	write("DCGM_FI_DEV_GPU_UTIL", gpu("ended", "0"), constant(5), from.Add(10*time.Minute))
	write("DCGM_FI_DEV_FB_USED", gpu("a", "0"), constant(600), to)
	write("DCGM_FI_DEV_FB_USED", part, constant(12), to)
	write("DCGM_FI_DEV_FB_FREE", gpu("a", "0"), constant(80_000), to)
	write("DCGM_FI_DEV_FB_FREE", part, constant(9_988), to)
	write("DCGM_FI_DEV_POWER_USAGE", gpu("a", "0"), constant(70.5), to)
	write("DCGM_FI_DEV_POWER_MGMT_LIMIT", gpu("a", "0"), constant(700), to)
	write("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", gpu("a", "0"), constant(2_500_000), to)
	write("DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu("a", "0"), constant(0.01), to)
	write("DCGM_FI_PROF_GR_ENGINE_ACTIVE", part, constant(0.5), to)
	write("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", gpu("a", "0"), constant(0.02), to)
	write("DCGM_FI_PROF_DRAM_ACTIVE", gpu("a", "0"), constant(0.03), to)
	write("node_boot_time_seconds", `instance="a:9100",job="node"`, constant(1_772_000_000), to)
	for _, cpu := range []string{"0", "1"} {
		write("node_cpu_seconds_total", node(fmt.Sprintf(`cpu=%q,mode="idle"`, cpu)), counter(0.5), to)
		write("node_cpu_seconds_total", node(fmt.Sprintf(`cpu=%q,mode="user"`, cpu)), counter(0.25), to)
		write("node_cpu_seconds_total", node(fmt.Sprintf(`cpu=%q,mode="iowait"`, cpu)), counter(0.125), to)
		write("node_cpu_seconds_total", node(fmt.Sprintf(`cpu=%q,mode="steal"`, cpu)), counter(0.125), to)
	}
	for _, device := range []string{"eth0", "lo", "docker0", "bond0", "veth1a2b"} {
		write("node_network_receive_bytes_total", node(fmt.Sprintf("device=%q", device)), counter(1000), to)
	}
	for _, device := range []string{"eth0", "lo", "eth0.100"} {
		write("node_network_transmit_bytes_total", node(fmt.Sprintf("device=%q", device)), counter(100), to)
	}
	for _, device := range []string{"nvme0n1", "dm-0", "md0"} {
		write("node_disk_read_bytes_total", node(fmt.Sprintf("device=%q", device)), counter(300), to)
	}
	for _, device := range []string{"nvme0n1", "dm-0", "loop1"} {
		write("node_disk_written_bytes_total", node(fmt.Sprintf("device=%q", device)), counter(50), to)
	}
	text.WriteString("# EOF\n")

	cfg := Defaults()
	cfg.URL = prometheustest.Start(t, text.String())
	src, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := src.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: to.Add(20 * time.Second)}), providers.SignalQuery{Of: []providers.SignalsOf{
		{Resource: instance("i-1", "a"), Since: to.Add(-5 * time.Minute)}, {Resource: instance("i-2", "ended"), Since: to.Add(-5 * time.Minute)}}})
	for i := range got {
		if got[i].Err != nil {
			t.Fatalf("%d: %v", i, got[i].Err)
		}
	}
	if n := len(got[0].Samples); n != 5 {
		t.Fatalf("%d samples of 5 minutes", n)
	}
	if n := len(got[1].Samples); n != 0 {
		t.Errorf("%d samples of what ended ten minutes ago", n)
	}
	known := guard.Known
	want := guard.Sample{
		At: to.UTC(), Interval: time.Minute, Basis: guard.Instantaneous, Source: "prometheus", Boot: "at 2026-02-25T06:15Z",
		GPUs: []guard.GPUSample{
			{Util: known(0), UtilMax: known(80), MemUsed: known(600), MemTotal: known(80_600), Power: known(70.5), PowerLimit: known(700),
				Energy: known(2500), Engine: known(0.01), Tensor: known(0.02), DRAM: known(0.03)},
			{MemUsed: known(12), MemTotal: known(10_000), Engine: known(0.5), MIG: true},
		},
		CPUCores: known(0.5), Cores: known(2), Disk: known(350), Rx: known(1000), Tx: known(100),
		NICs: []guard.NICSample{{Name: "eth0", Rx: 2_200_000, Tx: 1_120_000, Bits: 64}},
	}
	if diff := cmp.Diff(want, got[0].Samples[4], cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Error(diff)
	}
}
