// Package policy is guard's judgement: given the facts about one subject and the
// rules, what is wrong, what is said about it and what is to be done when. It is
// pure: no I/O, no clock, no state; time and everything else arrive as [Facts].
//
// Each rule is one file and one line in the list in evaluate.go. What several
// rules share is in limit.go (when a limit acts, law 9), protect.go, may.go
// (law 11) and surprise.go (law 7).
package policy

import (
	"time"

	"guard"
	"guard/policy/activity"
)

// Rules is the configured part of the judgement. The zero value is not useful:
// start from [DefaultRules].
type Rules struct {
	// Per is what each rule takes beside its own keys.
	Per          map[guard.Rule]Per
	Unregistered Unregistered
	Expiry       Expiry
	Budget       Budget
	// Orphans are what may outlive an instance, by its kind.
	Orphans          map[guard.Kind]Orphan
	StoppedBilling   StoppedBilling
	ProvisioningLong ProvisioningLong
	PriceChanged     PriceChanged
	IdleEmpty        Judgement
	IdleResident     Judgement
	IdleBlind        Judgement
	Parked           Judgement
	Hung             Judgement
	Underused        Judgement
	EgressSpike      EgressSpike
	BalanceLow       BalanceLow
	ProviderReclaim  ProviderReclaim
	RenewsSoon       RenewsSoon
	ChargeMismatch   ChargeMismatch
	// Busy is what counts as work.
	Busy     activity.Busy
	Protect  Protect
	Limits   Limits
	Ceilings Ceilings
	// Verify is how long after an accepted release the thing may still live
	// before guard asks again and says so.
	Verify   time.Duration
	Defaults Defaults
	// Exchange is for adding up and comparing amounts of several currencies.
	Exchange guard.Exchange
}

// Unregistered is about instances that nobody registered.
type Unregistered struct {
	// After counts from the provider's creation time, or from the first sight
	// where the provider does not tell.
	After time.Duration
	// Act, counted alike, is when people are told once more, where nobody has registered
	// it by then; 0: they are not.
	Act  time.Duration
	Then guard.Action // alert only
	// Adopt is what guard registers them with then; nil: it never does.
	Adopt *Adopt
}

// Adopt is the registration that guard makes for what nobody registers.
type Adopt struct {
	TTL     time.Duration
	OnLimit guard.Action
}

// Ceilings are what no lease goes past, whoever wants it to.
type Ceilings struct {
	// TTL counts from the registration; 0: none.
	TTL time.Duration
	// Budget is one amount a currency, counted from the provider's start. Where there is
	// one at all, a lease in another currency is refused; empty: none.
	Budget []guard.Money
}

// Expiry is about leases that run out.
type Expiry struct {
	// Warn is how long before the end people are told, longest first. The first
	// one is the notice, unless the lease's grace is longer.
	Warn []time.Duration
}

// Budget is about caps.
type Budget struct {
	// Warn is the percentages of the cap at which people are told, rising.
	Warn []int
	// EgressAtMost counts traffic whose price nobody tells at the most that it can be,
	// where that is known; else it counts to no cap.
	EgressAtMost bool
}

// EgressSpike is about traffic that is far more than usual.
type EgressSpike struct {
	// Hour and Day are what traffic costs in an hour, or in 24, before anything is told.
	Hour, Day guard.Money
	// Act, where Then is stop, counts from when the traffic began that was told of; the
	// stop is no sooner than the grace after people took the notice in.
	Act  time.Duration
	Then guard.Action // alert or stop
}

// Protect names what is never touched, whatever the rule.
type Protect struct {
	// Tags are compared exactly; one that merely looks alike protects too, and
	// is reported.
	Tags map[string]string
}

// Limits bounds the releases that nobody could foresee (law 7).
type Limits struct {
	UnforeseenPerHour int // in all accounts together
	UnforeseenPercent int // of an account's live instances in an hour, at least 2 instances
	// ForcedUnprotect lets guard strip the provider's protection where the lease
	// allows it too.
	ForcedUnprotect bool
}

// Defaults are what a register leaves out.
type Defaults struct {
	TTL     time.Duration
	OnLimit guard.Action
	Grace   time.Duration
}

const week = 7 * 24 * time.Hour

// DefaultRules are the documented defaults.
func DefaultRules() Rules {
	return Rules{
		Per: map[guard.Rule]Per{
			guard.RuleStoppedBilling:   {Remind: week},
			guard.RuleOrphanVolume:     {Remind: week, Grace: 24 * time.Hour},
			guard.RuleOrphanSnapshot:   {Remind: week, Grace: 72 * time.Hour},
			guard.RuleOrphanImage:      {Remind: week, Grace: 72 * time.Hour},
			guard.RuleOrphanAddress:    {Remind: week, Grace: 24 * time.Hour},
			guard.RuleOrphanFilesystem: {Remind: week, Grace: 72 * time.Hour},
			guard.RuleUnderused:        {Remind: 24 * time.Hour},
			guard.RuleEgressSpike:      {Remind: 24 * time.Hour},
			guard.RuleBalanceLow:       {Remind: week},
		},
		Unregistered:     Unregistered{After: 10 * time.Minute, Then: guard.ActAlert},
		Expiry:           Expiry{Warn: []time.Duration{time.Hour, 15 * time.Minute}},
		Budget:           Budget{Warn: []int{50, 80, 95}},
		StoppedBilling:   StoppedBilling{Warn: 24 * time.Hour, Then: guard.ActAlert},
		ProvisioningLong: ProvisioningLong{After: 15 * time.Minute},
		Orphans: map[guard.Kind]Orphan{
			guard.Volume:     {After: time.Hour, Then: guard.ActAlert},
			guard.Snapshot:   {After: 24 * time.Hour, Then: guard.ActAlert},
			guard.Image:      {After: 24 * time.Hour, Then: guard.ActAlert},
			guard.Address:    {After: time.Hour, Then: guard.ActAlert},
			guard.Filesystem: {After: 24 * time.Hour, Then: guard.ActAlert},
		},
		PriceChanged:    PriceChanged{Over: 20},
		IdleEmpty:       Judgement{Warn: 30 * time.Minute, Act: time.Hour, Then: guard.ActStop},
		IdleResident:    Judgement{Warn: time.Hour, Act: 2 * time.Hour, Then: guard.ActAlert},
		IdleBlind:       Judgement{Warn: 3 * time.Hour, Act: 3 * time.Hour, Then: guard.ActAlert},
		Parked:          Judgement{Warn: 30 * time.Minute, Then: guard.ActAlert},
		Hung:            Judgement{Warn: 40 * time.Minute, Then: guard.ActAlert},
		Underused:       Judgement{Warn: 6 * time.Hour, Then: guard.ActAlert},
		EgressSpike:     EgressSpike{Hour: guard.MustMoney("2 USD"), Day: guard.MustMoney("10 USD"), Then: guard.ActAlert},
		BalanceLow:      BalanceLow{Warn: 24 * time.Hour},
		ProviderReclaim: ProviderReclaim{Warn: 48 * time.Hour},
		RenewsSoon:      RenewsSoon{Warn: 48 * time.Hour},
		ChargeMismatch:  ChargeMismatch{Over: 2},
		Busy:            activity.Defaults(),
		Protect:         Protect{Tags: map[string]string{"guard:keep": "true"}},
		Limits:          Limits{UnforeseenPerHour: 10, UnforeseenPercent: 25},
		Verify:          5 * time.Minute,
		Defaults:        Defaults{TTL: 8 * time.Hour, OnLimit: guard.ActRelease, Grace: 10 * time.Minute},
	}
}
