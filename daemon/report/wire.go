package report

import (
	"guard"
	"guard/daemon/wire"
	"guard/policy"
)

// Wire is a digest as the API tells it, its texts in a language; what is for machines is not.
func Wire(d policy.Digest, lang guard.Lang) wire.Report {
	m := d.Message(lang)
	out := wire.Report{Now: d.At.In(d.Zone), Title: m.Title, Lines: append([]string{}, m.Lines...), From: d.From, To: d.To,
		Spend: exact(d.Total), Unpriced: []string{}, Spent: []wire.ReportSpend{}, Ended: []wire.ReportEnded{}, Ends: []wire.ReportEnd{}}
	for _, t := range d.Unpriced {
		out.Unpriced = append(out.Unpriced, t.In(guard.English))
	}
	for _, s := range d.Spent {
		out.Spent = append(out.Spent, wire.ReportSpend{Team: s.Team, Purpose: s.Purpose, Spend: exact(s.Amounts), Unregistered: s.Unregistered})
	}
	for _, e := range d.Ended {
		out.Ended = append(out.Ended, wire.ReportEnded{Name: e.About.In(guard.English), Action: string(e.Action), Cause: string(e.Cause), At: e.At.In(d.Zone), Less: exact(e.Less)})
	}
	for _, e := range d.Ends {
		out.Ends = append(out.Ends, wire.ReportEnd{Name: e.About.In(guard.English), Owner: e.Owner, At: e.At.In(d.Zone), Limit: string(e.By), Does: string(e.Does)})
	}
	return out
}

// exact are amounts with all their digits, for whoever adds them up.
func exact(ms []guard.Money) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.String()
	}
	return out
}
