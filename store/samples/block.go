package samples

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"guard"
)

// block is some samples of one instance that follow each other, a column for each
// number. The zero value has none.
type block struct {
	base int64    // of the first sample, Unix seconds
	at   []uint32 // seconds since then
	// words are the texts that columns point at.
	words []string
	// text are the basis, the source and the boot, plain the numbers of the machine,
	// after the interval and how many GPUs were told; nil: nothing is known.
	text           [3][]uint16
	interval, gpus []uint16
	plain          [][]uint16
	gpu            [][][]uint16 // of each GPU its numbers, and whether it is cut
}

const (
	// most is how many samples a block has, and longest how far they lie apart: larger
	// blocks are smaller by the sample, and all of the last one is in memory.
	most    = 240
	longest = 6 * time.Hour
	// mostGPUs is how many of a machine are kept, mostWords how many texts of a block and
	// longestWord how many bytes of one.
	mostGPUs    = 256
	mostWords   = 1024
	longestWord = 128
)

func (b *block) n() int { return len(b.at) }

// last is the end of the newest sample, Unix seconds.
func (b *block) last() int64 { return b.base + int64(b.at[len(b.at)-1]) }

// fits reports whether a sample can be added. A block has room for one always.
func (b *block) fits(x guard.Sample) bool {
	return b.n() == 0 || b.n() < most && x.At.Unix()-b.base < int64(longest/time.Second) && len(b.words)+3 <= mostWords
}

// set puts a value at the end of a column whose other values are there.
func (b *block) set(col *[]uint16, v uint16) {
	if v == 0 && *col == nil {
		return
	}
	if *col == nil {
		*col = make([]uint16, b.n(), max(b.n(), 8))
	}
	*col = append(*col, v)
}

func (b *block) word(s string) uint16 {
	if s == "" {
		return 0
	}
	s = s[:min(len(s), longestWord)]
	i := slices.Index(b.words, s)
	if i < 0 {
		i = len(b.words)
		b.words = append(b.words, s)
	}
	return uint16(i + 1)
}

// add takes in a sample that is newer than all that are there.
func (b *block) add(x guard.Sample) {
	if b.n() == 0 {
		b.base = x.At.Unix()
	}
	x.GPUs = x.GPUs[:min(len(x.GPUs), mostGPUs)]
	for i, s := range []string{string(x.Basis), x.Source, x.Boot} {
		b.set(&b.text[i], b.word(s))
	}
	b.set(&b.interval, seconds.index(guard.Known(x.Interval.Seconds())))
	b.set(&b.gpus, uint16(len(x.GPUs)))
	if b.plain == nil {
		b.plain = make([][]uint16, len(plain))
	}
	for i, p := range plain {
		b.set(&b.plain[i], p.index(*p.of(&x)))
	}
	for len(b.gpu) < len(x.GPUs) {
		b.gpu = append(b.gpu, make([][]uint16, len(each)+1))
	}
	for g := range b.gpu {
		var gpu guard.GPUSample
		if g < len(x.GPUs) {
			gpu = x.GPUs[g]
		}
		for i, p := range each {
			b.set(&b.gpu[g][i], p.index(*p.of(&gpu)))
		}
		mig := uint16(0)
		if gpu.MIG {
			mig = 1
		}
		b.set(&b.gpu[g][len(each)], mig)
	}
	b.at = append(b.at, uint32(x.At.Unix()-b.base))
}

// value is one of a column.
func value(col []uint16, row int) uint16 {
	if col == nil {
		return 0
	}
	return col[row]
}

func (b *block) text3(row, i int) string {
	if v := value(b.text[i], row); v > 0 {
		return b.words[v-1]
	}
	return ""
}

// samples are those of the block, oldest first.
func (b *block) samples() []guard.Sample {
	out := make([]guard.Sample, b.n())
	for row := range out {
		x := &out[row]
		x.At = time.Unix(b.base+int64(b.at[row]), 0).UTC()
		x.Interval = time.Duration(seconds.gauge(value(b.interval, row)).V) * time.Second
		x.Basis, x.Source, x.Boot = guard.Basis(b.text3(row, 0)), b.text3(row, 1), b.text3(row, 2)
		for i, p := range plain {
			*p.of(x) = p.gauge(value(b.plain[i], row))
		}
		n := int(value(b.gpus, row))
		if n == 0 {
			continue
		}
		x.GPUs = make([]guard.GPUSample, n)
		for g := range x.GPUs {
			for i, p := range each {
				*p.of(&x.GPUs[g]) = p.gauge(value(b.gpu[g][i], row))
			}
			x.GPUs[g].MIG = value(b.gpu[g][len(each)], row) == 1
		}
	}
	return out
}

// columns are all of the block in the order of the file: a number of all GPUs after the
// other, so that what is alike lies together.
func (b *block) columns() []*[]uint16 {
	cols := []*[]uint16{&b.text[0], &b.text[1], &b.text[2], &b.interval, &b.gpus}
	for i := range b.plain {
		cols = append(cols, &b.plain[i])
	}
	for i := range len(each) + 1 {
		for g := range b.gpu {
			cols = append(cols, &b.gpu[g][i])
		}
	}
	return cols
}

// How a column is written.
const (
	unknownColumn  = 0 // nothing is known
	constantColumn = 1 // one value
	movingColumn   = 2 // the differences from one to the next
	noisyColumn    = 3 // the median, and the differences from it
	besideColumn   = 4 // the differences from the column before, often the same of another GPU
)

// encode writes the rows from a row on.
func (b *block) encode(out []byte, from int) []byte {
	out = binary.AppendUvarint(out, uint64(b.n()-from))
	out = binary.AppendVarint(out, b.base)
	out = binary.AppendUvarint(out, uint64(len(b.words)))
	for _, w := range b.words {
		out = appendText(out, w)
	}
	out = binary.AppendUvarint(out, uint64(len(b.gpu)))
	var last, step int64
	for _, at := range b.at[from:] {
		d := int64(at) - last
		out = binary.AppendVarint(out, d-step)
		last, step = int64(at), d
	}
	var before []uint16
	for _, col := range b.columns() {
		out = appendColumn(out, *col, before, from)
		before = *col
	}
	return out
}

// appendColumn writes a column in the way that packs best.
func appendColumn(out []byte, col, before []uint16, from int) []byte {
	if col == nil || !slices.ContainsFunc(col[from:], func(v uint16) bool { return v != 0 }) {
		return append(out, unknownColumn)
	}
	col = col[from:]
	if !slices.ContainsFunc(col, func(v uint16) bool { return v != col[0] }) {
		return binary.AppendUvarint(append(out, constantColumn), uint64(col[0]))
	}
	var ways [besideColumn + 1][]byte
	median := slices.Sorted(slices.Values(col))[len(col)/2]
	ways[noisyColumn] = binary.AppendUvarint(nil, uint64(median))
	last := int64(0)
	for i, v := range col {
		ways[movingColumn] = binary.AppendVarint(ways[movingColumn], int64(v)-last)
		ways[noisyColumn] = binary.AppendVarint(ways[noisyColumn], int64(v)-int64(median))
		ways[besideColumn] = binary.AppendVarint(ways[besideColumn], int64(v)-int64(value(before, from+i)))
		last = int64(v)
	}
	best := movingColumn
	for way := noisyColumn; way <= besideColumn; way++ {
		if bitsOf(ways[way]) < bitsOf(ways[best]) {
			best = way
		}
	}
	return append(append(out, byte(best)), ways[best]...)
}

// bitsOf is about how many bits a text takes when it is packed.
func bitsOf(b []byte) (bits float64) {
	var times [256]int
	for _, c := range b {
		times[c]++
	}
	for _, n := range times {
		if n > 0 {
			bits -= float64(n) * math.Log2(float64(n)/float64(len(b)))
		}
	}
	return bits
}

// decodeBlock reads a block. What no block can have is guard.ErrDamaged.
func decodeBlock(in *input) (*block, error) {
	n := in.count(most)
	b := &block{base: in.int(), at: make([]uint32, n)}
	b.words = make([]string, in.count(mostWords))
	for i := range b.words {
		b.words[i] = in.text()
	}
	b.plain = make([][]uint16, len(plain))
	b.gpu = make([][][]uint16, in.count(mostGPUs))
	for g := range b.gpu {
		b.gpu[g] = make([][]uint16, len(each)+1)
	}
	var last, step int64
	for i := range b.at {
		step += in.int()
		if last += step; last < 0 || last > int64(longest/time.Second) || i > 0 && step <= 0 {
			in.bad = true
		}
		b.at[i] = uint32(last)
	}
	var before []uint16
	for _, col := range b.columns() {
		*col = in.column(n, before)
		before = *col
	}
	for i := range n {
		if int(value(b.gpus, i)) > len(b.gpu) {
			in.bad = true
		}
		for _, text := range b.text {
			if int(value(text, i)) > len(b.words) {
				in.bad = true
			}
		}
	}
	if in.bad {
		return nil, fmt.Errorf("%w: samples that guard did not write", guard.ErrDamaged)
	}
	return b, nil
}

// input reads what was encoded; bad once it cannot be that.
type input struct {
	b   []byte
	bad bool
}

func (in *input) uint() uint64 {
	v, n := binary.Uvarint(in.b)
	if n <= 0 {
		in.bad, in.b = true, nil
		return 0
	}
	in.b = in.b[n:]
	return v
}

func (in *input) int() int64 {
	v, n := binary.Varint(in.b)
	if n <= 0 {
		in.bad, in.b = true, nil
		return 0
	}
	in.b = in.b[n:]
	return v
}

// count is a number of things, at most so many.
func (in *input) count(most int) int {
	n := in.uint()
	if n > uint64(most) {
		in.bad = true
		return 0
	}
	return int(n)
}

func (in *input) bytes() []byte {
	n := in.count(len(in.b))
	if n > len(in.b) {
		in.bad = true
		return nil
	}
	b := in.b[:n]
	in.b = in.b[n:]
	return b
}

func (in *input) text() string { return string(in.bytes()) }

func (in *input) column(n int, before []uint16) []uint16 {
	way := in.count(besideColumn)
	switch way {
	case unknownColumn:
		return nil
	case constantColumn:
		v := uint16(in.count(1<<16 - 1))
		return slices.Repeat([]uint16{v}, n)
	}
	col, last, median := make([]uint16, n), int64(0), int64(0)
	if way == noisyColumn {
		median = int64(in.count(1<<16 - 1))
	}
	for i := range col {
		switch way {
		case movingColumn:
			last += in.int()
		case noisyColumn:
			last = median + in.int()
		case besideColumn:
			last = int64(value(before, i)) + in.int()
		}
		if last < 0 || last >= 1<<16 {
			in.bad = true
			last = 0
		}
		col[i] = uint16(last)
	}
	return col
}

func appendText(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}
