package wire

import "time"

// Report is the answer to GET /v1/report: the daily digest as of now. Amounts are text,
// "12.50 USD", one a currency.
type Report struct {
	Now time.Time `json:"now"`
	// Title and Lines are the digest as channels tell it, in the language asked for.
	Title string   `json:"title"`
	Lines []string `json:"lines"`
	// From and To are the calendar day, in guard's zone, that Spent and Ended are of.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Spend is all that was spent in the day, as far as prices are known; Unpriced is what
	// billed at a price that nobody knows.
	Spend    []string      `json:"spend"`
	Unpriced []string      `json:"unpriced"`
	Spent    []ReportSpend `json:"spent"`
	Ended    []ReportEnded `json:"ended"`
	// Ends is what reaches a limit today.
	Ends []ReportEnd `json:"ends"`
}

// ReportSpend is what one purpose of one team cost in the day.
type ReportSpend struct {
	Team    string   `json:"team"` // "": its lease names none
	Purpose string   `json:"purpose"`
	Spend   []string `json:"spend"`
	// Unregistered: it is of what nobody has registered.
	Unregistered bool `json:"unregistered,omitempty"`
}

// ReportEnded is what guard has released or stopped in the day.
type ReportEnded struct {
	Name   string    `json:"name"`
	Action string    `json:"action"`
	Cause  string    `json:"cause"`
	At     time.Time `json:"at"`
	// Less is what it bills less per hour since; empty where that is not known.
	Less []string `json:"less"`
}

// ReportEnd is a limit that comes today.
type ReportEnd struct {
	Name  string    `json:"name"`
	Owner string    `json:"owner"`
	At    time.Time `json:"at"`
	Limit string    `json:"limit"`
	Does  string    `json:"does"`
}
