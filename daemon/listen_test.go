package daemon

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"guard"
)

// socketPath is one in an empty working directory, for the whole path of that may be too
// long for a socket's.
func socketPath(t *testing.T) string {
	t.Chdir(t.TempDir())
	return "guard.sock"
}

func TestListenUnix(t *testing.T) {
	path := socketPath(t)
	l, err := ListenUnix(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("socket mode %o, want 600", mode)
	}
	if _, err := ListenUnix(t.Context(), path, ""); !errors.Is(err, guard.ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("a socket in use: %v", err)
	}
	// A process that dies leaves its socket behind.
	l.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	l.Close()
	l, err = ListenUnix(t.Context(), path, "")
	if err != nil {
		t.Fatalf("a dead socket: %v", err)
	}
	l.Close()

	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(t.Context(), path, ""); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("an ordinary file: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Error("the file was touched")
	}
	if _, err := ListenUnix(t.Context(), filepath.Join("no", "x.sock"), ""); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("a missing directory: %v", err)
	}
	if _, err := ListenUnix(t.Context(), "/tmp/"+strings.Repeat("x", 120), ""); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("a long path: %v", err)
	}
}

// TestListenUnixGroup: the socket is the group's, or there is none.
func TestListenUnixGroup(t *testing.T) {
	mine, err := user.LookupGroupId(strconv.Itoa(os.Getegid()))
	if err != nil {
		t.Skip(err)
	}
	path := socketPath(t)
	l, err := ListenUnix(t.Context(), path, mine.Name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o660 {
		t.Errorf("socket mode %o, want 660", mode)
	}
	l.Close()
	if _, err := ListenUnix(t.Context(), path, "no-such-group"); !errors.Is(err, guard.ErrInvalid) || !strings.Contains(err.Error(), "no-such-group") {
		t.Errorf("a group that is not there: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a socket is left: %v", err)
	}
}
