// Package bolt is the ledger backend of one machine: a bbolt file, locked by one
// process, every update on disk before it is acknowledged.
//
// A file is read and proven page by page before bbolt maps it, because bbolt
// meets a damaged page with a panic, partly in goroutines of its own. Every value
// carries a checksum: bbolt has none, and a flipped bit in an amount of money
// must not pass for money.
package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"guard"
	"guard/store"
)

// Options are of [Open]. The zero value is what guardd uses.
type Options struct {
	// LockTimeout is how long to wait for the file's lock; 0 is 3 s. It is kept
	// under OpenTimeout.
	LockTimeout time.Duration
	// OpenTimeout is after which opening and locking are given up, even where
	// the kernel does not come back from them (a network file system); 0 is 5 s.
	OpenTimeout time.Duration
	// MaxSize is the most bytes that the file may have; 0 is 8 GiB.
	MaxSize int
	// Backups is a folder in which backups of the ledger lie, besides its own: where it
	// is damaged, the newest good one is named.
	Backups string
}

func (o Options) maxSize() int { return cmp.Or(o.MaxSize, maxSize) }

const (
	lockTimeout = 3 * time.Second
	openTimeout = 5 * time.Second
	// maxSize is far beyond what guard keeps: a ledger that reaches it grows by mistake,
	// and is to stop before the disk is full for everybody.
	maxSize = 8 << 30
	// mmapSize is mapped from the start: growing the map waits for every reader.
	// It is address space, not memory.
	mmapSize = 1 << 30
	// allocSize is how the file grows; bbolt's own 16 MiB would make every small
	// ledger, and each of its backups, that large.
	allocSize = 1 << 20
	// pageSize is fixed, so that a file can move between machines.
	pageSize = 4096
)

// Backend is a [store.Backend] in one file.
type Backend struct {
	path    string
	maxSize int

	swap sync.RWMutex // held for writing while db becomes another one
	db   *bbolt.DB
	file *os.File // what db is in; it is db's to close

	compacting sync.Mutex

	waiting atomic.Int64 // updates on their way to mu
	mu      sync.Mutex   // held while a function of an update runs, and to commit
	batch   *batch       // nil: none is open
	commits int          // so far; mu guards it, too
	// changed is what updates have changed since a compaction last looked; nil where
	// none is under way; mu guards it.
	changed map[place]struct{}
	closed  atomic.Bool
	// broken is why nothing works any more, once the file failed beneath us.
	broken atomic.Pointer[error]
}

// Path is the ledger's file, symbolic links resolved.
func (b *Backend) Path() string { return b.path }

func (b *Backend) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger %s: %w", b.path, err)
	}
	if err := b.broken.Load(); err != nil {
		return *err
	}
	if b.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// fail makes an error of bbolt one of ours.
func (b *Backend) fail(verb string, err error) error {
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return store.ErrClosed
	}
	return pathError(verb+" the ledger", b.path, err)
}

// View implements [store.Backend].
func (b *Backend) View(ctx context.Context, fn func(store.Reader) error) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	tx, err := b.begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // a read transaction has nothing to lose
	return fn(&reader{b: b, ctx: ctx, tx: tx})
}

func (b *Backend) begin(writable bool) (tx *bbolt.Tx, err error) {
	b.swap.RLock()
	defer b.swap.RUnlock()
	err = b.touch("open a transaction on", func() error {
		tx, err = b.db.Begin(writable)
		return err
	})
	return tx, err
}

// Backup implements [store.Backend]. The copy is made in a file beside the
// ledger first: a slow reader of w holds up nobody. To get a file, use
// [Backend.BackupTo], which proves it as well.
func (b *Backend) Backup(ctx context.Context, w io.Writer) error {
	f, err := os.CreateTemp(dirOf(b.path), tempPattern(b.path))
	if err != nil {
		return fmt.Errorf("%w: back up the ledger: %w", guard.ErrUnavailable, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a left-over is only untidy
	defer f.Close()           //nolint:errcheck // it was read back whole
	if err := b.copyTo(ctx, f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("%w: back up the ledger: %w", guard.ErrUnavailable, err)
	}
	if _, err := io.Copy(w, &contextReader{ctx, f}); err != nil {
		return fmt.Errorf("back up the ledger: %w", err)
	}
	return nil
}

// Close implements [store.Backend]: it waits for updates and views, and lets the
// file go.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Swap(true) {
		return store.ErrClosed
	}
	if b.batch != nil {
		b.commit()
	}
	removeHolder(b.path)
	if err := b.db.Close(); err != nil {
		return fmt.Errorf("%w: close the ledger %s: %w", guard.ErrUnavailable, b.path, err)
	}
	return nil
}

// contextReader ends a copy when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
