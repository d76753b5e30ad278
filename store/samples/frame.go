package samples

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"guard"
)

// A file is the magic and then frames, each the length of its body, the body's checksum
// (both 4 bytes, little endian), and the body, which begins with its kind. What is
// written later goes before what is there: a chunk stands in for all rows of its instance
// before it.
const (
	magicName = "guard samples "
	magic     = magicName + "1\n"

	rowsFrame   = 'r' // packed: entries of instances: key, state, some samples
	chunkFrame  = 'c' // key, from, to, how many, and the packed samples
	forgetFrame = 'f' // the key

	headSize  = 8
	mostFrame = 64 << 20
)

// How hard to pack: rows are soon replaced, chunks stay for a month.
const (
	quick = flate.BestSpeed
	small = flate.BestCompression
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame adds a frame to what is written.
func frame(out *bytes.Buffer, kind byte, body []byte) {
	var head [headSize + 1]byte
	head[headSize] = kind
	sum := crc32.Update(crc32.Checksum(head[headSize:], castagnoli), castagnoli, body)
	binary.LittleEndian.PutUint32(head[:], uint32(len(body)+1))
	binary.LittleEndian.PutUint32(head[4:], sum)
	out.Write(head[:])
	out.Write(body)
}

// readFrame reads the next one. io.ErrUnexpectedEOF is one that was cut off, io.EOF that
// there is none, guard.ErrDamaged what guard did not write.
func readFrame(r io.Reader) (kind byte, body []byte, err error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 { // a loss of power left room that nothing was written into
		return 0, nil, io.ErrUnexpectedEOF
	}
	if n > mostFrame {
		return 0, nil, fmt.Errorf("%w: a record of %d bytes", guard.ErrDamaged, n)
	}
	var b bytes.Buffer // grows as far as there is something to read
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	if crc32.Checksum(b.Bytes(), castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, fmt.Errorf("%w: the checksum of a record is wrong", guard.ErrDamaged)
	}
	return b.Bytes()[0], b.Bytes()[1:], nil
}

// packers are kept: a new one costs more than what it packs here.
var packers = map[int]*sync.Pool{quick: packer(quick), small: packer(small)}

func packer(how int) *sync.Pool {
	return &sync.Pool{New: func() any {
		w, err := flate.NewWriter(nil, how)
		if err != nil {
			panic(err) // there is no such level
		}
		return w
	}}
}

func pack(b []byte, how int) []byte {
	w := packers[how].Get().(*flate.Writer)
	defer packers[how].Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, err := w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(fmt.Sprintf("samples: packing in memory failed: %v", err)) // it cannot
	}
	return out.Bytes()
}

func unpack(b []byte) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), mostFrame))
	if err != nil {
		return nil, fmt.Errorf("%w: samples cannot be unpacked: %v", guard.ErrDamaged, err)
	}
	return out, nil
}

// head is the body of a chunk's frame.
func (c chunk) head(key string) []byte {
	out := appendText(nil, key)
	out = binary.AppendVarint(out, c.from)
	out = binary.AppendVarint(out, c.to)
	out = binary.AppendUvarint(out, uint64(c.n))
	return append(out, c.packed...)
}

// readChunk is the other way.
func readChunk(body []byte) (key string, c chunk, err error) {
	in := &input{b: body}
	key = in.text()
	c = chunk{from: in.int(), to: in.int(), n: in.count(most), packed: in.b}
	if in.bad || key == "" || c.from > c.to {
		return "", c, fmt.Errorf("%w: a block of samples that guard did not write", guard.ErrDamaged)
	}
	return key, c, nil
}

// appendRows writes an instance's state, where there is a new one, and the rows of its
// tail from a row on.
func appendRows(out *bytes.Buffer, key string, state []byte, tail *block, from int) {
	b := appendText(nil, key)
	b = appendText(b, string(state))
	if from < tail.n() {
		b = append(b, 1)
		b = tail.encode(b, from)
	} else {
		b = append(b, 0)
	}
	out.Write(b)
}

// readRows takes in a frame of rows.
func (s *Store) readRows(body []byte) error {
	raw, err := unpack(body)
	if err != nil {
		return err
	}
	in := &input{b: raw}
	for len(in.b) > 0 && !in.bad {
		key, state := in.text(), in.bytes()
		if in.bad || key == "" {
			break
		}
		sr := s.of(key)
		if len(state) > 0 {
			sr.state = bytes.Clone(state)
		}
		if in.count(1) == 0 {
			continue
		}
		b, err := decodeBlock(in)
		if err != nil {
			return err
		}
		for _, x := range b.samples() {
			if !sr.has(x.At.Unix()) && sr.tail.fits(x) {
				sr.tail.add(x)
			}
		}
	}
	if in.bad {
		return fmt.Errorf("%w: samples that guard did not write", guard.ErrDamaged)
	}
	return nil
}
