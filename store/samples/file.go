package samples

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"guard"
)

// file is what of an *os.File is used.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// logFile is the file of a store: what is new is written at its end. Rows are not flushed:
// a loss of power may cost the last half minute.
type logFile struct {
	path   string
	f      file // nil: none is open
	size   int64
	loaded bool // what it had is in the store
	// full is from which size on it is looked at whether it should be written anew, and
	// rest when that may be tried again.
	full int64
	rest time.Time
	// trouble is why nothing is written, and retry when that is tried again; lost is
	// what was found wrong in the file.
	trouble, lost string
	retry         time.Time
	// wrap, in tests, stands before the disk.
	wrap func(*os.File) file
}

// retrying is how often a disk that takes nothing is tried.
const retrying = 5 * time.Minute

// A file is written anew once it has worth times what is needed of it, and slack.
const (
	worth = 3
	slack = 1 << 20
)

// reserve is what is left on a disk for the ledger: samples are the first to go without.
const reserve = 32 << 20

// room refuses a disk on which, with n more bytes, less than the reserve would be left.
func (l *logFile) room(n int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(l.path), &st); err != nil {
		return tell("ask for the room of", l.path, err)
	}
	//nolint:unconvert // of other types on other systems
	if free := int64(st.Bavail) * int64(st.Bsize); free < n+reserve {
		return fmt.Errorf("%w: %d MiB are free on the disk of %s: samples are not written, so that the ledger can be", guard.ErrUnavailable, free>>20, l.path)
	}
	return nil
}

// Open opens the file of a store, which it makes where there is none (0600). It always
// returns one: where the file cannot be used samples are kept in memory, as far as they
// fit, [Store.Health] tells why, and it is tried again. A damaged file is put aside as
// PATH.damaged, and what of it can be read is taken over; what is no file of samples, one
// of a newer guard, and one that another process holds, is left alone.
func Open(path string, at time.Time) *Store {
	return open(path, at, func(f *os.File) file { return f })
}

func open(path string, at time.Time, wrap func(*os.File) file) *Store {
	s := Memory()
	s.file = &logFile{path: path, wrap: wrap}
	if err := s.file.load(s); err != nil {
		s.file.fail(err, at)
	}
	return s
}

// fail notes that nothing is written for now.
func (l *logFile) fail(err error, at time.Time) {
	l.trouble, l.retry = err.Error(), at.Add(retrying)
}

// load takes in what the file has.
func (l *logFile) load(s *Store) error {
	f, err := lock(l.path)
	if err != nil {
		return err
	}
	l.f = l.wrap(f)
	size, err := l.read(s, f)
	switch {
	case err == nil && size == 0:
		l.loaded = true
		return l.begin()
	case err == nil:
		l.loaded, l.size, l.full = true, size, max(slack, size)
		return l.f.Truncate(size)
	case !errors.Is(err, guard.ErrDamaged):
		clear(s.series)
		l.f = nil
		return errors.Join(err, f.Close())
	}
	l.loaded = true
	aside := l.path + ".damaged"
	l.lost = fmt.Sprintf("the file of samples was damaged (%v) and is put aside as %s: history from before it may be missing", err, aside)
	if err := os.Rename(l.path, aside); err != nil {
		return tell("put aside", l.path, err)
	}
	return l.rewrite(s)
}

// begin writes how a file begins.
func (l *logFile) begin() error {
	_, err := l.f.WriteAt([]byte(magic), 0)
	if err == nil {
		err = l.f.Sync() // half of it would be no file of samples
	}
	if err != nil {
		return tell("begin", l.path, err)
	}
	l.size = int64(len(magic))
	return nil
}

// lock opens the file, alone.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, tell("open", path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is not a file", guard.ErrRefused, path)
	}
	if err == nil && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		err = fmt.Errorf("%w: another process holds the file of samples %s", guard.ErrLocked, path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// read takes in what is in the file, and returns where its whole frames end: what a
// process that was killed has begun to write is cut off.
func (l *logFile) read(s *Store, f *os.File) (end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, tell("read", l.path, err)
	}
	r := bufio.NewReaderSize(io.NewSectionReader(l.f, 0, info.Size()), 1<<16)
	head := make([]byte, len(magic))
	n, err := io.ReadFull(r, head)
	switch {
	case n == 0:
		return 0, nil
	case string(head[:n]) == magic[:n] && err != nil: // cut off as it was begun
		return 0, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return 0, tell("read", l.path, err)
	case string(head[:n]) == magic:
	case strings.HasPrefix(string(head[:n]), magicName):
		return 0, fmt.Errorf("%w: %s is of a newer guard: it is left alone", guard.ErrRefused, l.path)
	default:
		return 0, fmt.Errorf("%w: %s is no file of samples: it is left alone", guard.ErrRefused, l.path)
	}
	for end = int64(len(magic)); ; {
		kind, body, err := readFrame(r)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return end, nil
		case errors.Is(err, guard.ErrDamaged):
			return end, fmt.Errorf("at byte %d: %w", end, err)
		case err != nil:
			return end, tell("read", l.path, err)
		}
		size := headSize + 1 + len(body)
		if err := s.take(kind, body, end, size); err != nil {
			return end, fmt.Errorf("at byte %d: %w", end, err)
		}
		end += int64(size)
	}
}

// take takes in one frame of the file.
func (s *Store) take(kind byte, body []byte, at int64, size int) error {
	switch kind {
	case rowsFrame:
		return s.readRows(body)
	case forgetFrame:
		delete(s.series, string(body))
		return nil
	case chunkFrame:
		key, c, err := readChunk(body)
		if err != nil {
			return err
		}
		sr := s.of(key)
		c.packed, c.at, c.size = nil, at, size
		sr.chunks, sr.tail = append(sr.chunks, c), block{}
		return nil
	}
	return fmt.Errorf("%w: a record of an unknown kind", guard.ErrDamaged)
}

// chunk reads the packed samples of a chunk.
func (l *logFile) chunk(c chunk) ([]byte, error) {
	if l.f == nil {
		return nil, fmt.Errorf("%w: %s is not open", guard.ErrUnavailable, l.path)
	}
	_, body, err := readFrame(io.NewSectionReader(l.f, c.at, int64(c.size)))
	if err != nil {
		return nil, fmt.Errorf("%w: read %s at byte %d: %w", guard.ErrDamaged, l.path, c.at, err)
	}
	_, in, err := readChunk(body)
	return in.packed, err
}

// append writes frames at the end, or the whole file anew where it is behind, or large
// for what it has.
func (l *logFile) append(s *Store, at time.Time, frames []byte) {
	if l.trouble != "" {
		l.again(s, at)
		return
	}
	err := l.room(int64(len(frames)))
	if err == nil {
		if _, err = l.f.WriteAt(frames, l.size); err != nil {
			_ = l.f.Truncate(l.size) // a frame that is cut off is left out at the next start
			err = tell("write", l.path, err)
		}
	}
	if err != nil {
		l.fail(err, at)
		s.trim()
		return
	}
	l.placed(s, frames)
	l.size += int64(len(frames))
	if l.size < l.full || at.Before(l.rest) {
		return
	}
	if most := worth*s.live() + slack; l.size < most {
		l.full = max(most, l.size+slack)
	} else if err := l.rewrite(s); err != nil {
		l.rest = at.Add(retrying) // the old one still does
	}
}

// placed notes where in the file the chunks are that were just written.
func (l *logFile) placed(s *Store, frames []byte) {
	r, at := bytes.NewReader(frames), l.size
	for {
		kind, body, err := readFrame(r)
		if err != nil || kind != chunkFrame {
			return // rows come last
		}
		size := headSize + 1 + len(body)
		if key, c, err := readChunk(body); err == nil {
			chunks := s.series[key].chunks
			if i := slices.IndexFunc(chunks, func(x chunk) bool { return x.from == c.from }); i >= 0 {
				chunks[i].packed, chunks[i].at, chunks[i].size = nil, at, size
			}
		}
		at += int64(size)
	}
}

// again tries a file that could not be used, once in a while.
func (l *logFile) again(s *Store, at time.Time) {
	s.trim()
	if l.retry.IsZero() || at.Before(l.retry) {
		return
	}
	if !l.loaded {
		s.reload(at)
		return
	}
	if err := l.rewrite(s); err != nil {
		l.fail(err, at)
		return
	}
	l.trouble, l.retry = "", time.Time{}
}

// reload opens a file that could not be read before, and adds what has come since.
func (s *Store) reload(at time.Time) {
	now := open(s.file.path, at, s.file.wrap)
	if !now.file.loaded {
		s.file.fail(errors.New(now.file.trouble), at)
		return
	}
	was := s.series
	s.series, s.file = now.series, now.file
	var frames, rows bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(was)) {
		e := Entry{Key: key, State: was[key].state}
		for _, c := range was[key].chunks {
			if b, err := s.block(c); err == nil {
				e.Samples = append(e.Samples, b.samples()...)
			}
		}
		e.Samples = append(e.Samples, was[key].tail.samples()...)
		s.add(e, &frames, &rows)
	}
	frame(&frames, rowsFrame, pack(rows.Bytes(), quick))
	s.file.append(s, at, frames.Bytes())
}

// mostHeld is how many packed blocks of an instance are held in memory while its file
// takes none: two days of minutes.
const mostHeld = 12

// trim drops the oldest of what only memory has where that becomes too much.
func (s *Store) trim() {
	for _, sr := range s.series {
		var held []int
		for i, c := range sr.chunks {
			if c.size == 0 {
				held = append(held, i)
			}
		}
		for ; len(held) > mostHeld; held = held[1:] {
			s.dropped += sr.chunks[held[0]].n
			sr.chunks = slices.Delete(sr.chunks, held[0], held[0]+1)
			for i := range held {
				held[i]--
			}
		}
	}
}

// rewrite writes all that is kept into a file that takes the name. With an error the old
// one stays as it is.
func (l *logFile) rewrite(s *Store) (err error) {
	if err := l.room(s.live()); err != nil {
		return err
	}
	name := filepath.Join(filepath.Dir(l.path), "."+filepath.Base(l.path)+".new")
	_ = os.Remove(name) // of a process that was killed
	next, err := lock(name)
	if err != nil {
		return err
	}
	w := &logFile{f: l.wrap(next)}
	placed, err := w.fill(s, l)
	if err == nil {
		err = w.f.Sync()
	}
	if err == nil {
		err = os.Rename(name, l.path)
	}
	if err != nil {
		_ = os.Remove(name)
		return errors.Join(tell("write", l.path, err), w.f.Close())
	}
	for key, chunks := range placed {
		s.dropped += s.series[key].n()
		s.series[key].chunks = chunks
		s.dropped -= s.series[key].n()
	}
	old := l.f
	l.f, l.size, l.full = w.f, w.size, worth*w.size+slack
	if old != nil {
		_ = old.Close() // nobody needs it any more
	}
	if dir, err := os.Open(filepath.Dir(l.path)); err == nil {
		_ = dir.Sync() // a name that is lost with the power is an older file, and no harm
		_ = dir.Close()
	}
	return nil
}

// rowsAtOnce is how many instances are in one frame of rows.
const rowsAtOnce = 100

// fill writes all that is kept, reading what is in the old file alone from there, and
// returns where the chunks of each instance are now.
func (l *logFile) fill(s *Store, old *logFile) (placed map[string][]chunk, err error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	placed = map[string][]chunk{}
	var rows bytes.Buffer
	keys := slices.Sorted(maps.Keys(s.series))
	for i, key := range keys {
		sr := s.series[key]
		placed[key] = nil
		for _, c := range sr.chunks {
			if c.packed == nil {
				if c.packed, err = old.chunk(c); err != nil {
					old.damaged(err)
					continue
				}
			}
			c.at = l.size
			if c.size, err = l.write(chunkFrame, c.head(key)); err != nil {
				return nil, err
			}
			c.packed = nil
			placed[key] = append(placed[key], c)
		}
		appendRows(&rows, key, sr.state, &sr.tail, 0)
		if (i+1)%rowsAtOnce == 0 || i == len(keys)-1 {
			if _, err := l.write(rowsFrame, pack(rows.Bytes(), quick)); err != nil {
				return nil, err
			}
			rows.Reset()
		}
	}
	return placed, nil
}

func (l *logFile) write(kind byte, body []byte) (size int, err error) {
	var out bytes.Buffer
	frame(&out, kind, body)
	if _, err := l.f.WriteAt(out.Bytes(), l.size); err != nil {
		return 0, err
	}
	l.size += int64(out.Len())
	return out.Len(), nil
}

// damaged notes that something of the file cannot be read.
func (l *logFile) damaged(err error) {
	l.lost = fmt.Sprintf("part of the file of samples cannot be read; the history in it is lost (%v)", err)
}

// told is what is wrong, for people.
func (l *logFile) told() string {
	switch {
	case l.trouble != "" && l.lost != "":
		return l.trouble + "; " + l.lost
	case l.trouble != "":
		return l.trouble
	}
	return l.lost
}

func (l *logFile) close() error {
	if l.f == nil {
		return nil
	}
	var err error
	if l.trouble == "" {
		err = l.f.Sync()
	}
	err = errors.Join(err, l.f.Close())
	l.f, l.trouble, l.retry = nil, "it is closed", time.Time{}
	return err
}

// tell says what failed with the file, in guard's kinds.
func tell(verb, path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return fmt.Errorf("%w: %s the file of samples: the user that guardd runs as may not: %w", guard.ErrPermission, verb, err)
	}
	return fmt.Errorf("%w: %s the file of samples %s: %w", guard.ErrUnavailable, verb, path, err)
}
