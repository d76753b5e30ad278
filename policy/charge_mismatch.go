package policy

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"guard"
	"guard/policy/spend"
)

// ChargeMismatch is about what the provider's own bill says.
type ChargeMismatch struct {
	Over int // percent of the larger amount
}

// comparison is what one reading of the bill says beside what guard counts for the same
// time.
type comparison struct {
	billed guard.Billed
	ours   guard.Money
}

// compare puts a reading beside what the meter has; false where the two cannot be
// compared, for a part of either is not known.
func (f Facts) compare(b guard.Billed) (comparison, bool) {
	if !b.Amount.IsSet() || !b.From.Before(b.To) {
		return comparison{}, false
	}
	segs := slices.DeleteFunc(slices.Clone(spend.Segments(f.Metered)), func(s guard.Segment) bool {
		return !s.Rate.Known() && !s.To.IsZero() && !s.To.After(b.From) // over before that
	})
	until, from := spend.Spent(segs, b.To), spend.Spent(segs, b.From)
	if len(segs) == 0 || len(until.Unknown) > 0 {
		return comparison{}, false
	}
	for _, m := range until.Known {
		if was := from.In(m.Currency()); m.Currency() != b.Amount.Currency() && !m.Equal(was) {
			return comparison{}, false // in another currency than it is billed in
		}
	}
	ours, err := until.In(b.Amount.Currency()).Sub(from.In(b.Amount.Currency()))
	return comparison{b, ours}, err == nil
}

// differs reports a difference beyond a part of the larger amount and the currency's
// smallest unit.
func (c comparison) differs(percent int) bool {
	diff, larger := new(big.Rat).Sub(c.billed.Amount.Rat(), c.ours.Rat()), c.ours
	if diff.Sign() > 0 {
		larger = c.billed.Amount
	}
	diff.Abs(diff)
	return diff.Cmp(larger.Percent(percent).Rat()) > 0 && diff.Cmp(smallest(larger)) > 0
}

// smallest is the smallest unit of an amount's currency.
func smallest(m guard.Money) *big.Rat {
	number, _, _ := strings.Cut(guard.ZeroMoney(m.Currency()).String(), " ")
	_, digits, _ := strings.Cut(number, ".")
	return new(big.Rat).Inv(new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(digits))), nil)))
}

// billLine is both numbers, and what time they are of.
func (f Facts) billLine(c comparison) string {
	return f.say("From %s to %s its bill is %s, and guard counts %s.", f.stamp(c.billed.From), f.stamp(c.billed.To), c.billed.Amount.Round(), c.ours.Round())
}

// chargeMismatch tells that the provider bills another amount than guard counts, in two
// readings of its bill. Nothing is adopted from it: who is wrong is a person's to say.
func chargeMismatch(r Rules, f Facts) Outcome {
	if f.account() {
		return f.strangers()
	}
	now, differ := f.misbilled(r)
	if !differ {
		return Outcome{}
	}
	before, ok := f.compare(f.Bill.Before)
	if !ok || !before.differs(r.ChargeMismatch.Over) || now.billed.Read.Sub(before.billed.Read) < spend.BilledAgain {
		return Outcome{}
	}
	v := f.verdict(guard.RuleChargeMismatch, now.billed.From)
	v.Wastes = guard.Money{}
	lines := []string{f.billLine(now)}
	if g := f.Observed.Gone; g != nil && now.billed.To.After(g.At) {
		lines = append(lines, f.say("It is gone since %s (%s): what is billed after that is the provider's to explain.", f.stamp(g.At), f.kept(g.Proof)))
	}
	if unit := f.perUnit(r, now); unit != "" {
		lines = append(lines, unit)
	}
	lines = append(lines, f.say("guard goes on counting by the price that it knows."))
	if f.live() {
		lines = append(lines, f.say("If the bill is right: guard register %s --price AMOUNT/h states the whole machine's price.", f.Resource()))
	}
	v.Stages = []Stage{{Name: "differs", Title: f.say("%s: the provider bills %s, and guard counts %s", f.name(), now.billed.Amount.Round(), now.ours.Round()), Lines: lines}}
	v.Facts = append(v.Facts, f.billFacts(now)...)
	return Outcome{Verdicts: []Verdict{v}}
}

// strangers tells, once for all of them, of what the account's bill names and guard has
// never seen: money that is spent where it cannot look.
func (f Facts) strangers() Outcome {
	b := f.Account.Bill
	if b.Count == 0 {
		return Outcome{}
	}
	names := make([]string, len(b.Unseen))
	for i, id := range b.Unseen {
		names[i] = id.String()
	}
	v := f.verdict(guard.RuleChargeMismatch, b.Found)
	v.Stages = []Stage{{Name: "unseen", Title: f.say("%s: the provider bills %s for what guard has never seen", f.Account.Name, amounts(b.Sum)), Lines: []string{
		f.say("Things: %d, of them: %s.", b.Count, f.list(names)),
		f.say("They came and went between two polls, or the key of this account may not list them. guard neither counts nor ends them: look at the provider's console."),
	}}}
	v.Facts = append(v.Facts, guard.Fact{Name: "billed and never seen", Value: amounts(b.Sum), Source: "provider's bill", At: b.Read})
	return Outcome{Verdicts: []Verdict{v}}
}

// misbilled compares the newest reading of the bill.
func (f Facts) misbilled(r Rules) (comparison, bool) {
	if f.Bill == nil || f.Observed == nil || Foreign(f.Observed.Resource, f.Deployment) != "" {
		return comparison{}, false
	}
	now, ok := f.compare(f.Bill.Last)
	return now, ok && now.differs(r.ChargeMismatch.Over)
}

// perUnit is a guess at what went wrong: a price of one GPU taken for the machine's, or
// the other way round.
func (f Facts) perUnit(r Rules, c comparison) string {
	n := f.Observed.Resource.GPUs
	if n < 2 {
		return ""
	}
	times := func(m guard.Money) guard.Money { return m.Percent(100 * n) }
	for _, guess := range []struct {
		as   comparison
		text string
	}{
		{comparison{c.billed, times(c.ours)}, f.say("That is %d times as much, once for each of its GPUs: guard may take the price of one for the machine's.", n)},
		{comparison{guard.Billed{Amount: times(c.billed.Amount)}, c.ours}, f.say("That is one part in %d, as many as it has GPUs: guard may take the machine's price for that of one.", n)},
	} {
		if !guess.as.differs(max(r.ChargeMismatch.Over, 2)) {
			return guess.text
		}
	}
	return ""
}

func (f Facts) billFacts(c comparison) []guard.Fact {
	return []guard.Fact{
		{Name: "billed", Value: fmt.Sprintf("%s from %s to %s", c.billed.Amount, f.stamp(c.billed.From), f.stamp(c.billed.To)), Source: "provider's bill", At: c.billed.Read},
		{Name: "counted", Value: c.ours.String() + " for the same time", Source: "meter", At: f.At},
	}
}

// moneyFacts are what was paid ahead and what the provider's own bill says.
func (f Facts) moneyFacts() []guard.Fact {
	var facts []guard.Fact
	if f.Observed == nil {
		return nil
	}
	if l := f.Observed.Resource.Lump; !l.IsZero() {
		value := l.Amount.String()
		if !l.Until.IsZero() {
			value += fmt.Sprintf(" until %s; renews: %s", f.stamp(l.Until), l.Renews)
		}
		facts = append(facts, guard.Fact{Name: "paid ahead", Value: value, Source: l.Source, At: l.From})
	}
	if f.Bill != nil {
		if c, ok := f.compare(f.Bill.Last); ok {
			facts = append(facts, f.billFacts(c)...)
		}
	}
	return facts
}

// billEnds: a bill differs until a reading of it agrees.
func (f Facts) billEnds(r Rules) Ending {
	if f.account() {
		return Ending{Why: f.say("Its bill names nothing any more that guard has never seen.")}
	}
	now, differs := f.misbilled(r)
	if differs {
		return Ending{Stays: r.Per[guard.RuleChargeMismatch].speaks(f)}
	}
	if now.ours.IsSet() {
		return Ending{Why: f.billLine(now)}
	}
	return Ending{}
}

// oddBill is what the provider's bill says to a price that is not believed; "" where it
// says nothing yet.
func (f Facts) oddBill(r Rules) string {
	if f.Bill == nil || f.Observed == nil || f.Bill.Last.From.Before(f.Metered.OddSince) {
		return ""
	}
	c, ok := f.compare(f.Bill.Last)
	switch hourly := f.Metered.Odd.Over(c.billed.To.Sub(c.billed.From)); {
	case !ok:
		return ""
	case !c.differs(r.ChargeMismatch.Over):
		return f.say("The provider's own bill speaks for the old price: %s, and guard counts %s since then.", c.billed.Amount.Round(), c.ours.Round())
	case hourly != nil && f.Metered.Odd.Currency() == c.billed.Amount.Currency():
		if as, err := guard.MoneyFromRat(hourly, c.billed.Amount.Currency()); err == nil && !(comparison{c.billed, as}).differs(max(r.ChargeMismatch.Over, 2)) {
			return f.say("The provider's own bill speaks for the new price: %s, and guard counts %s since then.", c.billed.Amount.Round(), c.ours.Round())
		}
	}
	return ""
}
