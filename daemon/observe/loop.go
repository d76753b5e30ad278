package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"guard"
	"guard/policy"
	"guard/providers"
	"guard/store"
)

// Config is what a Loop needs.
type Config struct {
	Ledger  *store.Ledger
	Account *providers.Account
	// Others are the other configured accounts. Whatever belongs to one of them
	// already is not believed here (law 11).
	Others []string
	// Boot is the machine's boot, which elapsed times count in; "" if not known.
	Boot string
	// Term is this start's own mark; "" leaves none and looks for none. Rival is told
	// that another guard acts with a copy of the ledger, and guard was paused.
	Term  string
	Rival func()
	// Rules say when an instance is to end, for the provider's own timers.
	Rules policy.Rules
	// Kick asks for another loop to run soon; nil where nobody listens.
	Kick func(loop string)
	Log  *slog.Logger // nil: silent
}

// Loop observes one account.
type Loop struct {
	ledger  *store.Ledger
	account *providers.Account
	others  []string
	boot    string
	kick    func(string)
	log     *slog.Logger

	sweepAsked atomic.Bool
	pollAt     guard.Instant // when the next poll is due
	sweepAt    guard.Instant
	balanceAt  guard.Instant // when the balance is to be read next
	// balanceTold: the last time it was told, so it may be asked for before that.
	balanceTold bool
	chargesAt   guard.Instant // and the bill
	holds       holds
	// checks are the things whose end is being proven, and when the next reading
	// of each is due (wall time; zero: with the next poll).
	checks map[string]check
	// sought are children that a sweep was made for in vain, so that it is made
	// once.
	sought map[string]bool
	// looked: the instances were listed once, and so their children looked for.
	looked bool

	// leased are the things that open leases claim, as of a version of the ledger,
	// and untagged those of them whose tags may not be what they should.
	claimed          store.Version
	leased, untagged map[string]bool
	tagMode          guard.Mode
	// tagErrors is the last failure to tag each lease, told once.
	tagErrors map[string]string

	rules policy.Rules
	timed timers

	term      string
	rival     func()
	termError string         // the last one, told once
	strange   map[string]int // others' terms, and in how many polls in a row they were seen
}

type check struct {
	id guard.ResourceID
	at time.Time
}

// New makes a loop. It reads nothing yet.
func New(c Config) *Loop {
	l := &Loop{ledger: c.Ledger, account: c.Account, others: c.Others, boot: c.Boot, kick: c.Kick, log: c.Log,
		holds:  holds{scopes: map[guard.Kind][]string{}, until: map[string]guard.Instant{}},
		checks: map[string]check{}, sought: map[string]bool{}, leased: map[string]bool{}, untagged: map[string]bool{}, tagErrors: map[string]string{},
		rules: c.Rules, timed: timers{of: map[string]*timerTry{}},
		term: c.Term, rival: c.Rival, strange: map[string]int{}}
	if l.rival == nil {
		l.rival = func() {}
	}
	if l.kick == nil {
		l.kick = func(string) {}
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.log = l.log.With("loop", l.Name())
	return l
}

// Name is "observe/" and the account.
func (l *Loop) Name() string { return "observe/" + l.account.Name }

// RequestSweep makes the next run list volumes and the like too. It may be called
// from any goroutine; the caller kicks the loop.
func (l *Loop) RequestSweep() { l.sweepAsked.Store(true) }

// Once polls the account, or, when called only for that before the next poll is
// due, reads by ID what may be gone. It returns when it wants to run next: the
// poll's interval later, when the provider asked to come back, or when another
// reading would prove an end. An error is of this run; the next comes anyway.
func (l *Loop) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	if !l.sweepAsked.Load() && at.Before(l.pollAt) && l.checksDue(at) {
		err := l.checkOnly(ctx, at)
		return l.next(at, err), err
	}
	l.pollAt = recur(at, l.account.Poll, l.account.PollAt)
	err := l.poll(ctx, at)
	return l.next(at, err), err
}

// recur is the next time of a schedule: an interval later, or what a cron spec
// says of the wall clock, which a stepped clock makes the scheduler ask again.
func recur(at guard.Instant, every time.Duration, spec func(time.Time) time.Time) guard.Instant {
	if spec == nil {
		return at.Add(every)
	}
	return at.Reach(spec(at.Wall))
}

func (l *Loop) checksDue(at guard.Instant) bool {
	for _, c := range l.checks {
		if !c.at.IsZero() && !c.at.After(at.Wall) {
			return true
		}
	}
	return false
}

// next is the earliest of the next poll and the next reading that is worth
// taking, but not before the provider wants to be asked again.
func (l *Loop) next(at guard.Instant, err error) guard.Instant {
	next := l.pollAt
	for _, c := range l.checks {
		if c.at.IsZero() {
			continue
		}
		due := at.Reach(c.at)
		if earliest := at.Add(time.Second); due.Before(earliest) {
			due = earliest
		}
		next = guard.Earliest(next, due)
	}
	if wait, ok := guard.RetryAfter(err); ok {
		if asked := at.Add(wait); next.Before(asked) {
			next, l.pollAt = asked, asked
		}
	}
	if l.sweepAsked.Load() && err == nil {
		next = guard.Earliest(next, at.Add(time.Second))
	}
	return next
}

// checkOnly reads what may be gone, under an identity that is checked anew.
func (l *Loop) checkOnly(ctx context.Context, at guard.Instant) error {
	s, err := l.snapshot(ctx)
	if err != nil {
		return err
	}
	id, err := l.account.Provider.Identity(ctx)
	if err != nil {
		return l.failed(ctx, at, s, err)
	}
	if id.ID != s.account.Identity.ID {
		l.pollAt = at // judging the credentials is a poll's work
		return nil
	}
	var ids []guard.ResourceID
	for _, c := range l.checks {
		if !c.at.IsZero() && !c.at.After(at.Wall) {
			ids = append(ids, c.id)
		}
	}
	r := newRound(l, s, at, id.ID)
	if err := r.read(ctx, ids); err != nil {
		return err
	}
	return r.finish(ctx)
}

// failed writes down that the account could not be read.
func (l *Loop) failed(ctx context.Context, at guard.Instant, s *snapshot, cause error) error {
	text := clip(cause.Error())
	if s.account.Error == text && !s.account.Failing.IsZero() {
		return cause
	}
	err := l.ledger.Update(ctx, func(tx *store.Tx) error {
		a, _, err := tx.Accounts.Get(l.account.Name)
		if err != nil {
			return err
		}
		a = l.stamp(a)
		if a.Failing.IsZero() {
			a.Failing = at.Wall
		}
		a.Error = text
		return tx.Accounts.Put(a)
	})
	l.kick("decide")
	return errors.Join(cause, err)
}

// stamp sets what the configuration says of the account.
func (l *Loop) stamp(a guard.AccountStatus) guard.AccountStatus {
	a.Name, a.Provider, a.Mode = l.account.Name, l.account.Kind, l.account.Mode
	return a
}

// clip bounds what an error may write into the ledger.
func clip(s string) string {
	const most = 500
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
