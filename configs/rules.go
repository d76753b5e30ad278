package configs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy"
)

func settable[T any](v *T) reflect.Value { return reflect.ValueOf(v).Elem() }

// maxWarnings bounds a list of warnings: each is a message to everyone.
const maxWarnings = 10

// rules checks what types alone do not, and fills the rules that policy reads.
func (d *decoder) rules(f file, r policy.Rules) policy.Rules {
	in := f.Rules
	d.per(f, r.Per, "unregistered", in.Unregistered.perRule, tells, guard.RuleUnregistered)
	d.per(f, r.Per, "expiry", in.Expiry.perRule, leased, guard.RuleExpired)
	d.per(f, r.Per, "budget", in.Budget.perRule, leased, guard.RuleBudgetWarning, guard.RuleBudgetExceeded)
	d.per(f, r.Per, "price_changed", in.PriceChanged.perRule, tells, guard.RulePriceChanged)
	r.Unregistered = policy.Unregistered{After: d.told("rules.unregistered", in.Unregistered.After, in.Unregistered.Warn),
		Act: in.Unregistered.Act, Then: d.alertOnly("rules.unregistered.then", in.Unregistered.Then, "register the instance, and its limits may")}
	r.Unregistered.Adopt = d.adopt(in.Unregistered.Adopt)
	d.toldBefore("rules.unregistered", r.Unregistered.After, r.Unregistered.Act)
	r.Expiry = policy.Expiry{Warn: d.warnings(in.Expiry.Warn)}
	r.Budget = policy.Budget{Warn: d.percents(in.Budget.Warn), EgressAtMost: in.Budget.EgressAtMost}
	d.orphans(f, r)
	r.StoppedBilling = d.stopped(f, r)
	d.per(f, r.Per, "provisioning_long", in.ProvisioningLong.perRule, tells, guard.RuleProvisioningLong)
	d.alertOnly("rules.provisioning_long.then", in.ProvisioningLong.Then, "its budget and its expiry do, from the provider's start")
	r.ProvisioningLong = policy.ProvisioningLong{After: d.told("rules.provisioning_long", in.ProvisioningLong.After, in.ProvisioningLong.Warn), Act: in.ProvisioningLong.Act}
	d.toldBefore("rules.provisioning_long", r.ProvisioningLong.After, r.ProvisioningLong.Act)
	r.PriceChanged = policy.PriceChanged{Over: int(in.PriceChanged.Over), Warn: d.changed("warn", in.PriceChanged.Warn), Act: d.changed("act", in.PriceChanged.Act)}
	d.toldBefore("rules.price_changed", r.PriceChanged.Warn, r.PriceChanged.Act)
	r.EgressSpike, r.Exchange = d.egressSpike(f, r), d.exchange(f.Exchange)
	d.alertOnly("rules.price_changed.then", in.PriceChanged.Then, "a changed price moves the deadline of a budget by itself")

	d.prepaid(f, &r)
	d.judgements(f, &r)
	r.Busy = d.busy(f.Busy)

	r.Protect = policy.Protect{Tags: f.Protect.Tags}
	for _, k := range slices.Sorted(maps.Keys(f.Protect.Tags)) {
		v := f.Protect.Tags[k]
		if k == "" || k != strings.TrimSpace(k) || v != strings.TrimSpace(v) {
			d.at("protect.tags."+segment(k), "a tag is compared exactly and cannot begin or end with a space")
		}
	}
	r.Limits = policy.Limits{
		UnforeseenPerHour: d.within("limits.unforeseen_per_hour", f.Limits.PerHour, 0, 1000),
		UnforeseenPercent: d.within("limits.unforeseen_percent", f.Limits.Percent, 0, 100),
		ForcedUnprotect:   f.Limits.ForcedUnprotect,
	}
	r.Verify = d.between("release.verify", f.Release.Verify, time.Second, 24*time.Hour)
	r.Defaults = policy.Defaults{
		TTL:     d.between("defaults.ttl", f.Defaults.TTL, time.Minute, longest),
		OnLimit: guard.Action(f.Defaults.OnLimit),
		Grace:   f.Defaults.Grace,
	}
	if r.Defaults.Grace >= r.Defaults.TTL && d.read("defaults") {
		path := "defaults.grace"
		if !d.has(path) {
			path = "defaults.ttl"
		}
		d.at(path, "grace (%s) must be shorter than ttl (%s), for notice is given that long before the end",
			formatDuration(r.Defaults.Grace), formatDuration(r.Defaults.TTL))
	}
	r.Ceilings = d.ceilings(f.Ceilings)
	return d.under(r)
}

// adopt is how guard registers what nobody does; nil where it does not.
func (d *decoder) adopt(in *adoptFile) *policy.Adopt {
	const path = "rules.unregistered.adopt"
	if in == nil || d.unread[path] {
		return nil
	}
	if !d.has(path + ".ttl") {
		d.at(path, "ttl is missing: write adopt: {ttl: 2h, on_limit: alert}")
	}
	out := policy.Adopt{TTL: d.life(path+".ttl", in.TTL), OnLimit: guard.Action(in.OnLimit)}
	if out.OnLimit == "" {
		out.OnLimit = guard.ActAlert
	}
	return &out
}

// ceilings are what no lease goes past.
func (d *decoder) ceilings(in ceilingsFile) policy.Ceilings {
	seen := map[string]bool{}
	for i, m := range in.Budget {
		path := fmt.Sprintf("ceilings.budget[%d]", i)
		switch c := m.Currency(); {
		case !d.read(path):
		case !m.IsPositive():
			d.at(path, "%s is no ceiling: write an amount above zero, such as 10000CNY", m)
		case seen[c]:
			d.at(path, "there is a ceiling in %s already", c)
		default:
			seen[c] = true
		}
	}
	return policy.Ceilings{TTL: d.life("ceilings.ttl", in.TTL), Budget: in.Budget}
}

// life is how long something lasts that need not be set.
func (d *decoder) life(path string, x time.Duration) time.Duration {
	if d.has(path) {
		return d.between(path, x, time.Minute, longest)
	}
	return x
}

// under keeps what leases begin with under the ceiling of their life: what was
// written beyond it is a mistake, and what was not follows it.
func (d *decoder) under(r policy.Rules) policy.Rules {
	most := r.Ceilings.TTL
	if most <= 0 || !d.read("ceilings.ttl") {
		return r
	}
	if most <= r.Defaults.Grace {
		d.at("ceilings.ttl", "%s leaves no time for the grace of %s (defaults.grace)", formatDuration(most), formatDuration(r.Defaults.Grace))
	}
	if r.Defaults.TTL > most {
		if d.has("defaults.ttl") {
			d.at("defaults.ttl", "%s is beyond the ceiling of %s (ceilings.ttl)", formatDuration(r.Defaults.TTL), formatDuration(most))
		}
		r.Defaults.TTL = most
	}
	if a := r.Unregistered.Adopt; a != nil && a.TTL > most {
		d.at("rules.unregistered.adopt.ttl", "%s is beyond the ceiling of %s (ceilings.ttl)", formatDuration(a.TTL), formatDuration(most))
	}
	return r
}

// told is when people are told of what has begun. The rules that say after take warn for
// it too, for it is the same moment.
func (d *decoder) told(path string, after, warn time.Duration) time.Duration {
	switch {
	case !d.has(path + ".warn"):
		return after
	case d.has(path + ".after"):
		d.at(path+".warn", "warn and after are the same moment: write one of them")
	}
	return warn
}

// toldBefore refuses an act of a rule that only tells where nothing more would come of it:
// it is when people are told once more.
func (d *decoder) toldBefore(path string, told, act time.Duration) {
	if d.has(path+".act") && d.read(path) && act <= told {
		d.at(path+".act", "%s is not after people are told (%s): both count from when it began", formatDuration(act), formatDuration(told))
	}
}

// changed is how long after a price changed people are told; it is an event of a day.
func (d *decoder) changed(key string, x time.Duration) time.Duration {
	path := "rules.price_changed." + key
	if d.has(path) && d.read(path) && (x < 0 || x >= policy.ChangedFor) {
		d.at(path, "%s: it must be less than %s, for so long a change of price is news", formatDuration(x), formatDuration(policy.ChangedFor))
	}
	return x
}

// alertOnly refuses what a rule does not do yet, or never will: why tells which.
func (d *decoder) alertOnly(path string, a action, why string) guard.Action {
	switch {
	case guard.Action(a) == guard.ActAlert:
	case guard.Action(a) == guard.ActRelease && why != "":
		d.at(path, "this rule never releases: %s", why)
	default:
		d.at(path, "%s is not supported yet: write alert", string(a))
	}
	return guard.Action(a)
}

// warnings are how long before the end, the longest first.
func (d *decoder) warnings(in []time.Duration) []time.Duration {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b time.Duration) int { return int(min(max(b-a, -1), 1)) })
	d.few("rules.expiry.warn", len(out), len(slices.Compact(slices.Clone(out))))
	return out
}

// percents are parts of the cap, the smallest first.
func (d *decoder) percents(in []percent) []int {
	var out []int
	for i, p := range in {
		if p >= 100 {
			d.at(fmt.Sprintf("rules.budget.warn[%d]", i), "%d%% is no warning: the cap itself is at 100%%", int(p))
		}
		out = append(out, int(p))
	}
	slices.Sort(out)
	d.few("rules.budget.warn", len(out), len(slices.Compact(slices.Clone(out))))
	return out
}

func (d *decoder) few(path string, n, different int) {
	switch {
	case n > maxWarnings:
		d.at(path, "%d warnings: at most %d are possible", n, maxWarnings)
	case different < n && d.read(path):
		d.at(path, "one warning stands twice")
	}
}

func (d *decoder) within(path string, n, least, most int) int {
	if n < least || n > most {
		d.at(path, "%d is outside %d to %d", n, least, most)
	}
	return n
}

func (d *decoder) between(path string, x, least, most time.Duration) time.Duration {
	if d.read(path) && (x < least || x > most) {
		d.at(path, "%s is outside %s to %s", formatDuration(x), formatDuration(least), formatDuration(most))
	}
	return x
}
