package exec

import "syscall"

// group puts a program into a process group of its own, and has the kernel end it where
// guardd dies without a word.
func group() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends all of the group that a program, which was not waited for yet, leads:
// until it is, nobody else has its number. There may be nothing left to end.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
