package activity

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"guard"
	"guard/policy/say"
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
func (s State) Lines(at time.Time, zone *time.Location, lang guard.Lang) []string {
	if s.Heard.IsZero() {
		return []string{say.In(lang, "no sample yet")}
	}
	if zone == nil {
		zone = time.UTC
	}
	var lines []string
	newest := say.In(lang, "newest sample %s (%s, %s each %s)", say.Kept(lang, ago(at.Sub(s.Heard))), guard.Plain(s.Source), say.Kept(lang, string(s.Basis)), say.Kept(lang, short(s.Interval)))
	if s.Idle.On() {
		newest = say.In(lang, "%s, %.0f %% of the quiet window seen", newest, math.Floor(100*s.Covered(s.Idle)))
	}
	lines = append(lines, newest)
	if !s.Worked.IsZero() {
		lines = append(lines, say.In(lang, "last work %s: %s", s.Worked.In(zone).Format("2006-01-02 15:04 MST"), say.Kept(lang, s.Work)))
	}
	lines = append(lines, s.window(lang)...)
	for _, d := range s.Doubts {
		lines = append(lines, say.In(lang, "not believed: %s", say.Kept(lang, d)))
	}
	if d := s.Doubt(); d != "" {
		lines = append(lines, say.Kept(lang, d))
	}
	if untold := s.Untold(); len(untold) > 0 {
		for i, name := range untold {
			untold[i] = say.Kept(lang, name)
		}
		lines = append(lines, say.In(lang, "nobody tells: %s", strings.Join(untold, say.In(lang, ", "))))
	}
	return lines
}

// window sums the buckets up.
func (s State) window(lang guard.Lang) []string {
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
	took := time.Duration(first[len(first)-1][bAt]-first[0][bAt]+1) * bucketOf
	return []string{say.In(lang, "last %s: %s", say.Kept(lang, short(took)), strings.Join(sum.words(lang), say.In(lang, ", "))), say.In(lang, "gpu %s", spark(s.Ring))}
}

// words are what a bucket shows, in words.
func (b bucket) words(lang guard.Lang) []string {
	var of []string
	if b[bUtil] >= 0 {
		of = append(of, say.In(lang, "gpu at most %.4g %%", float64(b[bUtil])/10))
	}
	if b[bSeen] > 0 {
		of = append(of, say.In(lang, "mean %.3g %%", float64(b[bMean])/float64(b[bSeen])/10))
	}
	if b[bPower] >= 0 {
		of = append(of, say.In(lang, "power at most %.0f W", float64(b[bPower])))
	}
	if b[bMem] >= 0 {
		of = append(of, say.In(lang, "memory %s", mib(float64(b[bMem]))))
	}
	if b[bCores] >= 0 {
		of = append(of, say.In(lang, "cpu at most %.2g cores", float64(b[bCores])/100))
	}
	if b[bNet] >= 0 {
		of = append(of, say.In(lang, "net at most %s", rate(float64(b[bNet])*1e3)))
	}
	if b[bDisk] >= 0 {
		of = append(of, say.In(lang, "disk at most %s", rate(float64(b[bDisk])*1e3)))
	}
	return of
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
