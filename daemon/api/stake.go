package api

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
)

// The sorts of money at stake.
const (
	soFar  = "so far"  // what it has cost since the condition began
	aMonth = "a month" // what it costs as long as nobody does anything: of what just lies there
)

// stake is what a finding is about in money: of an instance what it has cost since the
// condition began, of a disk and the like what it costs a month; unset where its price is
// not known, or it is not about a thing that bills.
func stake(f guard.Finding, now time.Time) (guard.Money, string) {
	rate := guard.Rate{Amount: f.Wastes, Per: time.Hour}
	if !f.Resource.IsZero() && f.Resource.Kind != guard.Instance {
		m, _ := rate.For(guard.Month)
		return m, aMonth
	}
	since, end := f.Since, now
	if since.IsZero() {
		since = f.Opened
	}
	if !f.Closed.IsZero() {
		end = f.Closed
	}
	m, _ := rate.For(max(end.Sub(since), 0))
	return m, soFar
}

// staked is a finding with its money.
type staked struct {
	wire.Finding
	of    guard.Finding
	money guard.Money
}

// staked prices findings and sorts them: open ones first, of these the urgent ones, whose
// amount may not even be known, then what most is at stake for. Amounts that cannot be
// compared stand by currency, unknown ones last.
func (s *server) staked(fs []guard.Finding, mutes func(subject string) []guard.Mute, now time.Time) []staked {
	out := make([]staked, len(fs))
	for i, f := range fs {
		money, per := stake(f, now)
		out[i] = staked{Finding: s.wireFinding(f), of: f, money: money}
		if money.IsSet() {
			text := readable(money)
			out[i].AtStake, out[i].Stake = &text, per
		}
		for _, m := range mutes(f.Subject) {
			if m.Kind == guard.Snooze && f.Closed.IsZero() {
				out[i].Snoozed = s.local(m.Until)
			}
		}
	}
	x := s.Rules().Exchange
	slices.SortStableFunc(out, func(a, b staked) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), compare(x, a.money, b.money), b.Opened.Compare(a.Opened), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// rank is what goes before all money: 0 for what is urgent, 1 for what is open, 2 for
// what is over.
func (f staked) rank() int {
	switch {
	case f.Closed != nil:
		return 2
	case f.Urgent:
		return 0
	}
	return 1
}

// compare sorts amounts, the greatest first: by the rates of exchange where there are
// any, what these do not know after that by its currency, and no amount last.
func compare(x guard.Exchange, a, b guard.Money) int {
	place := func(m guard.Money) (int, guard.Money) {
		if in, ok := x.To(m, x.Base); ok && x.Base != "" {
			return 0, in
		}
		if !m.IsSet() {
			return 2, m
		}
		return 1, m
	}
	i, m := place(a)
	j, n := place(b)
	if i != j || m.Currency() != n.Currency() {
		return cmp.Or(cmp.Compare(i, j), strings.Compare(m.Currency(), n.Currency()))
	}
	c, _ := n.Cmp(m)
	return c
}

// totals add up what is at stake, each thing once however many findings it has, an amount
// a currency; and all of it in the base currency, where there are rates for every one.
func totals(fs []staked, per string, x guard.Exchange) (sums []string, all *string) {
	most := map[string]guard.Money{}
	for _, f := range fs {
		if f.Closed != nil || f.Stake != per {
			continue
		}
		key := f.Subject + " " + f.money.Currency()
		if n, err := f.money.Cmp(most[key]); err != nil || n > 0 {
			most[key] = f.money
		}
	}
	by := map[string]guard.Money{}
	for _, m := range most {
		sum, err := m.Add(by[m.Currency()])
		if err != nil {
			sum = m
		}
		by[m.Currency()] = sum
	}
	var base guard.Money
	known := len(by) > 1
	var codes []string
	for code := range by {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		sums = append(sums, readable(by[code]))
		in, ok := x.To(by[code], x.Base)
		if known = known && ok; !known {
			continue
		}
		if sum, err := base.Add(in); err == nil {
			in = sum
		}
		base = in
	}
	if known && base.IsSet() {
		text := readable(base)
		all = &text
	}
	return sums, all
}
