//go:build linux

package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The statuses of a command that could not be run, as shells have them.
const (
	StatusCannotRun = 126
	StatusNotFound  = 127
)

// The variables of the environment by which a job and its checkpoint know of a release.
const (
	// EnvReleaseFile is, for the job, the file that is there once a release comes: the
	// time, in RFC 3339, on a line.
	EnvReleaseFile = "GUARD_RELEASE_FILE"
	// EnvReleaseAt is, for the checkpoint, that time itself.
	EnvReleaseAt = "GUARD_RELEASE_AT"
)

// Options are a job.
type Options struct {
	Plan
	Args []string // the command and its arguments
	Env  []string
	// The standard streams are the child's own, with nothing in between.
	In, Out, Err *os.File
	// Save is a line for the shell that saves the job's work: the plan's checkpoint.
	Save string
	// Dir is where the file about a release is made.
	Dir string
	// Notices tells of the release that comes, and of none (zero) where it is called off.
	Notices <-chan time.Time
	// Say tells people what happens, in sentences.
	Say func(string)
}

// Result is how a job ended.
type Result struct {
	// Status is the exit status: the command's own, or 128 and the signal that ended it.
	Status int
	// Warned: it was told of a release. Overran: its longest time ended it.
	Warned, Overran bool
}

// forwarded are the signals that the job gets in our place.
var forwarded = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT}

// job is one that runs.
type job struct {
	Options
	cmd   *exec.Cmd
	begun time.Time // with the monotonic clock
	c     Course
	due   time.Time
	file  string
	saved chan error
	tty   *terminal
}

// Run runs it to its end. An error means that it did not begin; the status is then a
// shell's.
func Run(o Options) (Result, error) {
	j := &job{Options: o, saved: make(chan error, 1)}
	dir, err := os.MkdirTemp(o.Dir, "guard-run-")
	if err != nil {
		return Result{Status: StatusCannotRun}, fmt.Errorf("make a folder for the job: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			o.Say("the job's folder stays: " + err.Error())
		}
	}()
	j.file = filepath.Join(dir, "release")
	// Nothing of guard's own ends a job.
	j.cmd = exec.CommandContext(context.Background(), o.Args[0], o.Args[1:]...)
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = o.In, o.Out, o.Err
	j.cmd.Env = append(o.Env, EnvReleaseFile+"="+j.file)
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if j.tty = foreground(o.In); j.tty != nil {
		j.cmd.SysProcAttr.Foreground, j.cmd.SysProcAttr.Ctty = true, j.tty.fd
	}
	// From before the start on: a signal in between must not end us and leave the job.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := j.cmd.Start(); err != nil {
		status := StatusCannotRun
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			status = StatusNotFound
		}
		return Result{Status: status}, fmt.Errorf("run %s: %w", o.Args[0], err)
	}
	j.begun = time.Now()
	over := make(chan struct{})
	go j.await(over)
	j.loop(signals, over)
	j.tty.take()
	return j.result(), nil
}

// loop does what is to be done until the job is over.
func (j *job) loop(signals <-chan os.Signal, over <-chan struct{}) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(j.act())
		select {
		case <-over:
			j.clear(signals)
			return
		case s := <-signals:
			if n, ok := s.(unix.Signal); ok {
				j.signal(n)
			}
		case at, open := <-j.Notices:
			if !open {
				j.Notices = nil
				continue
			}
			j.hear(at)
		case err := <-j.saved:
			j.c.Saved = true
			if err != nil {
				j.Say("the checkpoint failed: " + err.Error())
			}
		case <-timer.C:
		}
	}
}

// act does everything that is due, and returns how long nothing is.
func (j *job) act() time.Duration {
	for {
		j.c.Now = time.Since(j.begun)
		step, until := j.Next(j.c)
		switch step {
		case Wait:
			if until == 0 {
				return time.Hour
			}
			return max(until-j.c.Now, time.Millisecond)
		case Checkpoint:
			j.c.Checkpointed = true
			bound := j.Bound(j.c)
			j.Say(fmt.Sprintf("guard releases this box at %s: the checkpoint runs first, for %s at most", j.due.Format(time.RFC3339), bound.Round(time.Second)))
			go func() { j.saved <- save(j.Save, j.Env, j.due, bound, j.Err) }()
		case Warn:
			j.c.Warned = true
			j.Say(fmt.Sprintf("guard releases this box at %s: the job gets SIGTERM, and has until then", j.due.Format(time.RFC3339)))
			j.signal(unix.SIGTERM)
		case End:
			j.c.Ended = max(j.c.Now, 1)
			j.Say(fmt.Sprintf("the job has run for %s, its longest time: it gets SIGTERM, and in %s SIGKILL", j.MaxRuntime, j.KillAfter))
			j.signal(unix.SIGTERM)
		case Kill:
			j.c.Killed = true
			j.Say("the job did not end: it gets SIGKILL")
			j.signal(unix.SIGKILL)
		}
	}
}

// hear takes in what guard says of a release.
func (j *job) hear(at time.Time) {
	was := j.c.Coming
	j.c.Coming = !at.IsZero()
	if !j.c.Coming {
		if was && !j.c.Warned {
			j.Say("the release of this box is called off")
		}
		j.unwrite()
		return
	}
	j.due, j.c.Due = at, time.Until(at)+time.Since(j.begun)
	if err := os.WriteFile(j.file, []byte(at.Format(time.RFC3339)+"\n"), 0o600); err != nil {
		j.Say("the time of the release cannot be left for the job: " + err.Error())
	}
}

func (j *job) unwrite() {
	if err := os.Remove(j.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		j.Say("the time of a release that is called off cannot be taken back: " + err.Error())
	}
}

// signal goes to the whole group: a shell that waits for its command would not hand it on.
func (j *job) signal(s unix.Signal) {
	if err := unix.Kill(-j.cmd.Process.Pid, s); err != nil && !errors.Is(err, unix.ESRCH) {
		j.Say(fmt.Sprintf("the job cannot be sent %s: %v", unix.SignalName(s), err))
	}
}

// clear ends what is left of the group of a job that had its time: the command may be
// gone and its children not.
func (j *job) clear(signals <-chan os.Signal) {
	if j.c.Ended == 0 {
		return
	}
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for unix.Kill(-j.cmd.Process.Pid, 0) == nil {
		if time.Since(j.begun) >= j.c.Ended+j.KillAfter {
			j.signal(unix.SIGKILL)
			return
		}
		select {
		case s := <-signals:
			if n, ok := s.(unix.Signal); ok {
				j.signal(n)
			}
		case <-poll.C:
		}
	}
}

func (j *job) result() Result {
	r := Result{Warned: j.c.Warned, Overran: j.c.Ended > 0}
	if w, ok := j.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		r.Status = 128 + int(w.Signal())
		return r
	}
	r.Status = j.cmd.ProcessState.ExitCode()
	return r
}

// save runs the checkpoint, in a group of its own that ends with its time.
func save(line string, env []string, due time.Time, bound time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Env = append(env, EnvReleaseAt+"="+due.Format(time.RFC3339))
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("it took longer than %s", bound.Round(time.Second))
	}
	return err
}
