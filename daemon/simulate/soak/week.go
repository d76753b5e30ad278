// Package soak plays stories that nobody wrote: a generator draws whole weeks of
// fleets, prices, people, faults and crashes, the real daemon lives through them,
// and a checker that trusts the fake cloud alone says what went wrong, law by
// law. What fails is shrunk to a small scenario file.
package soak

import (
	"cmp"
	"iter"
	"time"

	"guard"
	"guard/providers/fake"
)

// Week is one generated story: a scenario file as data. All times in it are
// offsets from Start, in the cloud's own time.
type Week struct {
	Seed   int64
	Start  time.Time // its zone is the story's
	Length time.Duration
	Poll   time.Duration // of every account; 0: a minute
	Sweep  time.Duration // 0: five minutes
	// Grace is the default time between notice and release; Warn the warnings
	// before an expiry; both as configuration. 0 and nil: guard's defaults.
	Grace time.Duration
	Warn  []time.Duration
	// SurprisePercent and SurpriseHour bound unforeseen releases (law 7); 0: the
	// defaults.
	SurprisePercent, SurpriseHour int
	// Life and Money are the ceilings of every lease; 0 and nil: none.
	Life  time.Duration
	Money []guard.Money
	// Adopt is how guard registers what nobody does; nil: it does not.
	Adopt *Adopt
	// Guesses are the rules that guess and are not as they are by default; Leftovers the
	// kinds of data that are deleted when they are left behind.
	Guesses   map[guard.Rule]Guess
	Leftovers map[guard.Kind]Leftover
	Accounts  []Account
	Orders    []Order
	Hits      []Hit
	Slack     []SlackFault
	// Low is how long before a balance is used up people are told; 0: guard's default.
	Low time.Duration
	// Quiet are the hours in which what can wait is held back; nil: none.
	Quiet *Quiet
}

// Quiet is from From until Until, both after midnight in UTC, over midnight where Until
// comes first.
type Quiet struct{ From, Until time.Duration }

// Adopt is a registration that guard makes.
type Adopt struct {
	TTL     time.Duration
	OnLimit guard.Action
}

// Guess is how a rule that guesses is set.
type Guess struct {
	Warn, Act time.Duration
	Then      guard.Action
}

// Leftover is when what nothing needs any more is deleted: people are told After it
// became so, and it goes Grace after that.
type Leftover struct{ After, Grace time.Duration }

// Account is one account: its cloud, and how guard is told to treat it.
type Account struct {
	Mode   guard.Mode
	Script fake.Script // Account, Resources, Timeline, Faults and the rest
}

// all is what stands in the account when the week begins, and then what comes in it,
// with the time at which that does.
func (a *Account) all() iter.Seq[fake.Resource] {
	return func(yield func(fake.Resource) bool) {
		for _, r := range a.Script.Resources {
			if !yield(r) {
				return
			}
		}
		for _, e := range a.Script.Timeline {
			if e.Create == nil {
				continue
			}
			r := *e.Create
			r.Created = cmp.Or(r.Created, e.At)
			if !yield(r) {
				return
			}
		}
	}
}

// Verb is what a person orders.
type Verb string

// The verbs: those of guard's command line.
const (
	Register  Verb = "register"
	Extend    Verb = "extend"
	Hold      Verb = "hold"
	Protect   Verb = "protect"
	Release   Verb = "release"
	Unhold    Verb = "unhold"
	Unprotect Verb = "unprotect"
	Veto      Verb = "veto"
	Snooze    Verb = "snooze"
)

// Order is a command line of a person.
type Order struct {
	At   time.Duration
	User string
	Verb Verb
	ID   string     // ACCOUNT/ID
	Rule guard.Rule // veto
	// TTL (register), By (extend, hold, veto, snooze): how long. 0: not said.
	TTL, By time.Duration
	Budget  guard.Money // register: the cap; extend: what is added. Unset: not said.
	Grace   time.Duration
	NoGPU   bool // register: --no-gpu-ok
}

// Hit is something that happens to guard itself: one of the fields below At.
type Hit struct {
	At time.Duration
	// Crash is a kill -9 now.
	Crash bool
	// CrashAt is a kill right after a release's state is durable ("planned",
	// "noticed", "intended" …; "issued" after the call, before its result is).
	// ID narrows it to one target, ACCOUNT/ID; At to from then on.
	CrashAt guard.ReleaseState
	ID      string
	// Back is when the daemon starts again after the crash.
	Back time.Duration
	// Step is a step of guard's wall clock, Suspend a sleep of its machine.
	Step, Suspend time.Duration
	// Reload changes an account's mode.
	Reload *Reload
}

// Reload is a new configuration: the same with one account's mode changed.
type Reload struct {
	Account string
	Mode    guard.Mode
}

// SlackFault makes posts fail.
type SlackFault struct {
	From, For  time.Duration
	Times      int
	Status     int
	RetryAfter int // seconds
	Error      string
	Stored     bool // kept, and answered as above all the same
	TimesOut   bool // kept, and no answer comes
}

// Violation is a broken promise.
type Violation struct {
	Law  int    // of DESIGN.md; 0: none of them, but wrong
	Kind string // "wrong release", "missed limit", "false hold", "spend", "message lost", "message repeated", "ledger", "crash"
	At   time.Duration
	ID   string
	Text string // what, and what would be right
	// Lost is the money that it cost, where it cost some.
	Lost guard.Money
}
