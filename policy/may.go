package policy

import (
	"fmt"
	"maps"
	"slices"

	"guard"
)

// May is what an account's owner lets guard act on (may_release, law 11).
type May struct {
	GPU  bool              // GPU instances, and those registered with no_gpu_ok
	Tags map[string]string // and only with all of these tags
}

// Allows reports whether guard may ever act on an instance, and says why where
// it may not. An instance of which nobody knows whether it has a GPU counts as
// having none.
func (m May) Allows(r guard.Resource, noGPUOK bool) (why string, ok bool) {
	gpu := r.HasGPU == guard.Yes || r.GPUs > 0
	switch {
	case noGPUOK:
	case !gpu && r.HasGPU == guard.Unknown:
		return "nobody knows whether it has a GPU, and may_release allows GPU instances only", false
	case !gpu:
		return "it has no GPU, and may_release allows GPU instances only", false
	case !m.GPU:
		return "may_release of the account does not allow GPU instances", false
	}
	for _, k := range slices.Sorted(maps.Keys(m.Tags)) {
		if v, has := r.Tags[k]; !has || v != m.Tags[k] {
			return fmt.Sprintf("may_release of the account asks for the tag %s=%s, which it does not have", k, m.Tags[k]), false
		}
	}
	return "", true
}

// Foreign returns the deployment of another guard that keeps the resource, by its
// tag; "" where none does.
func Foreign(r guard.Resource, deployment string) string {
	if d := r.Tags[guard.TagDeployment]; d != deployment {
		return d
	}
	return ""
}

// Self reports whether the resource is the machine that guard runs on.
func Self(r guard.Resource, account guard.AccountStatus) bool {
	return r.ID.Kind == guard.Instance && account.Identity.Self != "" && r.ID.ID == account.Identity.Self
}

// Untouchable says why guard never acts on a resource, whoever asks: the machine
// it runs on, another guard's, what no owner allowed. Empty where it may.
func (f Facts) Untouchable() string {
	if f.Observed == nil {
		return ""
	}
	r := f.Observed.Resource
	if Self(r, f.Account) {
		return f.say("guard runs on it")
	}
	if d := Foreign(r, f.Deployment); d != "" {
		return f.say("another guard (deployment %s) keeps it", d)
	}
	for t, until := range f.lost() {
		if d := Foreign(guard.Resource{Tags: map[string]string{t.Key: t.Value}}, f.Deployment); d != "" {
			return f.say("another guard (deployment %s) kept it until %s, and that counts until %s", d, f.stamp(t.Since), f.stamp(until))
		}
	}
	if r.TagsUntold {
		return f.say("the provider does not tell its tags, so nobody knows whose it is")
	}
	if orphanRules[r.ID.Kind] != "" && f.Lease == nil {
		return f.childUntouchable()
	}
	if why, ok := f.May.Allows(r, f.Lease != nil && f.Lease.NoGPUOK); !ok {
		return f.kept(why)
	}
	return ""
}

// childUntouchable is Untouchable for what is no instance: the children of a leased box
// count as its own, and nothing else of that kind does.
func (f Facts) childUntouchable() string {
	if !f.ours() {
		return f.say("it was never seen on a leased instance, and may_release is for those and what hung on them")
	}
	box := f.Observed.Resource
	box.GPUs = max(box.GPUs, 1) // where the ledger does not have its box any more, it is known by guard's tag
	if f.Instance != nil {
		box = f.Instance.Resource
		if d := Foreign(box, f.Deployment); d != "" {
			return f.say("another guard (deployment %s) kept %s, which it was on", d, f.Observed.Instance)
		}
	}
	why, ok := f.May.Allows(box, f.InstanceLease != nil && f.InstanceLease.NoGPUOK)
	if ok {
		return ""
	}
	return f.say("it is of %s: %s", box.ID, f.kept(why))
}
