package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"guard"
)

// usage is what a process has used so far.
type usage struct {
	CPU   time.Duration `json:"cpu"` // user and system, all threads
	RSS   int64         `json:"rss"` // bytes; Peak since it was last reset
	Anon  int64         `json:"anon"`
	Peak  int64         `json:"peak"`
	Disk  int64         `json:"disk"` // bytes handed to block devices; -1: not told
	alloc uint64
	wall  time.Time
}

// used reads it of this process.
func used() (usage, error) {
	u := usage{Disk: -1, wall: time.Now()}
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return u, fmt.Errorf("%w: getrusage: %v", guard.ErrUnsupported, err)
	}
	u.CPU = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	status, err := procFields("status")
	if err != nil {
		return u, err
	}
	u.RSS, u.Anon, u.Peak = status["VmRSS"]<<10, status["RssAnon"]<<10, status["VmHWM"]<<10
	if io, err := procFields("io"); err == nil { // some sandboxes hide it
		u.Disk = io["write_bytes"]
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.alloc = m.TotalAlloc
	return u, nil
}

// procFields reads the numbers of a file of /proc/self.
func procFields(name string) (map[string]int64, error) {
	b, err := os.ReadFile("/proc/self/" + name)
	if err != nil {
		return nil, fmt.Errorf("%w: bench reads /proc, and this system has none that can be read: %v", guard.ErrUnsupported, err)
	}
	out := map[string]int64{}
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		key, value, _ := strings.Cut(sc.Text(), ":")
		if number, _, _ := strings.Cut(strings.TrimSpace(value), " "); number != "" {
			if n, err := strconv.ParseInt(number, 10, 64); err == nil {
				out[key] = n
			}
		}
	}
	return out, nil
}

// resetPeak makes VmHWM count anew. Where that is not allowed the peak is that of
// the process's whole life, which is no less.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// load is the machine's load average of the last minute; 0 where it is not told.
func load() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	f, _ := strconv.ParseFloat(first, 64)
	return f
}
