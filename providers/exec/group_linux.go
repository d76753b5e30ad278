package exec

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// group puts a program into a process group of its own, and has the kernel end it where
// guardd dies without a word.
func group() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends all of the group that a program, which was not waited for yet, leads:
// until it is, nobody else has its number. There may be nothing left to end.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// unread implements conn. Unlike a read with a deadline it does not depend on how busy the
// machine is.
func (p *process) unread() bool {
	raw, err := p.out.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	told := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return told == nil && err == nil && n > 0
}
