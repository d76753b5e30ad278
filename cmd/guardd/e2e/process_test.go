package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"guard/daemon/client"
	"guard/daemon/wire"
	"guard/providers/aws/mototest"
	"guard/store"
	"guard/store/bolt"
)

func TestMain(m *testing.M) { os.Exit(main(m)) }

func main(m *testing.M) int {
	// The stories wait for deadlines and proofs: as many at a time as there are
	// processors would take a quarter of an hour.
	flag.Parse()
	if err := flag.Set("test.parallel", "24"); err != nil {
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

// patience is how long anything may take; proof alone takes half a minute.
const patience = 4 * time.Minute

// guardd is one daemon, run as a process of its own, with a directory for what it
// reads and writes.
type guardd struct {
	t    *testing.T
	bin  string
	dir  string
	api  *client.Client
	in   []string // a command that the daemon is started through; empty: none
	run  *exec.Cmd
	over chan error // how the process ended
	log  *locked
}

// unpack makes the directory of a daemon and starts nothing.
func unpack(t *testing.T) *guardd {
	t.Helper()
	// A Unix socket's path is short.
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	g := &guardd{t: t, bin: binaries(t), dir: dir, log: &locked{}}
	if g.api, err = client.New(client.Options{Addr: g.addr()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.kill()
		if t.Failed() {
			t.Logf("guardd said:\n%s", g.log.tail())
		}
	})
	return g
}

func (g *guardd) addr() string { return "unix:" + g.dir + "/guard.sock" }

func (g *guardd) write(name, content string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(content), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// command is guardd with a verb, on the directory's configuration.
func (g *guardd) command(verb string, args ...string) *exec.Cmd {
	line := append(append([]string{}, g.in...), filepath.Join(g.bin, "guardd"), verb, "--config", filepath.Join(g.dir, "guard.yaml"))
	line = append(line, args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(mototest.Environment(g.t), "GUARD_TEST_KEY=AKIAIOSFODNN7EXAMPLE", "GUARD_TEST_SECRET=moto", "GUARD_TEST_TOKEN="+slackToken)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// exec starts guardd and does not wait for it to answer.
func (g *guardd) exec() {
	g.t.Helper()
	cmd := g.command("serve")
	cmd.Stdout, cmd.Stderr = g.log, g.log
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	g.run, g.over = cmd, over
}

// start starts guardd and waits until it answers.
func (g *guardd) start() {
	g.t.Helper()
	g.exec()
	g.within(5*time.Millisecond, "guardd answers", func() bool {
		_, err := g.api.Health(context.Background())
		return err == nil
	})
}

// refused starts guardd, which must give up by itself, and returns what it says
// and its exit status.
func (g *guardd) refused(verb string, args ...string) (string, int) {
	g.t.Helper()
	cmd := g.command(verb, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		g.t.Fatal(err)
	}
	return said.String(), cmd.ProcessState.ExitCode()
}

// kill ends guardd as a power cut would.
func (g *guardd) kill() {
	if g.run == nil {
		return
	}
	_ = g.run.Process.Kill() // it may be dead already
	<-g.over
	g.run = nil
}

// stop asks guardd to end, as systemd does.
func (g *guardd) stop() {
	g.t.Helper()
	if err := g.run.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	if err := <-g.over; err != nil {
		g.t.Errorf("guardd stopped with %v", err)
	}
	g.run = nil
}

// cli runs the CLI and returns its output and exit status.
func (g *guardd) cli(args ...string) (string, int, error) {
	cmd := exec.Command(filepath.Join(g.bin, "guard"), append([]string{"--addr", g.addr()}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+g.dir) // what is kept is not the user's
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.String() + errOut.String(), exit.ExitCode(), nil
	}
	return out.String(), 0, err
}

// try runs the CLI and returns its output and exit status.
func (g *guardd) try(args ...string) (string, int) {
	g.t.Helper()
	out, code, err := g.cli(args...)
	if err != nil {
		g.t.Fatal(err)
	}
	return out, code
}

// guard runs the CLI, which must succeed.
func (g *guardd) guard(args ...string) string {
	g.t.Helper()
	out, code := g.try(args...)
	if code != 0 {
		g.t.Fatalf("guard %v: exit %d: %s", args, code, out)
	}
	return out
}

// json runs the CLI with -o json and decodes what it prints; false where it
// fails.
func (g *guardd) json(out any, args ...string) bool {
	g.t.Helper()
	text, code := g.try(append(args, "-o", "json")...)
	if code != 0 {
		return false
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		g.t.Fatalf("guard %v: %v in %.300s", args, err, text)
	}
	return true
}

func (g *guardd) show(id string) wire.Show {
	g.t.Helper()
	var s wire.Show
	g.json(&s, "show", "research/"+id)
	return s
}

// release is the state of the last release of an instance; "" where there is none.
func (g *guardd) release(id string) string {
	g.t.Helper()
	if r := g.show(id).Release; r != nil {
		return r.State
	}
	return ""
}

func (g *guardd) seen(id string) {
	g.t.Helper()
	g.until(id+" is seen", func() bool { return g.show(id).Item.State == "running" })
}

// until waits for a condition, asking four times a second.
func (g *guardd) until(what string, condition func() bool) {
	g.t.Helper()
	g.within(250*time.Millisecond, what, condition)
}

// within waits for a condition, asking once in each interval.
func (g *guardd) within(interval time.Duration, what string, condition func() bool) {
	g.t.Helper()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case err := <-g.over:
			g.over <- err
			g.t.Fatalf("waiting until %s: guardd ended: %v", what, err)
		case <-deadline:
			g.t.Fatalf("still not after %s: %s", patience, what)
		}
	}
}

// whole opens a copy of the ledger's file, proves that nothing in it is half
// done, and lets fn read it.
func (g *guardd) whole(fn func(v *store.View) error) {
	g.t.Helper()
	g.wholeAt(filepath.Join(g.dir, "ledger.db"), fn)
}

func (g *guardd) wholeAt(path string, fn func(v *store.View) error) {
	g.t.Helper()
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return // killed before it made one
	}
	if err != nil {
		g.t.Fatal(err)
	}
	if err := examine(filepath.Join(g.t.TempDir(), "copy.db"), content, fn); err != nil {
		g.t.Errorf("the ledger: %v", err)
	}
}

func examine(path string, content []byte, fn func(v *store.View) error) error {
	ctx := context.Background()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	b, err := bolt.Open(ctx, path, bolt.Options{})
	if err != nil {
		return err
	}
	l, err := store.Open(ctx, b, now())
	if err != nil {
		return errors.Join(err, b.Close())
	}
	return errors.Join(l.Check(ctx), l.View(ctx, fn), l.Close())
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

// tail is the end of what was written, as much as a person reads.
func (l *locked) tail() string {
	const most = 20_000
	s := l.String()
	return s[max(0, len(s)-most):]
}
