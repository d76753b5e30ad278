package configs

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"guard"
	"guard/policy"
)

type (
	egressSpikeFile struct {
		Hour guard.Money   `yaml:"hour"`
		Day  guard.Money   `yaml:"day"`
		Then action        `yaml:"then"`
		Warn later         `yaml:"warn"`
		Act  time.Duration `yaml:"act"`
		perRule
	}

	exchangeFile struct {
		Base  string            `yaml:"base"`
		Rates map[string]string `yaml:"rates"`
	}
)

// egressSpike checks the limits that traffic is judged by. A day's may be below an
// hour's: then a short burst is fine, and little that lasts is not.
func (d *decoder) egressSpike(f file, r policy.Rules) policy.EgressSpike {
	const path = "rules.egress_spike"
	in := f.Rules.EgressSpike
	for _, limit := range []struct {
		key string
		guard.Money
	}{{".hour", in.Hour}, {".day", in.Day}} {
		if d.read(path+limit.key) && !limit.IsPositive() {
			d.at(path+limit.key, "%s is no limit: write an amount above zero, such as 2USD", limit.Money)
		}
	}
	then, does := guard.Action(in.Then), tells
	d.guessing(path+".then", then)
	if then == guard.ActStop {
		does = acts
	}
	d.per(f, r.Per, "egress_spike", in.perRule, does, guard.RuleEgressSpike)
	switch {
	case !d.has(path + ".act"):
	case then != guard.ActStop:
		d.at(path+".act", "this rule only tells: write then: stop, or leave act out")
	default:
		d.between(path+".act", in.Act, leastAct, longest)
	}
	return policy.EgressSpike{Hour: in.Hour, Day: in.Day, Act: in.Act, Then: then}
}

// dearest bounds a rate: no two currencies are further apart, and a mistyped one is.
var dearest = big.NewRat(1_000_000, 1)

// exchange checks the rates that amounts are compared by.
func (d *decoder) exchange(in *exchangeFile) guard.Exchange {
	const path = "exchange"
	if in == nil || d.unread[path] {
		return guard.Exchange{}
	}
	out := guard.Exchange{Base: in.Base, Rates: map[string]*big.Rat{}}
	switch {
	case in.Base == "" && d.read(path+".base"):
		d.at(path, "base is missing: write exchange: {base: CNY, rates: {USD: \"7.12\"}}")
	case !currency(in.Base):
		d.at(path+".base", "%s is no currency: write an ISO 4217 code in capitals, such as CNY", shown(in.Base))
	}
	for _, code := range slices.Sorted(maps.Keys(in.Rates)) {
		at := path + ".rates." + segment(code)
		if !d.read(at) {
			continue
		}
		rate, err := guard.NewMoney(in.Rates[code], in.Base)
		switch {
		case !currency(in.Base): // told already
		case !currency(code):
			d.at(at, "%s is no currency: write an ISO 4217 code in capitals, such as USD", shown(code))
		case code == in.Base:
			d.at(at, "one %s is one %s", code, code)
		case err != nil:
			d.at(at, "%s is no rate: write how many %s one %s is, such as \"7.12\"", shown(in.Rates[code]), in.Base, code)
		case !rate.IsPositive(), rate.Rat().Cmp(dearest) > 0, new(big.Rat).Inv(rate.Rat()).Cmp(dearest) > 0:
			d.at(at, "one %s cannot be %s", code, rate)
		default:
			out.Rates[code] = rate.Rat()
		}
	}
	return out
}

func currency(code string) bool {
	m, err := guard.NewMoney("1", code)
	return err == nil && m.Currency() == code
}
