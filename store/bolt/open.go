package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"guard"
)

// Open opens the ledger's file, alone: guard.ErrLocked names the process that
// holds it. A file that is not there is made (0600) where its directory is. A
// damaged one is left as it is, and the error (guard.ErrDamaged) says what is
// wrong and which good backup lies beside it. A network file system is
// guard.ErrRefused; an opening that hangs is guard.ErrUnavailable.
func Open(ctx context.Context, path string, opt Options) (*Backend, error) {
	b, err := open(ctx, path, opt)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	return b, nil
}

func open(ctx context.Context, path string, opt Options) (*Backend, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	limit := cmp.Or(opt.OpenTimeout, openTimeout)
	wait := min(cmp.Or(opt.LockTimeout, lockTimeout), limit)
	f, err := inTime(ctx, path, limit, func(ctx context.Context) (*os.File, error) {
		return lockFile(ctx, path, wait)
	})
	if err != nil {
		return nil, err
	}
	path = f.Name()
	if err := verify(ctx, f, path); err != nil {
		return nil, errors.Join(advise(ctx, f, opt.Backups, err), f.Close())
	}
	b := &Backend{path: path, maxSize: opt.maxSize(), file: f}
	if b.db, err = b.mapped(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	sweep(dirOf(path))
	b.shed() // opening looked at every page
	noteHolder(path)
	return b, nil
}

// mapped opens a file by bbolt that is locked and proven. It is closed with the
// database.
func (b *Backend) mapped(f *os.File) (db *bbolt.DB, err error) {
	err = b.touch("open", func() error {
		db, err = bbolt.Open(f.Name(), 0o600, &bbolt.Options{
			// The file that was locked and proven, not whatever has the name now.
			OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return f, nil },
			Timeout:         time.Second, // ours already
			PageSize:        pageSize,
			InitialMmapSize: mmapSize,
			MaxSize:         b.maxSize,
			NoFreelistSync:  true,
			FreelistType:    bbolt.FreelistMapType,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	db.AllocSize = allocSize
	return db, nil
}

// inTime runs open under a watchdog: on a network file system neither opening
// nor locking may ever come back from the kernel. A late success is given back.
func inTime(ctx context.Context, path string, limit time.Duration, open func(context.Context) (*os.File, error)) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	type result struct {
		f   *os.File
		err error
	}
	done := make(chan result, 1)
	go func() {
		f, err := open(ctx)
		done <- result{f, err}
	}()
	select {
	case r := <-done:
		return r.f, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.f != nil {
				_ = r.f.Close()
			}
		}()
		if errors.Is(context.Cause(ctx), errSlow) {
			return nil, fmt.Errorf("%w: %s could not be opened within %s: the disk or a network file system does not answer; guard does not wait for it", guard.ErrUnavailable, path, limit)
		}
		return nil, fmt.Errorf("%s: %w", path, ctx.Err())
	}
}

var errSlow = errors.New("opening takes too long")

// lockFile opens the file, which it makes where there is none, and locks it.
func lockFile(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	path, err := locate(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, err
		}
	}
	for range replacedMost {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, pathError("open", path, err)
		}
		err = flock(ctx, f, unix.LOCK_EX, wait)
		if err == nil {
			err = sameFile(f, path)
		}
		if err == nil {
			return f, nil
		}
		_ = f.Close()
		if !errors.Is(err, guard.ErrConflict) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: %s was replaced again and again while it was being opened: start again", guard.ErrConflict, path)
}

// replacedMost is how often a file is opened that has lost its name by the time it
// is locked: to a compaction, or to a backup that was restored.
const replacedMost = 5

// sameFile proves that a file that is open still has its name.
func sameFile(f *os.File, path string) error {
	mine, err := f.Stat()
	if err != nil {
		return pathError("look at", path, err)
	}
	now, err := os.Stat(path)
	if err != nil {
		return pathError("look at", path, err)
	}
	if !os.SameFile(mine, now) {
		return fmt.Errorf("%w: %s is another file now than the one that was opened", guard.ErrConflict, path)
	}
	return nil
}

// locate follows symbolic links and refuses places where no ledger can be.
func locate(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", pathError("find", path, err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: the directory %s does not exist: create it, readable by the user that guardd runs as and nobody else (mode 0700)", guard.ErrNotFound, filepath.Dir(path))
		}
		return "", pathError("find", path, err)
	}
	path = filepath.Join(dir, filepath.Base(path))
	if err := refuseNetwork(dir); err != nil {
		return "", err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		to, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", pathError("follow the link", path, err)
		}
		return locate(to)
	}
	if err != nil {
		return "", pathError("find", path, err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: %s is not a file, so it cannot be the ledger", guard.ErrInvalid, path)
	}
	return path, nil
}

// create makes an empty ledger's file whole before it gets its name, so that a
// crash never leaves an empty file that could pass for a first start.
func create(path string) error {
	f, err := os.CreateTemp(dirOf(path), tempPattern(path))
	if err != nil {
		return pathError("make", path, err)
	}
	temp := f.Name()
	defer os.Remove(temp) //nolint:errcheck // a left-over is only untidy
	if err := f.Close(); err != nil {
		return pathError("make", path, err)
	}
	db, err := bbolt.Open(temp, 0o600, &bbolt.Options{Timeout: time.Second, PageSize: pageSize, NoFreelistSync: true})
	if err != nil {
		return pathError("make", path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(root)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return pathError("make", path, err)
	}
	// A link, unlike a rename, never takes the place of a file that came up
	// in between.
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return pathError("make", path, err)
	}
	return syncDir(dirOf(path))
}

// flock waits for the lock, asking again every 50 ms: the blocking call could
// not be given up.
func flock(ctx context.Context, f *os.File, how int, wait time.Duration) error {
	giveUp := time.NewTimer(wait)
	defer giveUp.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return pathError("lock", f.Name(), err)
		}
		select {
		case <-giveUp.C:
			return lockedError(f.Name(), f)
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

func dirOf(path string) string { return filepath.Dir(path) }

// tempPattern names half-made files beside the ledger.
func tempPattern(path string) string { return "." + filepath.Base(path) + ".*" + tempEnd }

const tempEnd = ".guard-tmp"

// syncDir makes a new name in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return pathError("open", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return pathError("write", dir, err)
	}
	return nil
}
