// Package egress folds the byte counters of an instance's interfaces into how much it
// sent, and tells what of it is usual. It is pure and incremental: each sample is folded
// once.
package egress

import (
	"time"

	"guard"
)

// Options are what Fold goes by, beside the sample.
type Options struct {
	// Line is the rate in bytes a second of an interface whose speed nobody tells;
	// 0: 100 Gbit/s.
	Line float64
	// Spike is since when an egress_spike finding has been open (Finding.Since); zero:
	// none is. What was sent since then is no part of what is usual.
	Spike time.Time
}

// Fold takes the next sample into the meter of one resource. One that is not newer than
// the record changes nothing. The record's Resource is the caller's to set.
func Fold(rec guard.Egress, x guard.Sample, o Options) guard.Egress { return rec }
