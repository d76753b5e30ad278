// Package prometheustest runs a real Prometheus for tests, on a loopback port, until
// the test ends. Where there is none, a test that needs it skips with one line, or fails
// where GUARD_E2E=require asks for that (in CI).
package prometheustest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a server may take to be ready.
const patience = time.Minute

// Target is an exporter that the server reads every second.
type Target struct {
	Addr, Path string
	// Instance is the value of the label of that name.
	Instance string
}

// Start starts a server that has a history, in OpenMetrics text with times, and reads the
// targets from now on. It returns the server's URL.
func Start(t *testing.T, history string, targets ...Target) (url string) {
	t.Helper()
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			absent(t, program)
		}
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	past := write(t, filepath.Join(dir, "history"), history)
	if out, err := exec.CommandContext(t.Context(), "promtool", "tsdb", "create-blocks-from", "openmetrics", past, data).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	config := "scrape_configs:\n"
	for i, x := range targets {
		config += fmt.Sprintf("  - job_name: job%d\n    scrape_interval: 1s\n    metrics_path: %q\n    static_configs: [{targets: [%q], labels: {instance: %q}}]\n",
			i, x.Path, x.Addr, x.Instance)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	said := &log{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "prometheus", "--storage.tsdb.path="+data, "--web.listen-address="+addr,
		"--config.file="+write(t, filepath.Join(dir, "prometheus.yml"), config))
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { defer close(over); _ = cmd.Wait() }() // it is killed in the end, or says why on its way
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
		if t.Failed() {
			t.Logf("prometheus said:\n%s", said)
		}
	})
	ready(t, "http://"+addr, over)
	return "http://" + addr
}

func absent(t *testing.T, program string) {
	t.Helper()
	if os.Getenv("GUARD_E2E") == "require" {
		t.Fatalf("no %s on the PATH (apt-get install prometheus)", program)
	}
	t.Skipf("no %s on the PATH (apt-get install prometheus)", program)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func ready(t *testing.T, url string, over <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-over:
			t.Fatal("prometheus ended")
		case <-tick.C:
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/-/ready", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("prometheus is not ready after %s", patience)
}

// log keeps what a process says.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
