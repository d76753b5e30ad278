// Package store keeps the ledger: [Backend] is bytes in tables with
// transactions, [Ledger] is the typed struct over it, written once for every
// backend.
package store

import (
	"context"
	"io"
)

// MaxWrites is the most keys that one Update may touch; larger work is split
// into chunks, each of which leaves a true ledger.
const MaxWrites = 100

// Backend is bytes with transactions. It is cut so that both a local file and a
// consensus store can be it.
type Backend interface {
	// View runs fn on a consistent snapshot. Byte slices are valid inside fn only.
	View(ctx context.Context, fn func(Reader) error) error
	// Update runs fn and makes its writes durable, all or none, before it
	// returns. fn may run more than once, so it has no effect but through w; it
	// touches at most MaxWrites keys and cannot scan.
	Update(ctx context.Context, fn func(w Writer) error) error
	// Backup writes a consistent copy that Open can read, while writers go on.
	Backup(ctx context.Context, w io.Writer) error
	Close() error
}

// Getter reads single keys. A missing key is nil, nil.
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

// Writer changes keys inside an Update.
type Writer interface {
	Getter
	Put(table, key string, value []byte) error
	Delete(table, key string) error
}
