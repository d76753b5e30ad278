package ssh

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"guard"
	"guard/providers"
)

// box is a real sshd on a loopback port, whose users find a nvidia-smi of ours first.
type box struct {
	addr, port string
	folder     string
	user       string
	hostKey    ssh.PublicKey
	key        string // the path of the user's private key
}

// smi is what the box's nvidia-smi does, in sh.
func (b *box) smi(t *testing.T, script string) {
	t.Helper()
	write(t, filepath.Join(b.folder, "bin", "nvidia-smi"), "#!/bin/sh\n"+script+"\n", 0o755)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// works is an nvidia-smi of 8 GPUs.
func (b *box) works(t *testing.T) string {
	t.Helper()
	xml, err := filepath.Abs(filepath.Join("testdata", "eight.xml"))
	if err != nil {
		t.Fatal(err)
	}
	return "cat '" + xml + "'"
}

// newKey makes a key pair and writes the private half to a file.
func newKey(t *testing.T, path string) ssh.PublicKey {
	t.Helper()
	pub, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(pem.EncodeToMemory(block)), 0o600)
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// start runs sshd; the test is skipped where there is none, and in CI fails.
func start(t *testing.T) *box {
	t.Helper()
	sshd := "/usr/sbin/sshd" // it wants to be called by its whole path
	if _, err := os.Stat(sshd); err != nil {
		if os.Getenv("GUARD_E2E") == "require" {
			t.Fatal("there is no /usr/sbin/sshd: apt-get install openssh-server")
		}
		t.Skip("there is no /usr/sbin/sshd to try it against: apt-get install openssh-server")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" { // sshd of root wants this folder
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := &box{folder: t.TempDir(), user: me.Username}
	b.key = filepath.Join(b.folder, "id")
	b.hostKey = newKey(t, filepath.Join(b.folder, "host"))
	write(t, filepath.Join(b.folder, "authorized"), string(ssh.MarshalAuthorizedKey(newKey(t, b.key))), 0o600)
	if err := os.Mkdir(filepath.Join(b.folder, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.smi(t, b.works(t))
	for range 5 { // another process may have taken the port meanwhile
		if b.serve(t, sshd) {
			return b
		}
	}
	t.Fatal("sshd does not listen")
	return nil
}

// serve runs sshd on a port that is free. It is false where it ended before it listened.
func (b *box) serve(t *testing.T, sshd string) bool {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.addr = l.Addr().String()
	_, b.port, _ = net.SplitHostPort(b.addr)
	l.Close()
	write(t, filepath.Join(b.folder, "config"), fmt.Sprintf(`ListenAddress %s
HostKey "%s"
AuthorizedKeysFile "%s"
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
SetEnv "PATH=%s:/usr/bin:/bin"
`, b.addr, filepath.Join(b.folder, "host"), filepath.Join(b.folder, "authorized"), filepath.Join(b.folder, "bin")), 0o600)
	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(b.folder, "config"))
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	up, ended := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if strings.HasPrefix(lines.Text(), "Server listening on ") {
				up <- true
			}
		}
		_ = cmd.Wait()
		close(up)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("sshd says:\n%s", log.String())
		}
	})
	return <-up
}

// config reaches the box; its key is known.
func (b *box) config(t *testing.T) Config {
	t.Helper()
	return Config{User: b.user, Key: Key{b.key}, KnownHosts: b.known(t, knownhosts.Line([]string{b.addr}, b.hostKey)), Hosts: map[string]string{"lab/i-1": b.addr}}
}

func (b *box) known(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "known_hosts")
	write(t, path, strings.Join(lines, "\n")+"\n", 0o600)
	return path
}

func source(t *testing.T, c Config) *Source {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var noon = time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)

func ask(t *testing.T, s *Source, at time.Time) providers.Signals {
	t.Helper()
	ids := []guard.ResourceID{{Account: "lab", Kind: guard.Instance, ID: "i-0"}, {Account: "lab", Kind: guard.Instance, ID: "i-1"}}
	q := providers.SignalQuery{}
	for _, id := range ids {
		q.Of = append(q.Of, providers.SignalsOf{Resource: guard.Resource{ID: id}, Since: at.Add(-time.Minute)})
	}
	got := s.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: at}), q)
	if len(got) != 2 || got[0].Err != nil || got[0].Samples != nil {
		t.Fatalf("one without a host: %+v", got)
	}
	return got[1]
}

func TestRealServer(t *testing.T) {
	b := start(t)
	s := source(t, b.config(t))
	got := ask(t, s, noon)
	if got.Err != nil || len(got.Samples) != 1 {
		t.Fatalf("got %+v", got)
	}
	x := got.Samples[0]
	if !x.At.Equal(noon) || x.Source != "ssh" || x.Basis != guard.Instantaneous || x.Interval != time.Minute {
		t.Errorf("got %+v", x)
	}
	if len(x.GPUs) != 8 || x.GPUs[0].Util != guard.Known(97) || x.Processes != guard.Known(2) {
		t.Errorf("GPUs: %+v, processes %v", x.GPUs, x.Processes)
	}
	for _, p := range x.GPUProcesses {
		if p.PID != 1 && p.Alive == guard.Yes {
			t.Errorf("a process that is not there lives: %+v", p)
		}
	}
	if x.Boot == "" || !x.Cores.OK || x.CPUCores.OK {
		t.Errorf("the machine: boot %q, cores %v, rate %v", x.Boot, x.Cores, x.CPUCores)
	}
	if !x.Sessions.OK {
		t.Errorf("no word of terminals: %+v", x)
	}
	x = ask(t, s, noon.Add(30*time.Second)).Samples[0]
	if !x.CPUCores.OK || x.Interval != 30*time.Second {
		t.Errorf("the second reading has no rate: %+v", x)
	}
}

// A host whose key is not the known one gets nothing from guard and tells it nothing.
func TestHostKeys(t *testing.T) {
	b := start(t)
	b.smi(t, "touch '"+filepath.Join(b.folder, "ran")+"'; "+b.works(t))
	other := newKey(t, filepath.Join(b.folder, "other"))
	for name, c := range map[string]struct {
		lines []string
		says  []string
	}{
		"unknown": {[]string{knownhosts.Line([]string{"10.9.9.9"}, b.hostKey)}, []string{"is not in known_hosts", "ssh-keyscan -p " + b.port, ssh.FingerprintSHA256(b.hostKey)}},
		"changed": {[]string{"# a line", knownhosts.Line([]string{b.addr}, other)}, []string{"has CHANGED", "line 2"}},
		"revoked": {[]string{"@revoked * " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(b.hostKey))), knownhosts.Line([]string{b.addr}, b.hostKey)}, []string{"revoked"}},
	} {
		cfg := b.config(t)
		cfg.KnownHosts = b.known(t, c.lines...)
		got := ask(t, source(t, cfg), noon)
		if !errors.Is(got.Err, guard.ErrRefused) || len(got.Samples) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
		for _, text := range c.says {
			if !strings.Contains(fmt.Sprint(got.Err), text) {
				t.Errorf("%s: %v, want it to say %q", name, got.Err, text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(b.folder, "ran")); err == nil {
		t.Error("the command ran on a host that is not known")
	}
	// A key of another kind beside the right one does not hide it.
	cfg := b.config(t)
	cfg.KnownHosts = b.known(t, knownhosts.Line([]string{b.addr}, rsaKey(t)), knownhosts.Line([]string{b.addr}, b.hostKey))
	if got := ask(t, source(t, cfg), noon); got.Err != nil {
		t.Errorf("two kinds of key known: %v", got.Err)
	}
}

func rsaKey(t *testing.T) ssh.PublicKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestNotLetIn(t *testing.T) {
	b := start(t)
	cfg := b.config(t)
	cfg.Key.File = filepath.Join(b.folder, "stranger")
	newKey(t, cfg.Key.File)
	if got := ask(t, source(t, cfg), noon); !errors.Is(got.Err, guard.ErrPermission) || !strings.Contains(got.Err.Error(), "authorized_keys") {
		t.Errorf("got %+v", got)
	}
}

func TestTroubleThere(t *testing.T) {
	b := start(t)
	s := source(t, b.config(t))
	// A driver that fails takes the GPUs with it, and nothing else.
	b.smi(t, "echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'; exit 9")
	got := ask(t, s, noon)
	if !errors.Is(got.Err, guard.ErrBadReply) || len(got.Samples) != 1 || got.Samples[0].GPUs != nil || got.Samples[0].Processes.OK || !got.Samples[0].Cores.OK {
		t.Errorf("a driver that fails: %+v", got)
	}
	b.smi(t, "head -c 6000000 /dev/zero")
	if got := ask(t, s, noon); !errors.Is(got.Err, guard.ErrBadReply) || len(got.Samples) > 0 || !strings.Contains(got.Err.Error(), "more than 4 MiB") {
		t.Errorf("too much: %v", got.Err)
	}
	if err := os.Remove(filepath.Join(b.folder, "bin", "nvidia-smi")); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("nvidia-smi"); err != nil {
		if got := ask(t, s, noon); !errors.Is(got.Err, guard.ErrNotFound) || len(got.Samples) != 1 {
			t.Errorf("no nvidia-smi: %+v", got)
		}
	}
	for command, kind := range map[string]error{
		"cat /proc/stat": guard.ErrBadReply, "exit 3": guard.ErrBadReply, "echo '==guard end'": guard.ErrNotFound,
	} {
		cfg := b.config(t)
		cfg.Command = command
		if got := ask(t, source(t, cfg), noon); !errors.Is(got.Err, kind) || len(got.Samples) > 0 {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestCancelled(t *testing.T) {
	b := start(t)
	b.smi(t, "touch '"+filepath.Join(b.folder, "began")+"'; sleep 60")
	s := source(t, b.config(t))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range 500 {
			if _, err := os.Stat(filepath.Join(b.folder, "began")); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
	}()
	id := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}
	got := s.Signals(ctx, providers.SignalQuery{Of: []providers.SignalsOf{{Resource: guard.Resource{ID: id}}}})
	if !errors.Is(got[0].Err, context.Canceled) || len(got[0].Samples) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestNobodyThere(t *testing.T) {
	folder := t.TempDir()
	key := newKey(t, filepath.Join(folder, "id"))
	write(t, filepath.Join(folder, "known"), knownhosts.Line([]string{"127.0.0.1"}, key)+"\n", 0o600)
	cfg := Config{User: "guard", Key: Key{filepath.Join(folder, "id")}, KnownHosts: filepath.Join(folder, "known"), Hosts: map[string]string{"lab/i-1": "127.0.0.1:1"}}
	if got := ask(t, source(t, cfg), noon); !errors.Is(got.Err, guard.ErrUnavailable) || !strings.Contains(got.Err.Error(), "nobody listens at 127.0.0.1:1") {
		t.Errorf("got %+v", got)
	}
}

func TestNewRefuses(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "known"), "", 0o600)
	newKey(t, filepath.Join(folder, "id"))
	_, private, _ := ed25519.GenerateKey(rand.Reader)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "locked"), string(pem.EncodeToMemory(block)), 0o600)
	write(t, filepath.Join(folder, "words"), "hello\n", 0o600)
	for name, c := range map[string]struct{ key, known, says string }{
		"no key":         {"none", "known", "key: the file cannot be read"},
		"a passphrase":   {"locked", "known", "passphrase"},
		"no key in it":   {"words", "known", "no private key"},
		"no known_hosts": {"id", "none", "known_hosts: the file does not exist"},
		"no such file":   {"id", "words", "known_hosts: the file cannot be read"},
	} {
		_, err := New(Config{Key: Key{filepath.Join(folder, c.key)}, KnownHosts: filepath.Join(folder, c.known)})
		if !errors.Is(err, guard.ErrInvalid) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	found := func(c Config) string {
		var out []string
		c.Check(func(key, _ string) { out = append(out, key) })
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	if got, want := found(Config{}), "hosts key known_hosts user"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	hosts := map[string]string{"a": "10.0.0.1", "b": "10.0.0.1:22", "c": "box.example.com:2222", "d": "[2001:db8::1]:22", "e": "::1"}
	if got := found(Config{User: "u", Key: Key{"k"}, KnownHosts: "h", Hosts: hosts}); got != "" {
		t.Errorf("found %q", got)
	}
	for _, bad := range []string{"", "root@box", "box:ssh", "a b", ":22"} {
		if got := found(Config{User: "u", Key: Key{"k"}, KnownHosts: "h", Hosts: map[string]string{"x": bad}}); got != "hosts.x" {
			t.Errorf("%q: found %q", bad, got)
		}
	}
}
