package guard

import "time"

// GB is what providers bill traffic by: 10⁹ bytes.
const GB = 1_000_000_000

// EgressPrice is what traffic out of a resource costs.
type EgressPrice struct {
	// PerGB is one GB's price; unset where nobody tells. UpTo is then the most that it
	// can be, where that is known.
	PerGB Money `json:"per_gb"`
	UpTo  Money `json:"up_to"`
	// FreeGB are free in each calendar month (UTC), for the whole account.
	FreeGB int64 `json:"free_gb,omitzero"`
	// InPerGB is the price of traffic that comes in; unset: none.
	InPerGB Money  `json:"in_per_gb"`
	Source  string `json:"source,omitzero"`
}

// IsZero reports that nothing is told of a price, for omitzero.
func (p EgressPrice) IsZero() bool { return p == EgressPrice{} }

// Egress is the meter of one resource's traffic: how many bytes went out, as far as
// its counters tell.
type Egress struct {
	Resource ResourceID `json:"resource"`
	// Sent and Received are all bytes since First, whatever the counters did between.
	Sent     uint64    `json:"sent"`
	Received uint64    `json:"received"`
	First    time.Time `json:"first"`
	At       time.Time `json:"at"` // of the newest sample in it
	// Boot and Last are the counters as last read, by interface.
	Boot string               `json:"boot,omitzero"`
	Last map[string]NICSample `json:"last,omitzero"`
	// Resets, Wraps and Dropped count what the counters did: began anew, ran over, or
	// told what no line can carry.
	Resets  int `json:"resets,omitzero"`
	Wraps   int `json:"wraps,omitzero"`
	Dropped int `json:"dropped,omitzero"`
	// Buckets are the bytes sent in each five minutes of the last day, oldest first;
	// Hours in each hour before that, of a week.
	Buckets []Bytes `json:"buckets,omitzero"`
	Hours   []Bytes `json:"hours,omitzero"`
	// Months are the bytes of each calendar month (UTC) that money is counted of.
	Months []Bytes `json:"months,omitzero"`
}

// Bytes are those of one stretch of time.
type Bytes struct {
	From time.Time `json:"from"`
	Sent uint64    `json:"sent"`
	In   uint64    `json:"in,omitzero"`
	// Flagged: a spike was told of it, so that it is no part of what is usual.
	Flagged bool `json:"flagged,omitzero"`
}
