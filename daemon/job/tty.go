//go:build linux

package job

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// terminal is the one that we are in the foreground of, which the job gets while it runs.
type terminal struct {
	fd  int
	own int // our process group
}

// foreground is the terminal of a file; nil where it is none, or is not ours to give.
func foreground(f *os.File) *terminal {
	if f == nil {
		return nil
	}
	fd := int(f.Fd())
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return nil
	}
	return &terminal{fd, group}
}

// give makes a process group the one that the terminal listens to.
func (t *terminal) give(group int) {
	if t == nil {
		return
	}
	// Who is in the background and reaches for the terminal is stopped.
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) // a terminal that is gone needs no giving
}

// take takes the terminal back.
func (t *terminal) take() {
	if t != nil {
		t.give(t.own)
	}
}

// await waits for the end of the job. Where a person stops it (Ctrl-Z) we stop as well, so
// that the shell is asked; when that lets us go on, so does the job.
func (j *job) await(over chan<- struct{}) {
	defer close(over)
	pid := j.cmd.Process.Pid
	for j.tty != nil {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || info.Code != cldStopped {
			break
		}
		// This stop is taken note of; the next wait is for what comes then.
		_ = unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOHANG, nil)
		j.tty.take()
		_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
		j.tty.give(pid)
		_ = unix.Kill(-pid, unix.SIGCONT)
	}
	_ = j.cmd.Wait() // how it ended is in ProcessState
}

// cldStopped is the kernel's CLD_STOPPED.
const cldStopped = 5
