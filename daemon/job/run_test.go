//go:build linux

package job

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shell is a job of a shell's line, whose output is a file.
type shell struct {
	t    *testing.T
	o    Options
	out  *os.File
	mu   sync.Mutex
	said []string
}

func newShell(t *testing.T, line string) *shell {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	s := &shell{t: t, out: out}
	s.o = Options{Args: []string{"/bin/sh", "-c", line}, Env: os.Environ(), Out: out, Err: out, Dir: t.TempDir(), Plan: Plan{KillAfter: 10 * time.Second, Notice: time.Hour},
		Say: func(text string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.said = append(s.said, text)
		}}
	return s
}

func (s *shell) run() Result {
	s.t.Helper()
	r, err := Run(s.o)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *shell) output() string {
	b, err := os.ReadFile(s.out.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// prints waits until the job has printed something.
func (s *shell) prints(text string) {
	s.t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-poll.C {
		if strings.Contains(s.output(), text) {
			return
		}
	}
	s.t.Fatalf("the job never printed %q: %s", text, s.output())
}

// inTime plays a job that has so long to come to what it prints, and longer where that was
// not enough: how fast a shell starts is the machine's affair.
func inTime(t *testing.T, play func(long time.Duration) *shell, prints ...string) *shell {
	t.Helper()
	for long := 300 * time.Millisecond; ; long *= 4 {
		s := play(long)
		missing := slices.DeleteFunc(slices.Clone(prints), func(text string) bool { return strings.Contains(s.output(), text) })
		if len(missing) == 0 {
			return s
		}
		if long > 30*time.Second {
			t.Fatalf("the job had %s and did not print %q: %s", long, missing, s.output())
		}
	}
}

func TestStatus(t *testing.T) {
	for line, want := range map[string]int{"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -9 $$": 137, "kill -TERM $$": 143} {
		if r := newShell(t, line).run(); r.Status != want || r.Overran || r.Warned {
			t.Errorf("%s: %+v, want %d", line, r, want)
		}
	}
	for program, want := range map[string]int{"/nowhere/at/all": StatusNotFound, "no-such-program-here": StatusNotFound, "/etc/passwd": StatusCannotRun} {
		s := newShell(t, "")
		s.o.Args = []string{program}
		if r, err := Run(s.o); err == nil || r.Status != want {
			t.Errorf("%s: %+v, %v", program, r, err)
		}
	}
}

// TestStreams: standard input goes to the job as it is, and its group is its own.
func TestStreams(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := newShell(t, `cat; cut -d ' ' -f 5 "/proc/$$/stat"`)
	s.o.In = r
	go func() {
		defer w.Close()
		_, _ = io.WriteString(w, "hello\n")
	}()
	if got := s.run(); got.Status != 0 {
		t.Errorf("%+v", got)
	}
	lines := strings.Fields(s.output())
	if len(lines) != 2 || lines[0] != "hello" || lines[1] == strconv.Itoa(unix.Getpgrp()) {
		t.Errorf("%q", lines)
	}
}

// TestSignals: what is sent to us reaches the job, the command that a shell waits for, too.
func TestSignals(t *testing.T) {
	for name, sig := range map[string]unix.Signal{"INT": unix.SIGINT, "TERM": unix.SIGTERM, "HUP": unix.SIGHUP, "QUIT": unix.SIGQUIT, "USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2, "WINCH": unix.SIGWINCH} {
		s := newShell(t, "trap 'echo got-"+name+"; exit 42' "+name+"; echo ready; while :; do sleep 0.05; done")
		over := make(chan Result, 1)
		go func() { r, _ := Run(s.o); over <- r }()
		s.prints("ready")
		if err := unix.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		s.prints("got-" + name)
		if r := <-over; r.Status != 42 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestOverruns: at its longest time the job is asked to end, then made to; and nothing of
// its group is left.
func TestOverruns(t *testing.T) {
	var r Result
	inTime(t, func(long time.Duration) *shell {
		s := newShell(t, "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
		s.o.MaxRuntime = long
		r = s.run()
		return s
	}, "ready", "asked")
	if r.Status != 3 || !r.Overran {
		t.Errorf("%+v", r)
	}
	var took, least time.Duration
	inTime(t, func(long time.Duration) *shell {
		s := newShell(t, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
		s.o.MaxRuntime, s.o.KillAfter = long, 300*time.Millisecond
		begun := time.Now()
		r = s.run()
		took, least = time.Since(begun), long+s.o.KillAfter
		return s
	}, "ready")
	if r.Status != 137 || !r.Overran || took < least {
		t.Errorf("%+v after %s, want %s at least", r, took, least)
	}
	// The command ends, and what it has left behind does not heed.
	s := inTime(t, func(long time.Duration) *shell {
		s := newShell(t, `(trap '' TERM; echo child; while :; do sleep 0.05; done) & trap 'exit 0' TERM; echo "left $!"; wait`)
		s.o.MaxRuntime, s.o.KillAfter = long, 500*time.Millisecond
		s.run()
		return s
	}, "child", "left")
	_, text, _ := strings.Cut(s.output(), "left ")
	pid, err := strconv.Atoi(strings.Fields(text)[0])
	if err != nil {
		t.Fatal(err)
	}
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(time.Minute); alive(pid); <-poll.C {
		if time.Now().After(end) {
			t.Fatalf("process %d of the group is left", pid)
		}
	}
}

// alive reports a process that runs; one that nobody has waited for does not.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
	return f[0] != "Z"
}

// warned runs the job and tells it, once it is ready, of a release that comes in so long.
func (s *shell) warned(in time.Duration) (due time.Time, r Result) {
	s.t.Helper()
	notices := make(chan time.Time, 1)
	s.o.Notices = notices
	over := make(chan Result, 1)
	go func() { r, _ := Run(s.o); over <- r }()
	s.prints("ready")
	due = time.Now().Add(in)
	notices <- due
	return due, <-over
}

// TestRelease: before a release the checkpoint runs, with the time in its environment,
// then the job gets its signal and finds the time in its file; it may go on until then.
func TestRelease(t *testing.T) {
	// What a shell says of a command that it waited for, and that had the signal as well, is
	// not the job's.
	s := newShell(t, `exec 2>/dev/null; trap 'echo asked; cat "$GUARD_RELEASE_FILE"; sleep 0.2; echo finished; exit 5' TERM; echo ready; while :; do sleep 0.05; done`)
	s.o.Plan.Checkpoint, s.o.Save = true, `echo "saved $GUARD_RELEASE_AT"`
	due, r := s.warned(30 * time.Minute)
	at := due.Format(time.RFC3339)
	if want := "ready\nsaved " + at + "\nasked\n" + at + "\nfinished\n"; r.Status != 5 || !r.Warned || s.output() != want {
		t.Errorf("%+v: %q, want %q", r, s.output(), want)
	}
}

// TestReleaseBounds: a checkpoint that hangs does not take the job's own time, one that
// fails does not keep it from its signal, and a release that is called off ends nothing.
func TestReleaseBounds(t *testing.T) {
	var r Result
	begun := time.Now()
	inTime(t, func(long time.Duration) *shell {
		s := newShell(t, `trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done`)
		s.o.Plan.Checkpoint, s.o.Save = true, `echo saving; sleep 1000`
		_, r = s.warned(margin + time.Second + long)
		return s
	}, "saving")
	if r.Status != 5 || time.Since(begun) > 5*time.Minute {
		t.Errorf("%+v after %s", r, time.Since(begun))
	}
	s := newShell(t, `trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done`)
	s.o.Plan.Checkpoint, s.o.Save = true, `exit 9`
	if _, r := s.warned(30 * time.Minute); r.Status != 5 || !strings.Contains(strings.Join(s.said, "\n"), "the checkpoint failed: exit status 9") {
		t.Errorf("%+v: %s", r, s.said)
	}
	s = newShell(t, `trap 'exit 5' TERM; echo ready; until test -e "$GUARD_RELEASE_FILE"; do sleep 0.02; done; echo there; while test -e "$GUARD_RELEASE_FILE"; do sleep 0.02; done; exit 6`)
	s.o.Plan.Notice = time.Minute
	notices := make(chan time.Time, 1)
	s.o.Notices = notices
	over := make(chan Result, 1)
	go func() { r, _ := Run(s.o); over <- r }()
	notices <- time.Now().Add(time.Hour)
	s.prints("there")
	notices <- time.Time{}
	if r := <-over; r.Status != 6 || r.Warned {
		t.Errorf("%+v: %s", r, s.said)
	}
}
