package bolt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"guard"
)

// An opening that the kernel does not come back from is given up, and what it
// opens later is closed.
func TestWatchdog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	late, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		start := time.Now()
		_, err := inTime(context.Background(), path, openTimeout, func(context.Context) (*os.File, error) {
			<-release
			return late, nil
		})
		if !errors.Is(err, guard.ErrUnavailable) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d != openTimeout {
			t.Errorf("gave up after %s, want %s", d, openTimeout)
		}
		close(release)
		synctest.Wait()
		if _, err := late.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the late file is still open: %v", err)
		}
	})
}

// A caller who gives up is not told a story of slow disks.
func TestWatchdogCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := inTime(ctx, "ledger.db", openTimeout, func(ctx context.Context) (*os.File, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, guard.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestNetworkFileSystems(t *testing.T) {
	for magic, name := range map[uint32]string{unix.NFS_SUPER_MAGIC: "NFS", unix.CIFS_SUPER_MAGIC: "CIFS", unix.SMB2_SUPER_MAGIC: "SMB"} {
		err := refuseType("/srv/guard", magic)
		if !errors.Is(err, guard.ErrRefused) || !strings.Contains(err.Error(), "network file system") ||
			!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "/srv/guard") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, magic := range []uint32{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC} {
		if err := refuseType("/srv/guard", magic); err != nil {
			t.Errorf("%#x: %v", magic, err)
		}
	}
	if err := refuseNetwork(t.TempDir()); err != nil {
		t.Error(err)
	}
}
