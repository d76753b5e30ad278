package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"guard"
	"guard/store"
)

// Backup is a file that holds a ledger which no process has open.
type Backup struct {
	Path       string
	Deployment string
	Schema     int
	At         time.Time // when the file was last written
	Size       int64     // in bytes
}

// Backups lists the ledgers of a deployment ("" for any) in a folder that no process
// has open, the newest first. They look whole: their headers, their length and
// what they say they are; only [Verify] proves a file. A ledger whose guardd is
// stopped is among them, and so are copies that were kept before an upgrade or a
// restore, so whoever removes old backups goes by names of their own.
func Backups(ctx context.Context, dir, deployment string) ([]Backup, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, pathError("list the backups in", dir, err)
	}
	var found []Backup
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("list the backups in %s: %w", dir, err)
		}
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		b, ok := looksGood(ctx, filepath.Join(dir, e.Name()))
		if ok && (deployment == "" || b.Deployment == deployment) {
			found = append(found, b)
		}
	}
	slices.SortStableFunc(found, func(a, b Backup) int { return b.At.Compare(a.At) })
	return found, nil
}

// looksGood is what a file that nobody has open says that it is.
func looksGood(ctx context.Context, path string) (Backup, bool) {
	f, err := os.Open(path)
	if err != nil {
		return Backup{}, false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil || unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return Backup{}, false
	}
	d, ok, err := describe(ctx, f)
	return Backup{path, d.Deployment, d.Schema, info.ModTime(), info.Size()}, ok && err == nil
}

// describe reads what a ledger's file says that it is, and nothing else of it.
func describe(ctx context.Context, f *os.File) (store.Description, bool, error) {
	v, err := verifierOf(ctx, f)
	if err != nil {
		return store.Description{}, false, err
	}
	if err := v.begin(); err != nil {
		return store.Description{}, false, err
	}
	return store.Describe(v)
}

// Get reads one record of a file that is not open, by way of that table's pages
// alone.
func (v *verifier) Get(table, key string) (value []byte, err error) {
	err = v.tree(v.root, 0, bounds{}, func(name, b []byte, bucket bool, depth int) error {
		if !bucket || !bytes.Equal(name, root) {
			return nil
		}
		return v.bucket(b, depth, func(name, b []byte, bucket bool, depth int) error {
			if !bucket || string(name) != table {
				return nil
			}
			return v.bucket(b, depth, func(k, stored []byte, _ bool, _ int) error {
				if string(k) == key {
					value, err = unseal(table, k, stored)
				}
				return err
			})
		})
	})
	return value, err
}

// deploymentOf is the deployment of a ledger's file, or of what is left of it: the
// record that tells it is looked for byte by byte. "" where that is gone, too.
func deploymentOf(ctx context.Context, f *os.File) string {
	if d, ok, err := describe(ctx, f); ok && err == nil {
		return d.Deployment
	}
	const chunk, most = 1 << 20, 1 << 10 // the longest that such a record can be
	b := make([]byte, chunk+most)
	for at := int64(0); ctx.Err() == nil; at += chunk {
		n, err := f.ReadAt(b, at)
		for _, i := range starts(b[:n]) {
			if d, ok, err := store.Describe(left(b[i:n])); ok && err == nil {
				return d.Deployment
			}
		}
		if err != nil && !errors.Is(err, io.EOF) || n < len(b) {
			return ""
		}
	}
	return ""
}

// starts are where in some bytes a record may begin that says what a ledger is.
func starts(b []byte) []int {
	var out []int
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte(`{"schema":`))
		if i < 0 {
			return out
		}
		if from += i; from >= sumSize {
			out = append(out, from-sumSize)
		}
		from++
	}
}

// left is what is left of a file, from where a record may begin.
type left []byte

// Get gives the record where it matches its checksum.
func (l left) Get(table, key string) ([]byte, error) {
	end := bytes.IndexByte(l[sumSize:], '}') // the checksum may hold any byte
	if end < 0 {
		return nil, nil
	}
	value, _ := sealerOf(table).open([]byte(key), l[:sumSize+end+1])
	return value, nil
}

// candidatesMost bounds how many files are read for a damaged ledger.
const candidatesMost = 20

// advise adds to a damage what a person can do about it.
func advise(ctx context.Context, f *os.File, folder string, err error) error {
	if !errors.Is(err, guard.ErrDamaged) {
		return err
	}
	deployment := deploymentOf(ctx, f)
	good, others := goodBackup(ctx, f.Name(), folder, deployment)
	switch {
	case good == nil:
		return fmt.Errorf("%w; nothing was changed and there is no good backup beside it: move the file away but keep it, and put a backup in its place", err)
	case deployment == "" && others:
		return fmt.Errorf("%w; nothing was changed. It does not even tell whose ledger it was, and beside it lie good backups of several: move the file away but keep it, and restore the right one", err)
	case deployment == "":
		return fmt.Errorf("%w; nothing was changed. It does not even tell whose ledger it was; the only good backups beside it are of deployment %s, the newest %s (of %s): if that is right, restore it (guardd restore keeps the damaged file)",
			err, good.Deployment, good.Path, good.At.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w; nothing was changed: restore the newest good backup, %s (of %s): guardd restore %[2]s keeps the damaged file",
		err, good.Path, good.At.UTC().Format(time.RFC3339))
}

// goodBackup finds the newest proven backup of a deployment ("" for any) beside a
// ledger and in another folder, and tells whether there are those of others.
func goodBackup(ctx context.Context, path, folder, deployment string) (good *Backup, others bool) {
	dirs := []string{dirOf(path)}
	if folder != "" && filepath.Clean(folder) != dirs[0] {
		dirs = append(dirs, folder)
	}
	var found []Backup
	for _, dir := range dirs {
		some, _ := Backups(ctx, dir, deployment) // one that cannot be listed offers none
		found = append(found, some...)
	}
	slices.SortStableFunc(found, func(a, b Backup) int { return b.At.Compare(a.At) })
	for i, b := range found {
		switch {
		case b.Path == path:
		case good != nil:
			others = others || b.Deployment != good.Deployment
		case i < candidatesMost && Verify(ctx, b.Path) == nil:
			good = &b
		}
	}
	return good, others
}
