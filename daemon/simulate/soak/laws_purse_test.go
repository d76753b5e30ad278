package soak

import (
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers/fake"
)

// paysAhead makes the account that pays ahead a plain one: a box that is paid for three
// hours, again and again, at moments at which its balance is read, and one by the hour.
func paysAhead(w *Week) *fake.Script {
	a := &w.Accounts[len(w.Accounts)-1]
	a.Mode = guard.Enforce
	s := &a.Script
	s.Resources = []fake.Resource{
		{ID: "p-1", Created: -20 * time.Minute, Lump: &fake.Lump{Amount: "30", Covers: 3 * time.Hour, Renews: true}},
		{ID: "p-2", Created: -time.Hour, Rate: &fake.Rate{Amount: "2", Per: "hour"}},
	}
	s.Timeline, s.Faults, s.Balance, s.AtZero, s.Bill = nil, nil, "", "", 0
	w.Orders = slices.DeleteFunc(w.Orders, func(o Order) bool { return strings.HasPrefix(o.ID, purseName+"/") })
	return s
}

// Law 3: what is paid ahead, while guard dies and starts again.
func TestLaw3ALumpIsCountedOnce(t *testing.T) {
	holds(t, 3, 8, aim{boxes: Range{1, 1}, chance: map[Family]int{Purses: 100, Crashes: 100}})
}

// Law 4: what is paid ahead for a box that is deleted or not told of for a while, and a
// bill that has another box at another price.
func TestLaw4WhatIsPaidStaysPaid(t *testing.T) {
	holds(t, 4, 8, aim{boxes: Range{1, 1}, chance: map[Family]int{Purses: 100}, change: func(d dice, w *Week) {
		s := paysAhead(w)
		for h := 1; h < 6; h++ {
			s.Timeline = append(s.Timeline, fake.Event{At: time.Duration(h) * time.Hour, Charge: &fake.Charge{ID: "p-2", Amount: "9 " + s.Currency, Covers: time.Hour}})
		}
		if d.chance("deleted", 50) {
			s.Timeline = append(s.Timeline, fake.Event{At: 5*time.Hour + time.Minute, ID: "p-1", By: guard.ByOutside, Delete: true})
		}
		w.Length = 9 * time.Hour
		s.Faults = append(s.Faults, fake.Fault{Call: fake.CallAny, From: 2 * time.Hour, For: d.span("not told for", 10*time.Minute, 2*time.Hour, 10*time.Minute),
			Reply: fake.Reply{NullFields: []string{"lump"}}})
		for i, long := range []time.Duration{2 * w.Length, 6 * time.Hour} {
			w.Orders = append(w.Orders, Order{At: 2 * time.Minute, User: "ana", Verb: Register, ID: purseName + "/" + s.Resources[i].ID, TTL: long})
		}
	}})
}

// Law 9: a balance that is used up within the week.
func TestLaw9ABalanceIsToldInTime(t *testing.T) {
	holds(t, 9, 8, aim{boxes: Range{1, 1}, chance: map[Family]int{Purses: 100}, change: func(d dice, w *Week) {
		s := paysAhead(w)
		s.AtZero = pick(d, "at zero", guard.ZeroDeletes, guard.ZeroStops, guard.ZeroNothing)
		s.Balance = pick(d, "balance", "39", "35", "42", "12") + " " + s.Currency
		w.Low = pick(d, "low for", time.Hour, 2*time.Hour)
	}})
}

// Law 10: caps that would be exceeded when a box is paid for again.
func TestLaw10ACapKnowsWhatIsPaidAgain(t *testing.T) {
	holds(t, 10, 6, aim{boxes: Range{1, 1}, chance: map[Family]int{Purses: 100}, change: func(d dice, w *Week) {
		s := paysAhead(w)
		w.Orders = append(w.Orders, Order{At: 2 * time.Minute, User: "ana", Verb: Register, ID: purseName + "/p-1", TTL: 2 * w.Length,
			Budget: guard.MustMoney(pick(d, "cap", "45", "31", "59") + " " + s.Currency)})
	}})
}
