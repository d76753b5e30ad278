package soak

import (
	"cmp"
	"flag"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/providers/fake"
)

// fair lets rapid choose evenly, where its own numbers are mostly small: what is
// aimed at has to happen in most weeks. No bit set is 0, the plainest choice.
type fair struct{ t *rapid.T }

// IntN implements Source.
func (f fair) IntN(n int, label string) int {
	width := bits.Len(uint(n)) + 3
	var x uint64
	for _, bit := range rapid.SliceOfN(rapid.Bool(), width, width).Draw(f.t, label) {
		x <<= 1
		if bit {
			x |= 1
		}
	}
	return int(x * uint64(n) >> width)
}

// TestMain has rapid draw the same weeks in every run, unless -rapid.seed says
// otherwise: what a soak finds by chance is to be found on purpose.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.seed" })
	if !chosen {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// aim is a sort of weeks for one law: hours long, so that hundreds fit into a
// minute, and with something in nearly each that the law is about.
type aim struct {
	boxes   Range
	chance  map[Family]int
	observe int
	change  func(d dice, w *Week) // after the leases are drawn
}

// holds plays weeks of an aim and fails where the law is broken in one; what else
// is broken is logged. A run plays so many weeks; -short a sixth of them.
func holds(t *testing.T, law, weeks int, a aim) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		weeks = (weeks + 5) / 6
	}
	played, failed := 0, false
	rapid.Check(t, func(t *rapid.T) {
		if played++; played > weeks && !failed {
			return
		}
		w := a.draw(dice{fair{t}})
		found, _, err := Judge(t.Context(), w, commandTree, Check)
		if err != nil {
			t.Fatal(err)
		}
		var wrong []string
		for _, v := range found {
			text := fmt.Sprintf("law %d broken, %s at %s: %s: %s", v.Law, v.Kind, v.At, v.ID, v.Text)
			if v.Law == law || law == 12 && v.Law == 0 {
				wrong = append(wrong, text)
			} else {
				t.Log("besides: " + text)
			}
		}
		if len(wrong) > 0 {
			failed = true
			t.Fatalf("%s\n%s", strings.Join(wrong, "\n"), w.YAML())
		}
	})
}

func (a aim) draw(d dice) Week {
	k := Knobs{Least: 5 * time.Hour, Most: 7 * time.Hour, Accounts: Range{1, 1}, Boxes: a.boxes, Observe: a.observe, Often: 1, Chance: a.chance}
	if k.Boxes.Most == 0 {
		k.Boxes = Range{1, 3}
	}
	w := Draw(d.src, k)
	// No release may take so long that its limit's hours are over before it ends.
	for i := range w.Accounts {
		s := &w.Accounts[i].Script
		s.ReleaseTakes = min(s.ReleaseTakes, 5*time.Minute)
		s.Billing.Granularity, s.Billing.Minimum = min(s.Billing.Granularity, time.Minute), min(s.Billing.Minimum, 10*time.Minute)
	}
	a.leases(d, &w)
	if a.change != nil {
		a.change(d, &w)
	}
	slices.SortStableFunc(w.Orders, func(x, y Order) int { return cmp.Compare(x.At, y.At) })
	slices.SortStableFunc(w.Hits, func(x, y Hit) int { return cmp.Compare(x.At, y.At) })
	return w
}

// leases gives every box that is there from the start a lease that ends in the
// eventful half of the week, in place of the one that was drawn; those that are paid ahead
// keep theirs. Nothing odd is with the first box, and it has a time limit.
func (a aim) leases(d dice, w *Week) {
	w.Orders = slices.DeleteFunc(w.Orders, func(o Order) bool { return o.Verb == Register && !strings.HasPrefix(o.ID, purseName+"/") })
	for i := range w.Accounts {
		s := &w.Accounts[i].Script
		if s.Account == purseName {
			continue
		}
		for j := range s.Resources {
			r := &s.Resources[j]
			if r.Kind != "" || r.Identity != "" {
				continue
			}
			if r.State == "stopped" || r.State == "provisioning" {
				r.State = ""
			}
			o := Order{At: d.span("lease at", 2*time.Minute, 12*time.Minute, time.Minute), User: "ana", Verb: Register, ID: s.Account + "/" + r.ID, NoGPU: true}
			o.TTL = d.span("lease for", 20*time.Minute, 2*time.Hour, time.Minute)
			if j == 0 {
				r.Tags, r.Protected, r.GPUs, o.TTL = nil, nil, 1, o.TTL/2+10*time.Minute
			} else if price := hourly(*r, s.Currency); d.chance("capped", 40) && price.IsPositive() {
				lived := (o.At - r.Created).Hours()
				o.Budget = (&drawer{dice: d}).money(rented{hourly: price}, int(10*lived)+d.n("cap, tenths of an hour", 4, 20))
				o.TTL = w.Length
			}
			w.Orders = append(w.Orders, o)
		}
	}
}

// boxesOf are the instances that are there from the start.
func boxesOf(w *Week) []*fake.Resource {
	var out []*fake.Resource
	for i := range w.Accounts {
		for j := range w.Accounts[i].Script.Resources {
			if r := &w.Accounts[i].Script.Resources[j]; r.Kind == "" && r.Identity == "" {
				out = append(out, r)
			}
		}
	}
	return out
}

// Law 1: boxes and disks without a price, some under a cap; lists that fail, lack a
// page or are empty.
func TestLaw1UnknownIsNeverZero(t *testing.T) {
	holds(t, 1, 12, aim{chance: map[Family]int{ListFaults: 30, GetFaults: 20}, change: func(d dice, w *Week) {
		s := &w.Accounts[0].Script
		for i, r := range boxesOf(w) {
			r.Tags, r.Attached, r.GPUs = nil, []string{"dark-" + r.ID}, 1
			disk := fake.Resource{ID: "dark-" + r.ID, Kind: guard.Volume, Scope: r.Scope, Created: r.Created, SizeGB: 100}
			if i > 0 && d.chance("the box, not the disk", 40) {
				r.Rate, r.ListRate, r.StoppedRate = nil, nil, nil
				disk.Rate = &fake.Rate{Amount: "0.1", Per: "gb_month"}
			}
			s.Resources = append(s.Resources, disk)
			for k := range w.Orders {
				if o := &w.Orders[k]; o.ID == s.Account+"/"+r.ID && i == 0 {
					o.TTL, o.Budget = 2*time.Hour, guard.MustMoney("900000 "+cmp.Or(s.Currency, "USD"))
				}
			}
		}
	}})
}

// Law 2: boxes that go by every hand, and reads that fail, lie or are somebody
// else's while they are there.
func TestLaw2AbsenceNeedsProof(t *testing.T) {
	holds(t, 2, 14, aim{chance: map[Family]int{Reclaims: 40, Outside: 40, ListFaults: 60, GetFaults: 100, IdentityFaults: 30, Impostors: 40, AnyFaults: 20}, change: func(d dice, w *Week) {
		s := &w.Accounts[0].Script
		at := d.span("not told at", 10*time.Minute, time.Hour, time.Minute)
		s.Faults = slices.Insert(s.Faults, 0,
			fake.Fault{Call: fake.CallList, From: at, For: 20 * time.Minute, Reply: fake.Reply{Empty: true}},
			fake.Fault{Call: fake.CallGet, From: at, For: 20 * time.Minute, Reply: (&drawer{dice: d}).reply(fake.CallGet)})
	}})
}

// Law 3: the daemon dies at each durable step, and replies are lost.
func TestLaw3WriteAhead(t *testing.T) {
	holds(t, 3, 14, aim{chance: map[Family]int{CrashesAt: 30, Crashes: 20, ReleaseFaults: 30}, change: func(d dice, w *Week) {
		s := &w.Accounts[0].Script
		if d.chance("the reply is lost", 30) {
			s.Lag.State = 0
			s.Faults = append(s.Faults, fake.Fault{Call: fake.CallRelease, Times: 1, Reply: fake.Reply{DoneButTimesOut: true}})
			return
		}
		state := pick(d, "dies at", guard.ReleaseIntended, guard.ReleaseIntended, guard.ReleaseIssued, guard.ReleaseNoticed)
		w.Hits = append(w.Hits, Hit{CrashAt: state, Back: pick(d, "back after", time.Minute, time.Second, 10*time.Minute)})
	}})
}

// Law 4: the cloud says yes and does nothing, or does it and the reply is lost, or
// refuses for hours.
func TestLaw4AcceptedIsNotDone(t *testing.T) {
	holds(t, 4, 14, aim{chance: map[Family]int{ReleaseFaults: 100, GetFaults: 30}, change: func(d dice, w *Week) {
		s := &w.Accounts[0].Script
		reply := pick(d, "what comes back", fake.Reply{AcceptedIgnored: true}, fake.Reply{DoneButTimesOut: true}, fake.Reply{Status: 404}, fake.Reply{Status: 500})
		s.Faults = append(s.Faults, fake.Fault{Call: fake.CallRelease, For: w.Length - Tail, Times: d.n("how often", 1, 3), Reply: reply})
	}})
}

// Law 5: reads fail and credentials change right when calls are due, and hands
// order releases that leave no time.
func TestLaw5LookAgain(t *testing.T) {
	holds(t, 5, 14, aim{boxes: Range{2, 4}, chance: map[Family]int{GetFaults: 100, IdentityFaults: 40, Impostors: 30, HandReleases: 60, AnyFaults: 20}, change: func(d dice, w *Week) {
		s := &w.Accounts[0].Script
		w.Orders = append(w.Orders, Order{At: 16 * time.Minute, User: "root", Verb: Release, ID: s.Account + "/" + boxesOf(w)[0].ID})
		s.Faults = append(s.Faults, fake.Fault{Call: fake.CallGet, From: 20 * time.Minute, For: d.span("blind for", 5*time.Minute, 2*time.Hour, 5*time.Minute), Reply: fake.Reply{Status: 503}})
	}})
}

// Law 6: people extend, mistype and order; prices move; some boxes nobody claims.
func TestLaw6OnlyALimitDestroys(t *testing.T) {
	holds(t, 6, 14, aim{boxes: Range{2, 4}, chance: map[Family]int{Prices: 50, Stops: 30, Extensions: 60, Mistakes: 60, HandReleases: 30, Newcomers: 60}, change: func(d dice, w *Week) {
		if d.chance("nobody claims one", 40) {
			w.Orders = slices.DeleteFunc(w.Orders, func(o Order) bool { return strings.HasSuffix(o.ID, "/"+boxesOf(w)[0].ID) })
		}
		for _, r := range boxesOf(w) {
			r.Rate = cmp.Or(r.Rate, &fake.Rate{Amount: "2", Per: "hour"})
		}
	}})
}

// Law 7: many boxes get limits that nobody could see coming, all at once.
func TestLaw7SurpriseIsBounded(t *testing.T) {
	holds(t, 7, 10, aim{boxes: Range{4, 9}, chance: map[Family]int{Crashes: 20}, change: func(d dice, w *Week) {
		w.Accounts[0].Script.ReleaseTakes = fake.AtOnce
		for i := range w.Orders {
			if o := &w.Orders[i]; o.Verb == Register {
				o.At, o.Budget = d.span("all at once", 10*time.Minute, 20*time.Minute, time.Minute), guard.Money{}
				o.TTL, o.Grace = d.span("short", 5*time.Minute, 15*time.Minute, time.Minute), 40*time.Minute
			}
		}
		for _, r := range boxesOf(w) {
			r.Tags, r.Protected, r.Created = nil, nil, -time.Hour
		}
	}})
}

// Law 8: guard is away, asleep or switched on when limits pass; a price jumps; a
// clock steps.
func TestLaw8OneOddFactNeverShoots(t *testing.T) {
	holds(t, 8, 16, aim{chance: map[Family]int{Suspends: 20, Reloads: 20, ClockSteps: 40, OddPrices: 40, Prices: 30}, change: func(d dice, w *Week) {
		s := &w.Accounts[0].Script
		switch d.n("what is odd", 0, 3) {
		case 0:
			w.Hits = append(w.Hits, Hit{At: 15 * time.Minute, Crash: true, Back: d.span("away", 70*time.Minute, 150*time.Minute, time.Minute)})
		case 1:
			w.Hits = append(w.Hits, Hit{At: 15 * time.Minute, Suspend: d.span("asleep", 70*time.Minute, 150*time.Minute, time.Minute)})
		case 2:
			w.Hits = append(w.Hits, Hit{At: 30 * time.Minute, Step: pick(d, "step", 2*time.Hour, 25*time.Hour, 3650*24*time.Hour)})
		case 3: // a price tenfold up, two hours of the cap away
			r := boxesOf(w)[0]
			r.Rate, r.ListRate, r.Created, r.Attached, r.Tags, r.Protected = &fake.Rate{Amount: "1", Per: "hour"}, nil, -time.Hour, nil, nil, nil
			s.Timeline = append(s.Timeline, fake.Event{At: 100 * time.Minute, ID: r.ID, Rate: &fake.Rate{Amount: "20", Per: "hour"}})
			w.Orders = append(w.Orders, Order{At: 2 * time.Minute, User: "ana", Verb: Register, ID: s.Account + "/" + r.ID, NoGPU: true,
				TTL: w.Length, Budget: guard.MustMoney("5 " + s.Currency)})
			slices.SortStableFunc(s.Timeline, func(a, b fake.Event) int { return cmp.Compare(a.At, b.At) })
		}
	}})
}

// Law 9: Slack fails in each of its ways while limits come near; guard dies.
func TestLaw9PeopleHearFirst(t *testing.T) {
	holds(t, 9, 14, aim{chance: map[Family]int{SlackFaults: 70, Crashes: 40, HandReleases: 30, Extensions: 30}, change: func(d dice, w *Week) {
		f := SlackFault{From: d.span("from", 3*time.Minute, 30*time.Minute, time.Minute), For: d.span("for", 2*time.Minute, time.Hour, time.Minute), Times: d.n("times", 0, 3)}
		switch d.n("how", 0, 3) {
		case 0:
			f.Status, f.RetryAfter = 429, 20
		case 1:
			f.Status, f.Stored = 429, true
		case 2:
			f.TimesOut = true
		case 3:
			f.Status = 503
		}
		w.Slack = append(w.Slack, f)
		for i := range w.Orders {
			if o := &w.Orders[i]; o.Verb == Register && o.Budget.IsSet() && d.chance("time, not money", 50) {
				o.Budget, o.TTL = guard.Money{}, 80*time.Minute
			}
		}
	}})
}

// Law 10: leases that would last longer than their ceilings, by holds and vetoes.
func TestLaw10ACeilingIsHard(t *testing.T) {
	holds(t, 10, 14, aim{chance: map[Family]int{Ceilings: 100, Extensions: 40, Vetoes: 40, Snoozes: 40}, change: func(d dice, w *Week) {
		w.Life = d.span("life", time.Hour+30*time.Minute, 2*time.Hour+30*time.Minute, time.Minute)
		for i, o := range slices.Clone(w.Orders) {
			if o.Verb != Register {
				continue
			}
			w.Orders[i].TTL = min(o.TTL, w.Life)
			if d.chance("held", 60) {
				w.Orders = append(w.Orders, Order{At: o.At + d.span("held after", time.Minute, 40*time.Minute, time.Minute), User: "ana", Verb: Hold, ID: o.ID, By: 20 * time.Hour})
			}
		}
	}})
}

// Law 10: holds and vetoes that cover limits, protection that comes and goes,
// extensions in the last minute.
func TestLaw10SecondThoughtsHaveAnEnd(t *testing.T) {
	holds(t, 10, 14, aim{chance: map[Family]int{Protections: 60, Extensions: 30, Vetoes: 70}, change: func(d dice, w *Week) {
		for _, o := range slices.Clone(w.Orders) {
			if o.Verb == Register && d.chance("held", 70) {
				at := o.At + d.span("held after", time.Minute, 15*time.Minute, time.Minute)
				w.Orders = append(w.Orders, Order{At: at, User: "ana", Verb: Hold, ID: o.ID, By: d.span("held for", 30*time.Minute, 3*time.Hour, time.Minute)})
				if d.chance("unheld", 30) {
					w.Orders = append(w.Orders, Order{At: at + 40*time.Minute, User: "ana", Verb: Unhold, ID: o.ID})
				}
			}
		}
	}})
}

// Law 11: other guards' boxes, boxes without a GPU, accounts that are only watched,
// a machine of guard's own.
func TestLaw11NeverAnothers(t *testing.T) {
	holds(t, 11, 14, aim{boxes: Range{2, 4}, observe: 30, chance: map[Family]int{HandReleases: 60, Newcomers: 30, Reloads: 20, Adoptions: 40}, change: func(d dice, w *Week) {
		s := &w.Accounts[0].Script
		for i, r := range boxesOf(w) {
			switch d.n("whose", 0, 4) {
			case 1, 2:
				r.Tags = map[string]string{guard.TagDeployment: stranger}
			case 3:
				s.Self = r.ID
			case 4:
				r.GPUs = fake.NoGPU
				w.Orders = slices.DeleteFunc(w.Orders, func(o Order) bool { return o.Verb == Release && strings.HasSuffix(o.ID, "/"+r.ID) })
				for k := range w.Orders {
					w.Orders[k].NoGPU = w.Orders[k].NoGPU && !strings.HasSuffix(w.Orders[k].ID, "/"+r.ID)
				}
			}
			w.Orders = append(w.Orders, Order{At: time.Duration(100+i) * time.Minute, User: "root", Verb: Release, ID: s.Account + "/" + r.ID})
		}
	}})
}

// Law 12: weeks of everything.
func TestLaw12EveryDecisionExplainsItself(t *testing.T) {
	chance := Usual().Chance
	delete(chance, ClockSteps)
	holds(t, 12, 12, aim{chance: chance})
}
