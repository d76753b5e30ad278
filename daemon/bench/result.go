package bench

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"time"
)

// Result is what was measured, as it is printed. Names end in their unit; MB are
// 10⁶ bytes, and a number that could not be read is null.
type Result struct {
	Goals      []Goal     `json:"goals"`
	Machine    Machine    `json:"machine"`
	Parameters Parameters `json:"parameters"`
	Cycles     Cycles     `json:"cycles"`
	Deadlines  Deadlines  `json:"deadlines"`
	Memory     Memory     `json:"memory"`
	QuietDay   QuietDay   `json:"quiet_day"`
	Start      Start      `json:"start"`
	People     []Command  `json:"people"`
	// MonthReport is null as long as guard has no command that reports a month.
	MonthReport *Command `json:"month_report"`
	Writes      []Writes `json:"writes"`
	Notes       []string `json:"notes"`
}

// Goal is one number that is to stay at or below another.
type Goal struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // null: not measured, and so not met
	Unit  string   `json:"unit"`
	Most  float64  `json:"most"`
	Met   bool     `json:"met"`
}

// Machine is where it was measured.
type Machine struct {
	Cores int    `json:"cores"`
	Go    string `json:"go"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	// Load is the machine's load average of a minute at the start and the end: what
	// else runs there slows all that is told in wall time.
	Load [2]float64 `json:"load"`
}

// Parameters are the fleet and how it is watched.
type Parameters struct {
	Instances int      `json:"instances"`
	Volumes   int      `json:"volumes"`
	Snapshots int      `json:"snapshots"`
	Accounts  int      `json:"accounts"`
	Scopes    []string `json:"scopes"`
	PageSize  int      `json:"page_size"`
	Leases    int      `json:"leases"`
	Poll      string   `json:"poll"`
	Sweep     string   `json:"sweep"`
	Seed      uint64   `json:"seed"`
}

// Cost is what one stretch of work took: the median of N, by CPU.
type Cost struct {
	CPU      float64 `json:"cpu_ms"`
	Wall     float64 `json:"wall_ms"`
	CloudCPU float64 `json:"cloud_cpu_ms"` // of the cloud's own process, in none of the others
	Alloc    float64 `json:"alloc_mb"`
	Updates  int64   `json:"ledger_updates"` // commits that wrote something may be fewer
	Puts     int64   `json:"ledger_puts"`
	Bytes    int64   `json:"ledger_bytes"` // keys and values
	// Loops is how often each loop ran, accounts taken together.
	Loops map[string]uint64 `json:"loops,omitempty"`
	N     int               `json:"n"`
	// XBare is its CPU over that of the bare loop over the same pages.
	XBare *float64 `json:"x_bare,omitempty"`
}

// Cycles are the daemon's rounds and the bare loops beside them.
type Cycles struct {
	// BareAll reads every page of every kind, BareInstances those of the instances.
	BareAll       Cost `json:"bare_all"`
	BareInstances Cost `json:"bare_instances"`
	// Full is the first round on an empty ledger with leases registered: everything
	// is listed, written, metered and judged, and people are told.
	Full Cost `json:"full"`
	// Quiet is a round in which everything is listed, metered and judged, and nothing
	// has changed; Minute is the ordinary round, of the instances only.
	Quiet  Cost `json:"quiet"`
	Minute Cost `json:"minute"`
	// Arming is the round in which every lease comes within its notice: people are
	// told, and the releases stand ready.
	Arming Cost `json:"arming"`
}

// Deadlines is how long after its due time an intent to release was durable.
type Deadlines struct {
	Armed     int     `json:"armed"` // releases that stand ready as the first falls due
	PerSecond int     `json:"per_second"`
	Due       int     `json:"due"`
	Late      int     `json:"unfinished"` // not durable when waiting for them ended
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
	// Meanwhile is all that the daemon did from shortly before the first until then.
	Meanwhile Cost `json:"meanwhile"`
}

// Memory is what this process held after the quiet rounds, with the ledger's file
// mapped, and the most it held from the first round until then.
type Memory struct {
	Resident float64 `json:"resident_mb"`
	AfterGC  float64 `json:"resident_after_gc_mb"`
	Heap     float64 `json:"anonymous_after_gc_mb"`
	Peak     float64 `json:"peak_mb"`
	Cloud    float64 `json:"cloud_resident_mb"` // the other process
}

// QuietDay is what the ledger costs while nothing changes, for each instance and
// day, extrapolated from Minutes of polls and sweeps.
type QuietDay struct {
	Minutes int `json:"minutes"`
	// Kept is how much more the ledger holds, Written what was written to it (keys
	// and values), Disk what that made the file system write, in whole pages.
	Kept    float64  `json:"kept_bytes"`
	Written float64  `json:"written_bytes"`
	Disk    *float64 `json:"disk_bytes"`
	// Held and File are the ledger as a whole: what it holds, and its file's size.
	Held float64 `json:"ledger_holds_mb"`
	File float64 `json:"ledger_file_mb"`
}

// Start is a start on the fleet's ledger until the API answers that it is up, the
// median of N; the program's own loading is not in it.
type Start struct {
	Total  float64 `json:"total_ms"`
	File   float64 `json:"file_ms"`   // the file is proven and opened
	Ledger float64 `json:"ledger_ms"` // its records are taken in
	Daemon float64 `json:"daemon_ms"` // identities are asked for, loops and API wired
	CPU    float64 `json:"cpu_ms"`    // of all that
	N      int     `json:"n"`
}

// Command is one command line that a person types, API included: the median of N.
type Command struct {
	Line string  `json:"line"`
	Wall float64 `json:"wall_ms"`
	CPU  float64 `json:"cpu_ms"`
	Out  int     `json:"out_bytes"`
	N    int     `json:"n"`
}

// Writes is updates of the ledger against bare bbolt transactions of the same keys
// and values in the same order, each on disk before the next.
type Writes struct {
	Records int     `json:"records"` // in one update
	Bytes   int     `json:"bytes"`
	Ours    float64 `json:"ledger_ms"`
	Bare    float64 `json:"bbolt_ms"`
	XBare   float64 `json:"x_bare"` // the ratio of the sums
	N       int     `json:"n"`
}

// JSON writes the result as one object.
func (r *Result) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// judge holds the result against what it is to reach.
func (r *Result) judge() {
	goal := func(name string, value *float64, unit string, most float64) {
		r.Goals = append(r.Goals, Goal{name, value, unit, most, value != nil && *value <= most})
	}
	known := func(f float64) *float64 { return &f }
	p99 := known(r.Deadlines.P99)
	if r.Deadlines.Due == 0 {
		p99 = nil
	}
	goal("CPU of the full cycle over the bare loop's", r.Cycles.Full.XBare, "times", 3)
	goal("CPU of a quiet cycle over the bare loop's", r.Cycles.Quiet.XBare, "times", 1.5)
	goal("CPU of a quiet minute over the bare loop's", r.Cycles.Minute.XBare, "times", 1.5)
	goal("deadline until the intent is durable, p99", p99, "ms", 100)
	goal("resident memory after a collection", known(r.Memory.AfterGC), "MB", 250)
	goal("resident memory at its peak", known(r.Memory.Peak), "MB", 250)
	goal("ledger growth per quiet instance-day", known(r.QuietDay.Kept), "bytes", 2048)
	goal("ledger bytes written per quiet instance-day", known(r.QuietDay.Written), "bytes", 2048)
	goal("start on that ledger", known(r.Start.Total), "ms", 500)
}

// ms and mb round to what is worth reading.
func ms(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }
func mb(n int64) float64         { return round(float64(n) / 1e6) }
func round(f float64) float64    { return math.Round(f*1000) / 1000 }

// quantile is the smallest value that a part q of them do not exceed; they are
// sorted, and there is one at least.
func quantile(sorted []time.Duration, q float64) time.Duration {
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// median is the middle one by a measure.
func median[T any](of []T, by func(T) float64) T {
	s := slices.Clone(of)
	slices.SortFunc(s, func(a, b T) int {
		switch x, y := by(a), by(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return s[(len(s)-1)/2]
}
