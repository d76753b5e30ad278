package soak

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers/fake"
)

// signalsYAML is what a monitor tells, as a scenario file has it.
func signalsYAML(s *fake.Signals) string {
	if s == nil || s.Lost != "" {
		if s == nil {
			return ""
		}
		return string(s.Lost)
	}
	f := &flow{}
	f.readings(s.Of)
	if s.TxStart != nil {
		f.put("tx_start", strconv.FormatUint(*s.TxStart, 10))
	}
	f.flag("average", s.Basis == guard.Average)
	f.flag("summary", s.Basis == guard.Summary)
	f.span("interval", s.Interval)
	return f.String()
}

func pulseYAML(p *fake.Pulse) string {
	switch {
	case p == nil:
		return ""
	case len(p.Of) == 0:
		return `"off"`
	}
	f := &flow{}
	f.readings(p.Of)
	f.span("every", p.Every)
	f.span("for", p.For)
	return f.String()
}

// readings adds numbers by their names; what is an age is a duration.
func (f *flow) readings(of map[string]fake.Reading) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		value := func(v fake.Value) string {
			switch {
			case v.Word != "":
				return strconv.Quote(v.Word)
			case !v.OK:
				return "null"
			case strings.HasSuffix(name, "_age"):
				return spanText(time.Duration(v.V) * time.Second)
			}
			return strconv.FormatFloat(v.V, 'f', -1, 64)
		}
		r := of[name]
		if r.Each == nil {
			f.put(name, value(r.All))
			continue
		}
		f.put(name, "["+strings.Join(texts(r.Each, value), ", ")+"]")
	}
}

func trafficYAML(tr *fake.Traffic) string {
	if tr == nil {
		return ""
	}
	f := &flow{}
	f.put("amount", strconv.Quote(tr.Amount))
	if tr.UpTo != "" {
		f.put("upto", strconv.Quote(tr.UpTo))
	}
	f.put("per", tr.Per)
	f.num("free_gb", tr.FreeGB)
	return f.String()
}

// rulesOf adds the rules that guess, and those that delete.
func (w Week) rulesOf(rules *flow) {
	for _, rule := range slices.Sorted(maps.Keys(w.Guesses)) {
		g := w.Guesses[rule]
		rules.put(string(rule), "{warn: "+spanText(g.Warn)+", act: "+spanText(g.Act)+", then: "+string(g.Then)+"}")
	}
	for _, kind := range slices.Sorted(maps.Keys(w.Leftovers)) {
		l := w.Leftovers[kind]
		rules.put("orphan_"+string(kind), "{after: "+spanText(l.After)+", grace: "+spanText(l.Grace)+", then: release}")
	}
}
