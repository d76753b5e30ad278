package spend

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

func box(created time.Duration) guard.Observed {
	return guard.Observed{FirstSeen: t0.Add(created + time.Minute), Seen: t0.Add(created + time.Minute), Identity: "acct-1",
		Resource: guard.Resource{ID: rid("i-1"), State: guard.StateRunning, Created: t0.Add(created), Rate: usd("10", time.Hour)}}
}

func running(at time.Duration, rate guard.Rate) guard.Change {
	return guard.Change{At: t0.Add(at), State: guard.StateRunning, Rate: rate}
}

// story folds one batch of changes after the other, each read when it happened.
type story struct {
	in     Input
	events []EventKind
}

func newStory() *story {
	return &story{in: Input{Observed: box(0), Poll: poll, Truths: guard.Truths{Granularity: time.Second}}}
}

func (s *story) fold(now time.Duration, changes ...guard.Change) *story {
	s.in.At, s.in.Read = t0.Add(now), t0.Add(now)
	s.in.Observed.Pending = changes
	m, events := Fold(s.in)
	s.in.Metered, s.in.Observed.Pending = m, nil
	for _, e := range events {
		s.events = append(s.events, e.Kind)
	}
	return s
}

func (s *story) spent(at time.Duration) string {
	total := Spent(s.in.Metered.Segments, t0.Add(at))
	if len(total.Unknown) > 0 {
		return "unknown"
	}
	return total.In("USD").Round().String()
}

func (s *story) check(t *testing.T, at time.Duration, spent string, events ...EventKind) {
	t.Helper()
	if got := s.spent(at); got != spent {
		t.Errorf("spent %s, want %s (%+v)", got, spent, s.in.Metered.Segments)
	}
	if !slices.Equal(s.events, events) {
		t.Errorf("events %v, want %v", s.events, events)
	}
}

// billed is a reading of the bill.
func billed(amount string, from, to, read time.Duration) guard.Billed {
	return guard.Billed{Amount: guard.MustMoney(amount + " USD"), From: t0.Add(from), To: t0.Add(to), Read: t0.Add(read)}
}

func TestPriceStories(t *testing.T) {
	h := time.Hour
	r := func(amount string) guard.Rate { return usd(amount, h) }
	t.Run("counts from the provider's start", func(t *testing.T) {
		newStory().fold(time.Minute, running(0, r("10"))).check(t, h, "10.00 USD")
	})
	t.Run("a small change is adopted", func(t *testing.T) {
		newStory().fold(0, running(0, r("10"))).fold(h, running(h, r("11"))).check(t, 2*h, "21.00 USD")
	})
	t.Run("a list price takes no real price's place", func(t *testing.T) {
		list := r("7")
		list.Source = "catalogue"
		own := r("10")
		own.Source = "api"
		newStory().fold(0, running(0, own)).fold(h, running(h, list)).check(t, 2*h, "20.00 USD", EventPriceMissing)
		newStory().fold(0, running(0, list)).fold(h, running(h, own)).check(t, 2*h, "17.00 USD", EventPriceChanged)
	})
	t.Run("one odd poll is corrected", func(t *testing.T) {
		s := newStory().fold(0, running(0, r("10"))).fold(h, running(h, r("100")))
		if p := s.in.Metered.Segments[1]; p.Provisional != 1 || !p.Was.Same(r("10")) {
			t.Errorf("a price read once is not provisional: %+v", p)
		}
		s.fold(h+poll, running(h+poll, r("10"))).check(t, 2*h, "20.00 USD", EventPriceChanged, EventCorrected)
		if n := len(s.in.Metered.Segments); n != 1 {
			t.Errorf("%d segments are left of one price", n)
		}
	})
	t.Run("a second reading two polls later confirms", func(t *testing.T) {
		s := newStory().fold(0, running(0, r("10"))).fold(h, running(h, r("20"))).fold(h + poll)
		if !Doubtful(s.in.Metered.Segments) {
			t.Error("confirmed after one poll")
		}
		s.fold(h+2*poll).check(t, 2*h, "30.00 USD", EventPriceChanged, EventPriceConfirmed)
		if Doubtful(s.in.Metered.Segments) {
			t.Error("still in doubt")
		}
		// What was confirmed is not put back by a later change.
		s.fold(2*h, running(2*h, r("10"))).check(t, 2*h, "30.00 USD", EventPriceChanged, EventPriceConfirmed, EventPriceChanged)
	})
	t.Run("cents for dollars are never adopted", func(t *testing.T) {
		s := newStory().fold(0, running(0, r("2.40"))).fold(h, running(h, r("240"))).fold(h + 10*poll)
		s.check(t, 2*h, "4.80 USD", EventUnitMismatch)
		if s.in.Metered.Odd == nil || !s.in.Metered.OddSince.Equal(t0.Add(h)) {
			t.Errorf("odd: %+v", s.in.Metered)
		}
		s.fold(2*h, running(2*h, r("2.40"))).check(t, 2*h, "4.80 USD", EventUnitMismatch, EventUnitMatch)
	})
	t.Run("a thirtieth is odd too, and so is another currency, and nothing", func(t *testing.T) {
		for _, rate := range []guard.Rate{r("0.01"), {Amount: guard.MustMoney("2.40 CNY"), Per: h}, {Amount: guard.ZeroMoney("USD"), Per: h, Free: true}} {
			newStory().fold(0, running(0, r("2.40"))).fold(h, running(h, rate)).check(t, 2*h, "4.80 USD", EventUnitMismatch)
		}
	})
	t.Run("a person settles an odd price, from when it came", func(t *testing.T) {
		s := newStory().fold(0, running(0, r("2.40"))).fold(h, running(h, r("240")))
		s.in.Price = r("240")
		s.fold(h+poll).check(t, 2*h, "242.40 USD", EventUnitMismatch, EventStated)
		s.fold(h+2*poll).check(t, 2*h, "242.40 USD", EventUnitMismatch, EventStated)
		if s.in.Metered.Odd != nil {
			t.Error("still odd")
		}
	})
	t.Run("an odd price that came after the end, once answered, moves nothing before it", func(t *testing.T) {
		s := newStory().fold(0, running(0, r("2.40"))).fold(h, running(h, r("240")))
		s.in.Observed.Gone = &guard.Gone{At: t0.Add(h / 2)}
		s.fold(h + poll)
		s.in.Price = r("240")
		s.fold(h+2*poll).fold(h+3*poll).check(t, 2*h, "1.20 USD", EventUnitMismatch)
	})
	t.Run("an end before an odd price that was answered takes back the answer alone", func(t *testing.T) {
		s := newStory().fold(0, running(0, r("2.40"))).fold(h, running(h, r("240")))
		s.in.Price = r("240")
		s.fold(h + poll)
		s.in.Observed.Gone = &guard.Gone{At: t0.Add(h / 2)}
		s.fold(h+2*poll).fold(h+3*poll).check(t, 2*h, "1.20 USD", EventUnitMismatch, EventStated)
	})
	t.Run("a person's price holds from the start and over what is reported", func(t *testing.T) {
		s := newStory()
		s.in.Price = r("3")
		s.fold(0, running(0, r("10"))).fold(h, running(h, r("20"))).check(t, 2*h, "6.00 USD")
		late := newStory().fold(0, running(0, r("10")))
		late.in.Price = r("3")
		late.fold(h).check(t, 2*h, "6.00 USD", EventStated)
		late.in.Price = r("4")
		late.fold(2*h).check(t, 3*h, "10.00 USD", EventStated, EventStated)
		late.in.Price = guard.Rate{}
		late.in.Observed.Resource.Rate = r("10")
		late.fold(3*h).check(t, 4*h, "20.00 USD", EventStated, EventStated)
	})
	t.Run("unknown is unknown until a price is told, then for all of it", func(t *testing.T) {
		s := newStory().fold(0, running(0, guard.Rate{}))
		s.check(t, h, "unknown")
		s.fold(h, running(h, r("10"))).check(t, 2*h, "20.00 USD", EventPriced)
	})
	t.Run("a price that goes missing stays in force", func(t *testing.T) {
		newStory().fold(0, running(0, r("10"))).fold(h, running(h, guard.Rate{})).check(t, 2*h, "20.00 USD", EventPriceMissing)
	})
	t.Run("the provider's bill settles an odd price, from when it came", func(t *testing.T) {
		for name, c := range map[string]struct {
			last, before guard.Billed
			spent        string
		}{
			"in two readings":           {billed("482", h, 3*h, 7*h), billed("241", h, 2*h, 6*h), "722.40 USD"},
			"in one":                    {billed("482", h, 3*h, 7*h), guard.Billed{}, "9.60 USD"},
			"in two at a time":          {billed("482", h, 3*h, 7*h), billed("482", h, 3*h, 7*h-time.Minute), "9.60 USD"},
			"of a time before it":       {billed("482", h, 3*h, 7*h), billed("480", 0, 2*h, 6*h), "9.60 USD"},
			"of the old price":          {billed("4.80", h, 3*h, 7*h), billed("2.40", h, 2*h, 6*h), "9.60 USD"},
			"of another price again":    {billed("600", h, 3*h, 7*h), billed("300", h, 2*h, 6*h), "9.60 USD"},
			"of one of these two times": {billed("482", h, 3*h, 7*h), billed("2.40", h, 2*h, 6*h), "9.60 USD"},
		} {
			s := newStory().fold(0, running(0, r("2.40"))).fold(h, running(h, r("240")))
			s.in.Bill = guard.Bill{Last: c.last, Before: c.before}
			s.fold(7 * h)
			if got := s.spent(4 * h); got != c.spent || (s.in.Metered.Odd == nil) != (c.spent == "722.40 USD") {
				t.Errorf("%s: %s, want %s; %v", name, got, c.spent, s.events)
			}
			if s.fold(8*h, running(8*h, r("240"))); (s.in.Metered.Odd == nil) != (c.spent == "722.40 USD") {
				t.Errorf("%s: read again it is odd: %v", name, s.in.Metered.Odd)
			}
		}
	})
	t.Run("the bill of a time in two states settles nothing", func(t *testing.T) {
		off := guard.Change{At: t0.Add(2 * h), State: guard.StateStopped, Saves: guard.StopSavesCompute, Rate: r("0.10")}
		s := newStory().fold(0, running(0, r("2.40"))).fold(h, running(h, r("240"))).fold(2*h, off).fold(3*h, running(3*h, r("240")))
		s.in.Bill = guard.Bill{Last: billed("480", h, 3*h, 7*h), Before: billed("240", h, 2*h, 6*h)}
		if s.fold(7 * h); s.in.Metered.Odd == nil {
			t.Errorf("%+v", s.in.Metered)
		}
	})
	t.Run("what another state bills says nothing of an odd price", func(t *testing.T) {
		off := func(at time.Duration, amount string) guard.Change {
			return guard.Change{At: t0.Add(at), State: guard.StateStopped, Saves: guard.StopSavesCompute, Rate: r(amount)}
		}
		s := newStory().fold(0, running(0, r("10")), off(h, "0.10"), running(2*h, r("10")))
		s.fold(4*h, off(3*h, "10"), running(4*h, r("10"))).check(t, 5*h, "30.20 USD", EventUnitMismatch)
		if m := s.in.Metered; m.Odd == nil || m.OddState != guard.StateStopped {
			t.Errorf("%+v", m)
		}
		s.fold(5*h, off(5*h, "10")).fold(6*h, off(6*h, "0.10")).check(t, 7*h, "30.40 USD", EventUnitMismatch, EventUnitMatch)
	})
	t.Run("another number of workers is not another price", func(t *testing.T) {
		of := func(n, each string) guard.Rate {
			return guard.Rate{Amount: guard.MustMoney(each + " USD"), Per: h, Unit: guard.UnitWorker, Units: n}
		}
		s := newStory().fold(0, running(0, of("1", "2"))).fold(h, running(h, of("40", "2"))).fold(h+poll, running(h+poll, of("1", "2")))
		s.check(t, 2*h, "5.30 USD")
		if Doubtful(s.in.Metered.Segments) {
			t.Error("in doubt")
		}
		s.fold(2*h, running(2*h, of("3", "3"))).check(t, 2*h, "5.30 USD", EventPriceChanged)
		s.fold(3*h, running(3*h, of("3", "300"))).check(t, 3*h, "14.30 USD", EventPriceChanged, EventUnitMismatch)
	})
	t.Run("a wandering price is not corrected away", func(t *testing.T) {
		newStory().fold(0, running(0, r("10"))).fold(h, running(h, r("20"))).fold(h+poll, running(h+poll, r("21"))).
			fold(h+2*poll).check(t, h, "10.00 USD", EventPriceChanged, EventPriceConfirmed)
	})
}

func TestStates(t *testing.T) {
	h := time.Hour
	rate := usd("10", h)
	t.Run("a stop that saves ends the running segment", func(t *testing.T) {
		s := newStory().fold(0, running(0, rate))
		s.fold(h, guard.Change{At: t0.Add(h), State: guard.StateStopped, Saves: guard.StopSavesCompute, Rate: usd("1", h)})
		s.check(t, 3*h, "12.00 USD")
		s.fold(3*h, running(3*h, rate)).check(t, 4*h, "22.00 USD")
	})
	t.Run("a stop that is not known to save saves nothing", func(t *testing.T) {
		s := newStory().fold(0, running(0, rate))
		s.fold(h, guard.Change{At: t0.Add(h), State: guard.StateStopped, Rate: rate}).check(t, 3*h, "30.00 USD")
	})
	t.Run("what does not bill has no segment", func(t *testing.T) {
		s := newStory().fold(0, running(0, rate))
		s.fold(h, guard.Change{At: t0.Add(h), State: guard.StateStopped, Saves: guard.StopSavesAll, Bills: guard.No}).check(t, 9*h, "10.00 USD")
	})
	t.Run("an end in the past takes back what was counted since", func(t *testing.T) {
		s := newStory().fold(0, running(0, rate))
		s.in.Observed.Gone = &guard.Gone{At: t0.Add(90 * time.Minute), Estimated: true}
		s.fold(3*h).check(t, 9*h, "15.00 USD")
		if last := s.in.Metered.Segments[0]; !last.Estimated || last.To.IsZero() {
			t.Errorf("got %+v", last)
		}
	})
	t.Run("a new thing under an old ID leaves the old account alone", func(t *testing.T) {
		s := newStory()
		s.in.Lease = "L1"
		s.fold(0, running(0, rate))
		s.in.Observed.Gone = &guard.Gone{At: t0.Add(h)}
		s.fold(h)
		s.in.Observed = box(5 * h)
		s.in.Lease = "L2"
		s.fold(5*h, running(5*h, rate)).check(t, 6*h, "20.00 USD")
		if got := s.in.Metered.Segments; got[0].Lease != "L1" || got[1].Lease != "L2" || !got[1].From.Equal(t0.Add(5*h)) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a new thing ends the old one's record, if nobody saw it end", func(t *testing.T) {
		s := newStory().fold(0, running(0, rate))
		s.in.Observed = box(5 * h)
		s.fold(5*h, running(5*h, rate)).check(t, 6*h, "60.00 USD")
	})
	t.Run("a lease takes over what nobody's budget had, and no more", func(t *testing.T) {
		s := newStory().fold(0, running(0, rate))
		s.in.Lease = "L1"
		s.fold(h)
		s.in.Lease = "L2"
		s.fold(2*h).check(t, 3*h, "30.00 USD")
		got := s.in.Metered.Segments
		if len(got) != 2 || got[0].Lease != "L1" || !got[0].To.Equal(t0.Add(2*h)) || got[1].Lease != "L2" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestStart(t *testing.T) {
	seen := t0
	for _, c := range []struct {
		name      string
		created   time.Time
		want      time.Time
		estimated bool
	}{
		{"told", t0.Add(-time.Hour), t0.Add(-time.Hour), false},
		{"not told", time.Time{}, seen, true},
		{"the epoch is no creation time", time.Unix(0, 0), seen, true},
		{"in the future", t0.Add(time.Hour), seen, true},
		{"a little skew", t0.Add(30 * time.Second), seen, false},
	} {
		o := guard.Observed{FirstSeen: seen, Resource: guard.Resource{Created: c.created}}
		if at, est := Start(o); !at.Equal(c.want) || est != c.estimated {
			t.Errorf("%s: got %v %v", c.name, at, est)
		}
	}
}

func drawChanges(t *rapid.T) []guard.Change {
	var out []guard.Change
	at := time.Duration(0)
	for range rapid.IntRange(1, 8).Draw(t, "changes") {
		rate := rapid.SampledFrom([]guard.Rate{usd("10", time.Hour), usd("11", time.Hour), usd("25", time.Hour), usd("900", time.Hour), {}}).Draw(t, "rate")
		out = append(out, guard.Change{At: t0.Add(at), Rate: rate,
			State: rapid.SampledFrom([]guard.State{guard.StateRunning, guard.StateStopped, guard.StateUnknown}).Draw(t, "state"),
			Bills: rapid.SampledFrom([]guard.Tri{guard.Yes, guard.No, guard.Unknown}).Draw(t, "bills"),
			Saves: rapid.SampledFrom([]guard.StopEffect{guard.StopSavesCompute, guard.StopSavesNothing, ""}).Draw(t, "saves")})
		at += time.Duration(rapid.IntRange(1, 7200).Draw(t, "pause")) * time.Second
	}
	return out
}

func TestOrderRepeatsAndBatchesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Observed: box(0), Poll: poll, At: t0.Add(24 * time.Hour), Lease: "L1"}
		changes := drawChanges(t)
		in.Observed.Pending = changes
		want, _ := Fold(in)

		messy := slices.Clone(changes)
		for range rapid.IntRange(0, 3).Draw(t, "repeats") {
			messy = append(messy, rapid.SampledFrom(changes).Draw(t, "again"))
		}
		in.Observed.Pending = rapid.Permutation(messy).Draw(t, "order")
		if got, _ := Fold(in); !reflect.DeepEqual(got, want) {
			t.Fatalf("order or repeats matter:\n%+v\n%+v", got.Segments, want.Segments)
		}

		cut := rapid.IntRange(0, len(changes)).Draw(t, "cut")
		in.Observed.Pending = changes[:cut]
		half, _ := Fold(in)
		in.Metered, in.Observed.Pending = half, changes[cut:]
		got, _ := Fold(in)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("batches matter:\n%+v\n%+v", got.Segments, want.Segments)
		}
		// And folding with nothing new changes nothing.
		in.Metered, in.Observed.Pending = got, nil
		if again, events := Fold(in); !reflect.DeepEqual(again, want) || len(events) > 0 {
			t.Fatalf("folding nothing changed something:\n%+v\n%+v", again, want)
		}
	})
}

// A price that is told late holds for what ran before, and that stays estimated.
func TestALatePriceStaysEstimated(t *testing.T) {
	s := newStory()
	s.in.Observed.FirstSeen = s.in.Observed.Resource.Created
	s.fold(0, running(0, guard.Rate{})).fold(time.Hour, running(time.Hour, usd("10", time.Hour))).fold(2 * time.Hour)
	if segs := s.in.Metered.Segments; len(segs) != 1 || !segs[0].Estimated {
		t.Errorf("%+v", segs)
	}
}

// Whatever is told and said, folding once more with nothing new changes nothing.
func TestFoldingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Observed: box(0), Poll: poll, Lease: "L1", At: t0}
		in.Observed.FirstSeen = in.Observed.FirstSeen.Add(time.Millisecond) // only what begins with the thing begins then
		created := rapid.SampledFrom([]time.Time{t0, in.Observed.FirstSeen}).Draw(t, "created")
		late := rapid.IntRange(0, 8).Draw(t, "created is told")
		for i, c := range drawChanges(t) {
			in.At, in.Read = c.At.Add(time.Minute), c.At
			in.Observed.Resource.Rate, in.Observed.Resource.State, in.Observed.Resource.StopSaves = c.Rate, c.State, c.Saves
			if in.Observed.Resource.Created = (time.Time{}); i >= late {
				in.Observed.Resource.Created = created
			}
			in.Observed.Pending = nil
			if rapid.Bool().Draw(t, "told") {
				in.Observed.Pending = []guard.Change{c}
			}
			if rapid.Bool().Draw(t, "said") {
				in.Price = rapid.SampledFrom([]guard.Rate{usd("12", time.Hour), usd("900", time.Hour), {}}).Draw(t, "price")
			}
			if rapid.IntRange(0, 4).Draw(t, "ends") == 4 {
				in.Observed.Gone = &guard.Gone{At: c.At.Add(-time.Duration(rapid.IntRange(0, 7200).Draw(t, "ago")) * time.Second)}
			}
			in.Metered, _ = Fold(in)
			in.Observed.Pending, in.At = nil, in.At.Add(time.Minute)
			if again, events := Fold(in); !reflect.DeepEqual(again, in.Metered) || len(events) > 0 {
				t.Fatalf("folding nothing changed something:\n%+v\n%+v %v", in.Metered, again, events)
			}
		}
	})
}

// Segments of one resource never overlap, never run backwards, and neighbours
// that bill alike are one.
func TestSegmentsAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Observed: box(0), Poll: poll, At: t0.Add(24 * time.Hour)}
		in.Observed.Pending = drawChanges(t)
		if rapid.Bool().Draw(t, "gone") {
			in.Observed.Gone = &guard.Gone{At: t0.Add(time.Duration(rapid.IntRange(-100, 20000).Draw(t, "end")) * time.Second)}
		}
		m, _ := Fold(in)
		for i, s := range m.Segments {
			last := i == len(m.Segments)-1
			if !s.To.IsZero() && !s.To.After(s.From) {
				t.Fatalf("empty or backwards: %+v", s)
			}
			if s.To.IsZero() && (!last || in.Observed.Gone != nil) {
				t.Fatalf("open in the middle or after the end: %+v", m.Segments)
			}
			if !last && m.Segments[i+1].From.Before(s.To) {
				t.Fatalf("overlap: %+v", m.Segments)
			}
			if !last && joins(s, m.Segments[i+1]) {
				t.Fatalf("neighbours alike: %+v", m.Segments)
			}
		}
	})
}

// A price of nothing that is really the price must not come back from the ledger
// as no price at all.
func TestRatesSurviveTheLedger(t *testing.T) {
	for _, r := range []guard.Rate{usd("2.4", time.Hour), {Amount: guard.ZeroMoney("USD"), Per: time.Hour, Free: true}, {}} {
		b, err := json.Marshal(guard.Segment{Rate: r})
		if err != nil {
			t.Fatal(err)
		}
		var back guard.Segment
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if back.Rate.Known() != r.Known() || !back.Rate.Same(r) {
			t.Errorf("%v came back as %v (%s)", r, back.Rate, b)
		}
	}
}
