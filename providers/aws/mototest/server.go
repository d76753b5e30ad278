// Package mototest runs moto, an EC2-compatible server that is not ours, for
// tests, and puts a proxy in front of it that counts the calls and makes them
// fail on demand.
//
// Where moto is not to be had, a test that needs it skips with one line, or
// fails where GUARD_E2E=require asks for that (in CI).
package mototest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout is generous: a cold Python on a busy machine takes its time.
const startTimeout = 2 * time.Minute

// Server is a moto.
type Server struct {
	// URL is its endpoint, for every region and service.
	URL string

	pid  int           // of its process group; 0 where it is somebody else's
	over chan struct{} // closed when the process has ended
}

var (
	mu     sync.Mutex
	shared *Server
)

// Main is for a package's TestMain: it runs the tests and stops the server that
// they share.
func Main(m *testing.M) int {
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		if shared != nil && shared.pid != 0 {
			_ = syscall.Kill(-shared.pid, syscall.SIGKILL)
			<-shared.over
		}
	}()
	return m.Run()
}

// Start gives the test the server with an empty account. It is one for all tests
// of a package, so these must not run in parallel. It is looked for in this
// order: GUARD_MOTO_ENDPOINT, a running one; GUARD_MOTO_SERVER, the path of
// moto_server; moto_server on the PATH.
func Start(t *testing.T) *Server {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if shared == nil {
		shared = find(t)
	}
	shared.reset(t)
	return shared
}

func find(t *testing.T) *Server {
	t.Helper()
	if url := os.Getenv("GUARD_MOTO_ENDPOINT"); url != "" {
		return &Server{URL: url}
	}
	path, err := exec.LookPath(cmp.Or(os.Getenv("GUARD_MOTO_SERVER"), "moto_server"))
	if err != nil {
		absent(t)
	}
	// The port may be taken between the look and the start, so try a few.
	for range 3 {
		if s := start(t, path); s != nil {
			return s
		}
	}
	t.Fatalf("%s does not start", path)
	return nil
}

// absent skips the test, or fails it where it must run.
func absent(t *testing.T) {
	t.Helper()
	const line = "no moto_server on the PATH (pip install 'moto[server]'), nor in GUARD_MOTO_SERVER or GUARD_MOTO_ENDPOINT"
	if os.Getenv("GUARD_E2E") == "require" {
		t.Fatal(line)
	}
	t.Skip(line)
}

func start(t *testing.T, path string) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(path, "-H", "127.0.0.1", "-p", strconv.Itoa(port))
	cmd.Env = Environment(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	up := make(chan bool, 1)
	s := &Server{URL: "http://127.0.0.1:" + strconv.Itoa(port), pid: cmd.Process.Pid, over: make(chan struct{})}
	go func() {
		defer close(s.over)
		watch(stderr, up)
		_ = cmd.Wait() // it is killed in the end, or says why on its way
	}()
	select {
	case ok := <-up:
		if ok {
			return s
		}
	case <-time.After(startTimeout):
	}
	_ = syscall.Kill(-s.pid, syscall.SIGKILL)
	return nil
}

var running = regexp.MustCompile(`Running on http://`)

// watch reads what moto says, all of it, so that it never blocks; up learns
// whether it came up.
func watch(r io.Reader, up chan<- bool) {
	in := bufio.NewScanner(r)
	said := false
	for in.Scan() {
		if !said && running.Match(in.Bytes()) {
			up <- true
			said = true
		}
	}
	if !said {
		up <- false
	}
}

// Environment is the process environment for whatever speaks to moto: dummy
// keys, no profile, no CA bundle, no instance role, nothing of this machine's.
func Environment(t *testing.T) []string {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PYENV_ROOT=" + os.Getenv("PYENV_ROOT"),
		"AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY=moto", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=" + none, "AWS_SHARED_CREDENTIALS_FILE=" + none,
		"MOTO_EC2_LOAD_DEFAULT_AMIS=false", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1",
	}
}

func (s *Server) reset(t *testing.T) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/moto-api/reset", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("moto at %s does not answer: %v", s.URL, err)
	}
	resp.Body.Close()
}

//go:embed cloud.py
var script string

// Do does with boto3, not with our own code, what a person does in the console:
// a verb of cloud.py in a region. What that prints is decoded into out, where
// out is not nil.
func (s *Server) Do(t *testing.T, out any, verb, region string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python(), append([]string{"-c", script, verb, region}, args...)...)
	cmd.Env = append(Environment(t), "ENDPOINT="+s.URL)
	var said, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("cloud.py %s %s %v: %v\n%s", verb, region, args, err, errOut.String())
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(said.Bytes(), out); err != nil {
		t.Fatalf("cloud.py %s: %v in %q", verb, err, said.String())
	}
}

// python is an interpreter that has boto3: the one beside the configured moto,
// or the first on the PATH.
func python() string {
	if server := os.Getenv("GUARD_MOTO_SERVER"); server != "" {
		beside := filepath.Join(filepath.Dir(server), "python3")
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() {
			return beside
		}
	}
	return "python3"
}
