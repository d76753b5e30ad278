package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"guard/daemon/wire"
	"guard/providers/aws/mototest"
)

func TestMain(m *testing.M) { os.Exit(main(m)) }

func main(m *testing.M) int {
	// The stories wait for deadlines and proofs: as many at a time as there are
	// processors would take a quarter of an hour.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	defer func() {
		if bin != "" {
			os.RemoveAll(bin)
		}
	}()
	return mototest.Main(m)
}

var (
	buildOnce sync.Once
	errBuild  error
	bin       string // the folder of the built binaries
)

// binaries builds guardd and guard as they ship, once.
func binaries(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() {
		if bin, errBuild = os.MkdirTemp("", "guard-bin"); errBuild != nil {
			return
		}
		for _, name := range []string{"guardd", "guard"} {
			cmd := exec.Command("go", "build", "-o", filepath.Join(bin, name), "guard/cmd/"+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				errBuild = fmt.Errorf("build %s: %w\n%s", name, err, out)
				return
			}
		}
	})
	if errBuild != nil {
		t.Fatal(errBuild)
	}
	return bin
}

// house is one guardd with its ledger, watching some regions of the server
// through a proxy of its own.
type house struct {
	t       *testing.T
	moto    *mototest.Server
	proxy   *mototest.Proxy
	bin     string
	dir     string
	regions []string
	daemon  *exec.Cmd
	ended   chan error
	log     *locked
}

// prices make a g5.xlarge cost a dollar a second, so that a cap is crossed
// while a test waits.
const prices = `currency: USD
instances:
  - {type: g5.xlarge, rate: {amount: "3600", per: hour}}
  - {type: p4d.24xlarge, rate: {amount: "32.77", per: hour}}
volumes:
  - {type: gp2, rate: {amount: "0.10", per: gb_month}}
  - {type: gp3, rate: {amount: "0.08", per: gb_month}}
`

const configuration = `mode: enforce
ledger: bolt:%[1]s/ledger.db
listen: unix:%[1]s/guard.sock
accounts:
  - name: research
    provider: aws
    poll: %[4]s
    sweep: 5s
    prices: %[1]s/prices.yaml
    aws:
      endpoint: %[2]s
      regions: [%[3]s]
      access_key_id: {env: GUARD_TEST_KEY}
      secret_access_key: {env: GUARD_TEST_SECRET}
defaults: {grace: 1s}
rules:
  unregistered: {after: 1s}
  orphan_volume: {after: 1s}
`

// moveIn starts a guardd that watches the regions.
func moveIn(t *testing.T, moto *mototest.Server, regions ...string) *house {
	t.Helper()
	h := build(t, moto, "2s", regions...)
	h.start()
	return h
}

// build makes ready all that a guardd needs, and starts none.
func build(t *testing.T, moto *mototest.Server, poll string, regions ...string) *house {
	t.Helper()
	// A Unix socket's path is short.
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, moto: moto, proxy: mototest.NewProxy(t, moto), bin: binaries(t), dir: dir, regions: regions, log: &locked{}}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h.write("prices.yaml", prices)
	h.write("guard.yaml", fmt.Sprintf(configuration, dir, h.proxy.URL, strings.Join(regions, ", "), poll))
	t.Cleanup(func() {
		h.kill()
		if t.Failed() {
			t.Logf("calls: %v\nguardd said:\n%s", h.proxy.Actions(), h.log)
		}
	})
	return h
}

func (h *house) write(name, content string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// start starts guardd and waits until it answers.
func (h *house) start() {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(h.bin, "guardd"), "serve", "--config", filepath.Join(h.dir, "guard.yaml"))
	cmd.Env = append(mototest.Environment(h.t), "GUARD_TEST_KEY=AKIAIOSFODNN7EXAMPLE", "GUARD_TEST_SECRET=moto")
	cmd.Stdout, cmd.Stderr = h.log, h.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	h.daemon, h.ended = cmd, ended
	h.until("guardd answers", func() bool { _, code := h.try("version"); return code == 0 && h.socket() })
}

func (h *house) socket() bool {
	_, code := h.try("ls")
	return code == 0
}

// kill ends guardd as a power cut would.
func (h *house) kill() {
	if h.daemon == nil {
		return
	}
	_ = h.daemon.Process.Kill() // it may be dead already
	<-h.ended
	h.daemon = nil
}

// stop asks guardd to end, as systemd does.
func (h *house) stop() {
	h.t.Helper()
	if err := h.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		h.t.Fatal(err)
	}
	if err := <-h.ended; err != nil {
		h.t.Errorf("guardd stopped with %v", err)
	}
	h.daemon = nil
}

// try runs the CLI and returns its output and exit status.
func (h *house) try(args ...string) (string, int) {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(h.bin, "guard"), append([]string{"--addr", "unix:" + h.dir + "/guard.sock"}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return out.String() + errOut.String(), exit.ExitCode()
	case err != nil:
		h.t.Fatal(err)
	}
	return out.String(), 0
}

// guard runs the CLI, which must succeed.
func (h *house) guard(args ...string) string {
	h.t.Helper()
	out, code := h.try(args...)
	if code != 0 {
		h.t.Fatalf("guard %v: exit %d: %s", args, code, out)
	}
	return out
}

// json runs the CLI with -o json and decodes what it prints; false where it
// fails.
func (h *house) json(out any, args ...string) bool {
	h.t.Helper()
	text, code := h.try(append(args, "-o", "json")...)
	if code != 0 {
		return false
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		h.t.Fatalf("guard %v: %v in %.300s", args, err, text)
	}
	return true
}

func (h *house) show(id string) wire.Show {
	h.t.Helper()
	var s wire.Show
	h.json(&s, "show", "research/"+id)
	return s
}

// release is the state of the last release of an instance; "" where there is none.
func (h *house) release(id string) string {
	h.t.Helper()
	if r := h.show(id).Release; r != nil {
		return r.State
	}
	return ""
}

// run makes instances in the first region and waits until guardd sees them.
func (h *house) run(kind string) string {
	h.t.Helper()
	var ids []string
	h.moto.Do(h.t, &ids, "run", h.regions[0], kind)
	h.seen(ids[0])
	return ids[0]
}

func (h *house) seen(id string) {
	h.t.Helper()
	h.until(id+" is seen", func() bool { return h.show(id).Item.State == "running" })
}

// patience is how long anything may take; proof alone takes half a minute.
const patience = 4 * time.Minute

// until waits for a condition, asking four times a second.
func (h *house) until(what string, condition func() bool) {
	h.t.Helper()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case err := <-h.ended:
			h.ended <- err
			h.t.Fatalf("waiting until %s: guardd ended: %v", what, err)
		case <-deadline:
			h.t.Fatalf("still not after %s: %s", patience, what)
		}
	}
}

// state is what the server itself says of an instance.
func (h *house) state(id string) string {
	h.t.Helper()
	var s string
	h.moto.Do(h.t, &s, "state", h.regions[0], id)
	return s
}

// released waits for the proven end of an instance and checks what must be true
// of every such end.
func (h *house) released(id string) wire.Show {
	h.t.Helper()
	h.until(id+" is released", func() bool { return h.release(id) == "released" })
	if s := h.state(id); s != "terminated" {
		h.t.Errorf("%s is released, and really %s", id, s)
	}
	s := h.show(id)
	if s.Item.State != "released" || s.Item.Billing != "no" || s.Release.Proof != "terminal state" || s.Release.EndedAt == nil {
		h.t.Errorf("%s ended as %+v, %+v", id, s.Item, s.Release)
	}
	return s
}

// terminated checks how often the server was asked to end an instance.
func (h *house) terminated(id string, times int) {
	h.t.Helper()
	if calls := h.proxy.Calls("TerminateInstances", id); len(calls) != times {
		h.t.Errorf("%s: %d terminate calls, want %d: %+v", id, len(calls), times, calls)
	}
}

// locked is a buffer that a process writes to while a test reads it.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
