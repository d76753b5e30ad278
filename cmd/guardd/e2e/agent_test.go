package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"guard"
	"guard/daemon/wire"
)

const fakeSMI = `#!/bin/sh
case "$1" in
--query-gpu=*) while :; do echo "0, 37, 40123, 81559, 123.50, 700.00, Disabled"; sleep 0.2; done ;;
--query-compute-apps=*) echo "1, 40000" ;;
*) exit 1 ;;
esac
`

// onBox is a box of the cloud with what runs on it: its own token, a folder, and an
// nvidia-smi.
type onBox struct {
	*guardd
	id    string
	token string
	said  *locked
}

func (g *guardd) onBox(c *cloud) *onBox {
	g.t.Helper()
	b := &onBox{guardd: g, id: "research/" + c.run(), said: &locked{}}
	g.until("guard knows the box", func() bool {
		_, code := g.try("register", b.id, "--purpose", "lora", "--ttl", "10h")
		return code == 0
	})
	b.token = strings.TrimSpace(strings.SplitN(g.guard("token", "create", "trainer", "--role", "operator", "--scope", b.id), "\n", 2)[0])
	g.write("box.token", b.token)
	if err := os.MkdirAll(filepath.Join(g.dir, "bin"), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.dir, "bin", "nvidia-smi"), []byte(fakeSMI), 0o755); err != nil {
		g.t.Fatal(err)
	}
	return b
}

// runs is guard on the box.
func (b *onBox) runs(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(b.bin, "guard"), args...)
	cmd.Env = append(os.Environ(), "GUARD_ADDR="+b.addr(), "GUARD_TOKEN_FILE="+filepath.Join(b.dir, "box.token"), "GUARD_RESOURCE="+b.id,
		"GUARD_RUN_DIR="+filepath.Join(b.dir, "run"), "STATE_DIRECTORY="+filepath.Join(b.dir, "state"),
		"PATH="+filepath.Join(b.dir, "bin")+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+b.dir)
	cmd.Stdout, cmd.Stderr = b.said, b.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// agent starts one, and returns what ends it.
func (b *onBox) agent() (end func(syscall.Signal)) {
	b.t.Helper()
	cmd := b.runs("agent", "--every", "1s", "--fuse", "6h", "--fuse-dry-run")
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { _ = cmd.Wait(); close(over) }()
	end = func(s syscall.Signal) { _ = cmd.Process.Signal(s); <-over }
	b.t.Cleanup(func() { end(syscall.SIGKILL) })
	return end
}

// status is what guardd tells of the agent; nil where it knows none.
func (b *onBox) status() *wire.AgentStatus {
	var s wire.Show
	if !b.json(&s, "show", b.id) {
		return nil
	}
	return s.Agent
}

func (b *onBox) waiting() int {
	text, err := os.ReadFile(filepath.Join(b.dir, "state", "samples.jsonl"))
	if err != nil {
		return 0
	}
	return bytes.Count(text, []byte("\n"))
}

// TestAgent: a real agent on a box, while guardd is killed and comes back, and while it is
// killed itself: what waited comes, nothing is lost, and the token is told nowhere. Then a
// job on the box ends, and the box with it.
func TestAgent(t *testing.T) {
	t.Parallel()
	c, w, g := newCloud(t), newWorkspace(t), unpack(t)
	g.watch(guard.Enforce, filepath.Join(g.dir, "ledger.db"), c, w)
	g.start()
	b := g.onBox(c)
	end := b.agent()
	g.until("guardd hears the agent", func() bool { s := b.status(); return s != nil && s.Fuse != nil && s.Fuse.State == "armed" })
	g.kill()
	g.until("samples wait", func() bool { return b.waiting() >= 4 })
	end(syscall.SIGKILL)
	kept := b.waiting()
	end = b.agent()
	g.until("more samples wait", func() bool { return b.waiting() > kept+2 })
	g.start()
	g.until("all of them have come", func() bool { s := b.status(); return s != nil && s.Waiting == 0 && b.waiting() == 0 })
	if s := b.status(); s.Lost != 0 || s.Unusable != 0 || s.Future != 0 || s.Skew != 0 {
		t.Errorf("%+v", s)
	}
	job := b.runs("run", "--then", "release", "--", "sh", "-c", "echo it works; exit 3")
	if err := job.Run(); job.ProcessState.ExitCode() != 3 {
		t.Errorf("the job: %v", err)
	}
	_, id, _ := strings.Cut(b.id, "/")
	g.until("the box is ended", func() bool { return !c.alive(id) })
	end(syscall.SIGTERM)
	said := b.said.String() + g.log.String()
	if _, secret, _ := strings.Cut(b.token, "."); secret == "" || strings.Contains(said, secret) || !strings.Contains(said, "it works") {
		t.Errorf("the token was told, or nothing was: %s", said)
	}
}
