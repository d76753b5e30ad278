package fake

import (
	"time"

	"guard"
)

// AtOnce stands for a duration of zero where zero means "the default".
const AtOnce time.Duration = -1

// NoGPU stands for an instance without a GPU where 0 means "the default".
const NoGPU = -1

// DefaultStart is when a cloud's time begins unless its script says otherwise.
var DefaultStart = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

// Script is one account of the fake cloud and what happens in it. Every time in
// it is an offset from Start, in the cloud's own time.
type Script struct {
	Account      string    // the account's name in guard; default "fake"
	Start        time.Time // default DefaultStart
	Identity     string    // what Identity answers; default "acct-" and the account
	IdentityKind string    // "strong" (default) or "weak"
	Self         string    // the ID of the instance that guard runs on; default none
	// Token is what the API asks for in its Authorization header; unset is none.
	Token      guard.Secret
	Currency   string           // ISO 4217; default USD
	StopEffect guard.StopEffect // default compute
	Billing    Billing
	Lag        Lag
	// Egress and Ingress are what the traffic of its instances costs; nil is not told,
	// and costs nothing.
	Egress, Ingress *Traffic
	// ReleaseTakes is the time from an accepted release until the thing is gone
	// and no longer bills; default 30 s, AtOnce for none.
	ReleaseTakes time.Duration
	// Balance is what is left in the account at Start, "120 CNY": what really bills draws on
	// it. "": the account does not pay ahead. AtZero is what the cloud does to what runs once
	// it is used up; default nothing, and it goes on into debt.
	Balance string
	AtZero  guard.AtZero
	// Bill is how long a line of the cloud's own bill covers, of what it really cost; default
	// none but those of the timeline.
	Bill time.Duration
	// StoppedEnds is how long after a stop an instance is deleted; default never.
	StoppedEnds time.Duration
	// Timer is how the cloud keeps timers of its own: TimerKept, TimerIgnored, or "": it
	// has none.
	Timer     string
	PageSize  int      // entries a page; default 100
	Scopes    []string // default one, "default"
	Resources []Resource
	Timeline  []Event
	Faults    []Fault
	// Time turns a request's instant into the cloud's time; default its wall
	// time. A story in which guard's clock is wrong gives its own.
	Time func(guard.Instant) time.Time
}

// Billing is how the cloud's own meter rounds.
type Billing struct {
	Granularity time.Duration // a begun unit is charged in full; default 1 s
	Minimum     time.Duration // the least that one run is charged for; default none
}

// Lag is how far answers are behind the truth.
type Lag struct {
	Appears    time.Duration // from creation until list and get know of it
	Disappears time.Duration // how long what is gone stays listed, in its terminal state
	State      time.Duration // how old a reported state is
}

// Rate is a price as a scenario writes it.
type Rate struct {
	Amount   string // a decimal
	Per      string // hour | month | gb_month | second
	PerGPU   bool   // Amount is for one GPU
	Currency string // default the account's
}

// Resource is one thing in the cloud.
type Resource struct {
	ID       string
	Kind     guard.Kind // default instance
	Scope    string     // default the account's first
	Identity string     // who owns it; default the account's first
	Name     string
	Created  time.Duration // default 0s; may be negative
	State    string        // running (default) | stopped | provisioning | any other word
	Type     string        // the size's name
	GPUs     int           // of an instance; default 1, NoGPU for none
	GPUModel string
	// Count makes that many alike: ID-001, ID-002 …; default one, with the ID as
	// it stands.
	Count int
	// Rate is what is billed while it runs or exists; nil is not reported (and
	// bills nothing that the fake's own meter could know).
	Rate *Rate
	// ListRate is the catalogue's price where it differs from what is billed;
	// the adapter falls back to it where Rate is not reported.
	ListRate *Rate
	// StoppedRate is billed while stopped; default by the account's StopEffect.
	StoppedRate *Rate
	// Lump is what it is paid ahead with, from its creation on; Rate is billed beside that,
	// and where there is none nothing is.
	Lump *Lump
	// Egress and Ingress are what its traffic costs; default of an instance the account's.
	Egress, Ingress *Traffic
	Spot            bool
	Relaunch        *Relaunch
	Tags            map[string]string
	// Attached are the IDs of what hangs on an instance.
	Attached []string
	// GoesWithInstance is a child's: deleted with what it hangs on.
	GoesWithInstance bool
	// Protected is the provider's own protection: "release", "stop".
	Protected []string
	// HideProtection keeps Protected out of list and get: only asking for it, or
	// being refused, tells.
	HideProtection bool
	SizeGB         int64
	Source         string   // of a snapshot: the volume
	UsedBy         []string // of a snapshot: the images that need it
}

// Relaunch is what puts a new instance in the place of one that ended.
type Relaunch struct {
	By     string // spot_request | group | controller (only equal tags tell)
	Parent string // the request's or the group's ID; releasing it ends this
	After  time.Duration
	IDs    []string // the newcomers', in order
	Times  int      // at most; default len(IDs)
}

// Event is one thing that happens in the cloud: one of the fields below By.
type Event struct {
	At time.Duration
	ID string
	// By says whose hand: guard.ByOutside (default) or guard.ByPlatform.
	By guard.How

	Reclaim  *Reclaim // the provider takes a spot instance back
	State    string   // a new state
	Rate     *Rate    // a new price
	Delete   bool
	Set      *Changes
	Detach   bool
	Attach   string    // the instance's ID
	Create   *Resource // its Created defaults to the event's time
	Identity string    // the credentials belong to someone else from now on
	TopUp    string    // so much is paid in: "500 CNY"
	Charge   *Charge   // a line of the cloud's own bill

	// What a monitor tells of it. An event of a thing that is not there yet holds from
	// its beginning on, and one of many alike is one of each.
	Signals      *Signals
	SignalsFile  *Trace
	SampleOffset *time.Duration // samples are stamped this far off
	Pulse        *Pulse         // one without fields ends it
	Reboot       bool           // counters begin anew, with a new boot ID
}

// Reclaim is how a spot reclaim looks.
type Reclaim struct {
	Stop bool // stopped instead of gone
	// Lingers is how long the tombstone stays listed; default Lag.Disappears.
	Lingers time.Duration
}

// Changes are new values of a resource's fields; nil leaves one as it is.
type Changes struct {
	Name             *string
	Tags             map[string]string // replaces all of them
	Created          *time.Duration    // reported only; the meter is not fooled
	GPUs             *int
	GPUModel         *string
	SizeGB           *int64
	Spot             *bool
	GoesWithInstance *bool
	Protected        *[]string
	HideProtection   *bool
	UsedBy           *[]string
	Renews           *bool // of what is paid ahead
}

// The calls of the API, as faults and the log name them. Ending an instance or
// a spot request is a release, ending anything else a delete.
const (
	CallAny        = "any"
	CallList       = "list"
	CallGet        = "get"
	CallIdentity   = "identity"
	CallStop       = "stop"
	CallRelease    = "release"
	CallDelete     = "delete"
	CallProtection = "protection"
	CallUnprotect  = "unprotect"
	CallTag        = "tag"
	CallSignals    = "signals"
	CallArm        = "arm"   // sets an instance's timer, or takes it away
	CallArmed      = "armed" // reads it
	CallBalance    = "balance"
	CallCharges    = "charges"
	// CallProbe is a dry run of any of the writes, which the log tells apart; a
	// fault of the write itself answers it.
	CallProbe = "probe"
)

// How a cloud keeps timers.
const (
	TimerKept    = "kept"    // and ends the instance by it
	TimerIgnored = "ignored" // accepted, stored nowhere, never goes off
)

// Fault makes calls go wrong. The first fault that matches a call answers it;
// an empty field matches everything.
type Fault struct {
	Call  string // one of the Call constants
	ID    string
	Scope string
	From  time.Duration // offset from Start
	For   time.Duration // 0: no end
	Times int           // how often; 0: always
	Reply Reply

	used int
}

// Reply is how a faulty call is answered: one of the fields (Status goes with
// Body and RetryAfter).
type Reply struct {
	Status     int
	Body       string // default a short JSON text
	RetryAfter string // the header: seconds or an HTTP date

	AcceptedIgnored bool           // says yes, does nothing
	DoneButTimesOut bool           // does it, and the reply is lost
	TimesOut        bool           // does nothing, and no reply comes
	Empty           bool           // an empty, successful answer
	DropPage        int            // that page of a list is silently left out, 1 is the first
	Unreachable     bool           // no connection: the call never arrives
	NullFields      []string       // these fields of each resource are null
	SetFields       map[string]any // these fields of each resource are replaced
	HTML            bool           // a proxy's page, with status 200
}

// Call is one request to the cloud, one that did not get through included.
type Call struct {
	At    time.Time // the cloud's time
	Call  string    // one of the Call constants
	IDs   []string  // what it named
	Scope string    // of a list
	Kind  guard.Kind
	// Status is the HTTP status of the answer; 0 where none came.
	Status int
	// Outcome is "ok", or what went wrong: "fault", "unreachable", "timed out",
	// "ignored" (accepted, not done), "not found", "protected", "refused".
	Outcome string
}

// The truth of a resource: what it really is, whatever the API says.
const (
	TruthRunning = "running" // or exists, for what has no power state
	TruthStopped = "stopped"
	TruthGone    = "gone"
)
