package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers/fake"
	"guard/store"
)

// bills is a bill that is told as it is, or why it is not.
type bills struct {
	lines []guard.Charge
	err   error
}

func (b *bills) Charges(context.Context, time.Time) ([]guard.Charge, error) { return b.lines, b.err }

// hourOf is an hour of something on the bill.
func (b *bench) hourOf(id string, from time.Duration, amount string) guard.Charge {
	return guard.Charge{Resource: b.cloud.ID(guard.Instance, id), What: "total", From: b.cloud.At(from).Wall, To: b.cloud.At(from + time.Hour).Wall,
		Amount: guard.MustMoney(amount)}
}

// TestAKeyThatSeesNothingAnyMore: of a key that is known by itself alone, everything is gone
// only where the account's bill does not say otherwise.
func TestAKeyThatSeesNothingAnyMore(t *testing.T) {
	const lost = 25 * time.Hour
	blind := func(except string) func(*fake.Script) {
		return func(s *fake.Script) {
			s.IdentityKind = "weak"
			s.Resources = []fake.Resource{
				{ID: "i-1", Created: -time.Hour, Rate: &fake.Rate{Amount: "2", Per: "hour"}},
				{ID: "i-2", Created: -time.Hour, Rate: &fake.Rate{Amount: "2", Per: "hour"}},
			}
			for _, id := range []string{"i-1", "i-2"} {
				if id != except {
					s.Timeline = append(s.Timeline, fake.Event{At: lost, ID: id, Delete: true})
				}
			}
		}
	}
	for name, c := range map[string]struct {
		script func(*fake.Script)
		bill   func(b *bench) *bills
		gone   bool
		says   string
	}{
		"its bill names what is known": {blind(""), func(b *bench) *bills { return &bills{lines: []guard.Charge{b.hourOf("i-2", 20*time.Hour, "2 USD")}} }, true, ""},
		"its bill names nothing that is known": {blind(""), func(b *bench) *bills { return &bills{lines: []guard.Charge{b.hourOf("i-9", 20*time.Hour, "2 USD")}} }, false,
			"its bill names nothing that guard knows"},
		"its bill cannot be read":   {blind(""), func(*bench) *bills { return &bills{err: fmt.Errorf("%w: 503", guard.ErrUnavailable)} }, false, "whether its key still sees the account cannot be told"},
		"it may not read the bill":  {blind(""), func(*bench) *bills { return &bills{err: guard.ErrPermission} }, true, ""},
		"no bill is told":           {blind(""), func(*bench) *bills { return &bills{err: guard.ErrUnsupported} }, true, ""},
		"there are no bills":        {blind(""), nil, true, ""},
		"it still sees another box": {blind("i-2"), func(*bench) *bills { return &bills{} }, true, ""},
		"it names its account":      {func(s *fake.Script) { blind("")(s); s.IdentityKind = "strong" }, func(*bench) *bills { return &bills{} }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.script)
			b.account.Biller = nil
			if c.bill != nil {
				b.account.Biller = c.bill(b)
			}
			b.restart()
			b.once(time.Minute)
			b.until(lost + 20*time.Minute)
			if o := b.box("i-1"); (o.Gone != nil) != c.gone {
				t.Errorf("i-1: gone %+v, %v", o.Gone, b.err)
			}
			a := b.status()
			if a.Failing.IsZero() != (c.says == "") || !strings.Contains(a.Error, c.says) {
				t.Errorf("%+v", a)
			}
			if c.says != "" && a.Failing.After(b.cloud.At(lost+time.Minute).Wall) {
				t.Errorf("it fails since %v", a.Failing)
			}
			if c.says != "" && b.err == nil {
				t.Error("the run tells no error")
			}
		})
	}
}

// TestWhatIsBilledAndNeverSeen is kept with the account, all of it together: but for what is
// of before guard looked, has no end yet, or is a node of what is known.
func TestWhatIsBilledAndNeverSeen(t *testing.T) {
	b := newBench(t, nil)
	bill := &bills{}
	b.account.Biller = bill
	b.restart()
	b.once(time.Minute)
	if a := b.status(); !a.Bill.Read.Equal(b.now.Wall) || a.Bill.Count != 0 {
		t.Errorf("%+v", a.Bill)
	}
	bill.lines = []guard.Charge{
		b.hourOf("i-1", 10*time.Hour, "2 USD"),
		b.hourOf("p-9", 10*time.Hour, "3 USD"), b.hourOf("p-9", 11*time.Hour, "2.50 USD"), b.hourOf("p-8", 11*time.Hour, "7 CNY"),
		b.hourOf("p-7", -10*time.Hour, "9 USD"), b.hourOf("p-6", 14*time.Hour, "9 USD"), b.hourOf("p-5", 11*time.Hour, "0 USD"),
	}
	b.once(16 * time.Hour)
	if a := b.status().Bill; a.Count != 2 || len(a.Unseen) != 2 || a.Unseen[0].ID != "p-8" || a.Unseen[1].ID != "p-9" ||
		fmt.Sprint(a.Sum) != "[7.00 CNY 5.50 USD]" || !a.Since.Equal(b.cloud.At(time.Minute).Wall) {
		t.Errorf("%+v", a)
	}
	bill.err = errors.New("no route")
	b.once(18 * time.Hour)
	b.once(20 * time.Hour)
	if a := b.status().Bill; a.Error != "no route" || !a.Failing.Equal(b.cloud.At(18*time.Hour).Wall) || a.Count != 2 {
		t.Errorf("%+v", a)
	}
	bill.err, bill.lines = nil, []guard.Charge{b.hourOf("p-9", 10*time.Hour, "3 USD")}
	b.put(func(tx *store.Tx) error {
		return tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: b.cloud.ID(guard.Instance, "cluster/c1"), Nodes: []string{"p-9"}},
			Gone: &guard.Gone{At: b.now.Wall}})
	})
	b.once(22 * time.Hour)
	if a := b.status().Bill; a.Error != "" || !a.Failing.IsZero() || a.Count != 0 {
		t.Errorf("%+v", a)
	}
}
