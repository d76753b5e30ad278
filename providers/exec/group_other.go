//go:build !linux

package exec

import (
	"os"
	"syscall"
)

// group is the kernel's default: only Linux is told to keep a program's children together.
func group() *syscall.SysProcAttr { return nil }

// killGroup ends the program alone. It may have ended already.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// unread implements conn: here the kernel is not asked.
func (*process) unread() bool { return false }
