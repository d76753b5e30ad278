package policy

import (
	"guard"
	"guard/policy/spend"
)

// trafficLines is what the subject has sent this month, and what of its spend that is.
func (f Facts) trafficLines() []string {
	if f.Egress == nil || f.Observed == nil {
		return nil
	}
	var sent uint64
	month := guard.CalendarMonth(f.Egress.At)
	for _, m := range f.Egress.Months {
		if m.From.Equal(month) {
			sent = m.Sent
		}
	}
	line := f.say("Traffic: %s sent this month (UTC), as of %s", guard.ByteText(sent), f.stamp(f.Egress.At))
	price := f.Observed.Resource.Egress
	most, bounded := price.AtMost()
	switch {
	case price.PerGB.IsSet():
		line = f.say("%s, at %s per GB", line, price.PerGB)
	case bounded:
		line = f.say("%s; what it costs is not known, at most %s per GB", line, most.PerGB)
	default:
		return []string{f.say("%s; nobody tells what it costs, so it counts to no cap.", line)}
	}
	if price.FreeGB > 0 {
		line = f.say("%s after %d GB a month for the whole account", line, price.FreeGB)
	}
	total := spend.Spent(spend.Traffic(f.Metered), f.At)
	switch {
	case len(total.Unknown) > 0:
		return []string{f.say("%s; it counts to no cap.", line)}
	case len(total.Known) > 0:
		line = f.say("%s; %s of what is spent is for traffic", line, amounts(total.Known))
	}
	return []string{f.say("%s.", line)}
}
