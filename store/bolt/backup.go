package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
// overwritten (guard.ErrRefused).
func (b *Backend) BackupTo(ctx context.Context, path string) error {
	if err := b.backupTo(ctx, path); err != nil {
		return fmt.Errorf("back up the ledger to %s: %w", path, err)
	}
	return nil
}

func (b *Backend) backupTo(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := mayOverwrite(ctx, path); err != nil {
		return err
	}
	f, err := os.CreateTemp(dirOf(path), tempPattern(path))
	if err != nil {
		return pathError("make a file for", path, err)
	}
	temp := f.Name()
	defer os.Remove(temp) //nolint:errcheck // after the rename there is none
	if err := errors.Join(b.copyTo(ctx, f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := Verify(ctx, temp); err != nil {
		return fmt.Errorf("the copy is not good, what was there before is kept: %w", err)
	}
	if err := opens(temp); err != nil {
		return fmt.Errorf("%w: the copy is not good, what was there before is kept: %w", guard.ErrDamaged, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return pathError("name the copy", path, err)
	}
	return syncDir(dirOf(path))
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

// candidatesMost bounds how many files beside a damaged ledger are read.
const candidatesMost = 20

// adviseBackup adds to a damage what a person can do about it.
func adviseBackup(ctx context.Context, path string, err error) error {
	if !errors.Is(err, guard.ErrDamaged) {
		return err
	}
	name, at, ok := newestBackup(ctx, path)
	if !ok {
		return fmt.Errorf("%w; nothing was changed and there is no good backup beside it: move the file away but keep it, and put a backup in its place", err)
	}
	return fmt.Errorf("%w; nothing was changed: move the file away but keep it, and copy the newest good backup beside it, %s (of %s), to its name", err, name, at.UTC().Format(time.RFC3339))
}

// newestBackup finds the newest whole ledger in the directory of a damaged one.
func newestBackup(ctx context.Context, path string) (string, time.Time, bool) {
	entries, err := os.ReadDir(dirOf(path))
	if err != nil {
		return "", time.Time{}, false
	}
	type candidate struct {
		path string
		at   time.Time
	}
	var found []candidate
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || e.Name() == filepath.Base(path) || e.Name()[0] == '.' {
			continue
		}
		c := candidate{filepath.Join(dirOf(path), e.Name()), info.ModTime()}
		if f, err := os.Open(c.path); err == nil {
			if looksLikeLedger(f, info.Size()) {
				found = append(found, c)
			}
			_ = f.Close()
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return b.at.Compare(a.at) })
	for _, c := range found[:min(len(found), candidatesMost)] {
		if Verify(ctx, c.path) == nil {
			return c.path, c.at, true
		}
	}
	return "", time.Time{}, false
}
