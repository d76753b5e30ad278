package wire

import "time"

// Status is the answer to GET /v1/status.
type Status struct {
	Now        time.Time `json:"now"`
	Version    string    `json:"version,omitempty"`
	Deployment string    `json:"deployment"`
	TimeZone   string    `json:"time_zone"`
	Channels   []string  `json:"channels"` // who is told
	// Attention is what needs a person, a sentence each; empty when all is well.
	Attention []string `json:"attention"`
	// Paused is why guard acts nowhere; nil where it does.
	Paused   *Pause    `json:"paused,omitempty"`
	Accounts []Account `json:"accounts"`
	Loops    []Loop    `json:"loops"`
	Counts   Counts    `json:"counts"`
	Burn     []string  `json:"burn"` // per hour, one amount a currency
	// Stopped are the instances that do not run and go on billing, with what each costs,
	// as the open findings tell it.
	Stopped []string `json:"stopped,omitempty"`
	// Pressing are those of them that no other field tells: releases that are blocked,
	// and findings that only a person can end.
	Pressing []string `json:"pressing"`
	// Delivery is how each channel takes its messages.
	Delivery []Channel `json:"delivery"`
	// Storage is nil where the ledger is in no file.
	Storage *Storage `json:"storage,omitempty"`
}

// Counts are the totals of a status.
type Counts struct {
	Instances    int `json:"instances"`
	Registered   int `json:"registered"`
	Unregistered int `json:"unregistered"`
	// NoPrice are live and perhaps billing, at a price nobody knows; they are
	// not in Burn.
	NoPrice  int `json:"no_price"`
	Findings int `json:"findings"`
	Releases int `json:"releases"` // open ones
	Blocked  int `json:"blocked"`
	Pending  int `json:"pending_messages"`
}

// Account is how one account stands.
type Account struct {
	Name     string     `json:"name"`
	Provider string     `json:"provider"`
	Mode     string     `json:"mode"`
	Identity string     `json:"identity"`
	Polled   *time.Time `json:"polled"`
	// State is ok, new, blind (what runs there cannot be listed, or not all of it),
	// unreachable, mismatch or removed (in the ledger, no longer configured). Error says
	// why it is none of the first two.
	State string   `json:"state"`
	Error string   `json:"error,omitempty"`
	Blind []string `json:"blind,omitempty"` // scopes that cannot be listed, of any kind
	Self  string   `json:"self,omitempty"`  // the instance guard runs on
	// BillError is why the provider's own bill cannot be read, and is not compared.
	BillError string `json:"bill_error,omitempty"`
	// Balance is what is left in it; nil where it does not pay ahead.
	Balance *Balance `json:"balance,omitempty"`
}

// Balance is what is left in an account that pays ahead.
type Balance struct {
	Left string     `json:"left,omitempty"` // "57.00 CNY"; "" where nobody has told yet
	At   *time.Time `json:"at"`             // when that was so
	// Known tells that this is so now; where it is not, Error says why.
	Known bool   `json:"known"`
	Error string `json:"error,omitempty"`
	// UsedUp tells that nothing is left. Empty is else when that will be at the present burn,
	// at the latest where AtLatest; nil where nothing says that it ever will.
	UsedUp   bool       `json:"used_up,omitempty"`
	Empty    *time.Time `json:"empty"`
	AtLatest bool       `json:"at_latest,omitempty"`
}

// Loop is how one loop of the daemon runs.
type Loop struct {
	Name  string     `json:"name"`
	Last  *time.Time `json:"last"`
	Next  *time.Time `json:"next"`
	Error string     `json:"error,omitempty"`
	// Stale tells that it should have run and has not.
	Stale bool `json:"stale"`
}

// Health is the answer to GET /v1/healthz: whether the daemon does its work.
// It is read without touching the ledger, so it answers while that is busy.
type Health struct {
	OK      bool   `json:"ok"`
	Version string `json:"version,omitempty"`
	Loops   []Loop `json:"loops,omitempty"`
}

// BackupRequest is the body of POST /v1/backup: a file on the daemon's machine.
type BackupRequest struct {
	To string `json:"to"`
}

// BackupAnswer tells where the copy is.
type BackupAnswer struct {
	Now  time.Time `json:"now"`
	Path string    `json:"path"`
}

// Channel is how one channel that people read takes its messages.
type Channel struct {
	Name string `json:"name"`
	// Undelivered are the messages that it has not taken. Held of them wait for the end of
	// quiet hours, HeldUntil; Oldest is when the first of the others was written, and Title
	// what that one says.
	Undelivered int        `json:"undelivered"`
	Urgent      int        `json:"urgent"`
	Held        int        `json:"held,omitempty"`
	HeldUntil   *time.Time `json:"held_until,omitempty"`
	// Edits are the posts that are yet to show the present state; Dropped the messages that
	// were never told, because a newer one took their place, since the ledger began.
	Edits     int        `json:"edits,omitempty"`
	Dropped   int        `json:"dropped,omitempty"`
	Oldest    *time.Time `json:"oldest"`
	Title     string     `json:"title,omitempty"`
	LastTaken *time.Time `json:"last_taken"`
	NextTry   *time.Time `json:"next_try"`
	Error     string     `json:"error,omitempty"`   // the last, since it took one
	Failing   *time.Time `json:"failing,omitempty"` // the first of those errors
	// StandIn is the channel that is told what is urgent in its place, since StandInSince;
	// "log" where no other channel is well.
	StandIn      string     `json:"stand_in,omitempty"`
	StandInSince *time.Time `json:"stand_in_since,omitempty"`
	// Overdue tells that a person has to look: it failed, or takes too long.
	Overdue bool `json:"overdue"`
}

// Storage is the ledger's file, what it has room for, and its backups. Sizes are in
// bytes.
type Storage struct {
	Path   string `json:"path"`
	Schema int    `json:"schema"`
	Size   int64  `json:"size"`
	Max    int64  `json:"max"` // the most that Size may be; 0: no bound
	Disk   int64  `json:"disk"`
	Free   int64  `json:"free"` // what of the disk guard may still use
	// Backups are the copies found in Folder, "" where guard makes none by itself;
	// Newest is when the last was made, and Overdue tells that it should be newer.
	Folder  string     `json:"folder,omitempty"`
	Backups int        `json:"backups"`
	Newest  *time.Time `json:"newest"`
	Overdue bool       `json:"overdue"`
	// Trouble is what is wrong with the place that it is in; Error is why part of all
	// this is not known.
	Trouble string `json:"trouble,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Diagnosis is the answer to GET /v1/doctor: what was looked at, section by section.
type Diagnosis struct {
	Now      time.Time `json:"now"`
	Sections []Section `json:"sections"`
}

// Section is one thing that guard stands on.
type Section struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// The states of a point, from the best.
const (
	PointOK   = "ok"
	PointNote = "note" // nothing wrong: not tried, or worth knowing
	PointWarn = "warn" // guard works; soon or in part it will not
	PointFail = "fail" // guard does not do its work
)

// Point is one thing that was looked at.
type Point struct {
	State string `json:"state"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // one line of remedy
}
