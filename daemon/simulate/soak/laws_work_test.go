package soak

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"guard"
	"guard/providers/fake"
)

// watched gives each box of a week a day: so many doings, for so long each. Their leases
// outlast the week, and a stop saves something.
func watched(d dice, w *Week, day func(box int) ([]doing, time.Duration)) {
	s := &w.Accounts[0].Script
	s.StopEffect = guard.StopSavesCompute
	for i := range w.Orders {
		w.Orders[i].TTL, w.Orders[i].Budget = 48*time.Hour, guard.Money{}
	}
	k := kit{gpus: 1, basis: pick(d, "told as", guard.Average, guard.Summary), interval: time.Minute}
	for i, r := range boxesOf(w) {
		r.GPUs, r.GPUModel, r.Tags, r.Protected, r.State, r.Created = 1, "", nil, nil, "", -time.Hour
		does, long := day(i)
		for n, do := range does {
			s.Timeline = append(s.Timeline, fake.Event{At: time.Duration(n) * long, ID: r.ID, Signals: k.tells(do)})
		}
	}
	slices.SortStableFunc(s.Timeline, func(a, b fake.Event) int { return cmp.Compare(a.At, b.At) })
}

// Law 6: boxes that train, build, beat and serve, in turns with rest; the one that rests
// for long is stopped, and no other.
func TestLaw6AGuessStopsOnlyWhatRests(t *testing.T) {
	holds(t, 6, 8, aim{boxes: Range{2, 3}, change: func(d dice, w *Week) {
		watched(d, w, func(int) ([]doing, time.Duration) {
			return []doing{pick(d, "works", works...), pick(d, "then", works[2], works[3], rests[0]), rests[0], works[0]}, d.span("for", 70*time.Minute, 100*time.Minute, time.Minute)
		})
	}})
}

// Law 1: monitors that tell nothing for hours, or what cannot be, after work.
func TestLaw1WhatIsNotToldIsNotIdle(t *testing.T) {
	holds(t, 1, 6, aim{boxes: Range{2, 3}, change: func(d dice, w *Week) {
		watched(d, w, func(int) ([]doing, time.Duration) {
			return []doing{works[0], rests[0], pick(d, "lies", lies[3], lies[4], lies[5]), works[0]}, d.span("for", 40*time.Minute, 50*time.Minute, time.Minute)
		})
	}})
}

// Law 6: disks, their copies and the images on those, which their boxes leave behind;
// some are protected, in use, or just moved.
func TestLaw6DataIsKept(t *testing.T) {
	holds(t, 6, 6, aim{boxes: Range{2, 3}, change: func(d dice, w *Week) {
		s := &w.Accounts[0].Script
		w.Leftovers = map[guard.Kind]Leftover{guard.Volume: {10 * time.Minute, 10 * time.Minute}, guard.Snapshot: {10 * time.Minute, 20 * time.Minute}}
		for i, r := range boxesOf(w) {
			r.GPUs, r.Tags, r.Protected, r.State = 1, nil, nil, ""
			disk := fake.Resource{ID: "disk-" + r.ID, Kind: guard.Volume, Scope: r.Scope, Created: r.Created, SizeGB: 100}
			snapshot := fake.Resource{ID: "copy-" + r.ID, Kind: guard.Snapshot, Scope: r.Scope, Created: r.Created, SizeGB: 100, Source: disk.ID}
			if i == 0 {
				snapshot.UsedBy = []string{"img-1"}
				s.Resources = append(s.Resources, fake.Resource{ID: "img-1", Kind: guard.Image, Scope: r.Scope, Created: r.Created})
				s.Timeline = append(s.Timeline, fake.Event{At: 30 * time.Minute, ID: r.ID, Delete: true})
			} else if i == 1 {
				s.Timeline = append(s.Timeline, fake.Event{At: d.span("taken off at", 50*time.Minute, 90*time.Minute, time.Minute), ID: disk.ID, Detach: true})
				for k := range w.Orders {
					if o := &w.Orders[k]; o.ID == s.Account+"/"+r.ID {
						o.TTL, o.Budget = 48*time.Hour, guard.Money{}
					}
				}
			} else if d.chance("kept", 50) {
				disk.Tags = map[string]string{"guard:keep": "true"}
			}
			r.Attached = append(r.Attached, disk.ID)
			s.Resources = append(s.Resources, disk, snapshot)
		}
		slices.SortStableFunc(s.Timeline, func(a, b fake.Event) int { return cmp.Compare(a.At, b.At) })
	}})
}

// Law 8: counters that begin anew, or jump, are no transfer.
func TestLaw8ACounterThatJumps(t *testing.T) {
	holds(t, 8, 4, aim{boxes: Range{1, 2}, change: func(d dice, w *Week) {
		w.Accounts[0].Script.Egress = &fake.Traffic{Amount: "0.09", Per: "gb"}
		watched(d, w, func(int) ([]doing, time.Duration) {
			return []doing{works[5], works[0], works[5], works[0]}, d.span("for", 40*time.Minute, 80*time.Minute, time.Minute)
		})
		s := &w.Accounts[0].Script
		at := d.span("jumps at", 20*time.Minute, 3*time.Hour, time.Minute)
		for _, e := range slices.Clone(s.Timeline) {
			if e.Signals != nil && e.At > at {
				e.Signals.TxStart = new(uint64)
				*e.Signals.TxStart = jump
				break
			}
		}
		s.Timeline = append(s.Timeline, fake.Event{At: at, ID: boxesOf(w)[0].ID, Reboot: true})
		slices.SortStableFunc(s.Timeline, func(a, b fake.Event) int { return cmp.Compare(a.At, b.At) })
	}})
}
