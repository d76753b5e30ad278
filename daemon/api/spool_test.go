package api_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/providers/fake"
)

// spoolBench is a folder of registrations that waited, and the loop that carries
// them out.
type spoolBench struct {
	*bench
	dir  string
	loop *api.Spool
}

func newSpoolBench(t *testing.T) *spoolBench {
	b := newBench(t)
	dir := t.TempDir()
	return &spoolBench{b, dir, api.NewSpool(b.o, dir)}
}

func (b *spoolBench) write(name, text string, mode os.FileMode) string {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		b.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		b.Fatal(err)
	}
	return path
}

func (b *spoolBench) kept(n int, r wire.RegisterRequest) string {
	b.Helper()
	if r.AskedAt == nil {
		at := b.at.Wall.Add(-time.Hour)
		r.AskedAt = &at
	}
	if r.Key == "" {
		r.Key = fmt.Sprint(key, n)
	}
	text, err := json.Marshal(wire.Spooled{Version: wire.SpoolVersion, Request: r})
	if err != nil {
		b.Fatal(err)
	}
	return b.write(fmt.Sprintf("%d-x.json", n), string(text), 0o600)
}

func (b *spoolBench) run() {
	b.Helper()
	next, err := b.loop.Once(b.Context(), b.at)
	if err != nil || !b.at.Before(next) {
		b.Fatalf("next run at %v: %v", next, err)
	}
}

func (b *spoolBench) files() string {
	b.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		b.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestSpool: what waits is carried out once, as the one who owns the file, and a
// time to live counts from when it was typed.
func TestSpool(t *testing.T) {
	b := newSpoolBench(t)
	me, err := user.Current()
	if err != nil {
		t.Skip("nobody knows who this is: ", err)
	}
	b.kept(1, wire.RegisterRequest{ID: "lab/i-1", Purpose: "first", TTL: "10h"})
	b.kept(2, wire.RegisterRequest{ID: "lab/i-1", Purpose: "second"})
	b.write("notes.txt", "not ours", 0o644)
	b.run()
	l, _ := b.lease("i-1")
	if l.Owner != me.Username || l.Purpose != "second" || l.ExpiresAt.Sub(b.at.Wall) != 9*time.Hour {
		t.Errorf("%+v", l)
	}
	if got := b.files(); got != "notes.txt" {
		t.Errorf("left: %q", got)
	}
	// A crash between the deed and the removal: the file is there again.
	b.pass(time.Minute)
	b.bench.register(me.Username, wire.RegisterRequest{ID: "lab/i-1", Purpose: "third"})
	b.kept(1, wire.RegisterRequest{ID: "lab/i-1", Purpose: "first", TTL: "10h"})
	b.run()
	if l, _ := b.lease("i-1"); l.Purpose != "third" {
		t.Errorf("it undid what came after it: %+v", l)
	}
	if got := b.files(); got != "notes.txt" {
		t.Errorf("left: %q", got)
	}
}

// TestSpoolRefused: what cannot be carried out stays, with the reason; what may be
// possible later waits.
func TestSpoolRefused(t *testing.T) {
	b := newSpoolBench(t)
	b.kept(1, wire.RegisterRequest{ID: "lab/i-1", TTL: "10m"}) // over by now
	b.kept(2, wire.RegisterRequest{ID: "lab/i-77", TTL: "10h"})
	b.write("3-x.json", "{", 0o600)
	b.write("4-x.json", `{"version":9,"request":{"id":"lab/i-1"}}`, 0o600)
	b.write("5-x.json", `{}`, 0o666)
	b.write("6-x.json", strings.Repeat(" ", wire.MostSpooled+1), 0o600)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]func(string, string) error{"7-x.json": os.Symlink, "8-x.json": os.Link, "2-x.why": os.Symlink} {
		if err := link(secret, filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(b.dir, "9-x.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.run()
	for n, words := range map[int]string{1: "when it was typed", 2: "not there", 3: "cannot be read", 4: "another version", 5: "plain file", 6: "plain file", 7: "a link", 8: "plain file", 9: "plain file"} {
		why, err := os.ReadFile(filepath.Join(b.dir, fmt.Sprintf("%d-x.why", n)))
		if err != nil || !strings.Contains(string(why), words) {
			t.Errorf("%d: %q says nothing of %q: %v", n, why, words, err)
		}
		if _, err := os.Lstat(filepath.Join(b.dir, fmt.Sprintf("%d-x.failed", n))); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "{}" {
		t.Errorf("what a link pointed to is now %q: %v", text, err)
	}
	if _, ok := b.lease("i-1"); ok {
		t.Error("something was registered")
	}
	before := b.files()
	b.run()
	if after := b.files(); after != before {
		t.Errorf("a second run made of %q %q", before, after)
	}
}

func TestSpoolWaits(t *testing.T) {
	b := newSpoolBench(t)
	b.kept(1, wire.RegisterRequest{ID: "lab/i-1", TTL: "10h"})
	b.cloud.Fault(fake.Fault{Call: fake.CallGet, Reply: fake.Reply{Status: 503}})
	b.run()
	if got := b.files(); got != "1-x.json" {
		t.Fatalf("while the cloud is away: %q", got)
	}
	b.cloud.ClearFaults()
	b.run()
	if l, ok := b.lease("i-1"); !ok || b.files() != "" {
		t.Errorf("%+v, left %q", l, b.files())
	}
}

func TestSpoolWithoutAFolder(t *testing.T) {
	b := newBench(t)
	if _, err := api.NewSpool(b.o, filepath.Join(t.TempDir(), "none")).Once(t.Context(), b.at); err != nil {
		t.Error(err)
	}
}
