package policy

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/spend"
)

// BalanceLow is about accounts that pay ahead.
type BalanceLow struct {
	// Warn is how long before the balance is used up people are told, and Act how long
	// before it once more, urgently; 0: a quarter of Warn.
	Warn, Act time.Duration
}

// Wallet is what is left in an account that pays ahead, and what draws on it.
type Wallet struct {
	guard.Wallet
	AtZero guard.AtZero
	// Burn is what bills in the account now per hour, one amount a currency; AtLeast tells
	// that a part has no known price. Changed is when what draws changed last, or something
	// was paid at once, and Moves is when Burn changes by itself.
	Burn    []guard.Money
	AtLeast bool
	Changed time.Time
	Moves   time.Time
	// Paid is when something was last paid from it at once, or was to be.
	Paid time.Time
	// Renewals are the lumps that are paid again from it, each at its Until, as often as
	// it comes within [renewsFor].
	Renewals []guard.Lump
	// Boxes are the instances that run.
	Boxes []Box

	segments []guard.Segment
	payments []time.Time
}

// Box is an instance that runs on a balance.
type Box struct {
	ID      guard.ResourceID
	Purpose string
	// Stays are its disks that the provider keeps when it goes.
	Stays []string
}

const (
	// BalanceStale is how old the last reading of a balance may be before what is left is
	// not known any more.
	BalanceStale = time.Hour
	// topUpFor is how long what people are told to pay in lasts.
	topUpFor = 7 * 24 * time.Hour
	// drawnWithin is how long after a payment was due a balance may not show it yet.
	drawnWithin = 30 * time.Minute
	// renewsFor is how far ahead renewals are counted on, of one thing no more than
	// mostRenewals.
	renewsFor    = 92 * 24 * time.Hour
	mostRenewals = 100
)

// Draw is a thing in the account, with what the meter has of it.
func (w *Wallet) Draw(o guard.Observed, m guard.Metered) {
	w.segments = append(w.segments, spend.Segments(m)...)
	if l := o.Resource.Lump; o.Live() && l.Renews == guard.Yes && !l.Until.IsZero() {
		w.payments = append(w.payments, l.From, l.Until)
		w.Renewals = append(w.Renewals, renewed(l)...)
	}
}

// renewed is a lump that renews itself, each time that it will: a day that is paid for every
// day is paid more than once before a balance is used up.
func renewed(l guard.Lump) []guard.Lump {
	out := []guard.Lump{l}
	long, last := l.Until.Sub(l.From), l.Until.Add(renewsFor)
	for !l.From.IsZero() && long >= time.Hour && len(out) < mostRenewals {
		if l.From, l.Until = l.Until, l.Until.Add(long); l.Until.After(last) {
			break
		}
		out = append(out, l)
	}
	return out
}

// Add adds up at a moment what draws on it.
func (w *Wallet) Add(now time.Time) {
	burn := spend.Burn(w.segments, now)
	w.Burn, w.AtLeast, w.Changed, w.Moves = burn.Known, len(burn.Unknown) > 0, spend.Moved(w.segments, now), spend.Moves(w.segments, now)
	for _, at := range w.payments {
		if !at.After(now) {
			w.Paid = latest(w.Paid, at)
		}
	}
	slices.SortFunc(w.Renewals, func(a, b guard.Lump) int { return a.Until.Compare(b.Until) })
}

// perHour is what draws on the balance in its own currency, and whether that is all.
func (w Wallet) perHour(x guard.Exchange) (sum guard.Money, all bool) {
	sum, all = guard.ZeroMoney(w.Balance.Amount.Currency()), !w.AtLeast
	for _, m := range w.Burn {
		in, ok := x.To(m, sum.Currency())
		if !ok {
			all = false
			continue
		}
		if more, err := sum.Add(in); err == nil {
			sum = more
		}
	}
	return sum, all
}

// Empty is when the balance is used up at the present burn and by what renews itself, by
// the last reading; zero where nothing says that it ever is. It is so at the latest where
// a part of what draws on it is not known.
func (w Wallet) Empty(x guard.Exchange) (at time.Time, latest bool) {
	if !w.Balance.Amount.IsSet() {
		return time.Time{}, false
	}
	read, left := w.At(), w.Left()
	burn, all := w.perHour(x)
	rate := guard.Rate{Amount: burn, Per: time.Hour, Free: true}
	at = read
	for _, l := range w.Renewals {
		if !l.Until.After(read) {
			continue
		}
		if lasts, ok := rate.Lasts(left); !left.IsPositive() || ok && !at.Add(lasts).After(l.Until) {
			break
		}
		drawn, _ := rate.For(l.Until.Sub(at))
		again, ok := x.To(l.Amount, left.Currency())
		all = all && ok
		at, left = l.Until, minus(minus(left, drawn), again)
	}
	if !left.IsPositive() {
		return at, !all
	}
	lasts, ok := rate.Lasts(left)
	if !ok {
		return time.Time{}, false
	}
	return at.Add(lasts), !all
}

// minus is an amount less another of its currency, where there is one.
func minus(m, n guard.Money) guard.Money {
	if sum, err := m.Sub(n); err == nil {
		return sum
	}
	return m
}

// Known reports whether it is known at a moment what is left.
func (w Wallet) Known(at time.Time) bool {
	return w.Balance.Amount.IsSet() && at.Sub(w.Read) <= BalanceStale
}

// calm reports a balance that is used up and ends nothing: what runs goes on, as in an
// account that is sent invoices.
func (w Wallet) calm() bool { return w.AtZero == guard.ZeroNothing && w.UsedUp() }

// balanceLow tells of a balance that is used up soon, or is: when, what the provider does
// then and to what, and how much keeps it from that. It goes by the last reading; where
// that is old, it says so. Where the provider does nothing, it is told before, and no more.
func balanceLow(r Rules, f Facts) Outcome {
	w := f.Wallet
	if !f.account() || w == nil || !w.Balance.Amount.IsSet() || w.calm() {
		return Outcome{}
	}
	empty, atMost := w.Empty(r.Exchange)
	if empty.IsZero() {
		return Outcome{Next: w.Moves}
	}
	warn := r.BalanceLow.Warn
	act := cmp.Or(r.BalanceLow.Act, warn/4)
	last := empty.Add(-act)
	if tell := empty.Add(-warn); f.At.Before(tell) {
		return Outcome{Next: earliest(tell, w.Moves)}
	}
	v := f.verdict(guard.RuleBalanceLow, latest(empty.Add(-warn), w.At()))
	left := w.Balance.Amount.Round()
	title := f.say("%s: its balance of %s is used up %s", f.Account.Name, left, f.soon(empty))
	if atMost {
		title = f.say("%s: its balance of %s is used up %s at the latest", f.Account.Name, left, f.soon(empty))
	}
	v.Stages = []Stage{{Name: "warn " + span(warn), Title: title}}
	if !f.At.Before(last) {
		v.Stages = append(v.Stages, Stage{Name: "warn " + span(act), Title: title})
	}
	if w.UsedUp() {
		title = f.say("%s: its balance is used up: %s", f.Account.Name, left)
		v.Stages = append(v.Stages, Stage{Name: "used up", Title: title})
	}
	v.Urgent = len(v.Stages) > 1 && w.AtZero != guard.ZeroNothing
	v.Stages[len(v.Stages)-1].Lines = w.lines(r, f)
	v.Facts = append(v.Facts, w.facts(r, f, empty)...)
	next := w.Moves
	if len(v.Stages) == 1 {
		next = earliest(last, next)
	}
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}

func (w Wallet) lines(r Rules, f Facts) []string {
	var lines []string
	switch known := w.Known(f.At); {
	case !known && w.Error == "":
		lines = append(lines, f.say("What is left now is not known: the last reading is of %s.", f.stamp(w.At())))
	case !known:
		lines = append(lines, f.say("What is left now is not known: the last reading is of %s, since then %s.", f.stamp(w.At()), strings.TrimSuffix(w.Error, ".")))
	}
	return append(lines, w.burns(r, f), w.then(f), w.topUp(r, f))
}

// burns is what draws on the balance, in words.
func (w Wallet) burns(r Rules, f Facts) string {
	burn, all := w.perHour(r.Exchange)
	text := f.say("What bills there draws %s per hour", burn.Round())
	if !all {
		text = f.say("What bills there draws at least %s per hour; a part has no known price in %s", burn.Round(), burn.Currency())
	}
	if c := w.Balance.Credit; c.IsPositive() {
		text += f.say("; the provider lends %s beyond it", c.Round())
	}
	text += f.say(".")
	for _, l := range w.Renewals[:min(len(w.Renewals), 3)] {
		switch soon := l.Until.Before(f.At.Add(topUpFor)); {
		case soon && l.Amount.IsSet():
			text += f.say(" On %s %s is paid again by itself.", f.soon(l.Until), l.Amount.Round())
		case soon:
			text += f.say(" On %s an unknown amount is paid again by itself.", f.soon(l.Until))
		}
	}
	return text
}

// then is what the provider does when nothing is left, and to what.
func (w Wallet) then(f Facts) string {
	var names, stays []string
	for _, b := range w.Boxes {
		name := b.ID.String()
		if b.Purpose != "" {
			name = f.say("%s (%s)", name, b.Purpose)
		}
		names, stays = append(names, name), append(stays, b.Stays...)
	}
	what, kept := f.say("; nothing runs now"), ""
	if len(names) > 0 {
		what = f.say(": %s", f.list(names))
	}
	if len(stays) > 0 {
		kept = f.say(" It keeps %s.", f.list(stays))
	}
	switch w.AtZero {
	case guard.ZeroDeletes:
		return f.say("When nothing is left, the provider deletes what runs, with its data%s.", what) + kept
	case guard.ZeroStops:
		return f.say("When nothing is left, the provider stops what runs%s. Disks go on billing, into debt.", what)
	case guard.ZeroNothing:
		return f.say("When nothing is left, it goes on into debt%s.", what)
	}
	return f.say("What the provider does when nothing is left is not known: it may stop, or delete, what runs%s.", what)
}

// topUp is how much pays for a week at the present burn, in whole units of the currency.
func (w Wallet) topUp(r Rules, f Facts) string {
	burn, all := w.perHour(r.Exchange)
	need := new(big.Rat).Mul(burn.Rat(), big.NewRat(int64(topUpFor/time.Hour), 1))
	need.Sub(need, w.Balance.Amount.Rat())
	draws := burn.IsPositive()
	for _, l := range w.Renewals {
		if again, ok := r.Exchange.To(l.Amount, burn.Currency()); ok && l.Until.Before(w.At().Add(topUpFor)) {
			need.Add(need, again.Rat())
			draws = true
		}
	}
	whole := new(big.Int).Add(need.Num(), new(big.Int).Sub(need.Denom(), big.NewInt(1)))
	m, err := guard.MoneyFromRat(new(big.Rat).SetInt(whole.Quo(whole, need.Denom())), burn.Currency())
	switch {
	case err != nil || !m.IsPositive():
		return f.say("Release what nobody needs.")
	case !draws:
		return f.say("To pay what is owed: %s.", m)
	case !all:
		return f.say("To go on like this for %s: pay in at least %s. Or release what nobody needs.", f.span(topUpFor), m)
	}
	return f.say("To go on like this for %s: pay in %s. Or release what nobody needs.", f.span(topUpFor), m)
}

func (w Wallet) facts(r Rules, f Facts, empty time.Time) []guard.Fact {
	burn, all := w.perHour(r.Exchange)
	draws := burn.Round().String() + " per hour"
	if !all {
		draws = "at least " + draws
	}
	return []guard.Fact{
		{Name: "balance", Value: w.Balance.Amount.String(), Source: "provider", At: w.At()},
		{Name: "draws on it", Value: draws, Source: "meter", At: f.At},
		{Name: "used up", Value: f.stamp(empty), Source: "rule balance_low", At: f.At},
	}
}

// soon is a moment as people say it: Tue 03:40, with the date where it is six days away or
// more.
func (f Facts) soon(t time.Time) string {
	zone := f.Zone
	if zone == nil {
		zone = time.UTC
	}
	if t.Sub(f.At).Abs() < 6*24*time.Hour {
		return f.say(t.In(zone).Format("Mon")) + t.In(zone).Format(" 15:04")
	}
	return t.In(zone).Format("2006-01-02 15:04")
}

// balanceEnds: a balance is low until it lasts a quarter longer than what people are
// warned of, nothing draws on it any more, or it is used up and that ends nothing. Where it
// cannot be read, or was read before what draws on it changed, nothing says so: boxes that
// end because nothing is left are known to be gone before the balance is read again, and
// what was to be paid just now may not be drawn yet.
func (f Facts) balanceEnds(r Rules) Ending {
	w := f.Wallet
	if w == nil || !w.Known(f.At) || w.At().Before(w.Changed) || w.At().Before(w.Paid.Add(drawnWithin)) {
		return Ending{Stays: f.account() && r.Per[guard.RuleBalanceLow].speaks(f)}
	}
	if w.calm() {
		return Ending{Why: w.then(f)}
	}
	empty, _ := w.Empty(r.Exchange)
	if !empty.IsZero() && empty.Sub(f.At) < r.BalanceLow.Warn*5/4 {
		return Ending{Stays: r.Per[guard.RuleBalanceLow].speaks(f)}
	}
	if left := w.Balance.Amount.Round(); !empty.IsZero() {
		return Ending{Why: f.say("%s is left, until %s.", left, f.soon(empty))}
	}
	return Ending{Why: f.say("%s is left.", w.Balance.Amount.Round())}
}
