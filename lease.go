package guard

import "time"

// LeaseStatus is where a lease is in its life.
type LeaseStatus string

// The statuses.
const (
	LeaseExpected LeaseStatus = "expected" // registered, not seen yet
	LeaseActive   LeaseStatus = "active"
	LeaseStopped  LeaseStatus = "stopped"
	LeaseGone     LeaseStatus = "gone"     // ended, not by guard
	LeaseReleased LeaseStatus = "released" // ended by guard, with proof
)

// Open reports whether the lease still claims something.
func (s LeaseStatus) Open() bool { return s != LeaseGone && s != LeaseReleased }

// Action is what is done at a limit, or by a rule.
type Action string

// The actions.
const (
	ActAlert   Action = "alert"
	ActStop    Action = "stop"
	ActRelease Action = "release"
)

// Lease is a person's claim on an instance until a time and up to a cap.
type Lease struct {
	ID       string     `json:"id"`
	Resource ResourceID `json:"resource"`
	// ResourceCreated is the provider's creation time as first recorded. A thing
	// of the same ID with another one is not the same thing.
	ResourceCreated time.Time `json:"resource_created,omitzero"`
	Identity        string    `json:"identity,omitzero"` // of the account, at registration
	Purpose         string    `json:"purpose"`
	Owner           string    `json:"owner"`
	RegisteredAt    time.Time `json:"registered_at"`
	// FirstRegistered is when an earlier lease of this very instance began, which has
	// ended while it lived; zero: there was none. See [Lease.Since].
	FirstRegistered time.Time `json:"first_registered,omitzero"`
	ExpiresAt       time.Time `json:"expires_at,omitzero"`
	Budget          Money     `json:"budget"` // the cap; unset: none
	// Price is the whole machine's rate as a person stated it; it overrides.
	Price   Rate              `json:"price,omitzero"`
	Tags    map[string]string `json:"tags,omitzero"`
	OnLimit Action            `json:"on_limit"`
	Grace   time.Duration     `json:"grace"`
	Status  LeaseStatus       `json:"status"`

	// Expect is what the instance of a lease that is expected is known by; nil once it
	// was seen.
	Expect *Expect `json:"expect,omitzero"`
	// Earlier are the instances that it was of before: each was started again as the
	// next, oldest first.
	Earlier []ResourceID `json:"earlier,omitzero"`
	// Adopted: nobody registered it, the rule unregistered.adopt did. Whoever registers
	// it takes it over, and it is not adopted any more.
	Adopted bool `json:"adopted,omitzero"`

	Protected   bool   `json:"protected,omitzero"` // by an admin; outlives every limit
	ProtectedBy string `json:"protected_by,omitzero"`
	Holds       []Hold `json:"holds,omitzero"`
	NoGPUOK     bool   `json:"no_gpu_ok,omitzero"`
	// AllowUnprotect: the owner lets guard strip provider protection, where
	// limits.forced_unprotect does too.
	AllowUnprotect bool `json:"allow_unprotect,omitzero"`

	// TagsWritten is the content of the tags last written to the provider; the
	// write is repeated until it equals what is wanted.
	TagsWritten string `json:"tags_written,omitzero"`
	// Timer is the provider's own timer on it: a second net, trusted never.
	Timer Timer `json:"timer,omitzero"`

	EndedAt   time.Time `json:"ended_at,omitzero"`
	EndedHow  How       `json:"ended_how,omitzero"`
	Estimated bool      `json:"estimated,omitzero"` // EndedAt is the latest it can have been
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by"`
}

// Timer is the provider's own timer on an instance, which ends it even where no guard is
// alive. Times are UTC, of the provider's clock.
type Timer struct {
	// Asked is what guard last asked for, written down before the call; zero: nothing.
	Asked time.Time `json:"asked,omitzero"`
	// At is when it goes off, as it was last read back; zero: there is none.
	At time.Time `json:"at,omitzero"`
	// Read is when it was last read back; zero: never.
	Read time.Time `json:"read,omitzero"`
	// Error is why it is not what was asked for; "" where it is.
	Error string `json:"error,omitzero"`
}

// Before reports that a timer may be set which goes off before t. A zero t wants none.
func (x Timer) Before(t time.Time) bool {
	for _, at := range []time.Time{x.Asked, x.At} {
		if !at.IsZero() && (t.IsZero() || at.Before(t)) {
			return true
		}
	}
	return false
}

// Expect says how an instance that does not exist yet will be known: by the tag
// guard:lease with the lease's ID, or else by its name and by when it came to be.
type Expect struct {
	Name string `json:"name,omitzero"`
	// From and Until are when it may be created, so that its name counts; after Until
	// it is missing.
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// Hold puts off what limits would do, until a time. A ceiling does not heed it.
type Hold struct {
	Until  time.Time `json:"until"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitzero"`
	Since  time.Time `json:"since"`
}

// Since is from when on the life of what is leased counts towards a ceiling.
func (l Lease) Since() time.Time {
	if l.FirstRegistered.IsZero() {
		return l.RegisteredAt
	}
	return l.FirstRegistered
}

// HeldUntil is the end of the last hold in force at t; zero where none is.
func (l Lease) HeldUntil(t time.Time) time.Time {
	var until time.Time
	for _, h := range l.Holds {
		if h.Until.After(t) && h.Until.After(until) {
			until = h.Until
		}
	}
	return until
}

// BudgetBasis is what a person set the budget's deadline from: the cap, and the
// price where a person stated it. Where it differs from Deadline.Basis, that
// deadline was solved for an earlier word.
func (l Lease) BudgetBasis() string {
	basis := l.Budget.String()
	if l.Price.Known() {
		basis += " at " + l.Price.String()
	}
	return basis
}

// DeadlineReason is which limit a deadline comes from.
type DeadlineReason string

// The reasons.
const (
	DeadlineExpiry DeadlineReason = "expiry"
	DeadlineBudget DeadlineReason = "budget"
	// DeadlineCeiling is what an admin set for everyone: nothing puts it off.
	DeadlineCeiling DeadlineReason = "ceiling"
	// DeadlineIdle is when a judgement of idleness stops it, if it stays as it is.
	DeadlineIdle DeadlineReason = "idle"
	// DeadlineEgress is when the egress_spike rule stops it, if its traffic goes on.
	DeadlineEgress DeadlineReason = "egress"
)

// Deadline is when one limit of a lease will be reached and acted on, solved
// for, not polled for.
type Deadline struct {
	Reason DeadlineReason `json:"reason"`
	// Limit is when the limit itself is crossed; Due is when the call is due:
	// the same, or for money earlier by Lead, so that spend lands under the cap.
	Limit time.Time     `json:"limit"`
	Due   time.Time     `json:"due"`
	Lead  time.Duration `json:"lead,omitzero"`
	// Stood is since when the ledger has held a deadline at or before this one
	// plus an hour: how long people could have known.
	Stood time.Time `json:"stood"`
	// Furthest is the latest that the deadline has been since Stood.
	Furthest time.Time `json:"furthest,omitzero"`
	// Basis is what a person set it from (the time, or the cap and the stated
	// price); where that changes, the move is a person's doing.
	Basis string `json:"basis,omitzero"`
	// NotBefore is until when an odd move that was believed leaves people time.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Candidate is an earlier deadline that one odd fact would make; it is
	// adopted only after a second reading and notice (law 8).
	Candidate *Candidate `json:"candidate,omitzero"`
}

// Candidate is a deadline that waits for a second reading.
type Candidate struct {
	Limit    time.Time `json:"limit"`
	Due      time.Time `json:"due"`
	First    time.Time `json:"first"`    // when it was first solved so
	Readings int       `json:"readings"` // how many observations agree, the first included
	Why      string    `json:"why"`
}

// Segment is a stretch of time in which one thing billed at one rate. Spend is
// computed from segments, never kept as a running sum.
type Segment struct {
	Resource ResourceID `json:"resource"`
	// Lease is whose budget it counts to; "" for an unregistered resource.
	Lease string `json:"lease,omitzero"`
	// State is the state it bills for: running or stopped.
	State State `json:"state"`
	Rate  Rate  `json:"rate"` // unknown where it is unknown
	// From inclusive, To exclusive; a zero To is still open.
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
	// Granularity and Minimum round the whole run of consecutive segments of
	// one resource that bill the same state.
	Granularity time.Duration `json:"granularity,omitzero"`
	Minimum     time.Duration `json:"minimum,omitzero"`
	// Estimated: an end is the latest or earliest it can have been.
	Estimated bool `json:"estimated,omitzero"`
	// Provisional: the rate was read once and not confirmed yet. Was is the
	// rate before, put back if the next readings say so.
	Provisional int   `json:"provisional,omitzero"` // readings that agree so far
	Was         *Rate `json:"was,omitzero"`
}

// Metered is the meter's record of one resource: its segments, oldest first.
type Metered struct {
	Resource ResourceID `json:"resource"`
	Lease    string     `json:"lease,omitzero"`
	Segments []Segment  `json:"segments"`
	// Traffic is what it sent and received, oldest first, as far as money is counted of it.
	Traffic []Quantity `json:"traffic,omitzero"`
	// Lumps is what was paid ahead for it, oldest first.
	Lumps []Paid `json:"lumps,omitzero"`
	// Odd is a reported rate more than 30-fold off, not adopted (unit_mismatch), of the
	// state OddState ("": not recorded). It ends when that state is reported at a believable
	// rate, or a person's price or the provider's bill says what is right from OddSince on.
	Odd      *Rate     `json:"odd,omitzero"`
	OddState State     `json:"odd_state,omitzero"`
	OddSince time.Time `json:"odd_since,omitzero"`
	// Batch is the last of Observed's that is in.
	Batch uint64 `json:"batch,omitzero"`
}

// Plan is what the meter solved for one lease.
type Plan struct {
	Lease     string     `json:"lease"`
	Deadlines []Deadline `json:"deadlines,omitzero"`
	// Family is the keys of the resources that count or have counted to the lease,
	// but for the leased one itself.
	Family []string `json:"family,omitzero"`
	// Unknown tells that part of the family has no known rate or another
	// currency, so that spend is at least what is computed.
	Unknown  []string  `json:"unknown,omitzero"`
	SolvedAt time.Time `json:"solved_at"`
}

// Deadline returns the plan's deadline of a reason.
func (p Plan) Deadline(reason DeadlineReason) (Deadline, bool) {
	for _, d := range p.Deadlines {
		if d.Reason == reason {
			return d, true
		}
	}
	return Deadline{}, false
}

// Next returns the deadline that is due first.
func (p Plan) Next() (Deadline, bool) {
	var first Deadline
	for _, d := range p.Deadlines {
		if first.Due.IsZero() || d.Due.Before(first.Due) {
			first = d
		}
	}
	return first, !first.Due.IsZero()
}
