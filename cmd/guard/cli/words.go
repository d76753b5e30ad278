package cli

import (
	"time"

	"guard/daemon/wire"
)

// limits prints when each limit is reached and what then happens.
func (a *app) limits(f fields, now time.Time, limits []wire.Limit, budget *string) {
	for _, l := range limits {
		label := l.Reason
		s := ""
		if l.Reason == "budget" && budget != nil {
			s = *budget + ", "
		}
		switch {
		case l.Reached == nil:
			s += "not known when"
		default:
			s += moment(now, *l.Reached)
		}
		if l.Text != "" {
			s += ": " + l.Text
		}
		f.put(label, s)
	}
}

func named(it wire.Item) string {
	s := it.Account + "/" + it.ID
	if it.Name != "" && it.Name != it.ID {
		s += " (" + it.Name + ")"
	}
	return s
}

func price(it wire.Item) string {
	if it.Rate == nil {
		return "unknown"
	}
	s := *it.Rate + " per hour, quoted for the whole of it"
	if it.RateQuote != *it.Rate+" per hour" {
		s = *it.Rate + " per hour for the whole of it, quoted as " + it.RateQuote
	}
	s += cards(it)
	if it.RateSource != "" {
		s += " (" + it.RateSource + ")"
	}
	return s
}

func spent(it wire.Item) string {
	s := "unknown"
	if it.Spend != nil {
		s = *it.Spend
		if it.SpendAtLeast {
			s = "at least " + s
		}
	}
	for _, o := range it.OtherSpend {
		s += " and " + o
	}
	if it.CreatedAt != nil {
		s += " since it began at " + clock(*it.CreatedAt)
	}
	return s
}

func none(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
