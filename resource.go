package guard

import (
	"slices"
	"strings"
	"time"
)

// Kind is what sort of cloud thing a resource is.
type Kind string

// The kinds.
const (
	Instance    Kind = "instance"
	Volume      Kind = "volume"
	Snapshot    Kind = "snapshot"
	Image       Kind = "image"
	Address     Kind = "address"
	Filesystem  Kind = "filesystem"
	SpotRequest Kind = "spot_request"
)

// Plural is more than one of them, as people say it.
func (k Kind) Plural() string {
	switch k {
	case Address:
		return "addresses"
	case SpotRequest:
		return "spot requests"
	}
	return string(k) + "s"
}

// Kinds are all of them, in the order in which an ID without a kind is looked for.
var Kinds = []Kind{Instance, Volume, Snapshot, Image, Address, Filesystem, SpotRequest}

// ResourceID names one thing in one account. Scope (a region, a zone) is a hint
// for the adapter and not part of the identity: compare by Key.
type ResourceID struct {
	Account string `json:"account"`
	Kind    Kind   `json:"kind"`
	Scope   string `json:"scope,omitzero"`
	ID      string `json:"id"`
}

// String is what people type and read: ACCOUNT/ID.
func (r ResourceID) String() string { return r.Account + "/" + r.ID }

// Key identifies the thing in maps and in the ledger.
func (r ResourceID) Key() string { return r.Account + "/" + string(r.Kind) + "/" + r.ID }

// IsZero reports whether nothing is named.
func (r ResourceID) IsZero() bool { return r.ID == "" }

// ParseID reads ACCOUNT/ID; the ID may itself contain slashes.
func ParseID(s string) (account, id string, ok bool) {
	account, id, ok = strings.Cut(s, "/")
	return account, id, ok && account != "" && id != ""
}

// State is the power state of a resource in our words; the provider's own word
// is kept beside it. A thing without a power state is Running while it exists.
type State string

// The states. StateUnknown is a word that the adapter does not know: it bills.
const (
	StateUnknown      State = "unknown"
	StateProvisioning State = "provisioning"
	StateRunning      State = "running"
	StateStopping     State = "stopping"
	StateStopped      State = "stopped"
	StateReleasing    State = "releasing" // accepted by the provider, not yet gone
	StateGone         State = "gone"      // terminal: will never run or bill again
)

// Tri is yes, no or not known. The zero value is not known.
type Tri string

// The three answers.
const (
	Unknown Tri = ""
	Yes     Tri = "yes"
	No      Tri = "no"
)

// TriOf turns a definite answer into a Tri.
func TriOf(b bool) Tri {
	if b {
		return Yes
	}
	return No
}

// String is yes, no or unknown.
func (t Tri) String() string {
	if t == Unknown {
		return "unknown"
	}
	return string(t)
}

// Tags that guard writes on what it keeps a lease for.
const (
	TagLease      = "guard:lease"
	TagPurpose    = "guard:purpose"
	TagExpires    = "guard:expires"    // RFC 3339, UTC
	TagDeployment = "guard:deployment" // the random ID of the ledger that acts here
	TagTerm       = "guard:term"       // one start of the guard that acts here
)

// Child is something attached to an instance that may outlive it.
type Child struct {
	ID ResourceID `json:"id"`
	// GoesWithInstance: does the provider delete it when the instance goes?
	GoesWithInstance Tri `json:"goes_with_instance,omitzero"`
}

// How says by whose hand something ended.
type How string

// The ways to end.
const (
	ByRelease  How = "release"  // guard
	ByReclaim  How = "reclaim"  // the provider took a spot instance back
	ByOutside  How = "outside"  // somebody in the console or with another tool
	ByPlatform How = "platform" // the provider, for its own reasons (balance, maintenance)
)

// Resource is one thing as a provider reports it at one moment. Text in it comes
// from outside and is untrusted; adapters bound its length and never put a
// secret into it.
type Resource struct {
	ID       ResourceID `json:"id"`
	Name     string     `json:"name,omitzero"`
	State    State      `json:"state"`
	RawState string     `json:"raw_state,omitzero"` // the provider's own word
	// Created is the provider's creation or launch time; zero where not told.
	Created time.Time `json:"created,omitzero"`
	// Changed is when the provider says the present state began; zero where not told.
	Changed time.Time `json:"changed,omitzero"`
	// Ended is how a terminal or stopped state came about, where the provider tells, or by
	// a release of ours.
	Ended How `json:"ended,omitzero"`

	Type     string            `json:"type,omitzero"` // the provider's size name: p4d.24xlarge
	GPUs     int               `json:"gpus,omitzero"`
	HasGPU   Tri               `json:"has_gpu,omitzero"` // unknown where the adapter cannot tell
	GPUModel string            `json:"gpu_model,omitzero"`
	Spot     bool              `json:"spot,omitzero"`
	Tags     map[string]string `json:"tags,omitzero"`
	// TagsUntold: this reading said nothing of tags, which is not that there are none.
	TagsUntold bool  `json:"tags_untold,omitzero"`
	SizeGB     int64 `json:"size_gb,omitzero"`

	// Rate is what it bills while it runs (or exists); StoppedRate while stopped.
	// The rate of attached children is theirs, not in here.
	Rate        Rate `json:"rate,omitzero"`
	StoppedRate Rate `json:"stopped_rate,omitzero"`
	// Lump is what has been paid ahead for it, the one that covers the present; Rate is then
	// what bills beside it.
	Lump Lump `json:"lump,omitzero"`
	// Egress is what its traffic costs, where that is told.
	Egress EgressPrice `json:"egress,omitzero"`
	// Bills is whether its own meter runs in the present state.
	Bills Tri `json:"bills,omitzero"`
	// StopSaves is what a stop of this very thing would save.
	StopSaves StopEffect `json:"stop_saves,omitzero"`

	Parent   ResourceID `json:"parent,omitzero"`   // what it hangs on: an instance for a volume, a spot request for an instance
	Children []Child    `json:"children,omitzero"` // what hangs on it
	// Nodes are the IDs by which the machines go that it is made of, where it is billed and
	// ended as one: none of them is a resource of its own.
	Nodes  []string `json:"nodes,omitzero"`
	Source string   `json:"source,omitzero"`  // of a snapshot: the volume's ID; of an image: the instance's
	UsedBy []string `json:"used_by,omitzero"` // what needs it: images, of an image instances and launch templates
	// UsesUntold: more may need it than the adapter is able, or allowed, to read.
	UsesUntold bool `json:"uses_untold,omitzero"`
	// PlatformEnds is when the provider itself will delete it, where that can be told.
	PlatformEnds PlatformEnd `json:"platform_ends,omitzero"`
	// Group is what starts another in its place when it ends; "" where nothing does, or
	// the provider does not tell.
	Group string `json:"group,omitzero"`

	// ReleaseProtected and StopProtected tell of the provider's own protection;
	// unknown where only a special call would tell.
	ReleaseProtected Tri `json:"release_protected,omitzero"`
	StopProtected    Tri `json:"stop_protected,omitzero"`
}

// Live reports whether the thing still exists, as far as its state tells.
func (r Resource) Live() bool { return r.State != StateGone }

// Billing is which state it bills for, running or stopped, and at which rate.
// Provisioning, stopping and unknown states count as running, and so does a stop
// that is not known to save anything. Whether anything bills at all is Bills' to
// say.
func (r Resource) Billing() (State, Rate) {
	if r.State == StateStopped && (r.StopSaves == StopSavesCompute || r.StopSaves == StopSavesAll) {
		return StateStopped, r.StoppedRate
	}
	return StateRunning, r.Rate
}

// BillingRate is the rate of the present state, as Billing tells it.
func (r Resource) BillingRate() Rate {
	_, rate := r.Billing()
	return rate
}

// StopEffect is what stopping an instance does to its bill.
type StopEffect string

// The effects. The zero value is not known and is treated as nothing.
const (
	StopUnknown      StopEffect = ""
	StopSavesNothing StopEffect = "nothing"
	StopSavesCompute StopEffect = "compute" // disks and addresses go on
	StopSavesAll     StopEffect = "all"
	StopUnsupported  StopEffect = "unsupported"
)

// Identity is whose credentials an account's are.
type Identity struct {
	// ID is the provider's account or project number, or a key's fingerprint.
	ID string `json:"id"`
	// Strong is true where ID names the account itself; a weak identity only
	// tells one key from another.
	Strong bool `json:"strong"`
	// Self is the ID of the instance guard runs on, where the adapter can tell.
	Self string `json:"self,omitzero"`
}

// Verdict is what a read by ID found.
type Verdict string

// The verdicts. Only VerdictFound and VerdictAbsent say anything of the thing.
const (
	VerdictUnknown Verdict = "unknown" // the read failed or was ambiguous
	VerdictFound   Verdict = "found"
	VerdictAbsent  Verdict = "absent" // the provider says that it has no such thing
)

// Lookup is the answer of a provider to one ID.
type Lookup struct {
	ID       ResourceID
	Verdict  Verdict
	Resource Resource // where found; State is StateGone for a tombstone
	Err      error    // why unknown; wraps an error kind
}

// Truths are the facts of a provider that an adapter declares as data.
type Truths struct {
	// Granularity and Minimum of billing: AWS Linux 1 s and 60 s.
	Granularity time.Duration `json:"granularity"`
	Minimum     time.Duration `json:"minimum"`
	// ReleaseLead is how long from the call until billing ends, at most, as far
	// as is known; measured releases lengthen it, never shorten it.
	ReleaseLead time.Duration `json:"release_lead"`
	// ImmutableIDs: an ID never names another thing later.
	ImmutableIDs bool `json:"immutable_ids"`
	// HasGet: single things can be read by ID, but for those of the kinds ListedOnly, which
	// are looked for in a complete listing: see ReadsByID.
	HasGet     bool   `json:"has_get"`
	ListedOnly []Kind `json:"listed_only,omitzero"`
	// ByHand: nobody but a person can end what is there, and nobody else tells that it is
	// gone. Their word, with their name, is the proof.
	ByHand bool `json:"by_hand,omitzero"`
	// TerminalBilling: a terminal state is the provider's word that billing ended.
	TerminalBilling bool `json:"terminal_billing"`
	// Stop is the usual effect of a stop; Resource.StopSaves overrides it. StopBy is that by
	// billing mode, in the provider's words, where they differ.
	Stop   StopEffect            `json:"stop"`
	StopBy map[string]StopEffect `json:"stop_by,omitzero"`
	// StopFirst: what runs cannot be released. Release then stops it, and answers
	// ErrConflict with a wait until it is stopped.
	StopFirst bool `json:"stop_first,omitzero"`
	// StoppedEnds is how long after a stop the provider deletes it with its data; 0: it
	// does not.
	StoppedEnds time.Duration `json:"stopped_ends,omitzero"`
	// AtZero is what it does to what runs when a prepaid balance is used up.
	AtZero AtZero `json:"at_zero,omitzero"`
	// PriceUnit is the unit of the prices that the API reports: machine or gpu.
	PriceUnit string `json:"price_unit"`
	// DeleteLeaves are the kinds that may survive the release of an instance.
	DeleteLeaves []Kind `json:"delete_leaves"`
	// ReclaimShows says in a few words what a spot reclaim looks like.
	ReclaimShows string `json:"reclaim_shows"`
	// Signals says in a few words what the provider's own monitoring tells of the GPUs; ""
	// where it tells of no instance at all.
	Signals string `json:"signals,omitzero"`
	// CallsPerSecond is the rate limit guard keeps to; 0 means none.
	CallsPerSecond float64 `json:"calls_per_second"`
}

// ReadsByID reports whether single things of a kind can be read by ID. Of what cannot,
// only complete listings prove an absence.
func (t Truths) ReadsByID(kind Kind) bool { return t.HasGet && !slices.Contains(t.ListedOnly, kind) }

// Reading is one time that a resource was looked at.
type Reading struct {
	At       time.Time `json:"at"`
	Verdict  Verdict   `json:"verdict"`
	State    State     `json:"state,omitzero"`
	Identity string    `json:"identity,omitzero"`
	// ByID is true for a read by ID, false for an absence from a complete list.
	ByID bool `json:"by_id,omitzero"`
	// Elapsed is the instant's other half: two readings are as far apart as the
	// axis says that did not step.
	Elapsed time.Duration `json:"elapsed,omitzero"`
	// Changed and Ended are what a terminal record told of when and how it ended.
	Changed time.Time `json:"changed,omitzero"`
	Ended   How       `json:"ended,omitzero"`
}

// Change is a state or price of a resource from a moment on, not yet metered.
type Change struct {
	At    time.Time  `json:"at"`
	State State      `json:"state"`
	Bills Tri        `json:"bills,omitzero"`
	Rate  Rate       `json:"rate,omitzero"`
	Saves StopEffect `json:"saves,omitzero"`
}

// Gone is the proof that a resource is gone.
type Gone struct {
	// At is when its meter stopped, as exactly as is known; Estimated tells
	// that it may have been earlier.
	At        time.Time `json:"at"`
	Estimated bool      `json:"estimated,omitzero"`
	How       How       `json:"how"`
	// Proof is "terminal state" or "absence only", which the bill may turn into "the
	// provider's own charge", or a person's word, see ProofOf.
	Proof    string    `json:"proof"`
	Readings []Reading `json:"readings,omitzero"`
	ProvenAt time.Time `json:"proven_at"`
}

// The words of Gone.Proof and of a receipt.
const (
	ProofTerminal = "terminal state"
	ProofAbsence  = "absence only"
	ProofCharge   = "the provider's own charge"
)

// ProofOf is a person's word for it that a thing is gone, where nobody else can tell.
func ProofOf(person string) string { return "confirmed by " + person }

// Observed is what the ledger knows of one resource.
type Observed struct {
	Resource  Resource  `json:"resource"`
	Identity  string    `json:"identity"` // the account identity it was seen under
	FirstSeen time.Time `json:"first_seen"`
	// Seen is when it was last positively read. It is written only together with
	// a change, so for "how fresh" see ScopeStatus.Complete too.
	Seen time.Time `json:"seen"`
	// Instance is the instance a child was last attached to; kept after that goes.
	Instance   ResourceID `json:"instance,omitzero"`
	DetachedAt time.Time  `json:"detached_at,omitzero"` // first seen without a parent
	// AttachedAt is when it was first seen on Instance; zero where it never was seen
	// elsewhere. AttachedAfter is when it was last known not to hang there; zero
	// where that is not known.
	AttachedAt    time.Time `json:"attached_at,omitzero"`
	AttachedAfter time.Time `json:"attached_after,omitzero"`
	// FreedAt is when it was first seen that what needed it does no more; zero where
	// something does, or nothing ever did.
	FreedAt time.Time `json:"freed_at,omitzero"`
	// Absent are the readings since it was last found, oldest first.
	Absent []Reading `json:"absent,omitzero"`
	Gone   *Gone     `json:"gone,omitzero"`
	// Pending are changes that the meter turns into segments, each at or after the
	// one before it. They stay until the record is written for another reason: see
	// Unmetered.
	Pending []Change `json:"pending,omitzero"`
	// Batch numbers what is pending: the meter has turned it into segments once its
	// own record has the same number. 0: it has not, and takes it away when it has.
	Batch uint64 `json:"batch,omitzero"`
	// NotSame is the creation time of another thing that now answers to this ID,
	// while the first one is still claimed; zero where none does.
	NotSame time.Time `json:"not_same,omitzero"`
	// LostTags are tags that were read and no longer are, for an hour: one odd reading
	// may leave out what forbids guard to touch the thing.
	LostTags []LostTag `json:"lost_tags,omitzero"`
}

// LostTag is a tag that is missing, or has another value, since a moment (UTC).
type LostTag struct {
	Key   string    `json:"key"`
	Value string    `json:"value"`
	Since time.Time `json:"since"`
}

// Unmetered are the pending changes that are not in the meter's record of it yet.
func (o Observed) Unmetered(m Metered) []Change {
	if o.Batch != 0 && o.Batch == m.Batch {
		return nil
	}
	return o.Pending
}

// Number gives all that is pending, which is not in the meter's record of it yet, the
// number that this will have once it is.
func (o *Observed) Number(m Metered) {
	if o.Batch = 0; len(o.Pending) > 0 {
		o.Batch = m.Batch + 1
	}
}

// Live reports whether it is not proven gone.
func (o Observed) Live() bool { return o.Gone == nil }

// ScopeStatus is how well guard sees one scope (region, zone) of an account.
type ScopeStatus struct {
	Account  string    `json:"account"`
	Scope    string    `json:"scope"`
	Kind     Kind      `json:"kind"`
	Complete time.Time `json:"complete,omitzero"` // last complete list
	Failing  time.Time `json:"failing,omitzero"`  // first failure since then
	Error    string    `json:"error,omitzero"`
	Outages  []Outage  `json:"outages,omitzero"` // the last that are over, newest first
}

// Outage is one time that an account or a scope could not be read (UTC).
type Outage struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// AccountStatus is what the ledger knows of one configured account.
type AccountStatus struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Mode     Mode   `json:"mode"`
	// Word is what a person said about the mode.
	Word     ModeWord `json:"word,omitzero"`
	Identity Identity `json:"identity,omitzero"` // the one first recorded
	// Mismatch is the identity that answers now, where it is another one.
	Mismatch string `json:"mismatch,omitzero"`
	// Twin is the other configured account that Mismatch belongs to, if one does.
	Twin string `json:"twin,omitzero"`
	// Polled is the last poll that reached the provider; Failing the first
	// failure since then.
	Polled  time.Time `json:"polled,omitzero"`
	Failing time.Time `json:"failing,omitzero"`
	Error   string    `json:"error,omitzero"`
	// Outages are the last that are over, newest first.
	Outages []Outage   `json:"outages,omitzero"`
	Bill    BillStatus `json:"bill,omitzero"`
	// FreshFrom: limits that were due before this moment get fresh notice
	// (switch to enforce, long down-time, restore). See DESIGN law 8.
	FreshFrom time.Time `json:"fresh_from,omitzero"`
	FreshWhy  string    `json:"fresh_why,omitzero"`
}

// Mode says whether guard acts in an account.
type Mode string

// The modes.
const (
	Observe Mode = "observe"
	Enforce Mode = "enforce"
)
