package wire

import "time"

// ModeRequest is the body of POST /v1/enforce and /v1/observe.
type ModeRequest struct {
	Account string `json:"account"`
	// Accept is how many leases the caller knows to be doomed by it.
	Accept int `json:"accept,omitempty"`
}

// AcceptRequest is the body of POST /v1/resume and /v1/reload.
type AcceptRequest struct {
	// Accept is as in [ModeRequest].
	Accept int `json:"accept,omitempty"`
}

// ModeAnswer is the answer to a switch of what guard acts on. One that was not
// taken because of what it dooms is an Error with the same lines in its details.
type ModeAnswer struct {
	Now  time.Time `json:"now"`
	Done bool      `json:"done"`
	Text string    `json:"text"` // what happened
	// Doomed is what limits end or stop now or soon because of it, after notice.
	Doomed []Doomed `json:"doomed"`
}

// Doomed is a lease that a limit ends.
type Doomed struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	Owner   string `json:"owner"`
	Purpose string `json:"purpose"`
	// Does is release or stop; Limit is expiry, budget or ceiling, and Why what of it.
	Does  string    `json:"does"`
	Limit string    `json:"limit"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"` // when the limit is reached
	// Spend is what it has cost so far, one amount a currency; Hourly what it costs
	// an hour now, where that is known.
	Spend  []string `json:"spend"`
	Hourly *string  `json:"hourly"`
}

// Pause is why guard acts nowhere until somebody says guard resume.
type Pause struct {
	Cause string    `json:"cause"`
	Why   string    `json:"why"`
	Since time.Time `json:"since"`
}
