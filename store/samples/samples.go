// Package samples keeps the samples of instances, and what was folded of them, apart
// from the ledger. It may be lost: whatever is wrong with its file is told by
// [Store.Health] and costs history, never an error.
//
// A sample is kept to the second. Its numbers are rounded down: utilisation to 1 %,
// memory to 64 MiB, power to 5 W, CPU to 0.1 cores, traffic and disk to 1 kB/s, the age of
// input and heartbeats to 10 s, shares to 0.01; and where they are many steps to their
// leading bits: traffic, disk and ages to less than 1/8, memory to 1/128, processes,
// sessions and intervals to 1/512, all else to 1/16. What is negative, no number or absurdly
// large (2⁴⁰ steps) comes back as not known. Of the energy counters, the byte counters and
// the list of GPU processes nothing is kept: they have been folded by then.
package samples

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	"guard"
)

// Entry is what is new of one instance.
type Entry struct {
	Key     string         // of the instance (guard.ResourceID.Key)
	Samples []guard.Sample // in the order of their time
	// State is what was folded of all of them so far, opaque; nil: as before.
	State []byte
}

// Store keeps samples. Its methods may be called from several goroutines.
type Store struct {
	mu     sync.Mutex
	series map[string]*series
	file   *logFile // nil: in memory only
	// dropped is how many samples were lost because the file could not take or give
	// them.
	dropped int
}

// series is what is kept of one instance.
type series struct {
	state  []byte
	chunks []chunk // oldest first
	tail   block   // after them
}

// chunk is a full block, packed.
type chunk struct {
	from, to int64 // of its first and last sample, Unix seconds
	n        int
	packed   []byte // nil: it is in the file alone
	at       int64  // of its frame in the file
	size     int    // of the frame; 0: it is not in the file
}

// Memory is a store without a file.
func Memory() *Store { return &Store{series: map[string]*series{}} }

// Append takes in what is new, all of it at once. A sample that is not of a later second
// than the last one of its instance is there already.
func (s *Store) Append(at time.Time, entries ...Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(entries) == 0 {
		return
	}
	var sealed, rows bytes.Buffer
	for _, e := range entries {
		s.add(e, &sealed, &rows)
	}
	if s.file == nil {
		return
	}
	frame(&sealed, rowsFrame, pack(rows.Bytes(), quick))
	s.file.append(s, at, sealed.Bytes())
}

// add takes in what is new of one instance, and writes frames of the blocks that are full
// by it, and then the rows that are in none of them.
func (s *Store) add(e Entry, sealed, rows *bytes.Buffer) {
	sr := s.of(e.Key)
	if e.State != nil {
		sr.state = bytes.Clone(e.State)
	}
	from := sr.tail.n()
	for _, x := range e.Samples {
		if sr.has(x.At.Unix()) {
			continue
		}
		if !sr.tail.fits(x) {
			s.seal(e.Key, sr, sealed)
			from = 0
		}
		sr.tail.add(x)
	}
	appendRows(rows, e.Key, e.State, &sr.tail, from)
}

func (s *Store) of(key string) *series {
	sr := s.series[key]
	if sr == nil {
		sr = &series{}
		s.series[key] = sr
	}
	return sr
}

// has reports whether there is a sample of a moment, or of a later one.
func (sr *series) has(at int64) bool {
	if sr.tail.n() > 0 {
		return at <= sr.tail.last()
	}
	n := len(sr.chunks)
	return n > 0 && at <= sr.chunks[n-1].to
}

// seal packs the tail.
func (s *Store) seal(key string, sr *series, out *bytes.Buffer) {
	c := chunk{from: sr.tail.base, to: sr.tail.last(), n: sr.tail.n(), packed: pack(sr.tail.encode(nil, 0), small)}
	sr.chunks, sr.tail = append(sr.chunks, c), block{}
	if s.file != nil {
		frame(out, chunkFrame, c.head(key))
	}
}

// Since are the samples of an instance after a time, oldest first.
func (s *Store) Since(key string, since time.Time) []guard.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	sr := s.series[key]
	if sr == nil {
		return nil
	}
	var out []guard.Sample
	for i := 0; i < len(sr.chunks); i++ {
		c := sr.chunks[i]
		if c.to <= since.Unix() {
			continue
		}
		b, err := s.block(c)
		if err != nil {
			s.file.damaged(err)
			s.dropped += c.n
			sr.chunks = slices.Delete(sr.chunks, i, i+1)
			i--
			continue
		}
		out = append(out, b.samples()...)
	}
	out = append(out, sr.tail.samples()...)
	first := slices.IndexFunc(out, func(x guard.Sample) bool { return x.At.After(since) })
	if first < 0 {
		return nil
	}
	return out[first:]
}

// block unpacks a chunk.
func (s *Store) block(c chunk) (*block, error) {
	packed := c.packed
	if packed == nil {
		var err error
		if packed, err = s.file.chunk(c); err != nil {
			return nil, err
		}
	}
	b, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	return decodeBlock(&input{b: b})
}

// States are what was folded, by instance.
func (s *Store) States() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string][]byte, len(s.series))
	for key, sr := range s.series {
		if sr.state != nil {
			out[key] = sr.state
		}
	}
	return out
}

// Forget drops all that is kept of instances.
func (s *Store) Forget(at time.Time, keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone bytes.Buffer
	for _, key := range keys {
		if s.series[key] != nil {
			delete(s.series, key)
			frame(&gone, forgetFrame, []byte(key))
		}
	}
	if s.file != nil && gone.Len() > 0 {
		s.file.append(s, at, gone.Bytes())
	}
}

// Retain drops the blocks of which every sample is from before a time.
func (s *Store) Retain(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sr := range s.series {
		n := 0
		for n < len(sr.chunks) && sr.chunks[n].to < since.Unix() {
			n++
		}
		sr.chunks = slices.Clone(sr.chunks[n:])
		if sr.tail.n() > 0 && sr.tail.last() < since.Unix() {
			sr.tail = block{}
		}
	}
}

// Health is how the store is doing.
type Health struct {
	Path       string // "": in memory only
	Size, Live int64  // bytes of the file, and what of them is still needed
	Instances  int
	Samples    int
	// Dropped is how many samples were lost because the file could not take or give
	// them.
	Dropped int
	// Trouble is why samples are not written now, or what was lost at the start; "":
	// nothing is wrong.
	Trouble string
}

// Health tells how the store is doing.
func (s *Store) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := Health{Instances: len(s.series), Dropped: s.dropped}
	for _, sr := range s.series {
		h.Samples += sr.n()
	}
	if f := s.file; f != nil {
		h.Path, h.Size, h.Live, h.Trouble = f.path, f.size, s.live(), f.told()
	}
	return h
}

func (sr *series) n() int {
	n := sr.tail.n()
	for _, c := range sr.chunks {
		n += c.n
	}
	return n
}

// live is about how many bytes a file with nothing superfluous would have.
func (s *Store) live() int64 {
	var rows bytes.Buffer
	n := int64(len(magic))
	for _, key := range slices.Sorted(maps.Keys(s.series)) {
		sr := s.series[key]
		for _, c := range sr.chunks {
			n += int64(c.size)
		}
		rows.Reset()
		appendRows(&rows, key, sr.state, &sr.tail, 0)
		n += int64(rows.Len() / 3)
	}
	return n
}

// Trouble is [Health.Trouble] alone, which costs nothing.
func (s *Store) Trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return ""
	}
	return s.file.told()
}

// Close lets the file go.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.close()
}
