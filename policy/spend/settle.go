package spend

import (
	"time"

	"guard"
)

// The bounds of law 8.
const (
	// Far is how far away a deadline must have been for its move to now to be odd.
	Far = time.Hour
	// Notice is how long people have after an odd move is believed.
	Notice = 10 * time.Minute
	// Agree is how many polls after the first a second reading counts.
	Agree = 2
)

// Sight is what stands behind a newly solved deadline.
type Sight struct {
	At time.Time // now
	// Read is when everything that it rests on was last read afresh: the oldest
	// of those times.
	Read time.Time
	Poll time.Duration
	// Doubtful: it rests on a price that was read only once.
	Doubtful bool
	// Why says what moved, for people.
	Why string
}

// Settle decides what the ledger shall hold after a deadline was solved anew. Old
// is what it held, nil where it held none of this reason. The move of a deadline
// from more than an hour away to now is only a candidate at first: it is adopted
// when a reading at least two polls later still says so, and then is due no
// sooner than ten minutes from there. Moves that a person made (Basis differs)
// are adopted at once, unless they rest on a price read only once. Settle also
// keeps Stood: since when people could have known.
func Settle(old *guard.Deadline, solved guard.Deadline, s Sight) guard.Deadline {
	solved.Candidate, solved.Stood, solved.Furthest = nil, s.At, solved.Due
	if old == nil {
		return solved
	}
	person := old.Basis != solved.Basis
	if !person && (old.NotBefore.After(s.At) || solved.Due.Before(old.NotBefore)) {
		solved.NotBefore = old.NotBefore // its end moves no deadline
		if solved.Due.Before(solved.NotBefore) {
			solved.Due, solved.Furthest = solved.NotBefore, solved.NotBefore
		}
	}
	if !near(*old, solved, s) || (person && !s.Doubtful) {
		return stand(*old, solved, person)
	}
	c := guard.Candidate{First: s.At, Why: s.Why}
	if old.Candidate != nil {
		c = *old.Candidate
	}
	c.Limit, c.Due = solved.Limit, solved.Due
	if c.Readings == 0 {
		c.Readings = 1
	}
	if !s.Doubtful && !s.Read.Before(c.First.Add(Agree*s.Poll)) {
		solved.NotBefore = s.At.Add(Notice)
		if solved.Due.Before(solved.NotBefore) {
			solved.Due, solved.Furthest = solved.NotBefore, solved.NotBefore
		}
		return stand(*old, solved, person)
	}
	held := *old
	held.Candidate = &c
	return held
}

// near reports whether the move is the odd one: from more than an hour away to
// now, where now is what could pass before anybody reads the notice. A candidate
// that waits was far when it came and stays odd as time goes by.
func near(old, solved guard.Deadline, s Sight) bool {
	far := old.Due.After(s.At.Add(Far)) || old.Candidate != nil
	return far && solved.Due.Before(old.Due) && !solved.Due.After(s.At.Add(s.Poll+Notice))
}

// stand keeps Stood while the deadline has not moved earlier by more than an hour
// from the latest it was since then.
func stand(old, solved guard.Deadline, person bool) guard.Deadline {
	if person || solved.Due.Add(Far).Before(old.Furthest) {
		return solved
	}
	solved.Stood, solved.Furthest = old.Stood, solved.Due
	if old.Furthest.After(solved.Due) {
		solved.Furthest = old.Furthest
	}
	return solved
}
