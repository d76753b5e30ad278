package fake

import (
	"context"
	"errors"
	"testing"
	"time"

	"guard"
)

const day = 24 * time.Hour

// TestWhatIsPaidAhead: paid at once, told as it is, renewed or deleted, and not given back.
func TestWhatIsPaidAhead(t *testing.T) {
	c := MustCloud(Script{Account: "lab", Balance: "700 USD", Resources: []Resource{
		{ID: "old", Created: -40 * day, Lump: &Lump{Amount: "300", Covers: 30 * day, Renews: true}},
		{ID: "ends", Created: -10 * day, Lump: &Lump{Amount: "300", Covers: 30 * day}},
		{ID: "off", Lump: &Lump{Amount: "300", Covers: 30 * day, Renews: true}},
	}, Timeline: []Event{{At: 5 * day, ID: "off", Set: &Changes{Renews: new(bool)}}, {At: 6 * day, ID: "old", Delete: true}}})
	look := func(at time.Duration, id string) guard.Resource {
		t.Helper()
		looks := c.Provider().Get(guard.WithInstant(context.Background(), c.At(at)), c.ID(guard.Instance, id))
		return looks[0].Resource
	}
	r := look(time.Hour, "old")
	if l := r.Lump; l.Amount.String() != "300.00 USD" || !l.From.Equal(c.At(-10*day).Wall) || !l.Until.Equal(c.At(20*day).Wall) || l.Renews != guard.Yes || l.Source != "api" {
		t.Errorf("%+v", l)
	}
	if h, ok := r.Rate.Hourly(); !ok || !h.IsZero() || !r.PlatformEnds.At.IsZero() {
		t.Errorf("beside it bills %v, and ends %+v", r.Rate, r.PlatformEnds)
	}
	if end := look(time.Hour, "ends").PlatformEnds; !end.At.Equal(c.At(20 * day).Wall) {
		t.Errorf("it ends %+v", end)
	}
	if got := c.Balance(); got != "400.000000 USD" {
		t.Errorf("%s is left: what was paid before is not drawn", got)
	}
	c.Advance(c.At(40 * day).Wall)
	for id, want := range map[string]string{"old": "600", "ends": "300", "off": "300"} {
		if got, _ := c.Spend(id); got.RatString() != want {
			t.Errorf("%s cost %s, want %s", id, got.RatString(), want)
		}
		if c.Truth(id) != TruthGone {
			t.Errorf("%s is %s", id, c.Truth(id))
		}
	}
	if paid := c.Payments("old"); len(paid) != 2 || !paid[1].At.Equal(c.At(-10*day).Wall) || paid[1].Amount.RatString() != "300" {
		t.Errorf("paid for old: %+v", paid)
	}
	if !c.Gone("ends").Equal(c.At(20*day).Wall) || !c.Gone("off").Equal(c.At(30*day).Wall) {
		t.Errorf("ended at %v and %v", c.Gone("ends"), c.Gone("off"))
	}
}

// TestABillIsWhatItCost: a line an hour of what each thing really cost, and those of the
// script beside them.
func TestABillIsWhatItCost(t *testing.T) {
	c := MustCloud(Script{Account: "lab", Bill: time.Hour, Resources: []Resource{{ID: "i-1", Created: -30 * time.Minute, Rate: &Rate{Amount: "4", Per: "hour"}}},
		Timeline: []Event{{At: 90 * time.Minute, ID: "i-1", State: "stopped"}, {At: 4 * time.Hour, Charge: &Charge{ID: "i-1", Amount: "1.5 USD", Covers: time.Hour}}}})
	at := c.At(5 * time.Hour)
	bill, err := c.Provider().Paid().Charges(guard.WithInstant(context.Background(), at), c.At(-day).Wall)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"2.00 USD", "4.00 USD", "2.00 USD", "1.50 USD"}
	if len(bill) != len(want) {
		t.Fatalf("%+v", bill)
	}
	for i, line := range bill {
		if line.Amount.String() != want[i] || line.To.Sub(line.From) != time.Hour || line.Resource.ID != "i-1" {
			t.Errorf("line %d: %+v, want %s", i, line, want[i])
		}
	}
	if _, err := MustCloud(Script{Account: "lab"}).Provider().Paid().Charges(context.Background(), at.Wall); !errors.Is(err, guard.ErrUnsupported) {
		t.Errorf("a cloud that tells no bill: %v", err)
	}
}
