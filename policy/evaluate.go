package policy

import (
	"slices"
	"time"

	"guard"
)

// rule judges one subject. It returns nothing where it does not apply.
type rule struct {
	name guard.Rule
	// of are the kinds of subject that it may say something of.
	of    []guard.Kind
	judge func(Rules, Facts) Outcome
}

// The kinds of subject that are no resource, as rules tell them apart.
const (
	awaited guard.Kind = "awaited" // the lease of what nobody has seen yet
	account guard.Kind = "account"
	itself  guard.Kind = "guard"
)

var instances = []guard.Kind{guard.Instance}

// rules is every rule there is, in the order in which people read them.
var rules = []rule{
	{guard.RuleExpired, guard.Kinds, expiry},
	{guard.RuleBudgetWarning, guard.Kinds, budgetWarning},
	{guard.RuleBudgetExceeded, guard.Kinds, budgetExceeded},
	{guard.RuleCeilingReached, guard.Kinds, ceiling},
	{guard.RuleCeilingBlind, guard.Kinds, ceilingBlind},
	{guard.RuleRelaunched, instances, relaunched},
	{guard.RuleUnregistered, instances, unregistered},
	{guard.RuleExpectedMissing, []guard.Kind{awaited}, expected},
	{guard.RuleIdleEmpty, instances, idleEmpty},
	{guard.RuleIdleResident, instances, idleResident},
	{guard.RuleIdleBlind, instances, idleBlind},
	{guard.RuleParked, instances, parked},
	{guard.RuleHung, instances, hung},
	{guard.RuleUnderused, instances, underused},
	{guard.RulePhantom, instances, phantom},
	{guard.RuleSignalsLost, instances, signalsLost},
	{guard.RuleReclaimed, instances, reclaimed},
	{guard.RuleStoppedBilling, instances, stoppedBilling},
	{guard.RuleProvisioningLong, instances, provisioningLong},
	{guard.RuleOrphanVolume, []guard.Kind{guard.Volume}, orphan(guard.Volume)},
	{guard.RuleOrphanSnapshot, []guard.Kind{guard.Snapshot}, orphan(guard.Snapshot)},
	{guard.RuleOrphanImage, []guard.Kind{guard.Image}, orphan(guard.Image)},
	{guard.RuleOrphanAddress, []guard.Kind{guard.Address}, orphan(guard.Address)},
	{guard.RuleOrphanFilesystem, []guard.Kind{guard.Filesystem}, orphan(guard.Filesystem)},
	{guard.RuleEgressSpike, instances, egressSpike},
	{guard.RuleCounterJump, instances, counterJump},
	{guard.RuleProviderReclaim, guard.Kinds, providerReclaim},
	{guard.RuleRenewsSoon, guard.Kinds, renewsSoon},
	{guard.RulePriceUnknown, guard.Kinds, priceUnknown},
	{guard.RuleChargeMismatch, slices.Concat(guard.Kinds, []guard.Kind{account}), chargeMismatch},
	{guard.RulePriceChanged, guard.Kinds, priceChanged},
	{guard.RuleUnitMismatch, guard.Kinds, unitMismatch},
	{guard.RuleProtectAmbiguous, guard.Kinds, ambiguousProtect},
	{guard.RuleScopeBlind, []guard.Kind{account}, scopeBlind},
	{guard.RuleAccountUnreachable, []guard.Kind{account}, accountUnreachable},
	{guard.RuleAccountMismatch, []guard.Kind{account}, accountMismatch},
	{guard.RuleBalanceLow, []guard.Kind{account}, balanceLow},
	{guard.RuleClockJump, []guard.Kind{itself}, clockJump},
}

// judges are the rules by the kind of subject that they may say something of.
var judges = func() map[guard.Kind][]rule {
	by := map[guard.Kind][]rule{}
	for _, r := range rules {
		for _, kind := range r.of {
			by[kind] = append(by[kind], r)
		}
	}
	return by
}()

// kind is what the facts are about, as rules tell subjects apart.
func (f Facts) kind() guard.Kind {
	switch id := f.Resource(); {
	case f.Awaiting != nil:
		return awaited
	case !id.IsZero():
		return id.Kind
	case f.Clock != nil:
		return itself
	}
	return account
}

// Owned reports whether Evaluate speaks for a rule's findings: they are open
// exactly while it says so. The release workflow keeps its own.
func Owned(name guard.Rule) bool {
	for _, r := range rules {
		if r.name == name {
			return true
		}
	}
	return false
}

// Evaluate judges one subject by all rules that are about its kind. The same facts give the same outcome.
func Evaluate(r Rules, f Facts) Outcome {
	all := Outcome{At: f.At, Next: earliest(f.lossCounts(), f.mutesEnd())}
	for _, rule := range judges[f.kind()] {
		per := r.Per[rule.name]
		if !per.speaks(f) {
			continue
		}
		o := rule.judge(r, f)
		for i := range o.Verdicts {
			o.Verdicts[i].Remind = per.Remind
		}
		all.Verdicts = append(all.Verdicts, o.Verdicts...)
		all.Next = earliest(all.Next, o.Next)
		if all.Doubt == "" {
			all.Doubt = o.Doubt
		}
		if all.Unlisted == "" {
			all.Unlisted = o.Unlisted
		}
		if all.Booking == nil {
			all.Booking = o.Booking
		}
	}
	return all
}

// earliest returns the earlier of two times; zero ones are left out.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// latest is the last of some times.
func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// after returns t where it is still to come, as a moment to judge again.
func (f Facts) after(t time.Time) time.Time {
	if t.After(f.At) {
		return t
	}
	return time.Time{}
}

// verdict starts a verdict about the facts' subject with the facts that every
// finding about a resource shows.
func (f Facts) verdict(name guard.Rule, since time.Time) Verdict {
	v := Verdict{Rule: name, Subject: f.Subject(), Resource: f.Resource(), Since: since}
	if f.Lease != nil {
		v.Lease = f.Lease.ID
	}
	v.Facts = f.basics()
	if f.Observed != nil && f.Observed.Live() {
		v.Wastes, _ = f.hourly()
	}
	return v
}

// live reports a resource that is known and not proven gone.
func (f Facts) live() bool { return f.Observed != nil && f.Observed.Live() }

// hourly is what the resource itself bills per hour in its present state: what
// the meter counts, else the person's own price, else what was last reported.
func (f Facts) hourly() (guard.Money, bool) {
	if f.Observed == nil {
		return guard.Money{}, false
	}
	if n := len(f.Metered.Segments); n > 0 {
		if last := f.Metered.Segments[n-1]; last.To.IsZero() && last.Rate.Known() {
			return last.Rate.Hourly()
		}
	}
	if f.Lease != nil && f.Lease.Price.Known() && f.Observed.Resource.State != guard.StateStopped {
		return f.Lease.Price.Hourly()
	}
	return f.Observed.Resource.BillingRate().Hourly()
}

// Names is every rule that Evaluate speaks for.
func Names() []guard.Rule {
	names := make([]guard.Rule, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}
