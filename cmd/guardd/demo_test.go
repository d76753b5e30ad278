package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"guard/cmd/guard/cli"
)

// screen is what people see, while it is written.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// TestDemo plays the demo's hour in a second, and then tries guard on the daemon
// that goes on, as the demo invites people to.
func TestDemo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out screen
	ended := make(chan error, 1)
	go func() { ended <- demo(ctx, &out, 3600, false) }()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(out.String(), "Ctrl-C ends it."); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("the demo ended: %v\n%s", err, out.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the story does not end:\n%s", out.String())
		}
	}
	for _, want := range []string{"nobody registered it", `$ guard register lab/trainer --purpose "lora 70b"`, "── 00:14 ── ana goes home", "released, with proof", "All went as told"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not show %q:\n%s", want, out.String())
		}
	}
	addr := regexp.MustCompile(`unix:\S+`).FindString(out.String())
	for _, c := range []struct{ line, want string }{
		{"ls", "lab/stray"},
		{"register lab/stray --purpose vllm --ttl 2h", "registered lab/stray"},
		{"release lab/stray", "release"},
		{"status", "lab"},
	} {
		var said bytes.Buffer
		if status := cli.Run(ctx, cli.IO{Out: &said, Err: &said}, append([]string{"--addr", addr}, strings.Fields(c.line)...)...); status != 0 || !strings.Contains(said.String(), c.want) {
			t.Errorf("guard %s: status %d\n%s", c.line, status, said.String())
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
