package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guard/daemon/wire"
	"guard/providers/signals/prometheustest"
)

// exporter speaks dcgm-exporter's and node-exporter's names about one box.
type exporter struct {
	box  string
	busy atomic.Bool
	boot time.Time
}

// family is one metric at a time; text has no word of time, the history of a server has.
type family struct {
	name, labels, kind string
	value              func(at time.Time) float64
}

func (e *exporter) families() []family {
	var out []family
	util := func(time.Time) float64 { return 0 }
	power := func(time.Time) float64 { return 62 }
	if e.busy.Load() {
		util, power = func(time.Time) float64 { return 93 }, func(time.Time) float64 { return 240 }
	}
	constant := func(v float64) func(time.Time) float64 { return func(time.Time) float64 { return v } }
	// What goes on in an idle machine: a core in a hundred, a few bytes.
	counter := func(a second) func(time.Time) float64 {
		return func(at time.Time) float64 { return float64(a) * at.Sub(e.boot).Seconds() }
	}
	gpu := fmt.Sprintf(`gpu="0",UUID="GPU-1",Hostname=%q`, e.box)
	for name, value := range map[string]func(time.Time) float64{
		"DCGM_FI_DEV_GPU_UTIL": util, "DCGM_FI_DEV_POWER_USAGE": power, "DCGM_FI_DEV_FB_USED": constant(4),
		"DCGM_FI_DEV_FB_FREE": constant(22_000), "DCGM_FI_DEV_POWER_MGMT_LIMIT": constant(300),
	} {
		out = append(out, family{name, gpu, "gauge", value})
	}
	return append(out,
		family{"node_boot_time_seconds", "", "gauge", constant(float64(e.boot.Unix()))},
		family{"node_cpu_seconds_total", `cpu="0",mode="user"`, "counter", counter(0.01)},
		family{"node_cpu_seconds_total", `cpu="0",mode="idle"`, "counter", counter(0.99)},
		family{"node_network_receive_bytes_total", `device="eth0"`, "counter", counter(100)},
		family{"node_network_transmit_bytes_total", `device="eth0"`, "counter", counter(100)},
		family{"node_disk_read_bytes_total", `device="nvme0n1"`, "counter", counter(0)},
		family{"node_disk_written_bytes_total", `device="nvme0n1"`, "counter", counter(1000)},
	)
}

// second is so much a second.
type second float64

func (e *exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for _, f := range e.families() {
		fmt.Fprintf(w, "# TYPE %[1]s %[2]s\n%[1]s{%[3]s} %[4]g\n", f.name, f.kind, f.labels, f.value(time.Now()))
	}
}

// history is what a server would have, had it read the exporter for so long.
func (e *exporter) history(long time.Duration) string {
	var b strings.Builder
	now := time.Now().Truncate(15 * time.Second)
	last := ""
	for _, f := range e.families() {
		name := f.name
		if f.kind == "counter" {
			name = strings.TrimSuffix(name, "_total")
		}
		if name != last {
			fmt.Fprintf(&b, "# TYPE %s %s\n", name, f.kind)
			last = name
		}
		labels := strings.Trim(f.labels+fmt.Sprintf(`,instance=%q,job="job0"`, e.box), ",")
		for at := now.Add(-long); at.Before(now); at = at.Add(15 * time.Second) {
			fmt.Fprintf(&b, "%s{%s} %g %d\n", f.name, labels, f.value(at), at.Unix())
		}
	}
	b.WriteString("# EOF\n")
	return b.String()
}

// monitoring is a real Prometheus that reads an exporter every second, and has read it
// for three hours.
func monitoring(t *testing.T, e *exporter) (url string) {
	t.Helper()
	web := httptest.NewServer(e)
	t.Cleanup(web.Close)
	return prometheustest.Start(t, e.history(3*time.Hour), prometheustest.Target{Addr: web.Listener.Addr().String(), Path: "/", Instance: e.box})
}

const monitoredConfiguration = `
mode: observe
ledger: bolt:%[1]s/ledger.db
listen: unix:%[1]s/guard.sock
backup: {off: true}
accounts:
  - name: research
    provider: aws
    poll: 1s
    aws: {regions: [us-east-1], endpoint: %[2]q, access_key_id: {env: GUARD_TEST_KEY}, secret_access_key: {env: GUARD_TEST_SECRET}}
rules:
  idle_blind: {warn: 1h}
signals:
  file: %[1]s/samples.db
  sources:
    - {name: prom, accounts: [research], prometheus: {url: %[3]q, interval: 15s, instance: {is: id}}}
`

// A box that does nothing is found idle by what a real Prometheus knows of it, and no
// longer so when it works.
func TestRealPrometheus(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.run()
	c.boxes[id].created = time.Now().UTC().Add(-4 * time.Hour).Truncate(time.Second)
	e := &exporter{box: id, boot: c.boxes[id].created}
	url := monitoring(t, e)

	g := unpack(t)
	g.write("guard.yaml", fmt.Sprintf(monitoredConfiguration, g.dir, c.URL, url))
	g.start()
	idle := func() bool {
		var all []wire.Finding
		if !g.json(&all, "findings") {
			return false
		}
		for _, f := range all {
			if f.Rule == "idle_blind" && f.Subject == "research/"+id {
				return true
			}
		}
		return false
	}
	g.until("it is found idle", idle)
	e.busy.Store(true)
	g.until("it works", func() bool { return !idle() })
	if told := c.told(); len(told) > 0 {
		t.Errorf("observe, and the cloud was told to end %v", told)
	}
}
