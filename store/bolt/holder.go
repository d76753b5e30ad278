package bolt

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"guard"
)

// holderFile is the note that whoever holds the ledger leaves beside it. The lock
// itself is the kernel's; the note only helps a person to find the process.
func holderFile(path string) string { return path + ".holder" }

// noteHolder is best effort: a ledger works without the note.
func noteHolder(path string) {
	note := fmt.Sprintf("%d %s\n", os.Getpid(), filepath.Base(os.Args[0]))
	_ = os.WriteFile(holderFile(path), []byte(note), 0o600)
}

func removeHolder(path string) { _ = os.Remove(holderFile(path)) }

// lockedError names who holds the file.
func lockedError(path string, f *os.File) error {
	pid, command := holderOf(path, f)
	switch {
	case pid == os.Getpid():
		return fmt.Errorf("%w: the ledger %s is open already, in this very process (PID %d)", guard.ErrLocked, path, pid)
	case pid == 0:
		return fmt.Errorf("%w: the ledger %s is locked by a process that cannot be seen from here (another container?): one ledger serves one guardd; stop the other one, or name another file under ledger: in the configuration", guard.ErrLocked, path)
	}
	return fmt.Errorf("%w: the ledger %s is locked by %s (PID %d): one ledger serves one guardd; stop that one first, or name another file under ledger: in the configuration", guard.ErrLocked, path, command, pid)
}

// holderOf asks the kernel, and believes the note only where it cannot tell (a
// note outlives a killed process).
func holderOf(path string, f *os.File) (pid int, command string) {
	note, _ := os.ReadFile(holderFile(path))
	noted, said, _ := strings.Cut(strings.TrimSpace(string(note)), " ")
	pid = lockPID(f)
	if n, err := strconv.Atoi(noted); err == nil && (pid == n || pid == 0) && n > 0 {
		pid, command = n, said
	}
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		command = strings.TrimSpace(string(comm))
	}
	if command == "" {
		command = "a process"
	}
	return pid, command
}

// lockPID finds the holder of the file's lock in /proc/locks; 0 where it is not
// there or not one of ours to see.
func lockPID(f *os.File) int {
	var st unix.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	dev := uint64(st.Dev) //nolint:unconvert // an int32 on some systems
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), st.Ino)
	for s := bufio.NewScanner(bytes.NewReader(locks)); s.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF
		fields := strings.Fields(s.Text())
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != want {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
