package wire

import "time"

// RegisterRequest is the body of POST /v1/register. Everything but the ID may be
// left out: on a first registration the daemon's defaults fill it, on a later
// one it keeps what it has.
type RegisterRequest struct {
	ID      string `json:"id"` // ACCOUNT/ID
	Purpose string `json:"purpose,omitempty"`
	Owner   string `json:"owner,omitempty"` // default: the caller
	// TTL counts from now; Until is a moment. One of the two at most.
	TTL            string            `json:"ttl,omitempty"`
	Until          string            `json:"until,omitempty"`
	Budget         string            `json:"budget,omitempty"` // "2400CNY"
	Price          string            `json:"price,omitempty"`  // "2.50USD/h", the whole machine
	Tags           map[string]string `json:"tags,omitempty"`
	OnLimit        string            `json:"on_limit,omitempty"` // release, stop or alert
	Grace          string            `json:"grace,omitempty"`
	NoGPUOK        bool              `json:"no_gpu_ok,omitempty"`
	AllowUnprotect bool              `json:"allow_unprotect,omitempty"`
	// Reassign takes over a lease that somebody else holds.
	Reassign bool `json:"reassign,omitempty"`
	// Expect makes a lease for an instance that does not exist yet; ID is then the
	// account alone.
	Expect *ExpectRequest `json:"expect,omitempty"`
	// Key is random text of the caller's: a second request with the same key changes
	// nothing. AskedAt is when it was typed, where that is not now: a TTL counts from
	// there.
	Key     string     `json:"key,omitempty"`
	AskedAt *time.Time `json:"asked_at,omitempty"`
}

// ExpectRequest says how an instance that is about to be made will be known.
type ExpectRequest struct {
	Name   string `json:"name,omitempty"`
	Within string `json:"within,omitempty"` // a duration; 30m where it is left out
}

// Spooled is a registration that could not reach the daemon, in a file.
type Spooled struct {
	Version int             `json:"version"` // SpoolVersion
	Addr    string          `json:"addr"`    // the daemon that it is for
	Request RegisterRequest `json:"request"` // with Key and AskedAt
}

// SpoolVersion is the version of the files in a spool.
const SpoolVersion = 1

// The endings of files in a spool: what waits, what was refused, and why it was.
const (
	SpoolWaiting = ".json"
	SpoolFailed  = ".failed"
	SpoolWhy     = ".why"
)

// MostSpooled bounds one file of a spool, in bytes, and MostWaiting how many are
// looked at.
const (
	MostSpooled = 64 << 10
	MostWaiting = 1000
)

// Registered is the answer to a registration.
type Registered struct {
	Now time.Time `json:"now"`
	// Outcome is created, updated or unchanged.
	Outcome string   `json:"outcome"`
	Changes []Change `json:"changes"`
	Item    Item     `json:"item"`
	Limits  []Limit  `json:"limits"`
	// Erases is what the release at a limit destroys; Survives is what is left
	// afterwards and goes on billing.
	Erases   []string `json:"erases"`
	Survives []string `json:"survives"`
	// Defaults names the fields that the daemon filled in.
	Defaults []string `json:"defaults,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Change is one field that an update altered.
type Change struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// Limit is when one limit is reached and what then happens.
type Limit struct {
	Reason string `json:"reason"` // expiry, budget
	// Reached is when the limit itself is crossed; null where it cannot be told.
	Reached *time.Time `json:"reached"`
	// Acts is when guard acts, so that it lands on the limit.
	Acts *time.Time `json:"acts"`
	// Does is release, stop, alert, or nothing in an observed account.
	Does string `json:"does"`
	Text string `json:"text,omitempty"`
}

// ExtendRequest is the body of POST /v1/extend.
type ExtendRequest struct {
	ID     string `json:"id"`
	By     string `json:"by,omitempty"`     // a duration, onto the present expiry
	Until  string `json:"until,omitempty"`  // a moment
	Budget string `json:"budget,omitempty"` // "+500CNY" onto the cap, "3000CNY" instead of it
}

// HoldRequest is the body of POST /v1/hold.
type HoldRequest struct {
	ID     string `json:"id"`
	For    string `json:"for,omitempty"`   // a duration; 2h where neither is given
	Until  string `json:"until,omitempty"` // a moment
	Reason string `json:"reason,omitempty"`
}

// IDRequest is the body of the verbs that need nothing but a resource.
type IDRequest struct {
	ID string `json:"id"`
}

// MuteRequest is the body of POST /v1/veto, /v1/snooze and /v1/ack, and of what ends them.
type MuteRequest struct {
	ID string `json:"id"`
	// Rule is what a veto is against; left out, the one whose release is coming.
	Rule   string `json:"rule,omitempty"`
	For    string `json:"for,omitempty"`   // a duration; 2h where neither is given, 24h of an ack
	Until  string `json:"until,omitempty"` // a moment
	Reason string `json:"reason,omitempty"`
}

// Changed is the answer to extend, hold, protect, veto, snooze, ack and what ends them.
type Changed struct {
	Now     time.Time `json:"now"`
	Changes []Change  `json:"changes"`
	Item    Item      `json:"item"`
	Limits  []Limit   `json:"limits"`
	Notes   []string  `json:"notes,omitempty"`
}

// ReleaseRequest is the body of POST /v1/release: either IDs, or All with Match.
type ReleaseRequest struct {
	IDs    []string          `json:"ids,omitempty"`
	All    bool              `json:"all,omitempty"`
	Match  map[string]string `json:"match,omitempty"` // every tag, compared exactly
	Reason string            `json:"reason,omitempty"`
	// DryRun says what would be done and does nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// ConfirmGone is the caller's word that these are gone, where nobody else can tell.
	ConfirmGone bool `json:"confirm_gone,omitempty"`
	// Plan is the digest of a dry run, and Goes what would go by it: the order is
	// refused where anything else would go now.
	Plan string   `json:"plan,omitempty"`
	Goes []string `json:"goes,omitempty"`
}

// ReleaseAnswer is the answer for each resource that was asked about.
type ReleaseAnswer struct {
	Now     time.Time        `json:"now"`
	Results []ReleaseOutcome `json:"results"`
	// Plan is the digest of what goes; Saves is what that bills per hour, an amount a
	// currency, and NoPrice how many of them have no known price.
	Plan    string   `json:"plan,omitempty"`
	Saves   []string `json:"saves,omitempty"`
	NoPrice int      `json:"no_price,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// The outcomes of an order to release.
const (
	OutcomeOrdered = "ordered" // planned now
	OutcomeUnder   = "under"   // a release is on its way already
	OutcomeGone    = "gone"    // nothing to do any more
	OutcomeRefused = "refused"
	OutcomeWould   = "would" // a dry run: it would be ordered
	// OutcomeConfirmed: it counts as gone now, by the caller's word.
	OutcomeConfirmed = "confirmed"
	// OutcomeCancelled: it was expected, and no longer is.
	OutcomeCancelled = "cancelled"
)

// ReleaseOutcome is what became of the order for one resource.
type ReleaseOutcome struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	Outcome string `json:"outcome"`
	// Text says it in a sentence.
	Text     string   `json:"text"`
	Error    *Error   `json:"error,omitempty"` // of a refusal
	Erases   []string `json:"erases,omitempty"`
	Survives []string `json:"survives,omitempty"`
}
