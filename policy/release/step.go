package release

import (
	"errors"
	"fmt"
	"time"

	"guard"
)

// Step moves a release as far as what is known allows. It is pure and total: any
// input gives a release in a state that the table allows from the one before.
func Step(r guard.Release, in Input) Outcome {
	s := stepper{r: rebase(r, in), in: in}
	// The longest way through the table in one step is blocked, noticed,
	// intended, released.
	for range 4 {
		if !s.step() {
			break
		}
	}
	s.page()
	s.out.Release = s.r
	return s.out
}

// rebase takes back times that lie ahead of now: they were written under a clock
// that has been set back since, and would hold the release up for as long.
func rebase(r guard.Release, in Input) guard.Release {
	ahead := false
	for _, t := range []*time.Time{&r.IntendedAt, &r.IssuedAt, &r.BlockedAt, &r.NoticedAt} {
		if t.After(in.At.Add(time.Minute)) {
			*t, ahead = in.At, true
		}
	}
	if r.Paged.After(in.At) {
		r.Paged = time.Time{}
	}
	most := 24 * time.Hour // a provider's hint may be long
	switch {
	case ahead:
		most = 0
	case r.State == guard.ReleaseNoticed, r.State == guard.ReleaseIssued:
		most = time.Hour
	case r.State == guard.ReleaseBlocked && r.Reason != guard.BlockUnreadable:
		most = recheck(r.Reason)
	}
	if last := in.At.Add(most); r.NextAt.After(last) {
		r.NextAt = last
	}
	if last := in.At.Add(in.Verify); r.VerifyBy.After(last) {
		r.VerifyBy = last
	}
	return r
}

type stepper struct {
	r   guard.Release
	in  Input
	out Outcome
}

// step makes at most one move and reports whether another may follow.
func (s *stepper) step() bool {
	switch s.r.State {
	case guard.ReleasePlanned:
		return s.planned()
	case guard.ReleaseNoticed:
		return s.noticed()
	case guard.ReleaseIntended:
		return s.intended()
	case guard.ReleaseIssued:
		return s.issued()
	case guard.ReleaseBlocked:
		return s.blocked()
	}
	return false
}

func (s *stepper) move(to guard.ReleaseState, why string) {
	s.out.Moves = append(s.out.Moves, Move{From: s.r.State, To: to, Why: why})
	s.r.State = to
	if to != guard.ReleaseBlocked {
		s.r.Reason = ""
	}
	if !to.Open() {
		s.r.EndedAt, s.r.NextAt = s.in.At, time.Time{}
	}
}

func (s *stepper) block(reason guard.BlockReason, why string) bool {
	s.move(guard.ReleaseBlocked, why)
	s.r.Reason, s.r.LastError = reason, why
	if s.r.BlockedAt.IsZero() {
		s.r.BlockedAt = s.in.At
	}
	s.r.NextAt = s.in.At.Add(recheck(reason))
	return false
}

// ended closes it with what proves it.
func (s *stepper) ended() {
	why := "proven gone"
	if s.r.Action == guard.ActStop {
		why = "seen stopped, or gone"
	}
	s.move(guard.ReleaseDone, why)
}

func (s *stepper) planned() bool {
	switch {
	case s.in.Judged.Standing == Void:
		s.move(guard.ReleaseWithdrawn, s.in.Judged.Why)
		return false
	case s.in.Look.Found == Ended:
		s.move(guard.ReleaseWithdrawn, "it is gone already")
		return false
	case s.in.Noticed:
		s.move(guard.ReleaseNoticed, "the notice is queued")
		s.r.NoticedAt = s.in.At
		return true
	}
	return false
}

func (s *stepper) noticed() bool {
	in, j := s.in, s.in.Judged
	if in.Look.Found == Ended {
		if s.r.Attempt > 0 {
			// A call went out before it was blocked, so this is its proof.
			s.move(guard.ReleaseIntended, "an earlier call was accepted")
			return true
		}
		s.move(guard.ReleaseWithdrawn, "it is gone already")
		return false
	}
	if j.Standing == Void && s.unsent() {
		s.move(guard.ReleaseWithdrawn, j.Why)
		return false
	}
	if j.Standing == Stands && !j.Due.IsZero() {
		s.r.Due = j.Due
	}
	if in.At.Before(s.r.Due) {
		return false
	}
	if !in.Configured {
		return s.block(guard.BlockProvider, "no account of this name is configured")
	}
	if j.Standing == Barred {
		return s.block(j.Block, j.Why)
	}
	if j.Standing != Stands || !s.looked() {
		return false
	}
	if blocked, ok := s.obstacle(); ok {
		return blocked
	}
	switch in.Look.Found {
	case Missing:
		s.wait(in.Look.NextAt)
		return false
	case Ending:
		if in.At.Before(s.r.Due.Add(in.Verify)) {
			s.wait(in.Look.NextAt) // somebody else is ending it
			return false
		}
	case Unread:
		if !s.blindly() {
			s.block(guard.BlockUnreadable, "it cannot be read: "+text(in.Look.Err))
			s.r.Failures++
			s.r.NextAt = in.At.Add(wait(s.r.Failures, in.Look.Err))
			return false
		}
	}
	if soonest := s.r.IntendedAt.Add(wait(1, nil)); s.r.Attempt > 0 && in.At.Before(soonest) {
		s.r.NextAt = soonest // a call made before it was blocked may still be out
		return false
	}
	s.move(guard.ReleaseIntended, j.Why)
	s.approve()
	return false
}

func (s *stepper) intended() bool {
	in, j := s.in, s.in.Judged
	if call := in.Call; call != nil {
		s.in.Call = nil
		return s.called(call.Err)
	}
	if in.Look.Found == Ended {
		s.ended()
		return false
	}
	if !in.Configured {
		return s.block(guard.BlockProvider, "no account of this name is configured")
	}
	if !s.looked() || in.At.Before(s.r.NextAt) {
		return false
	}
	if in.Look.Found == Ending && (s.r.Calls < s.r.Attempt || s.r.IssuedAt.IsZero()) {
		s.accepted("it is on its way out")
		return false
	}
	if blocked, ok := s.obstacle(); ok {
		return blocked
	}
	if in.Look.Found == Missing {
		s.wait(in.Look.NextAt)
		return false
	}
	switch j.Standing {
	case NotJudged:
		return false
	case Void:
		// Law 5 over the table's row: every call so far was refused, and nobody
		// wants the next one.
		if s.unsent() {
			s.move(guard.ReleaseWithdrawn, j.Why)
		} else {
			s.wait(s.r.IntendedAt.Add(in.Verify))
		}
		return false
	case Barred:
		return s.block(j.Block, j.Why)
	}
	if !j.Due.IsZero() {
		s.r.Due = j.Due
	}
	if in.At.Before(s.r.Due) {
		s.r.NextAt = s.r.Due
		return false
	}
	if in.Look.Found == Unread && !s.blindly() {
		s.failed(in.Look.Err)
		return false
	}
	s.out.Moves = append(s.out.Moves, Move{From: guard.ReleaseIntended, To: guard.ReleaseIntended, Why: "try again"})
	s.approve()
	return false
}

func (s *stepper) issued() bool {
	in := s.in
	switch {
	case in.Look.Found == Ended:
		s.ended()
		return false
	case !in.Configured:
		return s.block(guard.BlockProvider, "no account of this name is configured")
	case in.Look.Found == NotLooked:
		return false
	}
	if blocked, ok := s.obstacle(); ok {
		return blocked
	}
	alive := in.Look.Found == Same || in.Look.Found == Ending
	if alive && !in.At.Before(s.r.VerifyBy) && in.Look.At.After(s.r.IssuedAt) {
		s.out.Stalled = true
		s.move(guard.ReleaseIntended, fmt.Sprintf("still alive at %s, after the release was accepted at %s",
			in.Look.At.UTC().Format(time.RFC3339), s.r.IssuedAt.UTC().Format(time.RFC3339)))
		s.r.NextAt = in.At
		return true
	}
	next := in.At.Add(verifyEvery(in.At.Sub(s.r.IssuedAt)))
	if hint, ok := guard.RetryAfter(in.Look.Err); ok && in.At.Add(hint).After(next) {
		next = in.At.Add(hint)
	}
	if t := in.Look.NextAt; t.After(in.At) && in.Look.Err == nil && t.Before(next.Add(readLead)) {
		next = t
	}
	if alive && s.r.VerifyBy.After(in.At) && next.After(s.r.VerifyBy) {
		next = s.r.VerifyBy
	}
	s.r.NextAt = next
	return false
}

// blocked goes back to noticed when the cause is gone, or may be.
func (s *stepper) blocked() bool {
	in, j := s.in, s.in.Judged
	if in.Look.Found == Ended {
		s.unblock("it is gone")
		return true
	}
	if j.Standing == Void && s.unsent() {
		s.unblock(j.Why)
		return true
	}
	if !in.Configured {
		s.r.Reason = guard.BlockProvider
		s.r.NextAt = in.At.Add(recheck(s.r.Reason))
		return false
	}
	gone, probe := false, false
	readable := in.Look.Found == Same || in.Look.Found == Ending || in.Look.Found == Missing
	switch s.r.Reason {
	case guard.BlockProvider:
		gone = true
	case guard.BlockSurprise, guard.BlockClock:
		gone = j.Standing == Stands
	case guard.BlockProtected:
		probe = j.Standing == Stands && readable && (in.Look.Protected != guard.Yes || in.Unprotect)
	case guard.BlockPermission:
		probe = readable
	case guard.BlockUnreadable:
		gone = readable || in.Look.Found == Unread && s.blindly()
	case guard.BlockAccount:
		gone = readable
	case guard.BlockNotSame:
		gone = in.Look.Found == Same
	}
	due := !in.At.Before(s.r.NextAt)
	if !gone && !(probe && due) {
		if due && (in.Look.Found != NotLooked || ReadAt(s.r).IsZero()) {
			s.recheck()
		}
		s.switchReason()
		return false
	}
	since, reason := s.r.BlockedAt, s.r.Reason
	s.unblock("the cause is gone")
	if gone {
		s.r.BlockedAt = time.Time{}
		if reason != guard.BlockSurprise && s.r.Cause != guard.CausePerson && in.At.Sub(since) >= stale {
			s.out.Renotice = true
			s.r.NoticedAt, s.in.Judged = in.At, Judgement{} // judged afresh, with the new notice
		}
	}
	return true
}

// recheck puts the next look at a block off.
func (s *stepper) recheck() {
	after := recheck(s.r.Reason)
	if s.r.Reason == guard.BlockUnreadable && s.in.Look.Found == Unread {
		s.r.Failures++
		after = wait(s.r.Failures, s.in.Look.Err)
	}
	s.r.NextAt = s.in.At.Add(after)
}

func (s *stepper) unblock(why string) {
	s.move(guard.ReleaseNoticed, why)
	s.r.NextAt = time.Time{}
}

// switchReason tells the present cause where another one has come to stand in
// front of the first.
func (s *stepper) switchReason() {
	reason := s.r.Reason
	switch {
	case s.in.Judged.Standing == Barred:
		reason = s.in.Judged.Block
	case s.in.Look.Found == Mismatch:
		reason = guard.BlockAccount
	case s.in.Look.Found == Other:
		reason = guard.BlockNotSame
	case s.in.Look.Found == Unread && errors.Is(s.in.Look.Err, guard.ErrPermission):
		reason = guard.BlockPermission
	}
	if reason == s.r.Reason {
		return
	}
	why := s.in.Judged.Why
	if s.in.Judged.Standing != Barred {
		why = text(s.in.Look.Err)
	}
	s.r.Reason, s.r.LastError, s.r.Paged = reason, why, time.Time{}
	s.r.NextAt = s.in.At.Add(recheck(reason))
}

// obstacle blocks on what a look found that no retry helps against.
func (s *stepper) obstacle() (more, ok bool) {
	look := s.in.Look
	switch {
	case look.Found == Mismatch:
		return s.block(guard.BlockAccount, cmpText(look.Err, "the credentials belong to another account")), true
	case look.Found == Other:
		return s.block(guard.BlockNotSame, cmpText(look.Err, "the ID names another thing than the one registered")), true
	case look.Found == Unread && blockOf(look.Err) != "":
		return s.block(blockOf(look.Err), "it cannot be read: "+text(look.Err)), true
	case look.Found == Same && look.Protected == guard.Yes && !s.in.Unprotect && s.r.State != guard.ReleaseIssued:
		return s.block(guard.BlockProtected, "the provider's own protection is on"), true
	}
	return false, false
}

// looked reports a look that is fresh enough to act on: one from before the last
// call says nothing of what that did.
func (s *stepper) looked() bool {
	l := s.in.Look
	return l.Found != NotLooked && s.in.At.Sub(l.At) <= ReadAhead && (s.r.Attempt == 0 || l.At.After(s.r.IntendedAt))
}

// blindly reports whether a hard cap goes on although the fresh read fails.
func (s *stepper) blindly() bool {
	l := s.in.Look
	return s.r.Cause.HardCap() && l.Immutable && !l.Complete.IsZero() && s.in.At.Sub(l.Complete) <= blindFor
}

// unsent reports that no call is out whose effect may still come: each was
// refused, or is so long ago that the thing would have gone.
func (s *stepper) unsent() bool {
	return s.r.Calls == s.r.Attempt || s.in.Look.Found == Same && s.in.At.Sub(s.r.IntendedAt) >= s.in.Verify
}

// approve lets one call go out, once this is durable.
func (s *stepper) approve() {
	s.r.IntendedAt = s.in.At
	s.r.Attempt++
	s.r.NextAt = s.in.At.Add(wait(1, nil))
	s.out.Call = true
}

// called records the outcome of a call.
func (s *stepper) called(err error) bool {
	if err == nil {
		s.accepted("the provider accepted it")
		return s.in.Look.Found == Ended
	}
	if errors.Is(err, guard.ErrUncertain) {
		// It may have been done: the next look tells, and only then is it tried
		// again. The outcome stays open.
		s.failed(err)
		return false
	}
	s.r.Calls = s.r.Attempt
	if reason := blockOf(err); reason != "" {
		s.r.Failures++
		return s.block(reason, text(err))
	}
	s.failed(err)
	return false
}

func (s *stepper) accepted(why string) {
	s.move(guard.ReleaseIssued, why)
	s.r.Calls = s.r.Attempt
	s.r.IssuedAt, s.r.VerifyBy = s.in.At, s.in.At.Add(s.in.Verify)
	s.r.Failures, s.r.LastError, s.r.BlockedAt = 0, "", time.Time{}
	s.r.NextAt = s.in.At.Add(verifyEvery(0))
}

// failed is a retryable refusal: the intent stays and is tried again, for ever.
func (s *stepper) failed(err error) {
	s.r.Failures++
	s.r.LastError = text(err)
	s.r.NextAt = s.in.At.Add(waitOf(s.r, err))
	s.out.Failing = s.r.Failures == ManyFailures
}

// wait puts the next look off, but not far: what is missing is looked for again.
func (s *stepper) wait(until time.Time) {
	most := s.in.At.Add(time.Minute)
	if until.After(s.in.At) && until.Before(most) {
		s.r.NextAt = until
		return
	}
	s.r.NextAt = s.in.At.Add(15 * time.Second)
}

// page tells people of a block: at once, then every hour at a hard cap.
func (s *stepper) page() {
	if s.r.State != guard.ReleaseBlocked {
		return
	}
	every := pageSlow
	if s.r.Cause.HardCap() {
		every = pageEvery
	}
	if !s.r.Paged.IsZero() && s.in.At.Sub(s.r.Paged) < every {
		return
	}
	s.r.Paged, s.out.Page = s.in.At, true
}

func text(err error) string { return cmpText(err, "no reason is told") }

func cmpText(err error, otherwise string) string {
	if err == nil {
		return otherwise
	}
	return err.Error()
}
