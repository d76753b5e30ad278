package egress

import (
	"slices"
	"time"

	"guard"
)

const (
	// apart is how far apart readings may be before there is a hole between them, in which
	// a counter may have been put anywhere; where readings are seldom it is twice as long
	// as they are apart.
	apart = 5 * time.Minute
	// ordinary is a rate in bytes a second that traffic may have had in a hole, whatever it
	// had around it: 200 Mbit/s.
	ordinary = 25e6
	// alike is how many times another a rate may be to be of the same order.
	alike = 2
	// soon is how long after a hole what is read can show that a jump over it was traffic.
	soon = time.Hour
	// jumps is how many of them are kept each by itself.
	jumps = 8
)

// hole is how long nothing may be read before a jump has to agree in rate with what is
// read around it.
func hole(x guard.Sample) time.Duration { return max(apart, 2*x.Interval) }

// judge says how much of what a line can carry is believed. One odd fact must not end a
// lease, so a high rate waits for a second reading, and a jump over a hole at a rate that
// nothing before it shows is set apart even then: a counter of another thing stands where
// it is, too. See [fold.confirm].
func (s step) judge(m moved, b uint64, pick func(guard.Counter) uint64) moved {
	took, span := s.at.Sub(s.from.At), s.at.Sub(s.since)
	slow := carries(max(fast, alike*s.shown), m.bytes, took)
	known := slow && took <= s.hole || span <= s.hole || carries(max(ordinary, alike*s.shown), m.bytes, span)
	if known && slow {
		return m
	}
	if s.odd == nil || b < pick(*s.odd) || b-pick(*s.odd) > m.bytes {
		m.doubt = true
		return m
	}
	rest, took := b-pick(*s.odd), s.at.Sub(s.odd.At)
	jump, over := m.bytes-rest, s.odd.At.Sub(s.since)
	switch {
	case known:
	case took <= s.hole && carries(s.most, rest, took), carries(max(ordinary, alike*s.shown, alike*float64(jump)/over.Seconds()), rest, took):
		m.jump, m.bytes, m.from = jump, rest, s.odd.At
	default:
		m.doubt = true // another one
	}
	return m
}

// doubt sets a jump apart. Of many, the oldest are kept as one.
func (f *fold) doubt(j guard.Jump) {
	if j.Sent|j.In == 0 {
		return
	}
	all := append(f.rec.Doubtful, j)
	if len(all) > jumps {
		all[1] = guard.Jump{From: all[0].From, To: all[1].To, Sent: sum(all[0].Sent, all[1].Sent), In: sum(all[0].In, all[1].In)}
		all = all[1:]
	}
	f.rec.Doubtful = all
}

// confirm counts the jumps of an interface that what it moved since shows to have been
// traffic: it goes on at a rate of the same order.
func (f *fold) confirm(nic string, tx, rx moved) {
	for i := range f.rec.Doubtful {
		j := &f.rec.Doubtful[i]
		if j.NIC != nic || f.x.At.Sub(j.To) > soon {
			continue
		}
		goesOn := func(jump uint64, m moved) bool {
			took := f.x.At.Sub(m.from).Seconds()
			return jump > 0 && took > 0 && carries(alike*float64(m.bytes)/took, jump, j.To.Sub(j.From))
		}
		if goesOn(j.Sent, tx) {
			f.book(j.From, j.To, j.Sent, 0)
			j.Sent = 0
		}
		if goesOn(j.In, rx) {
			f.book(j.From, j.To, 0, j.In)
			j.In = 0
		}
	}
	f.rec.Doubtful = slices.DeleteFunc(f.rec.Doubtful, func(j guard.Jump) bool { return j.Sent|j.In == 0 })
}

// abandon sets apart what a reading told that no second one can confirm any more.
func (f *fold) abandon(was, odd guard.Counter) {
	since := was.At
	if !was.Still.IsZero() {
		since = earlier(since, was.Still)
	}
	rose := func(a, b uint64) uint64 {
		if b < a || b > absurd || !carries(f.most(odd.NICSample), b-a, odd.At.Sub(since)) {
			return 0
		}
		return b - a
	}
	f.doubt(guard.Jump{NIC: odd.Name, From: since, To: odd.At, Sent: rose(was.Tx, odd.Tx), In: rose(was.Rx, odd.Rx)})
}
