package configs

import (
	"time"

	"guard"
	"guard/policy"
)

// prepaid checks the rules about what is paid ahead and what is billed, which only tell.
func (d *decoder) prepaid(f file, r *policy.Rules) {
	r.BalanceLow.Warn, r.BalanceLow.Act = d.ahead(f, r.Per, "balance_low", f.Rules.BalanceLow, guard.RuleBalanceLow, "only a top-up helps")
	r.RenewsSoon.Warn, r.RenewsSoon.Act = d.ahead(f, r.Per, "renews_soon", f.Rules.RenewsSoon, guard.RuleRenewsSoon, "its expiry and its budget do, in time for a renewal")
	r.ProviderReclaim.Warn, r.ProviderReclaim.Act = d.ahead(f, r.Per, "provider_reclaim", f.Rules.ProviderReclaim, guard.RuleProviderReclaim, "the provider does that itself")
	in := f.Rules.ChargeMismatch
	d.per(f, r.Per, "charge_mismatch", in.perRule, tells, guard.RuleChargeMismatch)
	d.alertOnly("rules.charge_mismatch.then", in.Then, "who is wrong is a person's to say")
	r.ChargeMismatch.Over = int(in.Over)
}

// ahead checks one such rule, of which warn and act are how long before what is to come
// people are told, and told once more: why is why it never releases.
func (d *decoder) ahead(f file, per map[guard.Rule]policy.Per, key string, in aheadFile, rule guard.Rule, why string) (warn, act time.Duration) {
	path := "rules." + key
	d.per(f, per, key, in.perRule, tells, rule)
	d.alertOnly(path+".then", in.Then, why)
	warn = d.between(path+".warn", in.Warn, time.Minute, longest)
	if d.has(path + ".act") {
		if act = d.between(path+".act", in.Act, time.Minute, longest); d.read(path) && act >= warn {
			d.at(path+".act", "%s is not after people are told (%s): both count back from what is to come", formatDuration(act), formatDuration(warn))
		}
	}
	return warn, act
}
