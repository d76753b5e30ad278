package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

// hello is what a program's first lines do.
const hello = `#!/bin/sh
read line
echo '{"v":1,"id":1,"result":{"calls":["identity","list","get","release"],"truths":{"immutable_ids":true}}}'
`

// twice is hello with another line in the same breath.
func twice(line string) string {
	return strings.NewReplacer("echo", `printf '%b\n'`, "}}}'", `}}}\n`+line+"'").Replace(hello)
}

// program is an account behind a shell script.
func program(t testing.TB, script string, change func(*Config)) *Provider {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.sh")
	syscall.ForkLock.RLock()                         // a child of another test that has it open keeps it from being run
	err := os.WriteFile(file, []byte(script), 0o700) //nolint:gosec // it must be executable
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Command: []string{file}, Timeout: patience}
	if change != nil {
		change(&c)
	}
	all := &Programs{}
	t.Cleanup(all.Close)
	p, err := New(Options{Name: "box", Config: c, Programs: all})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var (
	list    = func(ctx context.Context, p *Provider) error { return listed(ctx, p).Err }
	release = func(ctx context.Context, p *Provider) error {
		return p.Release(ctx, guard.ResourceID{Account: "box", Kind: guard.Instance, Scope: "global", ID: "i-1"}, providers.ReleaseOptions{})
	}
)

func listed(ctx context.Context, p *Provider) providers.ScopeResult {
	inv, err := p.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance}})
	if err != nil || len(inv.Results) != 1 {
		return providers.ScopeResult{Err: err}
	}
	return inv.Results[0]
}

// patience is for what takes no time, but for the machine's.
const patience = time.Minute

// TestPrograms that do not do what they should: each is a clear word, within the call's
// time and little memory, and a release that got through to one is never taken for done.
func TestPrograms(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   string
		kind   error
		open   bool // a release may have been done
	}{
		"exits":                {hello + "read line; exit 3", "ended without an answer (exit status 3)", guard.ErrUnavailable, true},
		"exits at once":        {"#!/bin/sh\nexit 4", "ended without an answer (exit status 4)", guard.ErrUnavailable, false},
		"is killed":            {hello + "read line; kill -9 $$", "ended without an answer (signal: killed)", guard.ErrUnavailable, true},
		"ends in the middle":   {hello + `read line; printf '{"v":1,"id":2,"resu'`, "ended in the middle of an answer", guard.ErrUnavailable, true},
		"hangs":                {hello + "read line; sleep 600", "no answer within 200ms", guard.ErrUnavailable, true},
		"hangs at once":        {"#!/bin/sh\nsleep 600", "no answer within 200ms", guard.ErrUnavailable, false},
		"reads nothing":        {hello + "exec sleep 600", "no answer within 200ms", guard.ErrUnavailable, true},
		"forks and exits":      {hello + "read line; sleep 600 & exit 3", "ended without an answer (exit status 3), and something that it started", guard.ErrUnavailable, true},
		"forks away and exits": {hello + "read line; setsid sleep 5 & exit 3", "ended without an answer (exit status 3), and something that it started", guard.ErrUnavailable, true},
		"ends no line":         {hello + `read line; printf '{"v":1,"id":2,"result":{}}'; sleep 600`, "did not end its line within 3s", guard.ErrUnavailable, true},
		"prints garbage":       {hello + "read line; echo Traceback: boom", "no reply in JSON", guard.ErrBadReply, true},
		"prints a log":         {hello + "read line; echo; echo", "no reply in JSON", guard.ErrBadReply, true},
		"prints a gigabyte":    {hello + "read line; yes aaaaaaaaaaaaaaaaaaaaaaaa | tr -d '\\n'", "longer than 16 MiB", guard.ErrBadReply, true},
		"prints many lines":    {hello + "read line; yes", "no reply in JSON", guard.ErrBadReply, true},
		"prints over lines":    {hello + `read line; printf '{\n "v":1,"id":2,"result":{}}\n'`, "each of one line", guard.ErrBadReply, true},
		"prints nothing":       {hello + "read line; echo null", "no reply in JSON", guard.ErrBadReply, true},
		"answers another":      {hello + `read line; echo '{"v":1,"id":7,"result":{}}'`, "another request", guard.ErrBadReply, true},
		"answers twice":        {twice(`{"v":1,"id":1,"result":{}}`) + "read line", "one reply, in its turn", guard.ErrBadReply, false},
		"answers too early":    {twice(`{"v":1,"id":2,"error":{"kind":"not_found"}}`) + "read line", "one reply, in its turn", guard.ErrBadReply, false},
		"answers in words":     {hello + `read line; echo '{"v":1,"id":"2","result":{}}'`, "no id that is a number", guard.ErrBadReply, true},
		"speaks version 2":     {hello + `read line; echo '{"v":2,"id":2,"result":{}}'`, "version 2 of the protocol, and guard speaks version 1", guard.ErrBadReply, true},
		"has no version":       {hello + `read line; echo '{"id":2,"result":{}}'`, "no version of the protocol", guard.ErrBadReply, true},
		"says yes and no":      {hello + `read line; echo '{"v":1,"id":2,"result":{},"error":{"kind":"invalid"}}'; read line`, "both a result and an error", guard.ErrBadReply, true},
		"says neither":         {hello + `read line; echo '{"v":1,"id":2}'; read line`, "neither a result nor an error", guard.ErrBadReply, true},
		"has another kind":     {hello + `read line; echo '{"v":1,"id":2,"error":{"kind":"oops"}}'; read line`, "no kind that the protocol has", guard.ErrBadReply, true},
		"fails":                {hello + `read line; echo '{"v":1,"id":2,"error":{"kind":"permission"}}'; read line`, "credentials may not", guard.ErrPermission, false},
		"says nothing of it":   {hello + `read line; echo '{"v":1,"id":2,"result":{}}'; read line`, "", guard.ErrBadReply, true},
		"cannot list":          {"#!/bin/sh\nread line; echo '{\"v\":1,\"id\":1,\"result\":{\"calls\":[\"identity\"]}}'; read line", `no call "list"`, guard.ErrBadReply, false},
		"refuses hello":        {"#!/bin/sh\nread line; echo '{\"v\":1,\"id\":1,\"error\":{\"kind\":\"unsupported\"}}'; read line", "cannot do that", guard.ErrUnsupported, false},
		"is no program":        {"x", "cannot be started: it is no program", guard.ErrUnavailable, false},
		"has no interpreter":   {"#!/nowhere/sh\n", "cannot be started: there is no such file", guard.ErrUnavailable, false},
		"floods its stderr":    {hello + "read line; yes secret-of-mine >&2", "no answer within 200ms", guard.ErrUnavailable, true},
		"grumbles and exits":   {hello + "read line; echo secret-of-mine >&2; exit 1", "wrote 15 bytes to its standard error", guard.ErrUnavailable, true},
		"prints what it knows": {hello + "read line; echo secret-of-mine", "no reply in JSON", guard.ErrBadReply, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for call, ask := range map[string]func(context.Context, *Provider) error{"list": list, "release": release} {
				p := program(t, tt.script, nil)
				if strings.HasPrefix(tt.script, hello) { // which takes as long as the machine does
					if _, err := p.hello(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				switch {
				case strings.Contains(tt.want, "200ms"):
					p.timeout = 200 * time.Millisecond
				case strings.Contains(tt.want, "3s"), strings.Contains(tt.want, "it started"): // the program has to get so far
					p.timeout = 3 * time.Second
				}
				begun := time.Now()
				err := ask(t.Context(), p)
				if took := time.Since(begun); took >= patience {
					t.Errorf("%s took %s", call, took)
				}
				if !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.want) || strings.Contains(fmt.Sprint(err), "secret-of-mine") {
					t.Errorf("%s: %v; want %v: %s", call, err, tt.kind, tt.want)
				}
				if call == "release" && errors.Is(err, guard.ErrUncertain) != tt.open {
					t.Errorf("release: %v, want open %t", err, tt.open)
				}
			}
		})
	}
}

// TestAnAnswerBeforeItsRequest, printed while nobody asks, is not the answer to the next one.
func TestAnAnswerBeforeItsRequest(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	p := program(t, hello+`read line; echo '{"v":1,"id":2,"result":{"resources":[],"complete":true}}'
sleep 0.05; echo '{"v":1,"id":3,"result":{"accepted":true}}'; echo > '`+done+`'; read line; sleep 600`, nil)
	if err := list(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	written(t, done)
	if err := release(t.Context(), p); !errors.Is(err, guard.ErrBadReply) || errors.Is(err, guard.ErrUncertain) {
		t.Errorf("a release that was answered before it was asked for: %v", err)
	}
}

// written waits for a file of a program's.
func written(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not written", path)
		}
	}
}

// TestEnds: with a program goes all that it has started, on a time-out and at guardd's end,
// and nobody is left to be waited for.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	script := strings.Replace(hello, "read line", `cd '`+dir+`'; echo $$ > self
sh -c 'echo $$ > child; exec sleep 600' &
while [ ! -s child ]; do sleep 0.01; done
read line`, 1) + "read line; echo > asked; sleep 600"
	p := program(t, script, nil)
	if _, err := p.hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.timeout = 100 * time.Millisecond
	if err := list(t.Context(), p); !errors.Is(err, guard.ErrUnavailable) {
		t.Fatal(err)
	}
	allGone(t, dir)

	os.Remove(filepath.Join(dir, "asked"))
	p = program(t, script, nil)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- list(ctx, p) }()
	written(t, dir+"/asked")
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	allGone(t, dir)

	p = program(t, script, nil)
	if _, err := p.hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.all.Close()
	allGone(t, dir)
	if err := list(t.Context(), p); !errors.Is(err, guard.ErrUnavailable) {
		t.Errorf("after the end: %v", err)
	}
}

// TestIdle: a program that is asked nothing for a while is ended, and started again when it
// is asked.
func TestIdle(t *testing.T) {
	dir := t.TempDir()
	good := `while read line; do
  id=$(echo "$line" | sed 's/.*"id":\([0-9]*\),"call".*/\1/')
  echo '{"v":1,"id":'$id',"result":{"resources":[],"complete":true}}'
done
`
	p := program(t, strings.Replace(hello, "read line", "cd '"+dir+"'; echo $$ > self; cp self child; read line", 1)+good, nil)
	p.idle = 20 * time.Millisecond
	for range 2 {
		if err := list(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		allGone(t, dir)
	}
}

// allGone sees that the processes whose numbers are in files are gone, and forgets them.
func allGone(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("process groups are Linux's here")
	}
	for _, name := range []string{"self", "child"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, name))
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		for tried := 0; ; tried++ {
			state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || name == "child" && strings.Contains(string(state), ") Z ") && syscall.Kill(pid, 0) == nil {
				break // a grandchild is somebody else's to wait for
			}
			if tried == 6000 {
				t.Fatalf("%s, %d, is still there: %s", name, pid, state)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// TestStartsAgain: a program that ended is started again, at once for the first time, and
// then after a while.
func TestStartsAgain(t *testing.T) {
	dir := t.TempDir()
	count := "cd '" + dir + "'; echo >> starts\n"
	good := `read line; echo '{"v":1,"id":2,"result":{"resources":[],"complete":true}}'`
	p := program(t, hello+count+"[ $(wc -l < starts) = 2 ] || exit 1\n"+good+"\n", nil)
	at := guard.Instant{Wall: time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC), Elapsed: time.Hour}
	ctx := func() context.Context { return guard.WithInstant(t.Context(), at) }
	if err := list(ctx(), p); err != nil {
		t.Fatalf("it did better the second time: %v", err)
	}

	p = program(t, hello+count+"exit 1\n", nil)
	waits := []time.Duration{}
	for range 8 {
		err := list(ctx(), p)
		wait, _ := guard.RetryAfter(err)
		if !errors.Is(err, guard.ErrUnavailable) || wait > 0 && !strings.Contains(err.Error(), "exit status 1") {
			t.Fatal(err)
		}
		waits = append(waits, wait)
		at = at.Add(wait)
	}
	if got := fmt.Sprint(waits); got != "[1s 2s 4s 8s 16s 30s 30s 30s]" {
		t.Errorf("waits %s", got)
	}
	b, err := os.ReadFile(dir + "/starts")
	if err != nil || len(b) > 12 {
		t.Errorf("%d starts, %v", len(b), err)
	}
}

// TestAHangEndsTheRound: a program that does not answer is waited for once, however much is
// still to be asked.
func TestAHangEndsTheRound(t *testing.T) {
	for call, ask := range map[string]func(p *Provider) []error{
		"list": func(p *Provider) (errs []error) {
			inv, _ := p.List(t.Context(), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Instance, guard.Instance}})
			for _, r := range inv.Results {
				errs = append(errs, r.Err)
			}
			return errs
		},
		"get": func(p *Provider) (errs []error) {
			for _, l := range p.Get(t.Context(), p.id(guard.Instance, "global", "i-1"), p.id(guard.Instance, "global", "i-2"), p.id(guard.Instance, "global", "i-3")) {
				errs = append(errs, l.Err)
			}
			return errs
		},
	} {
		starts := filepath.Join(t.TempDir(), "starts")
		p := program(t, strings.Replace(hello, "read line", "echo >> '"+starts+"'; read line", 1)+"read line; sleep 600", nil)
		if _, err := p.hello(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.timeout = 100 * time.Millisecond
		errs := ask(p)
		for _, err := range errs {
			if !errors.Is(err, guard.ErrUnavailable) {
				t.Errorf("%s: %v", call, err)
			}
		}
		if b, err := os.ReadFile(starts); len(errs) != 3 || err != nil || len(b) != 1 {
			t.Errorf("%s: %d errors, %d starts, %v", call, len(errs), len(b), err)
		}
	}
}

// TestEnvironment: a program has PATH and what its section gives it, and nothing of guardd's.
func TestEnvironment(t *testing.T) {
	t.Setenv("GUARD_OWN", providertest.Secret)
	p := program(t, hello+`read line
printf '{"v":1,"id":2,"result":{"id":"%s"}}\n' "$(env | grep -v '^PWD=\|^_=\|^SHLVL=\|^OLDPWD=' | sort | tr '\n' ' ')"
read line`, func(c *Config) { c.Env = map[string]guard.Secret{"KEY": guard.NewSecret("k1")} })
	id, err := p.Identity(t.Context())
	if want := "KEY=k1 PATH=" + path + " "; err != nil || id.ID != want {
		t.Errorf("%q, %v; want %q", id.ID, err, want)
	}
	if s := fmt.Sprintf("%v %+v %#v", p, p, p); strings.Contains(s, "k1") {
		t.Errorf("the secret is told: %s", s)
	}
}
