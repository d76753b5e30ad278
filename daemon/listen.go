package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"guard"
)

// ListenUnix opens the daemon's socket: with mode 0600, or with mode 0660 for a
// group, which must exist and have the daemon's user in it. A socket that another
// process answers on is guard.ErrLocked; one that a dead process left is replaced.
// The directory must exist.
func ListenUnix(ctx context.Context, path, group string) (net.Listener, error) {
	// The kernel keeps socket paths in 108 bytes, the closing zero included.
	if len(path) > 107 {
		return nil, fmt.Errorf("%w: listen: the socket path %q is %d bytes long, at most 107 are possible: choose a shorter one", guard.ErrInvalid, path, len(path))
	}
	if dir := filepath.Dir(path); !isDir(dir) {
		return nil, fmt.Errorf("%w: listen: the directory %s does not exist: create it (systemd: RuntimeDirectory=guard) or set listen: to another path", guard.ErrInvalid, dir)
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("listen: look at %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%w: listen: %s exists and is not a socket: guardd does not remove it; set listen: to another path", guard.ErrConflict, path)
	default:
		if err := removeStale(ctx, path); err != nil {
			return nil, err
		}
	}
	// Between listen and chmod anybody could connect; the mask closes that gap.
	old := syscall.Umask(0o177)
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listen on unix:%s: %w", path, err)
	}
	if group != "" {
		if err := share(path, group); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// share lets a group open a socket.
func share(path, group string) error {
	g, err := user.LookupGroup(group)
	if err != nil {
		return fmt.Errorf("%w: listen: socket_group: the group %s cannot be found on this machine (%v): make it (groupadd %s), or take socket_group out", guard.ErrInvalid, group, err, group)
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return fmt.Errorf("%w: listen: socket_group: the group %s has the ID %q, which is not a number", guard.ErrInvalid, group, g.Gid)
	}
	switch err := os.Chown(path, -1, gid); {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: listen: socket_group: the user that guardd runs as is not in the group %s: put it in (usermod -aG %s USER, or SupplementaryGroups=%s in the unit) and start guardd again",
			guard.ErrPermission, group, group, group)
	case err != nil:
		return fmt.Errorf("listen: give the socket to the group %s: %w", group, err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return fmt.Errorf("listen: open the socket to the group %s: %w", group, err)
	}
	return nil
}

func removeStale(ctx context.Context, path string) error {
	d := net.Dialer{Timeout: 2 * time.Second}
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
		return fmt.Errorf("%w: listen: another process answers on %s: a guardd runs there already; stop it first, or set listen: to another path", guard.ErrLocked, path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: listen: %s is there and cannot be tried (%v): remove it if no guardd runs", guard.ErrLocked, path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("listen: remove the dead socket %s: %w", path, err)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
