package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"guard"
)

// The layout of a bbolt file, format 2, as far as proving one needs it. Numbers
// in it are in the byte order of the machine; see go.etcd.io/bbolt/internal/common.
const (
	magic       = 0xED0CDAED
	format      = 2
	headerSize  = 16 // of a page: id 8, flags 2, count 2, overflow 4
	metaSize    = 64 // after the header; the checksum is its last 8 bytes
	elementSize = 16
	bucketSize  = 16 // of a bucket's value: root page 8, sequence 8
	flagBranch  = 0x01
	flagLeaf    = 0x02
	flagBucket  = 0x01
	depthMost   = 64

	noFreelist = ^uint64(0)
)

// Verify reads a ledger's file from end to end, without changing it, and returns
// nil where all of it is whole: headers, pages, the order of keys, the checksum
// of every value. What is wrong is guard.ErrDamaged; a file that a running
// guard holds is guard.ErrLocked.
func Verify(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return pathError("open", path, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if err := flock(ctx, f, unix.LOCK_SH, 100*time.Millisecond); err != nil {
		return err
	}
	return verify(ctx, f, path)
}

// verify reads with ordinary reads, not through a map, so that a short or
// unreadable file is an error and not a fault. name is what its errors call it.
func verify(ctx context.Context, f *os.File, name string) error {
	v, err := verifierOf(ctx, f)
	if err != nil {
		return err
	}
	err = v.begin()
	if err == nil {
		err = v.tree(v.root, 0, bounds{}, v.top)
	}
	if err == nil {
		err = v.all()
	}
	if errors.Is(err, guard.ErrDamaged) {
		return fmt.Errorf("%w: %s %v", guard.ErrDamaged, name, damage(err))
	}
	return err
}

func verifierOf(ctx context.Context, f *os.File) (*verifier, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, pathError("read", f.Name(), err)
	}
	return &verifier{ctx: ctx, f: f, size: info.Size()}, nil
}

// damaged is what is wrong with the file, as the end of a sentence about it.
type damaged string

func (d damaged) Error() string        { return string(d) }
func (d damaged) Is(target error) bool { return target == guard.ErrDamaged }

func bad(text string, args ...any) error { return damaged(fmt.Sprintf(text, args...)) }

func damage(err error) string {
	var d damaged
	if errors.As(err, &d) {
		return string(d)
	}
	return "is damaged: " + err.Error()
}

type verifier struct {
	ctx  context.Context
	f    *os.File
	size int64
	page int64 // the page size
	root uint64
	end  uint64
	seen []atomic.Bool // by page
	// found are the tables, which are looked into side by side.
	found []found
	// levels are the pages that are being looked at, by their depth in the tree: one
	// of each, which the next of its depth takes the place of.
	levels [depthMost + 3][]byte
}

// header is what one of the two meta pages says.
type header struct {
	page             uint32
	root, free, high uint64
	txid             uint64
}

// begin reads what all else rests on.
func (v *verifier) begin() error {
	h, err := v.headers()
	if err != nil {
		return err
	}
	v.page, v.root, v.end = int64(h.page), h.root, h.high
	if h.high < 2 {
		return bad("is damaged: it has %d pages and its headers alone are two", h.high)
	}
	if need := int64(h.high) * v.page; h.high > uint64(v.size) || need > v.size {
		return bad("is cut off: it has %d bytes and its pages need %d", v.size, need)
	}
	v.seen = make([]atomic.Bool, v.end)
	return v.freelist(h.free)
}

// headers reads both meta pages. Both must be whole: the newer one holds the last
// update, and going on with the other would forget it without a word.
func (v *verifier) headers() (header, error) {
	if v.size == 0 {
		return header{}, bad("is empty; guard never leaves a ledger empty, so something else cut it off or made it: if there never was a ledger here, remove it and start again")
	}
	first, err1 := v.header(0)
	at := int64(pageSize)
	if err1 == nil {
		at = int64(first.page)
	}
	second, err2 := v.header(at)
	switch {
	case err1 == nil && err2 == nil && first.page == second.page:
	case err1 == nil && v.size < 2*at:
		return header{}, bad("is cut off in its first pages: it has %d bytes", v.size)
	case err1 == nil || err2 == nil:
		return header{}, bad("has two headers and one of them is damaged")
	case errors.Is(err1, errNotOurs) && errors.Is(err2, errNotOurs):
		return header{}, bad("is not a ledger, or its beginning was overwritten")
	case !errors.Is(err1, guard.ErrDamaged) && !errors.Is(err1, errNotOurs):
		return header{}, err1
	default:
		return header{}, bad("has two headers and both are damaged")
	}
	if second.txid > first.txid {
		return second, nil
	}
	return first, nil
}

var errNotOurs = errors.New("not a header")

func (v *verifier) header(at int64) (header, error) {
	b := make([]byte, headerSize+metaSize)
	if at+int64(len(b)) > v.size {
		return header{}, errNotOurs
	}
	if err := v.read(b, at); err != nil {
		return header{}, err
	}
	b = b[headerSize:]
	n := binary.NativeEndian
	if n.Uint32(b) != magic {
		return header{}, errNotOurs
	}
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	h := header{page: n.Uint32(b[8:]), root: n.Uint64(b[16:]), free: n.Uint64(b[32:]), high: n.Uint64(b[40:]), txid: n.Uint64(b[48:])}
	if n.Uint64(b[56:]) != sum.Sum64() || n.Uint32(b[4:]) != format || h.page < 1024 || h.page > 1<<24 {
		return header{}, bad("has a damaged header")
	}
	return h, nil
}

func (v *verifier) read(b []byte, at int64) error {
	if _, err := v.f.ReadAt(b, at); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return bad("is cut off at byte %d", at)
		}
		return fmt.Errorf("%w: cannot be read at byte %d, ask the disk why: %v", guard.ErrDamaged, at, err)
	}
	return nil
}

// claim takes the pages of one run, each of which must be used once.
func (v *verifier) claim(id, overflow uint64) error {
	if id < 2 || id+overflow < id || id+overflow >= v.end {
		return bad("is damaged: it points to page %d, outside of its %d pages", id, v.end)
	}
	for i := id; i <= id+overflow; i++ {
		if v.seen[i].Swap(true) {
			return bad("is damaged: page %d is used twice", i)
		}
	}
	return nil
}

// load reads a page with what overflows from it, for a depth of the tree.
func (v *verifier) load(id uint64, depth int) (page, error) {
	if err := v.ctx.Err(); err != nil {
		return page{}, fmt.Errorf("verify the ledger: %w", err)
	}
	if id < 2 || id >= v.end {
		return page{}, bad("is damaged: it points to page %d, outside of its %d pages", id, v.end)
	}
	b := v.room(depth, v.page)
	if err := v.read(b, int64(id)*v.page); err != nil {
		return page{}, err
	}
	p := pageOf(id, b)
	if p.id != id {
		return page{}, bad("is damaged: page %d says that it is page %d", id, p.id)
	}
	if err := v.claim(id, uint64(p.overflow)); err != nil {
		return page{}, err
	}
	if p.overflow > 0 {
		b = v.room(depth, (int64(p.overflow)+1)*v.page)
		if err := v.read(b, int64(id)*v.page); err != nil {
			return page{}, err
		}
	}
	p.data = b
	return p, nil
}

func (v *verifier) room(depth int, size int64) []byte {
	if int64(cap(v.levels[depth])) < size {
		v.levels[depth] = make([]byte, size)
	}
	return v.levels[depth][:size]
}

// freelist proves a stored list of free pages: bbolt reads one where there is one.
func (v *verifier) freelist(id uint64) error {
	if id == noFreelist {
		return nil
	}
	p, err := v.load(id, 0)
	if err != nil {
		return err
	}
	const flagFree = 0x10
	count, at := uint64(p.count), int64(headerSize)
	if count == 0xFFFF { // too many for the field: the first entry is the count
		count, at = binary.NativeEndian.Uint64(p.data[at:]), at+8
	}
	if p.flags != flagFree || count > uint64(len(p.data))/8 || at+int64(count)*8 > int64(len(p.data)) {
		return bad("is damaged: its list of free pages cannot be read")
	}
	for i := range int64(count) {
		if err := v.claim(binary.NativeEndian.Uint64(p.data[at+8*i:]), 0); err != nil {
			return err
		}
	}
	return nil
}
