package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"guard/daemon/wire"
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
		labels := strings.Trim(f.labels+fmt.Sprintf(`,instance=%q,job="box"`, e.box), ",")
		for at := now.Add(-long); at.Before(now); at = at.Add(15 * time.Second) {
			fmt.Fprintf(&b, "%s{%s} %g %d\n", f.name, labels, f.value(at), at.Unix())
		}
	}
	b.WriteString("# EOF\n")
	return b.String()
}

// monitoring is a real Prometheus that reads an exporter every second, and has read it
// for three hours. It ends with the test.
func monitoring(t *testing.T, e *exporter) (url string) {
	t.Helper()
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("GUARD_E2E") == "require" {
				t.Fatalf("there is no %s on the PATH: apt-get install prometheus", program)
			}
			t.Skipf("there is no %s on the PATH to try it against: apt-get install prometheus", program)
		}
	}
	web := httptest.NewServer(e)
	t.Cleanup(web.Close)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data := filepath.Join(dir, "data")
	if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", file("history", e.history(3*time.Hour)), data).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	config := file("prometheus.yml", fmt.Sprintf(`scrape_configs:
  - job_name: box
    scrape_interval: 1s
    metrics_path: /
    static_configs: [{targets: [%q], labels: {instance: %q}}]
`, web.Listener.Addr(), e.box))
	log := &locked{}
	cmd := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+data, "--web.listen-address="+addr)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
		if t.Failed() {
			t.Logf("prometheus said:\n%s", log.tail())
		}
	})
	url = "http://" + addr
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(url + "/-/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return url
			}
		}
		if time.Now().After(end) {
			t.Fatalf("prometheus is not ready: %v", err)
		}
	}
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
