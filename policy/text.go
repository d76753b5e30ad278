package policy

import (
	"fmt"
	"strings"
	"time"

	"guard"
)

// stamp is a time as people read it: RFC 3339 in their zone.
func (f Facts) stamp(t time.Time) string { return Stamp(t, f.Zone) }

// Stamp is a time as people read it: RFC 3339 in a zone (nil: UTC), to the second.
func Stamp(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "unknown"
	}
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format(time.RFC3339)
}

// span is a length of time without the zeros that time.Duration prints: 1h, 2d3h.
func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	if d < time.Second {
		return d.String()
	}
	var b strings.Builder
	for _, u := range []struct {
		name string
		d    time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := d / u.d; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.d
		}
	}
	return b.String()
}

// name is the subject as people know it: ACCOUNT/ID and what it is for.
func (f Facts) name() string {
	id := f.Subject()
	what := ""
	switch {
	case f.Awaiting != nil && f.Lease.Expect != nil && f.Lease.Expect.Name != "":
		id = f.Lease.Resource.Account + "/" + f.Lease.Expect.Name
		what = f.Lease.Purpose
	case f.Lease != nil:
		what = f.Lease.Purpose
	case f.Observed != nil:
		what = f.Observed.Resource.Name
	}
	if what == "" {
		return id
	}
	return fmt.Sprintf("%s (%s)", id, what)
}

// costLines is what it costs, in one line, and its cap.
func (f Facts) costLines() []string {
	var parts []string
	spent := amounts(f.spent().Totals)
	if spent != "" && f.spent().AtLeast {
		spent = "at least " + spent
	}
	switch {
	case f.Lease != nil && f.Lease.Budget.IsSet() && spent != "":
		parts = append(parts, fmt.Sprintf("Spent %s of %s", spent, f.Lease.Budget.Round()))
	case spent != "":
		parts = append(parts, "Spent "+spent)
	case f.Lease != nil && f.Lease.Budget.IsSet():
		parts = append(parts, fmt.Sprintf("Spent an unknown amount of %s", f.Lease.Budget.Round()))
	}
	if h, ok := f.hourly(); ok {
		parts = append(parts, fmt.Sprintf("it bills %s per hour", h.Round()))
	} else if f.live() {
		parts = append(parts, "its price is unknown")
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{Upper(strings.Join(parts, "; ")) + "."}
}

// Erases is what a release of the instance erases and what stays and bills.
func (f Facts) Erases() []string {
	if f.Observed == nil {
		return nil
	}
	var goes, unsure, stays []string
	for _, c := range f.Observed.Resource.Children {
		switch c.GoesWithInstance {
		case guard.Yes:
			goes = append(goes, c.ID.ID)
		case guard.No:
			stays = append(stays, c.ID.ID)
		default:
			unsure = append(unsure, c.ID.ID)
		}
	}
	lines := []string{"A release erases the instance and everything that is only on it."}
	if len(goes) > 0 {
		lines[0] = fmt.Sprintf("A release erases the instance, everything that is only on it, and %s.", list(goes))
	}
	if len(unsure) > 0 {
		lines = append(lines, fmt.Sprintf("It may erase %s too: the provider does not say.", list(unsure)))
	}
	if len(stays) > 0 {
		lines = append(lines, fmt.Sprintf("It leaves %s, which goes on billing.", list(stays)))
	}
	return lines
}

// list joins at most ten names.
func list(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func amounts(ms []guard.Money) string {
	var parts []string
	for _, m := range ms {
		if m.IsSet() {
			parts = append(parts, m.Round().String())
		}
	}
	return strings.Join(parts, " + ")
}

// either are amounts of which each is one by itself.
func either(ms []guard.Money) string { return strings.ReplaceAll(amounts(ms), " + ", " or ") }

// command is an amount as a command line takes it: 600.00CNY.
func command(m guard.Money) string { return strings.ReplaceAll(m.String(), " ", "") }

func verbOf(a guard.Action) string {
	if a == guard.ActStop {
		return "stop"
	}
	return "release"
}

func orNone(s string) string {
	if s == "" {
		return "not told"
	}
	return s
}

// Upper makes text begin a sentence.
func Upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Few names the first of many, at most so many.
func Few(ids []string, most int) string {
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// basics are the facts about a resource that every finding shows.
func (f Facts) basics() []guard.Fact {
	var facts []guard.Fact
	add := func(name, value, source string, at time.Time) {
		facts = append(facts, guard.Fact{Name: name, Value: value, Source: source, At: at})
	}
	if o := f.Observed; o != nil {
		state := string(o.Resource.State)
		if raw := o.Resource.RawState; raw != "" && raw != state {
			state += " (" + raw + ")"
		}
		add("state", state, "provider", f.Fresh())
		if !o.Resource.Created.IsZero() {
			add("created", f.stamp(o.Resource.Created), "provider", o.FirstSeen)
		}
		rate := o.Resource.BillingRate()
		source := rate.Source
		if f.Lease != nil && f.Lease.Price.Known() {
			rate, source = f.Lease.Price, "person"
		}
		add("price", rate.String(), source, o.Seen)
	}
	if spent := amounts(f.spent().Totals); spent != "" {
		if f.spent().AtLeast {
			spent = "at least " + spent
		}
		add("spent", spent, "meter", f.At)
	}
	if f.Account.Name != "" {
		add("mode", string(f.Mode), "configuration", f.At)
	}
	return facts
}

// Fresh is when the subject was last read for certain: its own record, or the
// last complete list of its scope while nothing says that it is missing.
func (f Facts) Fresh() time.Time {
	if f.Observed == nil {
		return time.Time{}
	}
	at := f.Observed.Seen
	if len(f.Observed.Absent) > 0 {
		return at
	}
	for _, s := range f.Scopes {
		id := f.Observed.Resource.ID
		if s.Scope == id.Scope && s.Kind == id.Kind && s.Complete.After(at) {
			at = s.Complete
		}
	}
	return at
}

// limitFacts are the arithmetic of one limit.
func (f Facts) limitFacts(r Rules, l limit, due time.Time) []guard.Fact {
	facts := []guard.Fact{
		{Name: "limit", Value: fmt.Sprintf("%s at %s", l.coming, f.stamp(l.at)), Source: "ledger", At: l.stood},
		{Name: "due", Value: f.stamp(due), Source: "rule " + string(l.rule), At: f.At},
		{Name: "grace", Value: span(f.grace(r)), Source: "ledger", At: f.Lease.UpdatedAt},
		{Name: "on_limit", Value: string(f.Lease.OnLimit), Source: "ledger", At: f.Lease.UpdatedAt},
	}
	if !due.Equal(l.due) {
		facts = append(facts, guard.Fact{Name: "put off", Value: f.putOff(l, due), Source: "rule " + string(l.rule), At: f.At})
	}
	if p := f.Protection(r); p.On {
		facts = append(facts, guard.Fact{Name: "protection", Value: p.Why, Source: "ledger", At: f.At})
	}
	if why := f.Untouchable(); why != "" {
		facts = append(facts, guard.Fact{Name: "may not act", Value: why, Source: "configuration", At: f.At})
	}
	return facts
}
