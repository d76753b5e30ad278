package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"guard/providers/fake"
)

// Report is what came of a soak.
type Report struct {
	Seed        int64   `json:"seed"` // of the first week
	Weeks       int     `json:"weeks"`
	RealSeconds float64 `json:"real_seconds"`
	// InstanceDays is how long all instances of all weeks existed, in their time.
	InstanceDays       float64 `json:"instance_days"`
	InstanceDaysMinute float64 `json:"instance_days_per_minute"`
	// Faults are the requests that were answered wrong or not at all, by call
	// ("slack" for posts), and what else happened to the fleet, by family.
	Faults   map[string]int `json:"faults"`
	Crashes  int            `json:"crashes"`
	Steps    int            `json:"clock_steps"`
	Suspends int            `json:"suspends"`
	Reloads  int            `json:"reloads"`
	Orders   int            `json:"orders"`
	Releases int            `json:"releases"` // boxes that guard ended
	Stops    int            `json:"stops"`    // boxes that guard stopped
	Deletes  int            `json:"deletes"`  // of what was left behind

	Violations       int               `json:"violations"`
	WrongReleases    int               `json:"wrong_releases"`
	MissedLimits     int               `json:"missed_limits"`
	FalseHolds       int               `json:"false_holds"`
	WrongSpend       int               `json:"wrong_spend"`
	MessagesLost     int               `json:"messages_lost"`
	MessagesRepeated int               `json:"messages_repeated"`
	LedgerErrors     int               `json:"ledger_errors"`
	BrokenRuns       int               `json:"broken_runs"` // panics, and daemons that do not start or rest
	Others           int               `json:"others"`
	MoneyLost        map[string]string `json:"money_lost"` // by currency: by missed limits and false holds
	Failures         []Failed          `json:"failures"`
	// Told is how long it took from finding to delivery in Slack, in virtual seconds: in
	// all weeks, and Calm in those in which Slack never failed and guard never died.
	Told *Delays `json:"told,omitempty"`
	Calm *Delays `json:"told_calm,omitempty"`

	lost  lost
	told  []time.Duration
	calm  []time.Duration
	usual bool // the weeks are those that the command line draws
}

// Delays are how long things took, in seconds.
type Delays struct {
	Messages int     `json:"messages"`
	P50      float64 `json:"p50_seconds"`
	P99      float64 `json:"p99_seconds"`
	Most     float64 `json:"most_seconds"`
}

func delaysOf(ds []time.Duration) *Delays {
	if len(ds) == 0 {
		return nil
	}
	slices.Sort(ds)
	at := func(q float64) float64 { return ds[int(q*float64(len(ds)-1))].Seconds() }
	return &Delays{Messages: len(ds), P50: at(0.5), P99: at(0.99), Most: at(1)}
}

// String is what people read.
func (d Delays) String() string {
	return fmt.Sprintf("%.0f s at the median, %.0f s in 99 of 100, %.0f s at most, of %d", d.P50, d.P99, d.Most, d.Messages)
}

// Failed is a broken promise of one week.
type Failed struct {
	Seed int64  `json:"seed"` // plays it again
	Law  int    `json:"law,omitempty"`
	Kind string `json:"kind"`
	At   string `json:"at"` // since the week's start
	ID   string `json:"id,omitempty"`
	Text string `json:"text"`
	Lost string `json:"lost,omitempty"`
	File string `json:"file,omitempty"` // the shrunk scenario

	sort string
}

func newReport(seed int64) *Report {
	return &Report{Seed: seed, Faults: map[string]int{}, MoneyLost: map[string]string{}, Failures: []Failed{}, lost: lost{}}
}

// add counts one week.
func (r *Report) add(w Week, tale *Tale, found []Violation) {
	r.Weeks++
	r.Orders += len(w.Orders)
	for _, e := range tale.Events {
		switch e.Event {
		case "daemon_crashed":
			r.Crashes++
		case "clock_stepped":
			r.Steps++
		case "daemon_suspended":
			r.Suspends++
		case "reloaded":
			r.Reloads++
		case "release_released":
			r.Releases++
		}
	}
	if tale.History != nil {
		for _, c := range tale.History.Calls {
			switch {
			case !done(c):
			case c.Call.Call == fake.CallStop:
				r.Stops++
			case c.Call.Call == fake.CallDelete:
				r.Deletes++
			}
		}
	}
	r.met(w, tale)
	for _, v := range found {
		r.violated(w, v)
	}
}

// met counts what the week did to guard.
func (r *Report) met(w Week, tale *Tale) {
	for _, a := range w.Accounts {
		for _, e := range a.Script.Timeline {
			if family := familyOf(e); family != "" {
				r.Faults[string(family)]++
			}
		}
	}
	if tale.History == nil {
		return
	}
	r.InstanceDays += w.instanceDays(tale.History)
	if ds := w.delays(tale.History); !w.steps() {
		r.told = append(r.told, ds...)
		if len(w.Slack) == 0 && len(w.Hits) == 0 {
			r.calm = append(r.calm, ds...)
		}
	}
	for _, c := range tale.History.Calls {
		if c.Outcome == "fault" || c.Outcome == "unreachable" || c.Outcome == "ignored" || strings.HasPrefix(c.Outcome, "timed out") {
			r.Faults[c.Call.Call]++
		}
	}
	for _, p := range tale.History.Posts {
		if p.Status != 200 || p.Error != "" {
			r.Faults[string(SlackFaults)]++
		}
	}
}

// familyOf is what an event of the cloud is counted as; "" where nothing is wrong.
func familyOf(e fake.Event) Family {
	switch {
	case e.Signals != nil && e.Signals.Lost != "":
		return SignalFaults
	case e.Signals != nil, e.Pulse != nil, e.Reboot:
		return ""
	case e.Create != nil:
		return Newcomers
	case e.TopUp != "", e.Charge != nil, e.Set != nil && e.Set.Renews != nil:
		return ""
	case e.Identity != "":
		return Impostors
	case e.Reclaim != nil:
		return Reclaims
	case e.Delete && e.By == "platform":
		return Platform
	case e.Delete:
		return Outside
	case e.Rate != nil:
		return Prices
	case e.Detach, e.Attach != "":
		return Moves
	}
	return Stops
}

func (r *Report) violated(w Week, v Violation) {
	r.Violations++
	switch v.Kind {
	case "wrong release":
		r.WrongReleases++
	case "missed limit":
		r.MissedLimits++
	case "false hold":
		r.FalseHolds++
	case "spend":
		r.WrongSpend++
	case "message lost":
		r.MessagesLost++
	case "message repeated":
		r.MessagesRepeated++
	case "ledger":
		r.LedgerErrors++
	case "crash":
		r.BrokenRuns++
	default:
		r.Others++
	}
	r.lost.add(v.Lost)
	f := Failed{Seed: w.Seed, Law: v.Law, Kind: v.Kind, At: spanText(v.At), ID: v.ID, Text: v.Text, sort: v.sort()}
	if v.Lost.IsSet() {
		f.Lost = v.Lost.Round().String()
	}
	r.Failures = append(r.Failures, f)
}

// finish is called when all weeks are in.
func (r *Report) finish() {
	if r.RealSeconds > 0 {
		r.InstanceDaysMinute = r.InstanceDays * 60 / r.RealSeconds
	}
	for currency, m := range r.lost {
		r.MoneyLost[currency] = m.Round().String()
	}
	r.Told, r.Calm = delaysOf(r.told), delaysOf(r.calm)
	slices.SortStableFunc(r.Failures, func(a, b Failed) int { return int(a.Seed - b.Seed) })
}

// file notes where the shrunk scenario of a failure is.
func (r *Report) file(seed int64, v Violation, path string) {
	for i, f := range r.Failures {
		if f.Seed == seed && f.sort == v.sort() {
			r.Failures[i].File = path
		}
	}
}

func (r *Report) faults() int {
	n := 0
	for _, x := range r.Faults {
		n += x
	}
	return n
}

// JSON writes the report as one object.
func (r *Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// Table writes the report for people.
func (r *Report) Table(w io.Writer) {
	row := func(label, format string, args ...any) {
		fmt.Fprintf(w, "%-18s %s\n", label, fmt.Sprintf(format, args...))
	}
	row("seeds", "%d and on, %d weeks in %.0f s", r.Seed, r.Weeks, r.RealSeconds)
	row("instance-days", "%.1f, %.0f a real minute", r.InstanceDays, r.InstanceDaysMinute)
	var faults []string
	for _, k := range slices.Sorted(maps.Keys(r.Faults)) {
		faults = append(faults, fmt.Sprintf("%s %d", k, r.Faults[k]))
	}
	for i, line := range wrapped(faults, 60) {
		label := ""
		if i == 0 {
			label = "faults met"
			line = fmt.Sprintf("%d: ", r.faults()) + line
		}
		row(label, "%s", line)
	}
	row("guard's own", "%d crashes, %d clock steps, %d suspends, %d reloads", r.Crashes, r.Steps, r.Suspends, r.Reloads)
	row("orders", "%d by people, %d releases, %d stops, %d deletions", r.Orders, r.Releases, r.Stops, r.Deletes)
	row("wrong releases", "%d", r.WrongReleases)
	row("missed limits", "%d", r.MissedLimits)
	row("false holds", "%d", r.FalseHolds)
	for _, currency := range slices.Sorted(maps.Keys(r.MoneyLost)) {
		row("money lost", "%s", r.MoneyLost[currency])
	}
	row("wrong spend", "%d", r.WrongSpend)
	row("messages", "%d lost, %d repeated", r.MessagesLost, r.MessagesRepeated)
	if r.Told != nil {
		row("told after", "%s", r.Told)
	}
	if r.Calm != nil {
		row("in calm weeks", "%s", r.Calm)
	}
	row("ledger errors", "%d", r.LedgerErrors)
	row("broken runs", "%d", r.BrokenRuns)
	if r.Others > 0 {
		row("others", "%d", r.Others)
	}
	for _, f := range r.Failures {
		v := f.Kind
		if f.Law > 0 {
			v += fmt.Sprintf(" (law %d)", f.Law)
		}
		fmt.Fprintf(w, "\nFAILED seed %d at %s %s: %s: %s\n", f.Seed, f.At, f.ID, v, f.Text)
		if f.File != "" {
			fmt.Fprintf(w, "  guardd simulate --seed %d %s\n", f.Seed, f.File)
		}
		if r.usual {
			fmt.Fprintf(w, "  guardd simulate --soak 1ms --seed %d\n", f.Seed)
		}
	}
}

// wrapped joins words with commas into lines of at most so many characters.
func wrapped(words []string, width int) []string {
	var lines []string
	for _, word := range words {
		if n := len(lines); n > 0 && len(lines[n-1])+len(word)+2 <= width {
			lines[n-1] += ", " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
