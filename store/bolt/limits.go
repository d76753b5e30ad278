package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"guard"
)

// The kinds of trouble with the place that the ledger is in; each wraps
// guard.ErrUnavailable. None of them ends guard: what it knows can be read, what it
// cannot write down it does not do, and it goes on by itself once the cause is gone.
var (
	// ErrNoRoom: the disk is full, a quota is used up, or a copy would not fit.
	ErrNoRoom = fmt.Errorf("%w: no room on the disk", guard.ErrUnavailable)
	// ErrReadOnly: the file system does not take writes.
	ErrReadOnly = fmt.Errorf("%w: the file system is mounted read-only", guard.ErrUnavailable)
	// ErrMaxSize: the file would grow beyond [Options.MaxSize].
	ErrMaxSize = fmt.Errorf("%w: the ledger has reached the largest size that it may have", guard.ErrUnavailable)
	// ErrFilling: the disk will soon be full. Only [Stats.Trouble] tells of it.
	ErrFilling = fmt.Errorf("%w: the disk is filling up", guard.ErrUnavailable)
)

// limit is what to do about a limit that an error of the system or of bbolt tells
// of, and its kind; nil where it is another error.
func limit(err error) (todo string, kind error) {
	switch {
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return "keep its history for a shorter time", ErrMaxSize
	case errors.Is(err, syscall.EROFS):
		return "mount it writable again; a disk that fails is made read-only by the kernel, whose log says so", ErrReadOnly
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return "make room on the disk", ErrNoRoom
	}
	return "", nil
}

// Stats are how large the ledger is and what is left for it, in bytes.
type Stats struct {
	Size int64 // of the file
	// Live is what of it holds something. The rest is reused, or given back to the
	// disk by [Backend.Compact].
	Live int64
	Max  int64 // the most that Size may be
	// Disk is the size of the file system and Free what of it guard may still use.
	Disk, Free int64
}

// Stats counts pages and asks the file system; it costs little.
func (b *Backend) Stats(ctx context.Context) (Stats, error) {
	if err := b.usable(ctx); err != nil {
		return Stats{}, err
	}
	info, err := os.Stat(b.path)
	if err != nil {
		return Stats{}, pathError("look at", b.path, err)
	}
	s := Stats{Size: info.Size(), Max: int64(b.maxSize)}
	if s.Disk, s.Free, err = diskOf(dirOf(b.path)); err != nil {
		return Stats{}, err
	}
	s.Live, err = b.live()
	return s, err
}

// live is what the file's used pages have of bytes: all up to the last one, less
// those that are free or will be once readers are done.
func (b *Backend) live() (n int64, err error) {
	tx, err := b.begin(false)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	err = b.touch("count the pages of", func() error {
		s := tx.DB().Stats()
		n = tx.Size() - int64(s.FreePageN+s.PendingPageN)*pageSize
		return nil
	})
	return n, err
}

const (
	fillingPercent = 80 // of the disk, and of the largest size
	// roomy is more room than a ledger ever needs at once, besides copies of itself.
	roomy  = 2 << 30
	copies = 4
	// worth is how many times what it holds a file must have for a compaction to be
	// worth it, and worthSize the least that it must have.
	worth     = 3
	worthSize = 64 << 20
)

// Trouble is what a person should do something about before it is too late: a disk
// that is 80 % full and has less than 2 GiB and four copies of the ledger to spare
// (ErrFilling), a ledger at 80 % of its largest size (ErrMaxSize); nil where all is
// well.
func (s Stats) Trouble() error {
	switch {
	case s.Disk > 0 && s.Free <= s.Disk/100*(100-fillingPercent) && s.Free < roomy+copies*s.Size:
		return fmt.Errorf("%w: %s of %s are left under the ledger (it has %s): guard works; make room before it cannot write down what it does any more", ErrFilling, size(s.Free), size(s.Disk), size(s.Size))
	case s.Max > 0 && s.Live >= s.Max/100*fillingPercent:
		return fmt.Errorf("%w, or nearly: it holds %s and may have %s: guard works; keep its history for a shorter time", ErrMaxSize, size(s.Live), size(s.Max))
	}
	return nil
}

// Worth reports whether a compaction would give back enough to be worth it.
func (s Stats) Worth() bool { return s.Size >= worthSize && s.Size > worth*s.Live }

// size says bytes as people do.
func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// diskOf is how large the file system of a directory is and what of it is free for
// the user that guardd runs as, in bytes.
func diskOf(dir string) (total, free int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, pathError("ask for the room in", dir, err)
	}
	//nolint:unconvert // of other types on other systems
	return int64(st.Blocks) * int64(st.Bsize), int64(st.Bavail) * int64(st.Bsize), nil
}

// spare is what a copy leaves on the disk for the ledger itself to go on.
const spare = 8 << 20

// room refuses a directory whose disk has no room for a file of n bytes.
func room(dir string, n int64) error {
	_, free, err := diskOf(dir)
	if err != nil {
		return err
	}
	if free < n+spare {
		return fmt.Errorf("%w: a copy in %s needs %s, with %s to spare, and %s are free: nothing was changed; make room there or name another place", ErrNoRoom, dir, size(n), size(spare), size(free))
	}
	return nil
}

// staleAge is from when on a half-made file that nobody holds is a left-over of a
// process that was killed.
const staleAge = time.Hour

// sweep removes what killed processes have left half-made in a directory. They may
// be as large as the ledger.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // whoever writes there is told
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), tempEnd) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < staleAge {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				_ = os.Remove(path)
			}
			_ = f.Close()
		}
	}
}

// pathError says what failed with which file, in guard's kinds.
func pathError(verb, path string, err error) error {
	if todo, kind := limit(err); kind != nil {
		return fmt.Errorf("%w: %s %s: %s (%w)", kind, verb, path, todo, err)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s %s: the user that guardd runs as (uid %d) may not: %w", guard.ErrPermission, verb, path, os.Geteuid(), err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s %s: %w", guard.ErrNotFound, verb, path, err)
	}
	return fmt.Errorf("%w: %s %s: %w", guard.ErrUnavailable, verb, path, err)
}
