package activity

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"guard"
)

const (
	buckets  = 24              // that are kept
	bucketOf = 5 * time.Minute // each
)

// bucket is what five minutes showed, in whole numbers; -1 is not known.
type bucket [fields]int64

// The fields of a bucket.
const (
	bAt   = iota // Unix time / 300
	bUtil        // the busiest GPU's most, tenths of a percent
	bMean        // the mean of all GPUs, tenths of a percent, summed over samples
	bSeen        // how many samples are in bMean
	bPower
	bMem   // MiB, of all GPUs
	bCores // hundredths
	bNet   // kB/s, in and out
	bDisk  // kB/s
	fields
)

// remember puts a sample into its bucket.
func (s *State) remember(r *reading) {
	n := r.At.Add(-1).Unix() / int64(bucketOf/time.Second)
	if len(s.Ring) == 0 || s.Ring[len(s.Ring)-1][bAt] != n {
		s.Ring = append(s.Ring, bucket{n, -1, 0, 0, -1, -1, -1, -1, -1})
	}
	for len(s.Ring) > buckets || s.Ring[0][bAt] <= n-buckets {
		s.Ring = s.Ring[1:]
	}
	b := &s.Ring[len(s.Ring)-1]
	var mem, sum guard.Gauge
	seen := 0
	for _, l := range r.gpus {
		b.up(bUtil, l.util, 10)
		b.up(bPower, l.power, 1)
		if l.mem.OK {
			mem = guard.Known(mem.Or(0) + l.mem.V)
		}
		if u := l.mean; u.OK {
			sum = guard.Known(sum.Or(0) + u.V)
			seen++
		}
	}
	if sum.OK {
		b[bMean] += int64(math.Round(10 * sum.V / float64(seen)))
		b[bSeen]++
	}
	b.up(bMem, mem, 1)
	b.up(bCores, r.CPUCores, 100)
	b.up(bNet, greater(r.Rx, r.Tx), 1e-3)
	b.up(bDisk, r.Disk, 1e-3)
}

func (b *bucket) up(field int, g guard.Gauge, scale float64) {
	if g.OK {
		b[field] = max(b[field], int64(math.Round(g.V*scale)))
	}
}

// Lines are the window's numbers for people, with a small sparkline of the busiest GPU.
// The window is the time since the GPUs are quiet, as far as it is kept (two hours);
// where they are not, the two hours.
func (s State) Lines(at time.Time, zone *time.Location) []string {
	if s.Heard.IsZero() {
		return []string{"no sample yet"}
	}
	if zone == nil {
		zone = time.UTC
	}
	var lines []string
	newest := fmt.Sprintf("newest sample %s (%s, %s each %s)", ago(at.Sub(s.Heard)), guard.Plain(s.Source), s.Basis, short(s.Interval))
	if s.Idle.On() {
		newest += fmt.Sprintf(", %.0f %% of the quiet window seen", math.Floor(100*s.Covered(s.Idle)))
	}
	lines = append(lines, newest)
	if !s.Worked.IsZero() {
		lines = append(lines, fmt.Sprintf("last work %s: %s", s.Worked.In(zone).Format("2006-01-02 15:04 MST"), s.Work))
	}
	lines = append(lines, s.window()...)
	for _, d := range s.Doubts {
		lines = append(lines, "not believed: "+d)
	}
	if d := s.Doubt(); d != "" {
		lines = append(lines, d)
	}
	if u := s.Untold(); len(u) > 0 {
		lines = append(lines, "nobody tells: "+strings.Join(u, ", "))
	}
	return lines
}

// window sums the buckets up.
func (s State) window() []string {
	first := s.Ring
	if s.GPUsQuiet.On() {
		from := s.GPUsQuiet.Since.Unix() / int64(bucketOf/time.Second)
		if s.GPUsQuiet.Since.Unix()%int64(bucketOf/time.Second) != 0 {
			from++ // a bucket that began before would show what was before
		}
		for len(first) > 1 && first[0][bAt] < from {
			first = first[1:]
		}
	}
	if len(first) == 0 {
		return nil
	}
	sum := first[0]
	for _, b := range first[1:] {
		sum[bMean] += b[bMean]
		sum[bSeen] += b[bSeen]
		for _, f := range []int{bUtil, bPower, bMem, bCores, bNet, bDisk} {
			sum[f] = max(sum[f], b[f])
		}
	}
	var of []string
	say := func(f int, format string, scale float64) {
		if sum[f] >= 0 {
			of = append(of, fmt.Sprintf(format, float64(sum[f])*scale))
		}
	}
	say(bUtil, "gpu at most %.4g %%", 0.1)
	if sum[bSeen] > 0 {
		of = append(of, fmt.Sprintf("mean %.3g %%", float64(sum[bMean])/float64(sum[bSeen])/10))
	}
	say(bPower, "power at most %.0f W", 1)
	if sum[bMem] >= 0 {
		of = append(of, "memory "+mib(float64(sum[bMem])))
	}
	say(bCores, "cpu at most %.2g cores", 0.01)
	if sum[bNet] >= 0 {
		of = append(of, "net at most "+rate(float64(sum[bNet])*1e3))
	}
	if sum[bDisk] >= 0 {
		of = append(of, "disk at most "+rate(float64(sum[bDisk])*1e3))
	}
	took := time.Duration(first[len(first)-1][bAt]-first[0][bAt]+1) * bucketOf
	return []string{fmt.Sprintf("last %s: %s", short(took), strings.Join(of, ", ")), "gpu " + spark(s.Ring)}
}

// spark draws the busiest GPU, five minutes a column; a dot is not known.
func spark(ring []bucket) string {
	const bars = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for i := range ring {
		if i > 0 {
			for range ring[i][bAt] - ring[i-1][bAt] - 1 {
				b.WriteByte('.')
			}
		}
		u := ring[i][bUtil]
		if u < 0 {
			b.WriteByte('.')
			continue
		}
		n := utf8.RuneCountInString(bars)
		at := min(n-1, int(u)*n/1000)
		if u >= 20 {
			at = max(at, 1) // work never looks like none
		}
		b.WriteString(string([]rune(bars)[at]))
	}
	return b.String()
}
