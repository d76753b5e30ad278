package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"guard"
)

// copyTo writes a consistent copy to a local file.
func (b *Backend) copyTo(ctx context.Context, f *os.File) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	tx, err := b.begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // a read transaction has nothing to lose
	return b.touch("copy", func() error {
		_, err := tx.WriteTo(contextWriter{ctx, f})
		return err
	})
}

// contextWriter ends a copy when its context ends.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c contextWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}

// BackupTo makes a backup of the ledger at path while work goes on. The copy is
// made beside path, flushed, opened and checked from end to end, and only then
// takes the name, so that whatever was there before is never traded for a bad
// copy. The ledger itself, a ledger in use, and a file that is no ledger are not
// overwritten (guard.ErrRefused); a disk without room for it is ErrNoRoom.
func (b *Backend) BackupTo(ctx context.Context, path string) error {
	err := b.backupTo(ctx, path, func(temp, path string) error {
		if err := mayOverwrite(ctx, path); err != nil {
			return err
		}
		if err := os.Rename(temp, path); err != nil {
			return pathError("name the copy", path, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("back up the ledger to %s: %w", path, err)
	}
	return nil
}

// backupTo makes a proven copy and has place give it its name.
func (b *Backend) backupTo(ctx context.Context, path string, place func(temp, path string) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := mayOverwrite(ctx, path); err != nil {
		return err
	}
	if err := b.roomFor(path); err != nil {
		return err
	}
	sweep(dirOf(path))
	f, err := os.CreateTemp(dirOf(path), tempPattern(path))
	if err != nil {
		return pathError("make a file for", path, err)
	}
	temp := f.Name()
	defer os.Remove(temp) //nolint:errcheck // after the rename there is none
	if err := errors.Join(b.copyTo(ctx, f), flush(f), f.Close()); err != nil {
		return err
	}
	if err := Verify(ctx, temp); err != nil {
		return fmt.Errorf("the copy is not good, what was there before is kept: %w", err)
	}
	if err := opens(temp); err != nil {
		return fmt.Errorf("%w: the copy is not good, what was there before is kept: %w", guard.ErrDamaged, err)
	}
	if err := place(temp, path); err != nil {
		return err
	}
	return syncDir(dirOf(path))
}

// flush makes what was written to a file durable.
func flush(f *os.File) error {
	if err := f.Sync(); err != nil {
		return pathError("write", f.Name(), err)
	}
	return nil
}

// roomFor refuses to begin a copy of the ledger that its disk has no room for.
func (b *Backend) roomFor(path string) error {
	info, err := os.Stat(b.path)
	if err != nil {
		return pathError("look at", b.path, err)
	}
	return room(dirOf(path), info.Size())
}

// opens proves a copy by bbolt's own check, after ours found nothing in it to
// panic about.
func opens(path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		var errs []error
		for err := range tx.Check() {
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, db.Close())
}

// mayOverwrite looks at what has the backup's name now.
func mayOverwrite(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dirOf(path)); err != nil {
			return pathError("write to", dirOf(path), err)
		}
		return nil
	}
	if err != nil {
		return pathError("look at", path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: it is not a file: name a file in that place", guard.ErrRefused)
	}
	f, err := os.Open(path)
	if err != nil {
		return pathError("open", path, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	// The lock tells of this ledger under whatever name, and of any other.
	err = flock(ctx, f, unix.LOCK_SH, time.Millisecond)
	if errors.Is(err, guard.ErrLocked) {
		return fmt.Errorf("%w: that is a ledger in use, not a place for a backup: name another file (%w)", guard.ErrRefused, err)
	}
	if err != nil {
		return err
	}
	if !looksLikeLedger(f, info.Size()) {
		return fmt.Errorf("%w: a file that is no ledger has that name: name another one, or remove it first", guard.ErrRefused)
	}
	return nil
}

// looksLikeLedger tells by the headers whether a file once was one.
func looksLikeLedger(f *os.File, size int64) bool {
	v := &verifier{f: f, size: size}
	_, err1 := v.header(0)
	_, err2 := v.header(pageSize)
	return !errors.Is(err1, errNotOurs) || !errors.Is(err2, errNotOurs)
}
