package samples

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// disk is a file that may be full, and that can be let go as the kernel does for a process that is
// killed.
type disk struct {
	*os.File
	room *int64 // bytes that a file may have; nil: any
}

func (d *disk) WriteAt(b []byte, at int64) (int, error) {
	if d.room == nil || at+int64(len(b)) <= *d.room {
		return d.File.WriteAt(b, at)
	}
	n := 0
	if fits := *d.room - at; fits > 0 {
		n, _ = d.File.WriteAt(b[:fits], at)
	}
	return n, fmt.Errorf("write: %w", syscall.ENOSPC)
}

func (d *disk) Truncate(size int64) error { return d.File.Truncate(size) }

type disks struct {
	open []*disk
	room *int64
}

func (ds *disks) wrap(f *os.File) file {
	d := &disk{f, ds.room}
	ds.open = append(ds.open, d)
	return d
}

// kill lets go of all files.
func (ds *disks) kill() {
	for _, d := range ds.open {
		d.File.Close()
	}
}

func fill(s *Store, from time.Time, n int) {
	for _, x := range minutes(from, n) {
		s.Append(x.At, Entry{"lab/instance/i-1", minutes(x.At.Add(-time.Minute), 1), []byte("state of " + x.At.Format(time.RFC3339))},
			Entry{"lab/instance/i-2", minutes(x.At.Add(-time.Minute), 1), []byte("other")})
	}
}

func whole(t *testing.T, s *Store, n int) {
	t.Helper()
	want := times(minutes(day, n))
	for _, key := range []string{"lab/instance/i-1", "lab/instance/i-2"} {
		got := times(s.Since(key, day))
		if len(got) != n {
			t.Fatalf("%d samples of %s, want %d (%s)", len(got), key, n, s.Health().Trouble)
		}
		for i := range got {
			if !got[i].Equal(want[i]) {
				t.Fatalf("sample %d is of %s, want %s", i, got[i], want[i])
			}
		}
	}
	if got := string(s.States()["lab/instance/i-1"]); n > 0 && got != "state of "+want[n-1].Format(time.RFC3339) {
		t.Fatalf("the state is %q", got)
	}
}

// What was taken in is there after a kill -9.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signals.db")
	for i := range 4 {
		ds := &disks{}
		s := open(path, day, ds.wrap)
		whole(t, s, i*100)
		fill(s, day.Add(time.Duration(i*100)*time.Minute), 100)
		whole(t, s, (i+1)*100)
		ds.kill()
	}
	s := Open(path, day)
	whole(t, s, 400)
	s.Forget(day, "lab/instance/i-2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = Open(path, day); len(s.States()) != 1 || len(s.Since("lab/instance/i-2", day)) != 0 {
		t.Error("what was forgotten is back")
	}
	if h := s.Health(); h.Trouble != "" || h.Samples != 400 {
		t.Errorf("%+v", h)
	}
}

// A file that ends anywhere is read as far as it is whole, and goes on.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "signals.db")
	s := Open(path, day)
	fill(s, day, 250)
	s.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(b); cut += 1 + len(b)/60 {
		for _, zeros := range []int{0, 100} { // what a loss of power may leave
			if cut < len(magic) && zeros > 0 {
				continue // how it begins is flushed before anything else is written
			}
			p := filepath.Join(dir, "cut")
			if err := os.WriteFile(p, append(b[:cut:cut], make([]byte, zeros)...), 0o600); err != nil {
				t.Fatal(err)
			}
			s := Open(p, day)
			n := len(s.Since("lab/instance/i-1", day))
			if trouble := s.Health().Trouble; trouble != "" && !strings.Contains(trouble, "checksum") {
				t.Fatalf("cut at %d: %s", cut, trouble)
			}
			s.Append(day, Entry{"lab/instance/i-1", minutes(day.Add(240*time.Hour), 1), []byte("later")})
			s.Close()
			if s = Open(p, day); len(s.Since("lab/instance/i-1", day)) != n+1 || string(s.States()["lab/instance/i-1"]) != "later" {
				t.Fatalf("cut at %d: it does not go on", cut)
			}
			s.Close()
			os.Remove(p)
		}
	}
}

// Whatever is wrong with a file, samples are taken in, and it is told.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	s := Open(good, day)
	fill(s, day, 250)
	s.Close()
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, b...)
	flipped[len(b)/2] ^= 1
	for name, text := range map[string][]byte{
		"flipped": flipped,
		"huge":    append([]byte(magic), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1), "another": append(b[:len(magic):len(magic)], []byte("\x05\x00\x00\x00....hello and what")...),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "signals.db")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			s := Open(path, day)
			h := s.Health()
			if !strings.Contains(h.Trouble, "put aside as "+path+".damaged") {
				t.Errorf("trouble %q", h.Trouble)
			}
			if aside, err := os.ReadFile(path + ".damaged"); err != nil || string(aside) != string(text) {
				t.Errorf("it is not put aside as it was: %v", err)
			}
			if name == "flipped" && h.Samples == 0 {
				t.Error("nothing of what was whole is taken over")
			}
			s.Append(day, Entry{"x", minutes(day, 3), []byte("x")})
			s.Close()
			if s = Open(path, day); len(s.Since("x", day)) != 3 || s.Health().Samples != h.Samples+3 || s.Health().Trouble != "" {
				t.Errorf("afterwards: %+v, had %+v", s.Health(), h)
			}
		})
	}
}

// A file that may not be used is left as it is, told, and tried again.
func TestNotUsable(t *testing.T) {
	for _, c := range []struct {
		name, says string
		text       string
		locked     bool
		folder     bool
	}{
		{name: "newer", text: magicName + "2\nwhatever", says: "a newer guard"},
		{name: "html", text: "<html>not found</html>\n<body>", says: "no file of samples"},
		{name: "sqlite", text: "SQLite format 3\x00 and more", says: "no file of samples"},
		{name: "zeros", text: string(make([]byte, 100)), says: "no file of samples"},
		{name: "short", text: "x", says: "no file of samples"},
		{name: "locked", text: magic, locked: true, says: "another process holds"},
		{name: "no folder", folder: true, says: "open the file of samples"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a", "signals.db")
			if !c.folder {
				os.Mkdir(filepath.Dir(path), 0o700)
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.locked {
				f, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
					t.Fatal(err)
				}
				defer func() {
					f.Close()
				}()
			}
			s := Open(path, day)
			fill(s, day, 300)
			if got := s.Health().Trouble; !strings.Contains(got, c.says) {
				t.Errorf("trouble %q, want %q", got, c.says)
			}
			whole(t, s, 300)
			if b, err := os.ReadFile(path); string(b) != c.text || (err != nil) != c.folder {
				t.Errorf("the file has %q now, %v", b, err)
			}
		})
	}
}

// What could not be opened is opened later, with what it had and what came meanwhile.
func TestOpenedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signals.db")
	ds := &disks{}
	s := open(path, day, ds.wrap)
	fill(s, day, 300)
	later := Open(path, day) // held
	fill(later, day.Add(300*time.Minute), 4)
	ds.kill()
	fill(later, day.Add(304*time.Minute), 10)
	whole(t, later, 314)
	if h := later.Health(); h.Trouble != "" {
		t.Errorf("%+v", h)
	}
	later.Close()
	whole(t, Open(path, day), 314)
}

// A full disk costs nothing that was stored, what comes meanwhile is held as far as there is
// room in memory, and once there is room on the disk it is written.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signals.db")
	room := int64(700)
	ds := &disks{room: &room}
	s := open(path, day, ds.wrap)
	fill(s, day, 1000)
	h := s.Health()
	if !strings.Contains(h.Trouble, "no space left") || h.Size > room {
		t.Fatalf("%+v", h)
	}
	whole(t, s, 1000)
	info, err := os.Stat(path)
	if err != nil || info.Size() > room {
		t.Fatalf("%v %v", info.Size(), err)
	}
	// Another start meanwhile has what was written before.
	b, _ := os.ReadFile(path)
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(copied, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if early := Open(copied, day); early.Health().Trouble != "" || len(early.Since("lab/instance/i-1", day)) < 10 {
		t.Errorf("on the disk: %+v", early.Health())
	}
	room = 10 << 20
	fill(s, day.Add(1000*time.Minute), 10)
	whole(t, s, 1010)
	if h := s.Health(); h.Trouble != "" || h.Dropped != 0 {
		t.Fatalf("with room again: %+v", h)
	}
	s.Close()
	whole(t, Open(path, day), 1010)
}

// What is held while the disk is full is bounded, and what is dropped is counted.
func TestFullForLong(t *testing.T) {
	room := int64(100)
	s := open(filepath.Join(t.TempDir(), "signals.db"), day, (&disks{room: &room}).wrap)
	const n = (mostHeld + 5) * most
	for i := 0; i < n; i += 500 {
		s.Append(day, Entry{Key: "k", Samples: minutes(day.Add(time.Duration(i)*time.Minute), 500)})
	}
	h := s.Health()
	if h.Samples > (mostHeld+1)*most || h.Samples+h.Dropped < n {
		t.Errorf("%d are held and %d dropped of %d", h.Samples, h.Dropped, n)
	}
}

// A file is at most three times what it has, and a little more.
func TestCompaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signals.db")
	s := Open(path, day)
	state := []byte(strings.Repeat("a state that is long and changes with every poll; ", 20))
	largest := int64(0)
	for i := range 4000 {
		for j := range state[:400] {
			state[j] = byte(i * j * 7919 >> 3)
		}
		s.Append(day, Entry{"lab/instance/i-1", minutes(day.Add(time.Duration(i)*time.Minute), 1), state})
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if most := worth*s.live() + 2*slack + 1000; info.Size() > most {
			t.Fatalf("%d bytes, %d is the most", info.Size(), most)
		}
		largest = max(largest, info.Size())
	}
	if h := s.Health(); h.Size != fileSize(t, path) || largest <= h.Size || h.Trouble != "" {
		t.Errorf("%+v was never written anew", h)
	}
	s.Close()
	if s = Open(path, day); s.Health().Samples != 4000 || string(s.States()["lab/instance/i-1"]) != string(state) {
		t.Errorf("%+v", s.Health())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A month of minutes, of which a day is dropped a day: the file is at most three times what
// it has, and a little more, and what it has stays as large.
func TestMonth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signals.db")
	s := Open(path, day)
	samples := load{"", 2, true}.aDay()
	state := make([]byte, 600)
	var after30 int64
	for d := range 35 {
		for i := range samples {
			samples[i].At = samples[i].At.Add(24 * time.Hour)
			if i%60 == 59 {
				s.Append(day, Entry{"lab/instance/i-1", samples[i-59 : i+1], state}, Entry{"lab/instance/i-2", samples[i-59 : i+1], state})
			}
		}
		s.Retain(samples[len(samples)-1].At.AddDate(0, 0, -30))
		live := s.Health().Live
		if size := fileSize(t, path); size > worth*live+2*slack {
			t.Fatalf("day %d: %d bytes of which %d are needed", d, size, live)
		}
		if d == 30 {
			after30 = live
		}
	}
	if h := s.Health(); h.Live > after30*11/10 || h.Samples > 2*31*24*60 || h.Samples < 2*30*24*60 {
		t.Errorf("%+v, after a month %d were needed", h, after30)
	}
}

// A disk with little room is left to the ledger.
func TestReserve(t *testing.T) {
	l := &logFile{path: filepath.Join(t.TempDir(), "signals.db")}
	if err := l.room(1 << 60); err == nil || !strings.Contains(err.Error(), "so that the ledger can be") {
		t.Errorf("an exabyte: %v", err)
	}
	if err := l.room(1); err != nil {
		t.Skip("the disk of the tests is full: ", err)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A block that is damaged while guard runs is dropped, counted and told; the others are
// there.
func TestDamagedUnderway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signals.db")
	s := Open(path, day)
	fill(s, day, 1000)
	c := s.series["lab/instance/i-1"].chunks[1]
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("nonsense"), c.at+30); err != nil {
		t.Fatal(err)
	}
	if got := len(s.Since("lab/instance/i-1", day)); got != 1000-c.n {
		t.Errorf("%d samples", got)
	}
	if h := s.Health(); h.Dropped != c.n || !strings.Contains(h.Trouble, "cannot be read") {
		t.Errorf("%+v", h)
	}
	if got := len(s.Since("lab/instance/i-2", day)); got != 1000 {
		t.Errorf("%d samples of the other", got)
	}
}

// FuzzOpen: no bytes make Open fail, or hang, or keep samples from being taken in.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "seed")
	s := Open(path, day)
	fill(s, day, 250)
	s.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte{})
	f.Add([]byte(magic))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "signals.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := Open(path, day)
		for key := range s.States() {
			s.Since(key, time.Time{})
		}
		s.Append(day, Entry{"a key of its own", minutes(day, 2), []byte("x")})
		if err := s.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
	})
}
