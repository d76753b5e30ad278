package soak

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/simulate"
	"guard/providers/fake"
)

// done reports that a call which ends or stops a box was really carried out.
func done(c simulate.CloudCall) bool { return c.Outcome == "ok" || c.Outcome == "timed out after: ok" }

// accepted reports that the cloud said yes, whatever it did.
func accepted(c simulate.CloudCall) bool { return c.Outcome == "ok" || c.Outcome == "ignored" }

// intents holds law 3: the k-th call on a box needs k intents in the journal that
// were durable by then, one of a release each; and once a call was accepted, or may
// have been, the next comes only after the cloud had time to show its effect, and
// never once the end is proven.
func (j *judge) intents(b *life) {
	var intended []time.Duration
	for _, e := range j.book.journal {
		if e.Subject == b.id && e.Verb == string(guard.ReleaseIntended) && e.Data["release"] != "" {
			intended = append(intended, j.earliest(e.At))
		}
	}
	for k, c := range b.calls {
		at := j.offset(c.At)
		before := 0
		for _, t := range intended {
			if t <= at {
				before++
			}
		}
		if before <= k {
			j.wrong(3, "wrong release", at, b.id, "%s call %d has only %d durable intents before it", c.Call.Call, k+1, before)
		}
		if k == 0 {
			continue
		}
		last := b.calls[k-1]
		gap := at - j.offset(last.At)
		switch {
		case accepted(last) && gap < verify && c.Call.Call == last.Call.Call && !j.crashed(j.offset(last.At), at):
			j.wrong(4, "wrong release", at, b.id, "%s is called again %s after it was accepted; it gets %s to take effect", c.Call.Call, gap, verify)
		case done(last) && last.Status == 0 && b.account.Script.Lag.State == 0 && gap < verify && c.Call.Call == last.Call.Call:
			j.wrong(3, "wrong release", at, b.id, "%s is called again %s after a call that was done although its reply was lost: every read since said so", c.Call.Call, gap)
		}
	}
	for _, r := range j.releasesOf(b.id) {
		if r.State != guard.ReleaseDone || r.Action != guard.ActRelease {
			continue
		}
		for _, c := range b.calls {
			if at := j.offset(c.At); at > j.latest(r.EndedAt) && r.EndedAt.After(c.At.Add(-never)) {
				j.wrong(3, "wrong release", at, b.id, "%s is called after its release had ended with proof at %s", c.Call.Call, r.EndedAt)
			}
		}
	}
}

// crashed reports whether guard died between two moments.
func (j *judge) crashed(from, to time.Duration) bool {
	return slices.ContainsFunc(j.dead, func(s span) bool { return s.touches(from, to) })
}

// down is how long between two moments guard was dead or asleep.
func (j *judge) down(from, to time.Duration) time.Duration {
	var sum time.Duration
	for _, s := range j.dead {
		sum += max(0, min(s.to, to)-max(s.from, from))
	}
	return sum
}

// looks holds law 5: within 30 s before each call the box was read by ID under the
// right credentials, that read could not have said that it is gone or another
// thing, and it worked, or the cause is a cap and a complete look is at most ten
// minutes old. A list counts where its own answers were whole.
func (j *judge) looks(b *life) {
	for _, c := range b.calls {
		at := j.offset(c.At)
		name := nameOf(b.account.Script)
		read, failed := time.Duration(-1), false
		seen := -never
		for _, r := range j.h.Calls {
			t := j.offset(r.At)
			if t > at || r.Account != name {
				continue
			}
			named := r.Call.Call == fake.CallGet && slices.Contains(r.IDs, b.spec.ID)
			listed := r.Call.Call == fake.CallList && r.Kind == guard.Instance && cmp.Or(r.Scope, "default") == cmp.Or(b.spec.Scope, scopeOf(b.account.Script))
			worked := r.Outcome == "ok"
			if (named || listed) && worked {
				seen = t
			}
			if named && t >= at-30*time.Second {
				read, failed = t, !worked || b.unreadable(t)
			}
		}
		said, _ := b.claim(at)
		cap := j.capped(b, at) || j.hard(b, said, at)
		switch {
		case read >= 0 && !failed:
			j.fresh(b, c, read)
		case cap && at-seen <= 10*time.Minute: // a hard cap goes on without
		case read >= 0:
			j.wrong(5, "wrong release", at, b.id, "%s is called although the last read, at %s, failed, and no cap lets it go on", c.Call.Call, read)
		default:
			j.wrong(5, "wrong release", at, b.id, "%s is called without a read in the 30 s before", c.Call.Call)
		}
		if who := identityAt(b.account.Script, at-30*time.Second); who != identityOf(b.account.Script) && identityAt(b.account.Script, at) == who {
			j.wrong(5, "wrong release", at, b.id, "%s is called with the credentials of %s", c.Call.Call, who)
		}
	}
}

// unreadable reports that a read of many surely failed for this box: a fault of its
// own, without a count, was the first that could answer.
func (b *life) unreadable(at time.Duration) bool {
	for _, f := range b.account.Script.Faults {
		if f.ID != b.spec.ID || f.Call != fake.CallGet || at < f.From || f.For > 0 && at >= f.From+f.For {
			continue
		}
		r := f.Reply
		return f.Times == 0 && (r.Status >= 400 || r.Unreachable || r.TimesOut || r.DoneButTimesOut || r.Empty || r.HTML)
	}
	return false
}

// disguised reports that a read told another state than the real one.
func (b *life) disguised(at time.Duration) bool {
	return slices.ContainsFunc(b.account.Script.Faults, func(f fake.Fault) bool {
		return (f.Call == fake.CallGet || f.Call == fake.CallAny || f.Call == "") && at >= f.From && (f.For == 0 || at < f.From+f.For) &&
			(f.Reply.SetFields["state"] != nil || slices.Contains(f.Reply.NullFields, "state"))
	})
}

// fresh holds a call against what the read before it must have said.
func (j *judge) fresh(b *life, c simulate.CloudCall, read time.Duration) {
	at := j.offset(c.At)
	lag := b.account.Script.Lag
	if read > b.gone+lag.State && !b.disguised(read) { // at one moment the read comes first
		j.wrong(5, "wrong release", at, b.id, "%s is called on what the read at %s said was gone since %s", c.Call.Call, read, b.gone)
	}
	first, _ := b.claim(at)
	for _, e := range b.events() {
		if e.Set != nil && e.Set.Created != nil && e.At <= read && e.At > first.register && (*e.Set.Created-b.born).Abs() > 2*time.Second {
			j.wrong(5, "wrong release", at, b.id, "%s is called on another thing than the one that was registered: since %s it says that it was created at %s", c.Call.Call, e.At, *e.Set.Created)
		}
	}
	for _, p := range protections(b, read) {
		if !b.spec.HideProtection && (p == "release") == (c.Call.Call == fake.CallRelease) {
			j.wrong(5, "wrong release", at, b.id, "%s is called although the read at %s said that the provider protects it", c.Call.Call, read)
		}
	}
}

func protections(b *life, at time.Duration) []string {
	p := b.spec.Protected
	for _, e := range b.events() {
		if e.Set != nil && e.Set.Protected != nil && e.At <= at {
			p = *e.Set.Protected
		}
	}
	return p
}

// capped reports whether a cap can be the cause of a call at a moment: by the
// cloud's own meter it is crossed within the lead, a billing unit, a minute of burn
// and what prices seen late make of it. Where the money is not plain, the dearest
// price that law 8 lets guard believe counts, and where none can be told, any cap can.
func (j *judge) capped(b *life, at time.Duration) bool {
	c, ok := b.claim(at)
	return ok && j.spends(b, c.budget, at)
}

// hard reports whether a ceiling can be the cause of a call at a moment.
func (j *judge) hard(b *life, c claim, at time.Duration) bool {
	if j.week.Life > 0 && c.register+j.week.Life <= at+j.slack() {
		return true
	}
	return slices.ContainsFunc(j.week.Money, func(m guard.Money) bool { return m.Currency() == b.currency() && j.spends(b, m, at) })
}

// spends reports whether guard may hold an amount to be reached; see [judge.capped].
func (j *judge) spends(b *life, most guard.Money, at time.Duration) bool {
	if !most.IsSet() {
		return false
	}
	if !j.plain(b) {
		if believed, known := j.believed(b, at); known && most.Currency() == b.currency() {
			cap, _ := most.Rat().Float64()
			return believed >= cap
		}
		return !j.unpriced(b)
	}
	if most.Currency() != b.currency() {
		return false
	}
	ahead := j.lead(b.account, at) + granule(b.account) + time.Minute
	sum := new(big.Rat).Add(j.spent(b, at), over(j.burn(b, at), ahead))
	sum.Add(sum, b.account.reserve(most))
	sum.Add(sum, b.comes(at, at+ahead))
	return sum.Add(sum, j.unseen(b)).Cmp(most.Rat()) >= 0
}

// unpriced reports that nothing of a box was ever priced, so that no cap on it can
// be known to be reached.
func (j *judge) unpriced(b *life) bool {
	for _, id := range append([]string{b.spec.ID}, b.family...) {
		r, _, ok := b.account.of(id)
		if !ok {
			r = b.spec
		}
		if r.ListRate != nil {
			return false
		}
		for _, p := range b.account.prices(id, r) {
			if p.hourly != nil {
				return false
			}
		}
	}
	return !slices.ContainsFunc(b.account.Script.Faults, func(f fake.Fault) bool { return f.Reply.SetFields["rate"] != nil })
}

// reasons holds law 6: each call on a box has a limit that a person set, and that
// was reached, or a person's order.
func (j *judge) reasons(b *life) {
	for _, c := range b.calls {
		at := j.offset(c.At)
		if c.Call.Call == fake.CallStop || b.muddled || slices.ContainsFunc(b.orders, func(t time.Duration) bool { return t <= at }) {
			continue
		}
		said, ok := b.claim(at)
		expired := ok && said.expires <= at+j.slack()
		if expired || j.capped(b, at) || ok && j.hard(b, said, at) || j.adopted(b, at) || j.stale(b, at) {
			continue
		}
		law := 6
		if ok && said.budget.IsSet() && j.unpriced(b) {
			law = 1
		}
		if ok && j.steps() && said.expires <= at+j.furthest() {
			law = 8
		}
		text := "nobody ever registered it or ordered its release"
		if ok {
			text = "its time ends at " + said.expires.String() + " and its cap of " + said.budget.String() + " is not reached: " + j.spent(b, at).FloatString(4) + " is spent"
		}
		j.wrong(law, "wrong release", at, b.id, "%s is called; %s", c.Call.Call, text)
	}
}

// furthest is how far ahead guard's clock ever was, believed or not.
func (j *judge) furthest() time.Duration {
	var now, most time.Duration
	for _, h := range j.week.Hits {
		now += h.Step
		most = max(most, now)
	}
	return most
}

// standing holds laws 10 and 11 for each call: no hold covers it, nobody protects
// the box, it is this guard's to touch, and guard acts in that account at all.
func (j *judge) standing(b *life) {
	for _, c := range b.calls {
		at := j.offset(c.At)
		said, leased := b.claim(at)
		// What was said at this very moment may have come after the call.
		earlier, _ := b.claim(at - 1)
		ordered := slices.ContainsFunc(b.orders, func(t time.Duration) bool { return t <= at })
		free := ordered || j.hard(b, said, at)
		if !free && min(said.held, earlier.held) > at+j.slack()+time.Second {
			j.wrong(10, "wrong release", at, b.id, "%s is called inside a hold that ends at %s", c.Call.Call, said.held)
		}
		vetoed := func(rule guard.Rule) bool {
			return min(b.vetoed(rule, at), b.vetoed(rule, at-1)) > at+j.slack()+time.Second
		}
		over := said.expires <= at+j.slack() && !vetoed(guard.RuleExpired)
		if capped := j.capped(b, at) && !vetoed(guard.RuleBudgetExceeded); leased && !free && !over && !capped && !j.stale(b, at) && c.Call.Call != fake.CallStop && len(b.vetoes) > 0 {
			j.wrong(10, "wrong release", at, b.id, "%s is called, and every rule that asks for it is vetoed: %+v", c.Call.Call, b.vetoes)
		}
		if said.guarded && earlier.guarded {
			j.wrong(10, "wrong release", at, b.id, "%s is called on what an admin protects", c.Call.Call)
		}
		// The read before a call may be 30 s old.
		for k, v := range b.tags(at - 30*time.Second) {
			if b.tags(at)[k] != v {
				continue
			}
			switch {
			case k == guard.TagDeployment && v != j.own:
				j.wrong(11, "wrong release", at, b.id, "%s is called on another guard's box: %s=%s", c.Call.Call, k, v)
			case strings.EqualFold(k, "guard:keep") && v == "true":
				j.wrong(10, "wrong release", at, b.id, "%s is called on what its tag %s protects", c.Call.Call, k)
			}
		}
		if may, _ := j.acts(b.account, at-time.Second); !may {
			if may, _ = j.acts(b.account, at); !may {
				j.wrong(11, "wrong release", at, b.id, "%s is called in an account in observe mode", c.Call.Call)
			}
		}
		if b.account.Script.Self == b.spec.ID {
			j.wrong(11, "wrong release", at, b.id, "%s is called on the machine that guard runs on", c.Call.Call)
		}
		if b.spec.GPUs == fake.NoGPU && !said.noGPU {
			j.wrong(11, "wrong release", at, b.id, "%s is called on a box without a GPU that nobody allowed", c.Call.Call)
		}
		if !leased && !ordered && !j.adopted(b, at) && c.Call.Call != fake.CallStop {
			j.wrong(11, "wrong release", at, b.id, "%s is called on what nobody registered", c.Call.Call)
		}
	}
}

// strangers holds law 11 for every other write: nothing is
// called by a name or about what is not there, and another guard's mark is never
// written over. Boxes of another identity are other people's.
func (j *judge) strangers() {
	for _, c := range j.h.Calls {
		at := j.offset(c.At)
		if len(c.IDs) == 0 || c.Call.Call == fake.CallGet || c.Call.Call == fake.CallProtection {
			continue
		}
		id := c.Account + "/" + c.IDs[0]
		b := j.byID[id]
		switch {
		case c.Call.Call == fake.CallUnprotect:
			j.wrong(10, "wrong release", at, id, "the provider's protection is taken off: nobody said so")
		case b == nil && c.Kind == guard.Instance:
			j.wrong(5, "wrong release", at, id, "%s is called for an ID that no box has", c.Call.Call)
		case b != nil && c.Call.Call == fake.CallTag:
			mark := b.tags(at)[guard.TagDeployment]
			if mark != "" && mark != j.own && b.tags(at - j.poll())[guard.TagDeployment] == mark {
				j.wrong(11, "wrong release", at, id, "another guard's box is tagged")
			}
			if _, leased := b.claim(at); !leased && j.week.Adopt == nil {
				j.wrong(11, "wrong release", at, id, "a box that nobody registered is tagged")
			}
		}
	}
}
