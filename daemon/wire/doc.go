// Package wire is the bodies of the HTTP API, shared by the daemon and its
// clients. It uses the standard library only, so that a client links no cloud
// SDK, no database and no decimal arithmetic.
//
// Amounts of money are text, "2400.00 CNY", rounded to the currency's own
// digits; what is not known is null, never zero. Times are RFC 3339 in the
// daemon's time zone, and null where there is none. Durations that a person
// typed travel as typed ("10h", "1w2d") and are judged by the daemon alone.
package wire

import "time"

// Prefix is the path under which all routes of this version live.
const Prefix = "/v1"

// Error is the body of every answer that is not a success.
type Error struct {
	// Kind is one of a fixed set of words, see the constants.
	Kind string `json:"kind"`
	// Message is one sentence: what was asked, of what, and what is wrong.
	Message string `json:"error"`
	// Hint is what the person can do, where that is not in the message.
	Hint string `json:"hint,omitempty"`
	// Details are further problems, or the facts behind the refusal.
	Details []string `json:"details,omitempty"`
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// The kinds of Error.
const (
	KindInvalid     = "invalid"
	KindNotFound    = "not_found"
	KindConflict    = "conflict"
	KindRefused     = "refused"
	KindToken       = "token" // the caller is not known: no token, or none that opens anything
	KindPermission  = "permission"
	KindProtected   = "protected"
	KindThrottled   = "throttled"
	KindUnavailable = "unavailable"
	KindUncertain   = "uncertain"
	KindBadReply    = "bad_reply"
	KindAccount     = "account_mismatch"
	KindUnsupported = "unsupported"
	KindCurrency    = "currency"
	KindDamaged     = "damaged"
	KindLocked      = "in_use"
	KindInternal    = "internal"
)

// Item is one resource as `ls` shows it.
type Item struct {
	Account string `json:"account"`
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Scope   string `json:"scope,omitempty"`
	Name    string `json:"name"`
	Purpose string `json:"purpose"`
	// Owner is who registered it; empty while nobody has.
	Owner string `json:"owner"`
	// State is the resource's own: provisioning, running, stopping, stopped,
	// releasing, gone, unknown; or released, where guard ended it with proof; or
	// expected, where it has not been seen yet.
	State    string `json:"state"`
	RawState string `json:"raw_state,omitempty"`
	// Lease is the lease's status; empty where nobody registered it.
	Lease string `json:"lease"`
	// Billing is yes, no or unknown.
	Billing string `json:"billing"`
	// Rate is what the whole of it bills for an hour; null where that is not
	// known. RateQuote is the price as it was quoted, "8 × 4.10 USD per gpu per
	// hour", and RateSource who said so: api, price book, person.
	Rate       *string `json:"rate"`
	RateQuote  string  `json:"rate_quote,omitempty"`
	RateSource string  `json:"rate_source,omitempty"`
	// Spend is the lease's whole family since the provider's start, or of an
	// unregistered resource its own. Null where nothing is known.
	Spend *string `json:"spend"`
	// SpendAtLeast tells that a part of it has no known price.
	SpendAtLeast bool `json:"spend_at_least,omitempty"`
	// PaidUntil is until when it is paid ahead: ending it sooner gives nothing back. Paid is
	// how much that was, null where it is not known; Renews is whether it is paid again then:
	// yes, no or unknown.
	PaidUntil *time.Time `json:"paid_until,omitempty"`
	Paid      *string    `json:"paid,omitempty"`
	Renews    string     `json:"renews,omitempty"`
	// PlatformEnds is when the provider itself will delete it, where that is known.
	PlatformEnds *time.Time `json:"platform_ends,omitempty"`
	PlatformWhy  string     `json:"platform_why,omitempty"`
	// TrafficSpend is what of it was for traffic, an amount a currency.
	TrafficSpend []string `json:"traffic_spend,omitempty"`
	// OtherSpend is what was spent in further currencies; never added up.
	OtherSpend []string   `json:"other_spend,omitempty"`
	Budget     *string    `json:"budget"`
	ExpiresAt  *time.Time `json:"expires_at"`
	// Deadline is when guard acts on the limit that comes first.
	Deadline       *time.Time `json:"deadline"`
	DeadlineReason string     `json:"deadline_reason"`
	// Release is none, or the state of its last release.
	Release       string            `json:"release"`
	ReleaseReason string            `json:"release_reason,omitempty"` // while blocked
	OnLimit       string            `json:"on_limit,omitempty"`
	Mode          string            `json:"mode"`
	Findings      []string          `json:"findings"`
	Tags          map[string]string `json:"tags"`
	Type          string            `json:"type,omitempty"`
	GPUs          int               `json:"gpus,omitempty"`
	GPUModel      string            `json:"gpu_model,omitempty"`
	// Nodes are the IDs of the machines that it is made of, where it is billed and ended as
	// one.
	Nodes        []string   `json:"nodes,omitempty"`
	Spot         bool       `json:"spot,omitempty"`
	Protected    bool       `json:"protected,omitempty"`     // guard never touches it
	ProtectedWhy string     `json:"protected_why,omitempty"` // by whom, or by which tag
	HeldUntil    *time.Time `json:"held_until,omitempty"`
	CreatedAt    *time.Time `json:"created_at,omitempty"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
	EndedHow     string     `json:"ended_how,omitempty"`
	Instance     string     `json:"instance,omitempty"` // what a disk was attached to
	Self         bool       `json:"self,omitempty"`     // guard runs on it
	Foreign      bool       `json:"foreign,omitempty"`  // another guard's
	// Adopted: nobody registered it, guard did by the rule unregistered.adopt.
	Adopted bool `json:"adopted,omitempty"`
	// Activity is how hard an instance works; nil where nothing samples it.
	Activity *Activity `json:"activity,omitempty"`
	// Expect is set where the instance has not been seen yet; ID is then the lease's.
	Expect *Expect `json:"expect,omitempty"`
	// Mutes are the vetoes, the snooze and the ack in force.
	Mutes []Mute `json:"mutes,omitempty"`
}

// Expect is how an instance that has not been seen yet will be known.
type Expect struct {
	Name  string    `json:"name,omitempty"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"` // after it, it is missing
	// Tag is what to put on the instance so that it is known for certain: KEY=VALUE.
	Tag string `json:"tag"`
}

// Mute is a veto against a rule, a snooze of messages, or an ack: somebody sees to it.
type Mute struct {
	Kind   string    `json:"kind"` // veto, snooze or ack
	Rule   string    `json:"rule,omitempty"`
	Until  time.Time `json:"until"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// List is the answer to GET /v1/resources.
type List struct {
	Now   time.Time `json:"now"`
	Items []Item    `json:"items"`
	// Paused is why guard acts nowhere; nil where it does.
	Paused *Pause `json:"paused,omitempty"`
	// Defaults are what a registration gets that leaves them out.
	Defaults Defaults `json:"defaults"`
}

// Defaults are what a registration leaves out.
type Defaults struct {
	TTL     string `json:"ttl,omitempty"` // none where it is empty
	OnLimit string `json:"on_limit"`
	Grace   string `json:"grace"`
}

// Finding is one thing that is wrong.
type Finding struct {
	ID      string     `json:"id"`
	Rule    string     `json:"rule"`
	Subject string     `json:"subject"`
	Title   string     `json:"title"`
	Since   time.Time  `json:"since"`
	Opened  time.Time  `json:"opened"`
	Closed  *time.Time `json:"closed"`
	// Wastes is what it costs an hour, where known.
	Wastes *string `json:"wastes"`
	// AtStake is what it is about in money, where known, and Stake says whether that is
	// what it has cost "so far" or what it costs "a month".
	AtStake *string `json:"at_stake"`
	Stake   string  `json:"stake,omitempty"`
	// Snoozed is until when nothing is said about it that is not urgent.
	Snoozed *time.Time `json:"snoozed,omitempty"`
	Urgent  bool       `json:"urgent"`
	Facts   []Fact     `json:"facts,omitempty"`
}

// Findings is the answer to GET /v1/findings.
type Findings struct {
	Now      time.Time `json:"now"`
	Findings []Finding `json:"findings"`
	// SoFar and AMonth are what is at stake in all open ones, an amount a currency, each
	// thing once; SoFarAll and AMonthAll are those in the currency of exchange.base.
	SoFar     []string `json:"so_far,omitempty"`
	SoFarAll  *string  `json:"so_far_all,omitempty"`
	AMonth    []string `json:"a_month,omitempty"`
	AMonthAll *string  `json:"a_month_all,omitempty"`
}

// Fact is one thing a judgement rests on.
type Fact struct {
	Name   string     `json:"name"`
	Value  string     `json:"value"`
	Source string     `json:"source,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// Why is the answer to GET /v1/why: the facts, and the reasoning in lines.
type Why struct {
	Now   time.Time `json:"now"`
	ID    string    `json:"id"`
	Facts []Fact    `json:"facts"`
	Lines []string  `json:"lines"`
}

// Entry is one line of the journal.
type Entry struct {
	Seq     uint64            `json:"seq"`
	At      time.Time         `json:"at"`
	Who     string            `json:"who"`
	Verb    string            `json:"verb"`
	Subject string            `json:"subject"`
	Text    string            `json:"text"`
	Data    map[string]string `json:"data,omitempty"`
}

// Log is the answer to GET /v1/log, newest first.
type Log struct {
	Now     time.Time `json:"now"`
	Entries []Entry   `json:"entries"`
}

// Show is the answer to GET /v1/show: everything about one resource.
type Show struct {
	Now       time.Time  `json:"now"`
	Item      Item       `json:"item"`
	Limits    []Limit    `json:"limits"`
	Erases    []string   `json:"erases"`
	Survives  []string   `json:"survives"`
	Holds     []Hold     `json:"holds"`
	Family    []Part     `json:"family"`
	Findings  []Finding  `json:"findings"`
	Release   *Release   `json:"release"`
	Log       []Entry    `json:"log"`
	FirstSeen *time.Time `json:"first_seen"`
	// ReadAt is when the provider last told of it.
	ReadAt       *time.Time `json:"read_at"`
	RegisteredAt *time.Time `json:"registered_at"`
	Identity     string     `json:"identity,omitempty"`
	// Agent is what is known of the agent on the box; null where none was heard of.
	Agent *AgentStatus `json:"agent,omitempty"`
	// Traffic is what it sends; null where nothing has told of it.
	Traffic *Egress `json:"traffic,omitempty"`
	// Timer is the provider's own timer on it; null where guard wants none.
	Timer *Timer `json:"timer,omitempty"`
}

// Timer is the provider's own timer on an instance, a second net for a guard that is dead.
type Timer struct {
	// At is when it goes off, as it was last read back at Read; null: none was shown.
	At   *time.Time `json:"at"`
	Read *time.Time `json:"read"`
	// Asked is what guard asked for.
	Asked *time.Time `json:"asked"`
	// Error is why it is not what guard asked for; empty where it is.
	Error string `json:"error,omitempty"`
}

// Part is what one member of a lease's family has cost.
type Part struct {
	ID    string  `json:"id"`
	Kind  string  `json:"kind"`
	State string  `json:"state"`
	Rate  *string `json:"rate"` // per hour
	Spend *string `json:"spend"`
}

// Hold is a time in which limits do nothing.
type Hold struct {
	Until  time.Time `json:"until"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// Release is the workflow that ends a resource.
type Release struct {
	ID        string     `json:"id"`
	State     string     `json:"state"`
	Reason    string     `json:"reason,omitempty"`
	Action    string     `json:"action"`
	Cause     string     `json:"cause"`
	By        string     `json:"by"`
	Why       string     `json:"why"`
	Due       time.Time  `json:"due"`
	IssuedAt  *time.Time `json:"issued_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Attempt   int        `json:"attempt"`
	LastError string     `json:"last_error,omitempty"`
	Proof     string     `json:"proof,omitempty"`
	Spend     []string   `json:"spend,omitempty"`
	Unspent   string     `json:"unspent,omitempty"`
	// Traffic is what of Spend was for traffic.
	Traffic   []string `json:"traffic,omitempty"`
	Leftovers []string `json:"leftovers,omitempty"`
}
