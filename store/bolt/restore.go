package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"guard"
	"guard/store"
)

// RestoreOptions are of [Restore].
type RestoreOptions struct {
	// At is now; its date is in the name under which the present ledger is kept.
	At guard.Instant
	// Other lets the ledger of another deployment take the place.
	Other bool
	// Mark writes into the copy before it takes its place, so that no guard ever runs
	// on it without what is written; nil writes nothing. It must not keep the ledger.
	Mark func(ctx context.Context, l *store.Ledger) error
	// LockTimeout is how long to wait for a guardd that has the present ledger; 0 is
	// 3 s.
	LockTimeout time.Duration
}

// Restored is what [Restore] did.
type Restored struct {
	Path string // of the ledger, symbolic links resolved
	// Kept is the ledger that was there before, whole or not; "" where there was none.
	Kept       string
	Deployment string
	// Upgraded is what was done to a backup of an earlier schema; From is 0 to none.
	Upgraded store.Upgrade
}

// Restore puts a copy of the backup from in the place of the ledger to, which no
// guardd may have open (guard.ErrLocked). The copy is proven first: every page, its
// schema, and that the records agree (store.Ledger.Check); one of an earlier schema
// is upgraded, a newer one is guard.ErrRefused, a damaged one guard.ErrDamaged. The
// backup itself is not touched.
//
// The present ledger, in whatever state, is kept beside the place under a dated name
// and never removed. A backup of another deployment than it has is guard.ErrRefused,
// unless opt says so: guard would take the boxes that carry the present one's tag
// for another guard's. Where too little is left of it to tell, or where there is
// none, any deployment may come.
//
// The copy takes its place in one step. A crash, a disk without room (ErrNoRoom) or
// an error of Mark before that leaves everything as it was. A ledger that comes back
// from a backup does not know what happened since: it is up to the caller to
// write, by Mark, that guard is to act on nothing before people have seen to it.
func Restore(ctx context.Context, from, to string, opt RestoreOptions) (Restored, error) {
	done, err := restore(ctx, from, to, opt)
	if err != nil {
		return Restored{}, fmt.Errorf("restore %s: %w", from, err)
	}
	return done, nil
}

func restore(ctx context.Context, from, to string, opt RestoreOptions) (done Restored, err error) {
	if done.Path, err = locate(to); err != nil {
		return done, err
	}
	present, err := holdPresent(ctx, done.Path, cmp.Or(opt.LockTimeout, lockTimeout))
	if err != nil {
		return done, err
	}
	if present != nil {
		defer present.Close()
	}
	backup, err := os.Open(from)
	if err != nil {
		return done, pathError("open", from, err)
	}
	defer backup.Close()
	info, err := suits(ctx, backup, present, opt.Other)
	if err != nil {
		return done, err
	}
	if err := room(dirOf(done.Path), info.Size()); err != nil {
		return done, err
	}
	sweep(dirOf(done.Path))
	temp, err := os.CreateTemp(dirOf(done.Path), tempPattern(done.Path))
	if err != nil {
		return done, pathError("make a file beside", done.Path, err)
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // after the rename there is none
	if _, err := io.Copy(temp, &contextReader{ctx, backup}); err != nil {
		return done, errors.Join(pathError("copy to", temp.Name(), err), temp.Close())
	}
	if err := prepare(ctx, temp, from, opt, &done); err != nil {
		return done, err
	}
	return done, replace(temp.Name(), present, opt.At.Wall, &done)
}

// holdPresent locks the ledger that is to be replaced; nil where there is none.
func holdPresent(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, pathError("open", path, err)
	}
	if err := flock(ctx, f, unix.LOCK_EX, wait); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := sameFile(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// suits tells whether a backup may take the place of the present ledger.
func suits(ctx context.Context, backup, present *os.File, other bool) (fs.FileInfo, error) {
	info, err := backup.Stat()
	if err != nil {
		return nil, pathError("look at", backup.Name(), err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a file", guard.ErrInvalid)
	}
	if present != nil {
		is, err := present.Stat()
		if err != nil {
			return nil, pathError("look at", present.Name(), err)
		}
		if os.SameFile(info, is) {
			return nil, fmt.Errorf("%w: that is the ledger itself: name a backup", guard.ErrRefused)
		}
	}
	// No guardd writes on while it is copied.
	if err := flock(ctx, backup, unix.LOCK_SH, 100*time.Millisecond); err != nil {
		return nil, fmt.Errorf("%w: that is a ledger in use, not a backup: %w", guard.ErrRefused, err)
	}
	if present == nil || other {
		return info, nil
	}
	d, ok, err := describe(ctx, backup)
	if err != nil || !ok {
		return info, nil //nolint:nilerr // what is wrong with it is told when all of it is read
	}
	if now := deploymentOf(ctx, present); now != "" && now != d.Deployment {
		return nil, fmt.Errorf("%w: it is a backup of deployment %s, and the ledger %s is of deployment %s: the boxes that this guard has tagged would become another guard's; nothing was changed. If that is meant, say so (--other-deployment)",
			guard.ErrRefused, d.Deployment, present.Name(), now)
	}
	return info, nil
}

// prepare proves the copy, brings it to the present schema, marks it and makes it
// durable. It closes temp.
func prepare(ctx context.Context, temp *os.File, from string, opt RestoreOptions, done *Restored) error {
	err := flush(temp)
	if err == nil {
		err = flock(ctx, temp, unix.LOCK_EX, lockTimeout)
	}
	if err == nil {
		err = verify(ctx, temp, from)
	}
	b := &Backend{path: temp.Name(), maxSize: maxSize}
	if err == nil {
		b.db, err = b.mapped(temp)
	}
	if err != nil {
		_ = temp.Close()
		return err
	}
	// The backup is itself the way back: no copy is kept of the copy.
	l, err := store.Open(ctx, struct{ store.Backend }{b}, opt.At)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	done.Deployment = l.Deployment()
	if up, ok := l.Upgraded(); ok {
		done.Upgraded = up
	}
	err = l.Check(ctx)
	if err == nil && opt.Mark != nil {
		err = opt.Mark(ctx, l)
	}
	return errors.Join(err, l.Close())
}

// replace keeps the present ledger under another name and gives its name to temp.
func replace(temp string, present *os.File, at time.Time, done *Restored) error {
	// Until the new name is durable, nobody works on the file that has it.
	f, err := os.OpenFile(temp, os.O_RDWR, 0)
	if err != nil {
		return pathError("open", temp, err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return pathError("lock", temp, err)
	}
	if err := sameOwner(f, done.Path); err != nil {
		return err
	}
	if present == nil {
		// A link, unlike a rename, never takes the place of a ledger that a guardd has
		// made in between.
		if err := os.Link(temp, done.Path); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: a ledger came up at %s in between: stop guardd first", guard.ErrConflict, done.Path)
		} else if err != nil {
			return pathError("put the copy at", done.Path, err)
		}
		return syncDir(dirOf(done.Path))
	}
	kept, err := linkAside(done.Path, done.Path+".before-restore-"+at.UTC().Format("20060102T150405Z"))
	if err != nil {
		return err
	}
	if err := os.Rename(temp, done.Path); err != nil {
		return errors.Join(pathError("put the copy at", done.Path, err), os.Remove(kept))
	}
	done.Kept = kept
	return syncDir(dirOf(done.Path))
}

// linkAside gives a file a second name, or that with the first number that is free.
func linkAside(path, name string) (string, error) {
	for n := 1; ; n++ {
		aside := name
		if n > 1 {
			aside = fmt.Sprintf("%s.%d", name, n)
		}
		err := os.Link(path, aside)
		if err == nil {
			return aside, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", pathError("keep", path+" as "+filepath.Base(aside), err)
		}
	}
}

// sameOwner gives a file that root has made to whoever has the file of a name, or
// its directory: guardd, which seldom is root, must be able to open it.
func sameOwner(f *os.File, name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(dirOf(name))
	}
	if err != nil {
		return pathError("look at", name, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
		return pathError("give away", f.Name(), err)
	}
	return nil
}
