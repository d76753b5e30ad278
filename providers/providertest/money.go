package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// billed is a world with a balance, and with the charges of three days for each of its
// two instances.
func (s *suite) billed() World {
	s.Helper()
	if s.h.Currency == "" {
		s.Fatal("the adapter tells of money: its harness needs a Currency")
	}
	w := s.world(1)
	w.Canary = canary
	w.Balance = guard.MustMoney("123.45 " + s.h.Currency)
	day := time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC)
	for i := range 3 {
		for n, t := range w.Instances {
			w.Charges = append(w.Charges, guard.Charge{
				Resource: guard.ResourceID{Account: "conformance", Kind: guard.Instance, Scope: t.Scope, ID: t.ID}, What: "gpu",
				From: day.AddDate(0, 0, i), To: day.AddDate(0, 0, i+1), Amount: guard.MustMoney(fmt.Sprintf("%d.25 %s", 10*(n+1)+i, s.h.Currency)),
			})
		}
	}
	return w
}

// balance sees that what is left is told exactly, and that what is not told is an error,
// never nothing.
func (s *suite) balance() {
	p, x := s.open(s.world(1))
	if _, ok := p.(providers.Balancer); !ok {
		s.skip("a balance")
	}
	w := s.billed()
	for _, amount := range []string{"123.45", "0", "-7.50"} {
		w.Balance = guard.MustMoney(amount + " " + s.h.Currency)
		p, x = s.open(w)
		b, err := p.(providers.Balancer).Balance(s.ctx())
		if err != nil || !b.Amount.Equal(w.Balance) || !b.At.IsZero() && b.At.Location() != time.UTC {
			s.Errorf("Balance = %+v, %v; want %s", b, err, w.Balance)
		}
		s.tells("Balance", fmt.Sprintf("%+v", b))
	}
	if x.calls(Balance) == 0 {
		s.Fatal("the harness classifies no request as a read of the balance")
	}
	s.moneyFails(w, Balance, func(ctx context.Context, p providers.Provider) (any, error) {
		return p.(providers.Balancer).Balance(ctx)
	})
}

// charges sees that every charge comes, in order, that none before the time asked for
// does, and that a failed reading is never an empty bill.
func (s *suite) charges() {
	p, _ := s.open(s.world(1))
	if _, ok := p.(providers.Biller); !ok {
		s.skip("charges")
	}
	w := s.billed()
	s.failedBill(w)
	p, x := s.open(w)
	for _, since := range []time.Time{w.Charges[0].From, w.Charges[0].To, w.Charges[len(w.Charges)-1].To} {
		got, err := p.(providers.Biller).Charges(s.ctx(), since)
		if err != nil {
			s.Fatalf("since %s: %v", since, err)
		}
		s.tells("Charges", fmt.Sprintf("%+v", got))
		s.billsAs(got, slices.DeleteFunc(slices.Clone(w.Charges), func(c guard.Charge) bool { return !c.To.After(since) }), since)
	}
	if x.calls(Charges) == 0 {
		s.Fatal("the harness classifies no request as a read of charges")
	}
	s.moneyFails(w, Charges, func(ctx context.Context, p providers.Provider) (any, error) {
		return p.(providers.Biller).Charges(ctx, w.Charges[0].From)
	})
}

// failedBill sees that no part of a bill can be missing.
func (s *suite) failedBill(w World) {
	s.Helper()
	p, x := s.open(w)
	if _, err := p.(providers.Biller).Charges(s.ctx(), w.Charges[0].From); err != nil {
		s.Fatal(err)
	}
	for part, text := range x.texts(Charges) {
		for name, answer := range broken {
			p, x := s.open(w)
			came := x.only(text, answer)
			got, err := p.(providers.Biller).Charges(s.ctx(), w.Charges[0].From)
			if !came() {
				s.Fatal("no two readings of a bill make the same requests")
			}
			if err == nil {
				s.Errorf("part %d is %s: a bill of %d charges", part+1, name, len(got))
			}
		}
	}
}

// billsAs compares charges by what each resource has to pay: a bill may be cut finer.
func (s *suite) billsAs(got, want []guard.Charge, since time.Time) {
	s.Helper()
	for i, c := range got {
		s.saneCharge(c)
		if !c.To.After(since) || i > 0 && c.From.Before(got[i-1].From) {
			s.Errorf("since %s: charge %d is %+v", since, i, c)
		}
	}
	if a, b := totals(got), totals(want); !maps.Equal(a, b) {
		s.Errorf("since %s the bill is %v, want %v", since, a, b)
	}
}

func (s *suite) saneCharge(c guard.Charge) {
	s.Helper()
	if !c.Amount.IsSet() || c.From.IsZero() || c.To.Before(c.From) || c.From.Location() != time.UTC || c.To.Location() != time.UTC || c.From.Year() < 2000 || c.To.Year() > 2200 {
		s.Errorf("a charge came as %+v", c)
	}
}

// totals are the sums by resource.
func totals(all []guard.Charge) map[string]string {
	sums := map[string]*big.Rat{}
	for _, c := range all {
		k := c.Resource.ID + " " + c.Amount.Currency()
		if sums[k] == nil {
			sums[k] = new(big.Rat)
		}
		if c.Amount.IsSet() {
			sums[k].Add(sums[k], c.Amount.Rat())
		}
	}
	out := map[string]string{}
	for k, v := range sums {
		out[k] = v.RatString()
	}
	return out
}

// moneyFails sees that no broken reply is an answer about money.
func (s *suite) moneyFails(w World, call string, ask func(context.Context, providers.Provider) (any, error)) {
	s.Helper()
	answers := maps.Clone(broken)
	for status := range statuses {
		answers[fmt.Sprint(status)] = func(r *http.Request) (*http.Response, error) { return reply(r, status, `{"error":"`+canary+`"}`) }
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		p, x := s.open(w)
		x.on(call, func(_ int, r *http.Request) (*http.Response, error) { return answers[name](r) })
		got, err := ask(s.ctx(), p)
		if err == nil {
			s.Errorf("%s: %+v", name, got)
		}
		s.tells(name, fmt.Sprintf("%v %+v %#v", err, err, err))
	}
	p, x := s.open(w)
	gone, cancel := context.WithCancel(s.ctx())
	cancel()
	if _, err := ask(gone, p); !errors.Is(err, context.Canceled) || x.calls("") > 0 {
		s.Errorf("cancelled: %v after %d calls", err, x.calls(""))
	}
}
