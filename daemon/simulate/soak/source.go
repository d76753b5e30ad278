package soak

import (
	"math/rand/v2"
	"time"
)

// Source is where a generator's choices come from: a seed, or a property test's
// own source, which then can shrink them. 0 is always the plainest choice.
type Source interface {
	// IntN is a number from 0 to n-1; label says what is chosen.
	IntN(n int, label string) int
}

// Seeded is a source whose choices the seed fixes.
func Seeded(seed int64) Source {
	return seeded{rand.New(rand.NewPCG(uint64(seed), 0x67756172640a))} //nolint:gosec // a story's dice
}

type seeded struct{ *rand.Rand }

// IntN implements Source.
func (s seeded) IntN(n int, _ string) int { return s.Rand.IntN(n) }

// dice are what the generator throws.
type dice struct{ src Source }

// n is a number from least to most.
func (d dice) n(label string, least, most int) int {
	if most <= least {
		return least
	}
	return least + d.src.IntN(most-least+1, label)
}

// chance is true in that many of a hundred cases.
func (d dice) chance(label string, percent int) bool {
	return d.src.IntN(100, label) >= 100-percent
}

// span is a duration from least to most, in whole steps.
func (d dice) span(label string, least, most, step time.Duration) time.Duration {
	return least + step*time.Duration(d.n(label, 0, int((most-least)/step)))
}

// pick is one of a list, the plainest first.
func pick[T any](d dice, label string, list ...T) T { return list[d.n(label, 0, len(list)-1)] }
