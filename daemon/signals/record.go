package signals

import (
	"encoding/json"
	"time"

	"guard"
	"guard/policy/activity"
)

// record is what is kept of an instance over restarts.
type record struct {
	State activity.State `json:"state"`
	// Created tells the instance from an earlier one with its ID, and Seen is when the
	// ledger last had it.
	Created time.Time `json:"created,omitzero"`
	Seen    time.Time `json:"seen,omitzero"`
	// Judge is the name of the source whose samples are folded, Heard what each has
	// told so far.
	Judge string           `json:"judge,omitzero"`
	Heard map[string]heard `json:"heard,omitzero"`
	// Beats is when jobs said that they work, beside all samples.
	Beats beats `json:"beats,omitzero"`
}

// beats is the last stretch of time in which jobs said again and again that they work. A
// source may tell late of the time in it, so its end alone would not do.
type beats struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// apart is how far apart two beats of one stretch may be.
const apart = 10 * time.Minute

// with takes in one more.
func (b beats) with(at time.Time) beats {
	if !at.After(b.To) {
		return b
	}
	if at.Sub(b.To) > apart {
		b.From = at
	}
	b.To = at
	return b
}

// heard is how far one source has been heard.
type heard struct {
	At       time.Time     `json:"at"`            // the end of its newest sample
	Told     time.Time     `json:"told,omitzero"` // when one came that told something of the GPUs
	Interval time.Duration `json:"interval"`
	Rank     int           `json:"rank"`
}

func readRecord(b []byte) (record, error) {
	var r record
	err := json.Unmarshal(b, &r)
	return r, err
}

func (r record) bytes() ([]byte, error) { return json.Marshal(r) }

// rank orders sources by how fine they look: an agent has every second, Prometheus
// every scrape, a shell an instant a poll, a cloud's own monitoring often only a mean.
func rank(source string) int {
	switch source {
	case "agent":
		return 0
	case "prometheus", "scrape":
		return 1
	case "ssh":
		return 2
	}
	return 3
}

// silence is how long a source may say nothing before a lesser one stands in for it.
const silence = 5 * time.Minute

// alive reports whether a source tells something these days. What was told before this
// start counts from the start: a source must have had the chance to speak.
func (h heard) alive(at, began time.Time) bool {
	if h.Told.IsZero() {
		return false
	}
	last := h.Told
	if last.Before(began) {
		last = began
	}
	return at.Sub(last) <= max(3*h.Interval, silence)
}

// judges reports whether a source's samples are folded: no other that tells something is
// finer, or as fine and the one so far.
func (r record) judges(source string, rank int, tells bool, at, began time.Time) bool {
	for name, h := range r.Heard {
		if name == source || !h.alive(at, began) {
			continue
		}
		if !tells || h.Rank < rank || h.Rank == rank && name == r.Judge {
			return false
		}
	}
	return true
}

// tells reports whether a sample says anything of a GPU's work.
func tells(x guard.Sample) bool {
	for _, g := range x.GPUs {
		if g.Util.OK || g.UtilMax.OK || g.Engine.OK || g.Power.OK {
			return true
		}
	}
	return x.Processes.OK
}
