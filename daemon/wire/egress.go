package wire

import "time"

// EgressList is the answer to GET /v1/egress.
type EgressList struct {
	Now   time.Time `json:"now"`
	Items []Egress  `json:"items"`
}

// Egress is the traffic of one resource. Bytes are of 1000 to the kB; months are those of
// the calendar in UTC, which is what providers bill by, and days the last 24 hours.
type Egress struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Owner string `json:"owner"`
	// Sent and Received are all that was metered since First; At is the newest sample.
	Sent     uint64    `json:"sent"`
	Received uint64    `json:"received"`
	First    time.Time `json:"first"`
	At       time.Time `json:"at"`
	Source   string    `json:"source"`
	Hour     uint64    `json:"hour"`
	Day      uint64    `json:"day"`
	Month    uint64    `json:"month"`
	// MonthEnd is what the month comes to if it goes on as in the last hour.
	MonthEnd uint64 `json:"month_end"`
	// Rate is bytes a second in the last hour.
	Rate uint64 `json:"rate"`
	// Cost and CostEnd are what Month and MonthEnd cost, beyond the free tier; null where
	// the price is not known.
	Cost    *string `json:"cost"`
	CostEnd *string `json:"cost_end"`
	// Price is the price of a GB; null where nobody tells. UpTo is then the most that it
	// can be, where that is known.
	Price *string `json:"price"`
	UpTo  *string `json:"up_to"`
	// FreeGB are free in each month for the whole account, and FreeLeft is how many bytes
	// of them are left.
	FreeGB   int64  `json:"free_gb"`
	FreeLeft uint64 `json:"free_left"`
	// UsualHour is the median of the hours of the last week, UsualDay the most in a day;
	// null where less than a day is known.
	UsualHour *uint64 `json:"usual_hour"`
	UsualDay  *uint64 `json:"usual_day"`
	// What the counters did: began anew, ran over, told what no line can carry.
	Resets  int `json:"resets"`
	Wraps   int `json:"wraps"`
	Dropped int `json:"dropped"`
	// Doubtful is what they moved while nobody read them, and may be no traffic.
	Doubtful []Jump `json:"doubtful,omitempty"`
	// Hours are the bytes of each of the last 24 hours, oldest first.
	Hours []uint64 `json:"hours,omitempty"`
	// Finding is the title of an open egress_spike.
	Finding string `json:"finding,omitempty"`
}

// Jump is what a resource's counters moved, in bytes, between two readings; it is in no
// other number.
type Jump struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Sent     uint64    `json:"sent"`
	Received uint64    `json:"received"`
}

// Estimate is the answer to GET /v1/egress/estimate.
type Estimate struct {
	Now   time.Time `json:"now"`
	ID    string    `json:"id"`
	Bytes uint64    `json:"bytes"`
	// Free is how many of them the rest of the free tier covers.
	Free uint64 `json:"free"`
	// Cost is what the others cost; null where the price is not known. AtMost is then the
	// most that it can be, where that is known, and Assumed what it would be at the price
	// of a large cloud.
	Cost    *string `json:"cost"`
	AtMost  *string `json:"at_most"`
	Assumed *string `json:"assumed"`
	Price   *string `json:"price"`
	// Budget is the lease's cap, Left what is left of it, and Percent how much of that
	// the cost is; null where the lease has none in that currency.
	Budget  *string `json:"budget"`
	Left    *string `json:"left"`
	Percent *int    `json:"percent"`
	// Takes is how long that takes at the rate of the last hour, in seconds; null where
	// nothing is being sent.
	Takes *int64   `json:"takes_s"`
	Notes []string `json:"notes,omitempty"`
}
