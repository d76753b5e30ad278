package policy

import (
	"fmt"

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
	line := fmt.Sprintf("Traffic: %s sent this month (UTC), as of %s", guard.ByteText(sent), f.stamp(f.Egress.At))
	price := f.Observed.Resource.Egress
	most, bounded := price.AtMost()
	switch {
	case price.PerGB.IsSet():
		line += fmt.Sprintf(", at %s per GB", price.PerGB)
	case bounded:
		line += fmt.Sprintf("; what it costs is not known, at most %s per GB", most.PerGB)
	default:
		return []string{line + "; nobody tells what it costs, so it counts to no cap."}
	}
	if price.FreeGB > 0 {
		line += fmt.Sprintf(" after %d GB a month for the whole account", price.FreeGB)
	}
	total := spend.Spent(spend.Traffic(f.Metered), f.At)
	switch {
	case len(total.Unknown) > 0:
		return []string{line + "; it counts to no cap."}
	case len(total.Known) > 0:
		line += fmt.Sprintf("; %s of what is spent is for traffic", amounts(total.Known))
	}
	return []string{line + "."}
}
