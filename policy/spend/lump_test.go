package spend

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

const lumpMonth = 30 * 24 * time.Hour

func monthly(amount string, from time.Time, renews guard.Tri) guard.Lump {
	l := guard.Lump{From: from, Until: from.Add(lumpMonth), Renews: renews, Source: "api"}
	if amount != "" {
		l.Amount = guard.MustMoney(amount)
	}
	return l
}

// prepaid is a box that is paid ahead and bills nothing beside.
func prepaid(created, seen time.Time, l guard.Lump) guard.Observed {
	r := guard.Resource{ID: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, State: guard.StateRunning, Created: created, Bills: guard.Yes,
		Rate: guard.Rate{Amount: guard.ZeroMoney("CNY"), Per: time.Hour, Free: true, Source: "api"}, Lump: l}
	return First(r, "acct-1", seen)
}

var lumpZero = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

func owed(m guard.Metered, at time.Time) string {
	t := Spent(Segments(m), at)
	s := t.In("CNY").String()
	if len(t.Unknown) > 0 {
		s = "at least " + s
	}
	return s
}

func foldAt(o guard.Observed, m guard.Metered, lease string, at time.Time) guard.Metered {
	out, _ := Fold(Input{Observed: o, Metered: m, Lease: lease, At: at, Read: at, Poll: time.Minute})
	return out
}

// TestALumpCountsInFullFromItsBeginning: not a moment before, no more with time, and once
// however often it is read, whoever's it becomes.
func TestALumpCountsInFullFromItsBeginning(t *testing.T) {
	o := prepaid(lumpZero, lumpZero.Add(time.Minute), monthly("3000 CNY", lumpZero, guard.Yes))
	m := guard.Metered{}
	for i := range 5 {
		m = foldAt(o, m, "L-1", lumpZero.Add(time.Duration(i)*time.Hour))
		o.Pending = nil
	}
	for at, want := range map[time.Duration]string{0: "0.00 CNY", time.Nanosecond: "3000.00 CNY", time.Hour: "3000.00 CNY", lumpMonth - 1: "3000.00 CNY", lumpMonth + time.Hour: "3000.00 CNY"} {
		if got := owed(m, lumpZero.Add(at)); got != want {
			t.Errorf("after %v: %s, want %s", at, got, want)
		}
	}
	if segs := Of("L-1", m); len(segs) != 2 {
		t.Errorf("the lease has %d segments", len(segs))
	}
	if burn := Burn(Segments(m), lumpZero.Add(time.Hour)); burn.In("CNY").IsPositive() || len(burn.Unknown) > 0 {
		t.Errorf("what is paid already burns: %+v", burn)
	}
	o.Resource.Lump = monthly("3000 CNY", lumpZero.Add(lumpMonth), guard.Yes) // renewed
	m = foldAt(o, m, "L-1", lumpZero.Add(lumpMonth+time.Hour))
	if got := owed(m, lumpZero.Add(lumpMonth+time.Hour)); got != "6000.00 CNY" {
		t.Errorf("renewed: %s", got)
	}
	o.Resource.Lump = guard.Lump{}
	o.Gone = &guard.Gone{At: lumpZero.Add(lumpMonth + 2*time.Hour), How: guard.ByRelease}
	m = foldAt(o, m, "L-1", lumpZero.Add(lumpMonth+3*time.Hour))
	if got := owed(m, lumpZero.Add(3*lumpMonth)); got != "6000.00 CNY" {
		t.Errorf("gone: %s", got)
	}
}

// TestALumpThatIsReadOtherwise: an amount that changes replaces what it was, from the
// beginning on; one that is not told, or can be no price of the same, changes nothing; a
// date that jitters is the same payment.
func TestALumpThatIsReadOtherwise(t *testing.T) {
	for _, c := range []struct {
		name string
		now  guard.Lump
		want string
	}{
		{"another amount", monthly("3200 CNY", lumpZero, guard.Yes), "3200.00 CNY"},
		{"no amount", monthly("", lumpZero, guard.Yes), "3000.00 CNY"},
		{"cents", monthly("300000 CNY", lumpZero, guard.Yes), "3000.00 CNY"},
		{"another currency", monthly("400 USD", lumpZero, guard.Yes), "3000.00 CNY"},
		{"a second later", monthly("3000 CNY", lumpZero.Add(time.Second), guard.Yes), "3000.00 CNY"},
		{"another beginning of the same end", guard.Lump{Amount: guard.MustMoney("3000 CNY"), From: lumpZero.Add(5 * time.Hour), Until: lumpZero.Add(lumpMonth)}, "3000.00 CNY"},
		{"nothing", guard.Lump{}, "3000.00 CNY"},
	} {
		o := prepaid(lumpZero, lumpZero, monthly("3000 CNY", lumpZero, guard.Yes))
		m := foldAt(o, guard.Metered{}, "", lumpZero)
		o.Pending, o.Resource.Lump = nil, c.now
		m = foldAt(o, m, "", lumpZero.Add(time.Hour))
		if got := owed(m, lumpZero.Add(2*time.Hour)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	unknown := foldAt(prepaid(lumpZero, lumpZero, monthly("", lumpZero, guard.Yes)), guard.Metered{}, "", lumpZero)
	if got := owed(unknown, lumpZero.Add(time.Hour)); got != "at least 0.00 CNY" {
		t.Errorf("an unknown amount: %s", got)
	}
}

// TestALumpBeforeTheLease: a budget counts from the provider's start, so what was paid in
// the month that a lease begins in is its own; what was paid before guard saw the thing is
// not known; and what was another lease's stays that one's.
func TestALumpBeforeTheLease(t *testing.T) {
	seen := lumpZero.Add(10 * 24 * time.Hour)
	o := prepaid(lumpZero, seen, monthly("3000 CNY", lumpZero, guard.Yes))
	m := foldAt(o, guard.Metered{}, "L-1", seen)
	if got := Spent(Of("L-1", m), seen); got.In("CNY").String() != "3000.00 CNY" || len(got.Unknown) > 0 {
		t.Errorf("the month it began in: %+v", got)
	}
	o.Pending = nil
	o.Resource.Lump = monthly("3000 CNY", lumpZero.Add(lumpMonth), guard.Yes)
	later := lumpZero.Add(lumpMonth + time.Hour)
	m, _ = Fold(Input{Observed: o, Metered: m, Lease: "L-2", Taken: lumpZero.Add(15 * 24 * time.Hour), At: later, Read: later})
	for lease, want := range map[string]string{"L-1": "3000.00 CNY", "L-2": "3000.00 CNY"} {
		if got := Spent(Of(lease, m), later).In("CNY").String(); got != want {
			t.Errorf("%s pays %s, want %s", lease, got, want)
		}
	}
	old := prepaid(lumpZero.Add(-3*lumpMonth), seen, monthly("3000 CNY", lumpZero, guard.Yes))
	m = foldAt(old, guard.Metered{}, "L-1", seen)
	if got := owed(m, seen); got != "at least 3000.00 CNY" {
		t.Errorf("three months before: %s", got)
	}
}

// TestACapIsKeptByNotRenewing: a cap is crossed where the renewal would be paid.
func TestACapIsKeptByNotRenewing(t *testing.T) {
	o := prepaid(lumpZero, lumpZero, monthly("3000 CNY", lumpZero, guard.Yes))
	m := foldAt(o, guard.Metered{}, "L-1", lumpZero)
	segs := append(Of("L-1", m), Renewals(m, o.Resource.Lump)...)
	at, ok := Crossing(segs, guard.MustMoney("8000 CNY"), lumpZero)
	if !ok || !at.Equal(lumpZero.Add(2*lumpMonth)) {
		t.Errorf("it is crossed at %v", at)
	}
	for _, renews := range []guard.Tri{guard.No, guard.Unknown} {
		l := o.Resource.Lump
		if l.Renews = renews; len(Renewals(m, l)) > 0 {
			t.Errorf("renews %q, and is counted on", renews)
		}
	}
}

// TestALumpBreaksNoRun: what was paid while a thing ran begins no new billing unit of it.
func TestALumpBreaksNoRun(t *testing.T) {
	hourly := func(amount string, from, to time.Duration) guard.Segment {
		return guard.Segment{State: guard.StateRunning, From: lumpZero.Add(from), To: lumpZero.Add(to), Granularity: time.Hour,
			Rate: guard.Rate{Amount: guard.MustMoney(amount), Per: time.Hour}}
	}
	m := guard.Metered{Segments: []guard.Segment{hourly("1 CNY", 0, 20*time.Minute), hourly("2 CNY", 20*time.Minute, 50*time.Minute)},
		Lumps: []guard.Paid{{Lump: monthly("100 CNY", lumpZero.Add(10*time.Minute), guard.No)}}}
	if got := owed(m, lumpZero.Add(2*time.Hour)); got != "101.00 CNY" {
		t.Errorf("owes %s", got)
	}
}

// TestLumpsInAnyOrderOfReading: whatever is read, forgotten and read again in whatever
// order, the sum is of each month once.
func TestLumpsInAnyOrderOfReading(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		months := rapid.IntRange(1, 5).Draw(rt, "months")
		o := prepaid(lumpZero, lumpZero, monthly("100 CNY", lumpZero, guard.Yes))
		m := foldAt(o, guard.Metered{}, "L-1", lumpZero)
		o.Pending = nil
		read := map[int]bool{0: true}
		for i, n := range rapid.SliceOfN(rapid.IntRange(-1, months-1), 1, 20).Draw(rt, "readings") {
			if o.Resource.Lump = (guard.Lump{}); n >= 0 {
				jitter := time.Duration(rapid.IntRange(-29, 29).Draw(rt, "jitter")) * time.Minute
				o.Resource.Lump = monthly("100 CNY", lumpZero.Add(time.Duration(n)*lumpMonth+jitter), guard.Yes)
				read[n] = true
			}
			m = foldAt(o, m, "L-1", lumpZero.Add(time.Duration(months)*lumpMonth+time.Duration(i)*time.Minute))
		}
		want := guard.ZeroMoney("CNY")
		for range read {
			want, _ = want.Add(guard.MustMoney("100 CNY"))
		}
		if got := Spent(Of("L-1", m), lumpZero.Add(10*lumpMonth)).In("CNY"); !got.Equal(want) {
			rt.Fatalf("%s of %v", got, read)
		}
	})
}
