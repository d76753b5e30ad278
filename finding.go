package guard

import "time"

// Rule names a rule and the finding it makes. The names are fixed: files outside
// the repository are written in them.
type Rule string

// The rules and findings built so far.
const (
	RuleExpired        Rule = "expired"
	RuleBudgetWarning  Rule = "budget_warning"
	RuleBudgetExceeded Rule = "budget_exceeded"
	RuleCeilingReached Rule = "ceiling_reached"
	// RuleCeilingBlind: it bills in a currency in which no ceiling is set.
	RuleCeilingBlind       Rule = "ceiling_blind"
	RuleUnregistered       Rule = "unregistered"
	RuleExpectedMissing    Rule = "expected_missing"
	RuleReclaimed          Rule = "reclaimed"
	RuleOrphanVolume       Rule = "orphan_volume"
	RulePriceUnknown       Rule = "price_unknown"
	RulePriceChanged       Rule = "price_changed"
	RuleUnitMismatch       Rule = "unit_mismatch"
	RuleScopeBlind         Rule = "scope_blind"
	RuleAccountUnreachable Rule = "account_unreachable"
	RuleAccountMismatch    Rule = "account_mismatch"
	RuleReleaseBlocked     Rule = "release_blocked"
	RuleReleaseStalled     Rule = "release_stalled"
	RuleClockJump          Rule = "clock_jump"
	// RuleBackupFailed and RuleDiskFilling are about guard itself.
	RuleBackupFailed Rule = "backup_failed"
	RuleDiskFilling  Rule = "disk_filling"
	// Idle is five findings: nothing loaded, something loaded and nothing running, cannot
	// see, the GPUs wait, the GPUs are pinned without progress.
	RuleIdleEmpty    Rule = "idle_empty"
	RuleIdleResident Rule = "idle_resident"
	RuleIdleBlind    Rule = "idle_blind"
	RuleParked       Rule = "parked"
	RuleHung         Rule = "hung"
	// RuleUnderused: some of the GPUs do all the work. RulePhantom: utilisation without a
	// process alive.
	RuleUnderused   Rule = "underused"
	RulePhantom     Rule = "phantom"
	RuleSignalsLost Rule = "signals_lost"

	RuleStoppedBilling   Rule = "stopped_billing"
	RuleProvisioningLong Rule = "provisioning_long"
	RuleOrphanSnapshot   Rule = "orphan_snapshot"
	RuleOrphanImage      Rule = "orphan_image"
	RuleOrphanAddress    Rule = "orphan_address"
	RuleOrphanFilesystem Rule = "orphan_filesystem"
	RuleRelaunched       Rule = "relaunched"

	RuleEgressSpike Rule = "egress_spike"
	// RuleCounterJump: a byte counter moved further than it can be believed to have.
	RuleCounterJump Rule = "counter_jump"
	// RuleBalanceLow is about an account that pays ahead. RuleProviderReclaim: the provider
	// itself will delete a thing.
	RuleBalanceLow      Rule = "balance_low"
	RuleProviderReclaim Rule = "provider_reclaim"
	// RuleRenewsSoon: what was paid ahead is paid again by itself.
	RuleRenewsSoon Rule = "renews_soon"
	// RuleChargeMismatch: the provider bills another amount than guard counts.
	RuleChargeMismatch Rule = "charge_mismatch"
	// RuleProtectAmbiguous: a tag only looks like one that protects.
	RuleProtectAmbiguous Rule = "protect_ambiguous"
)

// Finding is one thing that is wrong, from when it began until it is right again.
type Finding struct {
	// ID is made of the rule, the subject and when it opened.
	ID   string `json:"id"`
	Rule Rule   `json:"rule"`
	// Subject is what it is about: ACCOUNT/ID, ACCOUNT, or "" for guard itself.
	Subject  string     `json:"subject"`
	Resource ResourceID `json:"resource,omitzero"`
	Lease    string     `json:"lease,omitzero"`
	Since    time.Time  `json:"since"`  // when the condition began
	Opened   time.Time  `json:"opened"` // when it was told
	Closed   time.Time  `json:"closed,omitzero"`
	// Title is one line; Facts are what it was judged on, in order.
	Title string `json:"title"`
	// Titles are the title in the other languages that people were told it in.
	Titles map[Lang]string `json:"titles,omitzero"`
	Facts  []Fact          `json:"facts,omitzero"`
	// Wastes is what it costs per hour, where known.
	Wastes Money `json:"wastes"`
	Urgent bool  `json:"urgent,omitzero"`
	// Told is when people were last told of it; zero: not yet, or by an older guard.
	Told time.Time `json:"told,omitzero"`
	// Said is the stages already told ("warn 1h", "80%"), so that none is
	// told twice.
	Said []string `json:"said,omitzero"`
}

// Key identifies a finding while it is open: one open finding per rule and subject.
// A resource is told by its kind too: an instance and a volume may share an ID.
func (f Finding) Key() string {
	if f.Resource.IsZero() {
		return string(f.Rule) + "|" + f.Subject
	}
	return string(f.Rule) + "|" + f.Resource.Key()
}

// TitleIn is the title in a language; in English where it was not told in that one.
func (f Finding) TitleIn(lang Lang) string {
	if t, ok := f.Titles[lang]; ok {
		return t
	}
	return f.Title
}

// Fact is one thing a judgement rests on.
type Fact struct {
	Name   string    `json:"name"`
	Value  string    `json:"value"`
	Source string    `json:"source,omitzero"` // who said so
	At     time.Time `json:"at,omitzero"`     // when it was true
}

// ReleaseState is a state of the release table.
type ReleaseState string

// The states; see DESIGN.md, Release.
const (
	ReleasePlanned   ReleaseState = "planned"
	ReleaseNoticed   ReleaseState = "noticed"
	ReleaseIntended  ReleaseState = "intended"
	ReleaseIssued    ReleaseState = "issued"
	ReleaseBlocked   ReleaseState = "blocked"
	ReleaseDone      ReleaseState = "released"
	ReleaseWithdrawn ReleaseState = "withdrawn"
)

// Open reports whether the release is not over.
func (s ReleaseState) Open() bool { return s != ReleaseDone && s != ReleaseWithdrawn }

// BlockReason is why a release cannot go on without a person or a change.
type BlockReason string

// The reasons.
const (
	BlockPermission BlockReason = "permission"
	BlockProtected  BlockReason = "protected"
	BlockAccount    BlockReason = "account_mismatch"
	BlockProvider   BlockReason = "provider_missing"
	BlockNotSame    BlockReason = "not_the_same"
	BlockSurprise   BlockReason = "surprise"
	BlockClock      BlockReason = "clock_untrusted"
	BlockUnreadable BlockReason = "unreadable" // the fresh read fails and no hard cap lets it go on
	BlockPerson     BlockReason = "person"     // the provider cannot, only a person can
)

// Cause is what a release comes from.
type Cause string

// The causes.
const (
	CauseExpiry Cause = "expiry"
	CauseBudget Cause = "budget"
	// CauseCeiling always releases, and no hold, veto or extension puts it off.
	CauseCeiling Cause = "ceiling"
	CausePerson  Cause = "person"
	// CauseIdle and CauseStopped are judgements: a guess may stop, and never destroys
	// what a stop would have kept (law 6). CauseStopped is the stopped_billing rule's own
	// opt-in release.
	CauseIdle    Cause = "idle"
	CauseStopped Cause = "stopped_billing"
	// CauseEgress is a judgement, too: the egress_spike rule's own opt-in stop.
	CauseEgress Cause = "egress"
	// CauseOrphan deletes data by its own opt-in rule.
	CauseOrphan Cause = "orphan"
)

// Judgement reports whether the cause is guard's guess and no limit that a person set:
// it waits for its notice to be acknowledged, as long as that takes (law 9).
func (c Cause) Judgement() bool { return c.Stops() || c == CauseStopped || c == CauseOrphan }

// Stops reports whether the cause is a guess about what an instance does, which stops it
// if it goes on.
func (c Cause) Stops() bool { return c == CauseIdle || c == CauseEgress }

// HardCap reports whether the cause is a cap that never waits for a notice.
func (c Cause) HardCap() bool { return c == CauseBudget || c == CauseCeiling }

// Release is the workflow that ends (or stops) one resource, with proof.
type Release struct {
	ID     string     `json:"id"`
	Lease  string     `json:"lease,omitzero"`
	Target ResourceID `json:"target"`
	Action Action     `json:"action"` // release or stop
	Cause  Cause      `json:"cause"`
	By     string     `json:"by"` // a person, or "guard"
	Why    string     `json:"why"`
	// Created and Identity are what the target must still have: same thing, same account.
	Created  time.Time `json:"created,omitzero"`
	Identity string    `json:"identity,omitzero"`

	State  ReleaseState `json:"state"`
	Reason BlockReason  `json:"reason,omitzero"` // while blocked
	// Due is when the call is due. NextAt is when the release wants to be looked
	// at again: a retry, a verification.
	Due    time.Time `json:"due"`
	NextAt time.Time `json:"next_at,omitzero"`
	// Stood is since when the deadline behind it was known (law 7).
	Stood time.Time `json:"stood,omitzero"`

	PlannedAt  time.Time `json:"planned_at"`
	NoticedAt  time.Time `json:"noticed_at,omitzero"` // the notice was queued
	IntendedAt time.Time `json:"intended_at,omitzero"`
	IssuedAt   time.Time `json:"issued_at,omitzero"` // accepted by the provider
	VerifyBy   time.Time `json:"verify_by,omitzero"` // alive after this: ask again
	EndedAt    time.Time `json:"ended_at,omitzero"`
	BlockedAt  time.Time `json:"blocked_at,omitzero"`

	Attempt   int       `json:"attempt,omitzero"`  // calls made
	Failures  int       `json:"failures,omitzero"` // since the last good answer
	Calls     int       `json:"calls,omitzero"`    // calls whose outcome is on record
	LastError string    `json:"last_error,omitzero"`
	Paged     time.Time `json:"paged,omitzero"` // when people were last paged about it
	// Notice is the ID of the notice message; acknowledged there or not.
	Notice string `json:"notice,omitzero"`
	// Allowed is set by a person who lets a release through the surprise bound.
	Allowed string `json:"allowed,omitzero"`

	Receipt *Receipt `json:"receipt,omitzero"`
}

// Receipt is the proof of a finished release.
type Receipt struct {
	Proof    string        `json:"proof"`
	Readings []Reading     `json:"readings,omitzero"`
	GoneAt   time.Time     `json:"gone_at"`
	ProvenAt time.Time     `json:"proven_at"`
	Took     time.Duration `json:"took"` // from the accepted call until it was gone
	Spend    []Money       `json:"spend,omitzero"`
	// Traffic is what of Spend was for traffic, as far as samples told of it by TrafficAt.
	Traffic   []Money   `json:"traffic,omitzero"`
	TrafficAt time.Time `json:"traffic_at,omitzero"`

	Budget    Money        `json:"budget"`
	Unspent   Money        `json:"unspent"`
	Leftovers []ResourceID `json:"leftovers,omitzero"` // what still bills
	Attempts  int          `json:"attempts"`
}

// JournalEntry is one line of the append-only history.
type JournalEntry struct {
	Seq     uint64            `json:"seq"`
	At      time.Time         `json:"at"`
	Who     string            `json:"who"`  // a person, or "guard"
	Verb    string            `json:"verb"` // registered, extended, observed, planned, …
	Subject string            `json:"subject,omitzero"`
	Lease   string            `json:"lease,omitzero"`
	Text    string            `json:"text"`
	Data    map[string]string `json:"data,omitzero"`
}
