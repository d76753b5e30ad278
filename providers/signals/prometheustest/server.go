// Package prometheustest runs a real Prometheus for tests, on a loopback port, until
// the test ends. Where there is none, a test that needs it skips with one line, or fails
// where GUARD_E2E=require asks for that (in CI).
package prometheustest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a server may take to be ready.
const patience = 2 * time.Minute

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
	file := write(t, filepath.Join(dir, "prometheus.yml"), config)
	for range 5 { // another process may take the port first
		if url := serve(t, data, file); url != "" {
			return url
		}
	}
	t.Fatal("prometheus ended")
	return ""
}

// serve runs a server on a port that is free, and returns its URL once it is ready; "" where
// it ended before.
func serve(t *testing.T, data, config string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	said := &log{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "prometheus", "--storage.tsdb.path="+data, "--web.listen-address="+addr,
		"--config.file="+config)
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
	if !ready(t, "http://"+addr, data, over) {
		return ""
	}
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

// ready waits for the server that has its data there; it is false where that ended.
func ready(t *testing.T, url, data string, over <-chan struct{}) bool {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-over:
			return false
		case <-tick.C:
		}
		if _, ok := get(t, url+"/-/ready"); ok {
			flags, _ := get(t, url+"/api/v1/status/flags")
			if strings.Contains(flags, data) { // else it is another's
				return true
			}
		}
	}
	t.Fatalf("prometheus is not ready after %s", patience)
	return false
}

// get reads a page; ok is its status 200.
func get(t *testing.T, url string) (text string, ok bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Timeout: 5 * time.Second}).Do(req)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err == nil && resp.StatusCode == http.StatusOK
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
