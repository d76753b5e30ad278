package policy

import (
	"time"

	"guard"
	"guard/policy/activity"
)

// Facts is everything that is known about one subject at one moment. Exactly one
// of four kinds of subject is meant: a resource (Observed is set, or at least
// Lease), a lease whose instance nobody has seen yet (Awaiting and Lease), an account
// (Scopes and Account), or guard itself (Clock).
type Facts struct {
	// At is the moment the facts are judged at, UTC. While the wall clock is not
	// trusted it is the time that should be, counted on from when it was.
	At time.Time
	// Zone is how people read times; nil is UTC.
	Zone *time.Location
	// Lang is what people read: it is in the words of an outcome, never in what is decided.
	Lang guard.Lang
	// Deployment is this ledger's own ID, the value of guard's tag.
	Deployment string

	Account guard.AccountStatus
	// Configured is false for an account that the ledger knows and the
	// configuration does not.
	Configured bool
	Mode       guard.Mode
	// Poll is how far apart readings are; zero where nobody says.
	Poll time.Duration
	May  May
	// Stop is what a stop saves in general at this provider.
	Stop guard.StopEffect
	// ByHand: only people can end what is there, so that a release asks them to.
	ByHand bool

	Observed *guard.Observed
	// Instance is, for a child, what the ledger knows of the instance it was last
	// attached to.
	Instance *guard.Observed
	// Burn is what an instance that does not run bills now per hour, with what hangs on
	// it, one amount a currency; BurnAtLeast tells that a part has no known price.
	Burn        []guard.Money
	BurnAtLeast bool
	// BurnMoves is when Burn changes by itself; zero: it does not.
	BurnMoves time.Time
	// ReclaimsTold are, for one that the provider took back, the last times that people
	// were told of such a one in its account, oldest first.
	ReclaimsTold []time.Time
	// Ended are, for an instance that nobody registered, those that it may have been
	// started in the place of.
	Ended []Ended
	// Source is, for a snapshot, what the ledger knows of the disk that it was made from.
	Source *guard.Observed
	// InstanceLease is the lease that that instance has or had.
	InstanceLease *guard.Lease
	Lease         *guard.Lease
	Awaiting      *Awaiting
	Plan          guard.Plan
	Metered       guard.Metered
	// Spend adds up what the subject's family has cost; nil: nothing is known. It is not
	// asked where no rule and no word is about money, as of most subjects.
	Spend func() Spend
	// Activity is what the instance's samples tell; nil where nothing samples it.
	Activity *activity.State
	// Egress is the meter of its traffic; nil where there is none.
	Egress *guard.Egress
	// Bill is what the provider's own bill says of it; nil where there is none.
	Bill *guard.Bill
	// Mutes are those on the subject, whether they are in force or not.
	Mutes []guard.Mute
	// Release is the open release of the subject.
	Release *guard.Release
	// Heard is when the first channel took the notice of a Release that is a judgement;
	// zero: none has yet.
	Heard time.Time

	// Wallet is the balance of an account that pays ahead; nil where nobody tells of one.
	Wallet *Wallet

	Scopes []guard.ScopeStatus
	// Leases is how many open leases an account has.
	Leases int
	Clock  *Clock
}

// Spend is what a lease's family (or a lone resource) has cost so far.
type Spend struct {
	// Totals are one amount a currency; empty where nothing is known.
	Totals []guard.Money
	// AtLeast tells that a part has no known price.
	AtLeast bool
	// Crossings are when the percentages of [Budget.Warn] are reached, past or to
	// come, as far as they can be solved.
	Crossings []Crossing
	// Rate is what the family bills now per hour, in the cap's currency.
	Hourly guard.Money
}

func (f Facts) spent() Spend {
	if f.Spend == nil {
		return Spend{}
	}
	return f.Spend()
}

// In is the total in a currency; unset where there is none.
func (s Spend) In(currency string) guard.Money {
	for _, m := range s.Totals {
		if m.Currency() == currency {
			return m
		}
	}
	return guard.Money{}
}

// Crossing is when spend reaches a percentage of the cap.
type Crossing struct {
	Percent int
	At      time.Time
}

// Clock is what is known of guard's own clock. Times are by the time that guard goes
// by, which is the one that judgements are made at.
type Clock struct {
	// Off is how far the machine's wall clock is ahead of that time, and Since when
	// it came to be; zero where it is right.
	Off   time.Duration
	Since time.Time
	// DoubtSince is since when nobody has told how long guard was away; zero where
	// that is known.
	DoubtSince time.Time
	// Moved is by how much that time was last put right, and when; zero where it never
	// was.
	Moved   time.Duration
	MovedAt time.Time
}

// Subject is what a finding about these facts is about: ACCOUNT/ID, ACCOUNT/LEASE,
// ACCOUNT, or "" for guard itself.
func (f Facts) Subject() string {
	if f.Awaiting != nil {
		return f.Awaiting.Name
	}
	if id := f.Resource(); !id.IsZero() {
		return id.String()
	}
	if f.Clock != nil {
		return ""
	}
	return f.Account.Name
}

// Resource is the thing the facts are about; zero for what nobody has seen yet, an
// account or guard itself.
func (f Facts) Resource() guard.ResourceID {
	switch {
	case f.Awaiting != nil:
		return guard.ResourceID{}
	case f.Observed != nil:
		return f.Observed.Resource.ID
	case f.Lease != nil:
		return f.Lease.Resource
	}
	return guard.ResourceID{}
}

// Verdict is one rule's judgement of one subject: a finding that is to be open.
type Verdict struct {
	Rule     guard.Rule
	Subject  string
	Resource guard.ResourceID
	Lease    string
	// Since is when the condition began.
	Since time.Time
	// Stages are what has been reached so far, in order: each is told once, and
	// of several reached at once only the last.
	Stages []Stage
	Facts  []guard.Fact
	Wastes guard.Money
	Urgent bool
	// Remind is how long after people were last told they are told again; 0: never.
	Remind time.Duration
	// Held is until when nothing is said of it, for people have just heard of its like;
	// zero: nothing holds it. What opens meanwhile is told together then.
	Held time.Time
	// Vetoed: a person keeps the rule from doing anything.
	Vetoed bool
	// Act is what is to be done about it; nil where people are only told.
	Act *Act
}

// Stage is one thing that people are told about a finding.
type Stage struct {
	Name  string // "warn 1h", "80%", "would release"
	Title string // one line, plain text
	Lines []string
}

// Act is a release (or stop) that a limit calls for.
type Act struct {
	Action guard.Action
	Cause  guard.Cause
	// Due is when the call is due, after holds, fresh notice and the like. The
	// notice is given from Notice on.
	Due    time.Time
	Notice time.Time
	// Limit is the limit itself.
	Limit time.Time
	// Stood is since when people could have known (law 7); of a judgement that is when
	// its notice was acknowledged, and not in here.
	Stood time.Time
	// Grace is how long before the call people are told; zero: as the lease has it.
	Grace time.Duration
	Why   string
	// Block is why the call must not be made although it is due, "" where it may.
	Block guard.BlockReason
	// BlockWhy says more.
	BlockWhy string
}

// Outcome is the whole judgement of one subject.
type Outcome struct {
	At       time.Time // when it was judged
	Verdicts []Verdict
	// Next is the first moment at which the judgement changes by itself; zero
	// where only a new fact can change it.
	Next time.Time
	// Unlisted is the kind of thing that was not listed for long enough in the subject's
	// scope to judge it: the next listing may change the judgement. "" where none would.
	Unlisted guard.Kind
	// Doubt is why something cannot be judged now: what is open about it stays as it is,
	// and what is planned waits. "" where all can be.
	Doubt string
	// Booking is a change to the lease, or to who has one; nil where there is none.
	Booking *Booking
}

// Leaves reports whether an open finding of a rule stays as it is, though nothing calls
// for it: what it rests on is not known until there is a complete list (law 1).
func (o Outcome) Leaves(rule guard.Rule) bool { return o.Unlisted != "" && orphanKind(rule) != "" }

// Act is the act that is due first; nil where there is none. Of several that are due
// already, or together, it is the one that waits least: a ceiling, then a cap, and a
// guess last.
func (o Outcome) Act() *Act {
	var first *Act
	for _, v := range o.Verdicts {
		if v.Act != nil && (first == nil || o.sooner(*v.Act, *first)) {
			first = v.Act
		}
	}
	return first
}

func (o Outcome) sooner(a, b Act) bool {
	if a.Due.Equal(b.Due) || !a.Due.After(o.At) && !b.Due.After(o.At) {
		return hardness[a.Cause] > hardness[b.Cause]
	}
	return a.Due.Before(b.Due)
}

var hardness = map[guard.Cause]int{guard.CauseIdle: -1, guard.CauseEgress: -1, guard.CauseStopped: -1, guard.CauseOrphan: -1, guard.CauseBudget: 1, guard.CauseCeiling: 2}
