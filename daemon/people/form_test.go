package people_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/store"
)

// Where an offer does not say how long, whoever clicks is asked, told what is wrong with
// what they typed, and what it came to.
func TestExtendForm(t *testing.T) {
	d := newDesk(t)
	m := d.message("slack|card|x")
	c := d.click("U1", m, guard.ClickExtend)
	c.Nth = 2
	a := d.handle(c)
	if a.Ask == nil || a.Ask.Message != m.ID || a.Ask.Offer != "extend" || a.Ask.Key != c.Key || a.Ask.Nth != 2 || len(a.Ask.Fields) != 2 {
		t.Fatalf("%+v", a.Ask)
	}
	c.Form = map[string]string{}
	if a = d.handle(c); a.Wrong["by"] == "" {
		t.Errorf("%+v", a)
	}
	c.Form = map[string]string{"by": "2h", "until": "tomorrow"}
	if a = d.handle(c); a.Wrong["until"] == "" {
		t.Errorf("%+v", a)
	}
	d.must(a, false, "Nothing was done yet")
	d.fails = &wire.Error{Kind: wire.KindInvalid, Message: `by: "soon" is not a duration: write 90s`, Hint: "Or so."}
	c.Form = map[string]string{"by": "soon"}
	if a = d.handle(c); a.Done || a.Wrong["by"] != `By: "soon" is not a duration: write 90s. Or so.` {
		t.Errorf("%+v", a)
	}
	// What no field can mend closes the form.
	d.fails = &wire.Error{Kind: wire.KindRefused, Message: "cannot extend lab/i-1: its ceiling is reached"}
	if a = d.handle(c); a.Done || a.Wrong != nil || !strings.Contains(a.Text, "Nothing was done: Cannot extend lab/i-1: its ceiling is reached") {
		t.Errorf("%+v", a)
	}
	d.fails, d.asked = nil, nil
	c.Form = map[string]string{"by": " 3h ", "until": ""}
	d.must(d.handle(c), true, "Done", "ana(slack U1) extend {ID:lab/i-1 By:3h Until: Budget:}")
}

// What is capped may be extended in money too; what is not is asked about time alone.
func TestExtendFormOfACap(t *testing.T) {
	d := newDesk(t)
	d.lease.Budget = guard.MustMoney("2000CNY")
	d.put(func(tx *store.Tx) error { return tx.Leases.Put(d.lease) })
	c := d.click("U1", d.message("slack|card|x"), guard.ClickExtend)
	c.Nth = 2
	a := d.handle(c)
	if a.Ask == nil || len(a.Ask.Fields) != 3 || a.Ask.Fields[2].Name != "budget" || !a.Ask.Fields[2].Optional {
		t.Fatalf("%+v", a.Ask)
	}
	c.Form = map[string]string{}
	if a = d.handle(c); !strings.Contains(a.Wrong["by"], "or what it may cost") {
		t.Errorf("%+v", a)
	}
	c.Form = map[string]string{"budget": " +500CNY "}
	d.must(d.handle(c), true, "Done: lab/i-1 may cost 2500.00 CNY now.", "ana(slack U1) extend {ID:lab/i-1 By: Until: Budget:+500CNY}")
	c.Form["by"] = "2h"
	d.must(d.handle(c), true, "Done: lab/i-1 is yours to use until 2026-03-06T13:00:00Z now. Done: lab/i-1 may cost 2500.00 CNY now.",
		"ana(slack U1) extend {ID:lab/i-1 By:2h Until: Budget:+500CNY}")
	d.fails = &wire.Error{Kind: wire.KindCurrency, Message: "budget: lab/i-1 has a budget of 2000.00 CNY; add an amount in CNY"}
	if a = d.handle(c); a.Done || a.Wrong["budget"] == "" {
		t.Errorf("%+v", a)
	}
}

// Once it is extended, the buttons of before are done or stale, and those that the card has
// from then on count, whichever of the two was used.
func TestExtendAnew(t *testing.T) {
	d := newDesk(t)
	m := d.message("slack|card|x")
	d.handle(d.click("U1", m, guard.ClickExtend))
	d.lease.ExpiresAt = d.lease.ExpiresAt.Add(2 * time.Hour)
	d.put(func(tx *store.Tx) error {
		return errors.Join(tx.Leases.Put(d.lease), tx.SetValue(guard.ClicksName, []guard.Clicked{{Key: d.once, By: "ana", At: d.at.Wall}}))
	})
	d.asked = nil
	asks := d.click("U1", m, guard.ClickExtend)
	asks.Nth, asks.Form = 2, map[string]string{"by": "1h"}
	d.must(d.handle(asks), false, "Done already, by ana")
	now := d.message("slack|card|x")
	d.must(d.handle(d.click("U1", now, guard.ClickExtend)), true, "Done", "ana(slack U1) extend {ID:lab/i-1 By:2h Until: Budget:}")
	asks.Key = d.click("U1", now, guard.ClickExtend).Key
	d.must(d.handle(asks), true, "Done", "ana(slack U1) extend {ID:lab/i-1 By:1h Until: Budget:}")
}
