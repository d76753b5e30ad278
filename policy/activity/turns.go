package activity

import "time"

// Turns is how a condition comes and goes, so that people need not hear of each time: it
// is a pattern once two spells have ended within [apart] of the next.
type Turns struct {
	// Spell is how long it lasted when it ended last, at Ended; zero once the next spell
	// has told whether both are of one pattern.
	Spell time.Duration `json:"spell,omitzero"`
	Ended time.Time     `json:"ended,omitzero"`
	// Spells are the last two that are.
	Spells [2]time.Duration `json:"spells,omitzero"`
}

const (
	// apart is how long a condition is away before its next spell is one by itself.
	apart = 3 * time.Hour
	// longest is the most that a spell counts for.
	longest = 2 * time.Hour
)

// over takes in that a spell has ended at a time. One of less than [lately] is a part of
// what was around it.
func (t Turns) over(lasted time.Duration, at time.Time) Turns {
	if lasted >= lately {
		t.Spell, t.Ended = min(lasted, longest), at
	}
	return t
}

// again takes in a spell that lasts.
func (t Turns) again(since time.Time, lasts time.Duration) Turns {
	if t.Spell == 0 || lasts < lately {
		return t
	}
	spells := [2]time.Duration{t.Spells[1], t.Spell}
	if since.Sub(t.Ended) >= apart {
		spells = [2]time.Duration{}
	}
	return Turns{Spells: spells}
}

// Usual is how long a condition lasts each time that it comes, 2 h at most: the shorter of
// the last two times, so that one makes no pattern. Zero where there is none.
func (t Turns) Usual() time.Duration { return min(t.Spells[0], t.Spells[1]) }
