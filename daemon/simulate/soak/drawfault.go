package soak

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"guard"
	"guard/providers/fake"
)

// callFaults are the families of faults of a provider's calls.
var callFaults = []Family{ListFaults, GetFaults, IdentityFaults, ReleaseFaults, StopFaults, DeleteFaults, TagFaults, ProtectionFaults, UnprotectFaults, AnyFaults}

// faults draws how an account's calls go wrong, and for how long.
func (d *drawer) faults(s *fake.Script) {
	for _, family := range callFaults {
		for range d.times(family) {
			d.fault(s, family)
		}
	}
	slices.SortStableFunc(s.Faults, func(a, b fake.Fault) int { return cmp.Compare(a.From, b.From) })
}

// fault draws one fault of a family.
func (d *drawer) fault(s *fake.Script, family Family) {
	call := string(family)
	f := fake.Fault{Call: call, From: d.moment("fault from", 0), Reply: d.reply(call)}
	f.For = d.lasting("fault for", f.From, 4*time.Hour)
	if d.chance("fault a few times", 50) {
		f.Times = d.n("fault times", 1, 6)
	}
	if call == fake.CallList && len(s.Scopes) > 0 && d.chance("fault of a scope", 40) {
		f.Scope = pick(d.dice, "scope", s.Scopes...)
	}
	var ids []string
	for _, b := range d.boxes {
		if b.account == s.Account {
			ids = append(ids, b.id)
		}
	}
	if len(ids) > 0 && (call == fake.CallGet || call == fake.CallRelease) && d.chance("fault of one", 40) {
		f.ID = pick(d.dice, "fault of", ids...)
	}
	s.Faults = append(s.Faults, f)
}

// reply draws a wrong answer that suits a call.
func (d *drawer) reply(call string) fake.Reply {
	write := call == fake.CallRelease || call == fake.CallDelete || call == fake.CallStop || call == fake.CallTag || call == fake.CallUnprotect
	switch n := d.n("fault", 0, 15); {
	case n <= 3:
		return fake.Reply{Status: pick(d.dice, "status", 503, 500, 502, 504, 409)}
	case n <= 5:
		return fake.Reply{Status: 429, RetryAfter: strconv.Itoa(d.n("retry after", 1, 300))}
	case n == 6:
		return fake.Reply{Status: pick(d.dice, "refused", 403, 401)}
	case n == 7:
		return fake.Reply{Unreachable: true}
	case n == 8:
		return fake.Reply{TimesOut: true}
	case n == 9:
		return fake.Reply{HTML: true}
	case n == 10:
		return fake.Reply{Status: 500, Body: pick(d.dice, "body", `{"error":"retry in 60 seconds"}`, "", "{", `[null]`)}
	case n == 11:
		return fake.Reply{Status: 404}
	case write && n <= 13:
		return fake.Reply{DoneButTimesOut: true}
	case write:
		return fake.Reply{AcceptedIgnored: true}
	case call == fake.CallSignals && n >= 13:
		return fake.Reply{NullFields: pick(d.dice, "null", []string{"gpu_util"}, []string{"at"}, []string{"gpu_util", "gpu_mem_mib"}, []string{"cpu_cores"}, []string{"processes"})}
	case call == fake.CallIdentity || call == fake.CallProtection || call == fake.CallAny:
		return fake.Reply{Status: 503}
	case n == 12:
		return fake.Reply{Empty: true}
	case n == 13 && call == fake.CallList:
		return fake.Reply{DropPage: d.n("page", 1, 3)}
	case n == 14:
		return fake.Reply{NullFields: pick(d.dice, "null", []string{"rate"}, []string{"state"}, []string{"created"}, []string{"tags"},
			[]string{"rate", "state"}, []string{"gpus"}, []string{"attached"}, []string{"id"})}
	}
	return fake.Reply{SetFields: pick(d.dice, "set",
		map[string]any{"rate": map[string]any{"amount": "410000", "per": "hour"}},
		map[string]any{"rate": map[string]any{"amount": "nan", "per": "hour"}},
		map[string]any{"created": "2001-01-01T00:00:00Z"},
		map[string]any{"state": "hibernating"},
		map[string]any{"gpus": "many"},
		map[string]any{"tags": map[string]any{}},
		map[string]any{"name": "somebody else"})}
}

// slack draws how posts fail.
func (d *drawer) slack() {
	for range d.times(SlackFaults) {
		f := SlackFault{From: d.moment("slack fault", 0)}
		f.For = d.lasting("slack fault for", f.From, 6*time.Hour)
		if d.chance("slack fault a few times", 50) {
			f.Times = d.n("slack fault times", 1, 5)
		}
		switch d.n("slack reply", 0, 5) {
		case 0:
			f.Status, f.RetryAfter = 429, d.n("slack retry after", 1, 120)
		case 1:
			f.Status = pick(d.dice, "slack status", 500, 503)
		case 2:
			f.TimesOut = true
		case 3:
			f.Error = pick(d.dice, "slack error", "channel_not_found", "ratelimited", "internal_error", "invalid_auth", "is_archived")
		case 4:
			f.Status, f.Stored = 429, true
		case 5:
			f.Status, f.Stored = 500, true
		}
		d.w.Slack = append(d.w.Slack, f)
	}
}

// states are where a crash can be told to come.
var states = []guard.ReleaseState{guard.ReleaseIntended, guard.ReleaseIssued, guard.ReleaseNoticed, guard.ReleasePlanned, guard.ReleaseBlocked,
	guard.ReleaseDone, guard.ReleaseWithdrawn}

// hits draws what happens to guard itself.
func (d *drawer) hits() {
	add := func(h Hit) { d.w.Hits = append(d.w.Hits, h) }
	for range d.times(Crashes) {
		h := Hit{At: d.moment("crash", 0), Crash: true}
		h.Back = d.back(h.At)
		add(h)
	}
	for range d.times(CrashesAt) {
		h := Hit{CrashAt: pick(d.dice, "crash at", states...), Back: pick(d.dice, "back", time.Minute, time.Second, 5*time.Minute, 20*time.Minute)}
		if len(d.boxes) > 0 && d.chance("crash at one", 50) {
			h.ID = pick(d.dice, "crash of", d.boxes...).String()
		}
		if d.chance("crash from then on", 50) {
			h.At = d.moment("crash from", 0)
		}
		add(h)
	}
	for range d.times(ClockSteps) {
		h := Hit{At: d.moment("step", 0)}
		h.Step = pick(d.dice, "step by", -10*time.Second, 30*time.Second, -10*time.Minute, 10*time.Minute, 2*time.Hour, -2*time.Hour, 25*time.Hour, -49*time.Hour, 3650*24*time.Hour)
		add(h)
		if d.chance("corrected", 70) {
			add(Hit{At: h.At + d.lasting("corrected after", h.At, 8*time.Hour), Step: -h.Step})
		}
	}
	for range d.times(Suspends) {
		h := Hit{At: d.moment("suspend", 0)}
		h.Suspend = d.lasting("suspend for", h.At, 8*time.Hour)
		add(h)
	}
	for range d.times(Reloads) {
		a := pick(d.dice, "reload of", d.w.Accounts...)
		add(Hit{At: d.moment("reload", 0), Reload: &Reload{Account: a.Script.Account, Mode: pick(d.dice, "to", guard.Enforce, guard.Observe)}})
	}
}

// back is how long a crashed daemon stays down: mostly a restart, at times for long.
func (d *drawer) back(at time.Duration) time.Duration {
	if d.chance("long down", 25) {
		return d.lasting("down for", at, 9*time.Hour)
	}
	return pick(d.dice, "back", 30*time.Second, time.Second, 2*time.Minute, 10*time.Minute)
}
