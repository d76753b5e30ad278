// Package prismtest serves a vendor's own API description as a mock, with prism, for an
// adapter's tests: each request is held against the description, and each answer is an
// example of it. The mock keeps no state, so it says nothing of life cycles.
//
// Tests that need it have names that begin with TestPrism: CI has a step for them. They
// skip with one line where GUARD_PRISM is not set or there is no description.
package prismtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a mock may take to be ready: the larger descriptions are
// megabytes, and take ten seconds on a machine with nothing else to do.
const patience = 4 * time.Minute

// Mock is a description that is served.
type Mock struct {
	// URL is where, without the path of the description's own servers.
	URL string
}

// Start serves a description of ../shared/specs on a loopback port until the test ends.
// GUARD_PRISM is the path of prism, what npm made of it (node_modules/.bin/prism): npx
// would leave an orphan.
func Start(t *testing.T, spec string) *Mock {
	t.Helper()
	path := description(t, spec)
	program := os.Getenv("GUARD_PRISM")
	if program == "" {
		t.Skip("prism is not here: GUARD_PRISM is not set (npm install @stoplight/prism-cli)")
	}
	cmd := exec.Command(program, "mock", "-h", "127.0.0.1", "-p", "0", path)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		t.Fatalf("start prism: %v", err)
	}
	up, over := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(over)
		watch(out, up)
		out.Close()
		_ = cmd.Wait() // it is killed in the end, or says why on its way
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // and whatever it started
		<-over
	})
	select {
	case said := <-up:
		if url, ok := strings.CutPrefix(said, listening); ok {
			return &Mock{URL: url}
		}
		t.Fatalf("prism does not serve %s: %s", spec, said)
	case <-time.After(patience):
		t.Fatalf("prism does not serve %s within %s", spec, patience)
	}
	return nil
}

// description is the path of one; where there is none, the test is skipped.
func description(t *testing.T, spec string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test does not run inside the module")
		}
		dir = filepath.Dir(dir)
	}
	specs := filepath.Join(dir, "..", "shared", "specs")
	if _, err := os.Stat(specs); err != nil {
		t.Skip("the vendors' descriptions are not here: ../shared is absent")
	}
	return filepath.Join(specs, spec)
}

const listening = "listening on "

var ready = regexp.MustCompile(`Prism is (listening on http://\S+)`)

// watch reads what prism says, all of it, so that it never blocks; up learns where it
// listens, or its last words.
func watch(r io.Reader, up chan<- string) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	last, said := "nothing was said", false
	for in.Scan() {
		if said {
			continue
		}
		if m := ready.FindStringSubmatch(in.Text()); m != nil {
			said = true
			up <- m[1]
		} else if text := strings.TrimSpace(in.Text()); text != "" {
			last = text
		}
	}
	_, _ = io.Copy(io.Discard, r) // after a line that is too long
	if !said {
		up <- last
	}
}

// RoundTripper is the way to the mock. It fails the test at a request that the
// description does not allow. prefer is prism's header of that name: "code=429" asks for
// the answer with that status, "example=NAME" for one by name, "dynamic=true" for values
// that are random within the schema; "" takes the first example.
func (m *Mock) RoundTripper(t *testing.T, prefer string) http.RoundTripper {
	next := &http.Transport{}
	t.Cleanup(next.CloseIdleConnections)
	return &roundTripper{t, prefer, next}
}

type roundTripper struct {
	t      *testing.T
	prefer string
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (x *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if x.prefer != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Prefer", x.prefer)
	}
	resp, err := x.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	for _, line := range violations(resp, body) {
		x.t.Errorf("%s %s is not what the description allows: %s", r.Method, r.URL.Path, line)
	}
	return resp, nil
}

// violation is one of a list that prism sends in a header, and in its own errors.
type violation struct {
	Location []string `json:"location"`
	Message  string   `json:"message"`
}

// violations are what prism says against a request: in a header where it answers all the
// same, or in an error of its own. What it says against its own answer is not ours.
func violations(resp *http.Response, body []byte) []string {
	var all []violation
	_ = json.Unmarshal([]byte(resp.Header.Get("Sl-Violations")), &all) // absent where there are none
	var own struct {
		Type, Title, Detail string
		Validation          []violation
	}
	_ = json.Unmarshal(body, &own) // or another answer
	var lines []string
	if strings.Contains(own.Type, "stoplight.io/prism/errors") {
		lines = append(lines, fmt.Sprintf("%s %s", own.Title, own.Detail))
		all = append(all, own.Validation...)
	}
	for _, v := range all {
		if slices.Contains(v.Location, "request") {
			lines = append(lines, fmt.Sprintf("%s: %s", strings.Join(v.Location, "."), v.Message))
		}
	}
	return lines
}
