// Package store keeps the ledger: [Backend] is bytes in tables with
// transactions, [Ledger] is the typed struct over it, written once for every
// backend.
package store

import (
	"context"
	"fmt"
	"io"

	"guard"
)

// MaxWrites is the most keys that one Update may write (put or delete); larger
// work is split into chunks, each of which leaves a true ledger. It stays below
// the 128 operations that etcd takes in one transaction.
const MaxWrites = 100

// MaxKey is the longest key, in bytes. bbolt would take 32 KiB; no ID that guard
// has met comes near this, so a longer one is a mistake.
const MaxKey = 4096

// Backend is bytes with transactions. It is cut so that both a local file and a
// consensus store can be it. Every method may be called from several goroutines;
// none may be called from inside a function given to View or Update. It runs the
// functions of updates one at a time, in the order of their commits.
type Backend interface {
	// View runs fn on a consistent snapshot. Byte slices are valid inside fn only.
	View(ctx context.Context, fn func(Reader) error) error
	// Update runs fn and makes its writes durable, all or none, before it
	// returns. fn may run more than once, so it has no effect but through w; it
	// writes at most MaxWrites keys and cannot scan. An error of fn undoes its
	// writes and comes back as it is.
	Update(ctx context.Context, fn func(w Writer) error) error
	// Backup writes a consistent copy that Open can read, while writers go on.
	Backup(ctx context.Context, w io.Writer) error
	// Close waits for what is going on; every later call is ErrClosed.
	Close() error
}

// Getter reads single keys. A missing key is nil, nil; a key with an empty value
// is an empty slice.
type Getter interface {
	Get(table, key string) ([]byte, error)
}

// Reader reads a snapshot.
type Reader interface {
	Getter
	// Scan calls fn for each key of the table with the prefix, in byte order,
	// strictly after `after` where that is not empty, until fn returns false.
	Scan(table, prefix, after string, fn func(key string, value []byte) bool) error
	// Last returns the greatest key of the table and its value; "" where empty.
	Last(table string) (string, []byte, error)
}

// Writer changes keys inside an Update. Get sees what was put before; values
// are copied, so a caller may use its slices again.
type Writer interface {
	Getter
	Put(table, key string, value []byte) error
	Delete(table, key string) error
}

// ErrClosed is what a closed backend answers.
var ErrClosed = fmt.Errorf("%w: the ledger is closed", guard.ErrUnavailable)

// ErrTooManyWrites is an Update that would write more than MaxWrites keys. It
// is a mistake of the caller, who splits the work: see [Ledger.UpdateEach].
var ErrTooManyWrites = fmt.Errorf("%w: more than %d keys written in one update of the ledger", guard.ErrInvalid, MaxWrites)

// CheckKey tells whether every backend can hold the key: a table name and a key
// that are not empty and not longer than MaxKey.
func CheckKey(table, key string) error {
	switch {
	case table == "":
		return fmt.Errorf("%w: a ledger key without a table", guard.ErrInvalid)
	case key == "":
		return fmt.Errorf("%w: an empty key in the ledger's table %s", guard.ErrInvalid, table)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: a key of %d bytes in the ledger's table %s: the most is %d", guard.ErrInvalid, len(key), table, MaxKey)
	}
	return nil
}
