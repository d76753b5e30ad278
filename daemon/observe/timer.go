package observe

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"guard"
	"guard/policy"
)

const (
	// timersPerRun bounds how many instances' timers a run reads or sets, and timersFor
	// what it spends on them; the rest follow with the next polls.
	timersPerRun = 20
	timersFor    = 30 * time.Second
	// timerFresh is how long a timer that was read back passes for being there: who
	// forgets it is found out by then.
	timerFresh = 15 * time.Minute
	// timerRetry is how long a timer that could not be set is left alone, twice as long
	// each time and timerRetryMost at most.
	timerRetry     = time.Minute
	timerRetryMost = time.Hour
)

// timers are what a loop remembers of the provider's timers in its account.
type timers struct {
	of map[string]*timerTry // by the key of the instance
	// from is when the provider may be asked for timers again.
	from guard.Instant
}

// timerTry is how far one timer is.
type timerTry struct {
	next   guard.Instant // when it is to be looked at
	want   time.Time     // what was wanted then
	failed int           // how often it could not be set in a row
	told   bool          // that the provider forgets it
}

// timerJob is one timer that is to be read or set.
type timerJob struct {
	key   string
	lease guard.Lease // as it was looked at
	want  time.Time   // zero: none
}

func (j timerJob) settled() bool {
	t := j.lease.Timer
	return !j.want.IsZero() && t.Error == "" && policy.SameTimer(t.At, j.want)
}

// timers keeps the provider's own timers where the limits of the leases want them. They
// are a second net: nothing else waits for them, and nothing that goes wrong here is an
// error of the poll.
func (r *round) timers(ctx context.Context) error {
	l := r.l
	if l.account.Timer == nil || r.at.Before(l.timed.from) {
		return nil
	}
	maps.DeleteFunc(l.timed.of, func(key string, _ *timerTry) bool { return !l.leased[key] })
	var jobs []timerJob
	var failed error
	err := r.look(ctx, func() { jobs, failed = r.untimed() })
	if err = errors.Join(err, failed); err != nil {
		return wrap("read which timers "+l.account.Name+" should have", err)
	}
	calls, cancel := context.WithTimeout(ctx, timersFor)
	defer cancel()
	for _, j := range jobs[:min(len(jobs), timersPerRun)] {
		if calls.Err() != nil || r.at.Before(l.timed.from) {
			break
		}
		if err := r.keepTimer(ctx, calls, j); err != nil {
			return err
		}
	}
	return nil
}

// untimed are the timers to look at, those that wait longest first. While guard is
// paused there are none: it acts nowhere, and takes nothing away.
func (r *round) untimed() ([]timerJob, error) {
	var p guard.Pause
	if _, err := r.v.Value(guard.PauseName, &p); err != nil || p.On() {
		return nil, err
	}
	account, _, err := r.v.Accounts.Get(r.l.account.Name)
	if err != nil {
		return nil, err
	}
	var jobs []timerJob
	for _, key := range slices.Sorted(maps.Keys(r.l.leased)) {
		fresh := r.alive[key]
		lease, ok := r.lease(key)
		rel, _ := get(r, r.src.release, key)
		if fresh == nil || !ok || fresh.State == guard.StateReleasing || issued(rel) {
			continue
		}
		if _, status := followed(lease, *fresh); status != guard.LeaseActive && status != guard.LeaseStopped {
			continue
		}
		j := timerJob{key: key, lease: lease, want: r.wantTimer(account, key, lease)}
		if soon := r.at.Wall.Add(timerRetry); !j.want.IsZero() && j.want.Before(soon) {
			switch t := lease.Timer; {
			case !t.At.IsZero():
				continue // it goes off now
			case t.Asked.After(soon):
				j.want = t.Asked
			default:
				j.want = r.at.Wall.Add(policy.TimerSlack).UTC().Truncate(time.Second)
			}
		}
		if !r.l.timed.waits(j, r.at) && (!j.want.IsZero() || lease.Timer != (guard.Timer{})) {
			jobs = append(jobs, j)
		}
	}
	slices.SortStableFunc(jobs, func(a, b timerJob) int { return r.l.timed.since(a).Compare(r.l.timed.since(b)) })
	return jobs, nil
}

// waits reports whether a timer is left alone still: it was read back lately, or could not
// be set.
func (t timers) waits(j timerJob, at guard.Instant) bool {
	try := t.of[j.key]
	return try != nil && at.Before(try.next) && (j.settled() || try.failed > 0 && try.want.Equal(j.want))
}

// since is from when on a job waits: what is not as it should be before what is only to be
// read again.
func (t timers) since(j timerJob) time.Time {
	try := t.of[j.key]
	if try == nil || !j.settled() {
		return time.Time{}
	}
	return j.lease.Timer.Read
}

// wantTimer is what policy says of one instance.
func (r *round) wantTimer(account guard.AccountStatus, key string, lease guard.Lease) time.Time {
	l := r.l
	o, known := get(r, r.src.observed, key)
	if !known {
		return time.Time{}
	}
	f := policy.Facts{At: r.at.Wall, Deployment: l.ledger.Deployment(), Account: account, Configured: true, Mode: l.account.Mode,
		Poll: l.account.Poll, May: policy.May(l.account.MayRelease), Observed: &o, Lease: &lease}
	if rel, ok := get(r, r.src.release, key); ok {
		f.Release = &rel
	}
	veto := guard.Mute{Kind: guard.Veto, Subject: o.Resource.ID.String(), Rule: guard.RuleExpired}
	if m, ok := get(r, r.v.Mutes.Get, veto.Key()); ok {
		f.Mutes = []guard.Mute{m}
	}
	return f.Timer(l.rules)
}
