package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/policy"
)

// boxed are the facts of a leased box that ends in three hours.
func boxed(change ...func(*policy.Facts)) policy.Facts {
	id := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}
	rate, _ := guard.ParseRate("2.40USD/h")
	f := policy.Facts{At: zero, Deployment: "own", Configured: true, Mode: guard.Enforce, May: policy.May{GPU: true}, Stop: guard.StopSavesCompute,
		Account: guard.AccountStatus{Name: "lab", Identity: guard.Identity{ID: "acct-1"}},
		Observed: &guard.Observed{Resource: guard.Resource{ID: id, Name: "train-3", State: guard.StateRunning, GPUs: 8, HasGPU: guard.Yes, GPUModel: "H100",
			Type: "p5.48xlarge", Spot: true, Created: zero.Add(-5 * time.Hour), Rate: rate, Bills: guard.Yes}, Identity: "acct-1", FirstSeen: zero.Add(-5 * time.Hour), Seen: zero},
		Lease: &guard.Lease{ID: "l-1", Resource: id, Purpose: "lora 70b", Owner: "ana", Tags: map[string]string{"team": "nlp"}, Status: guard.LeaseActive, OnLimit: guard.ActRelease,
			RegisteredAt: zero.Add(-5 * time.Hour), UpdatedAt: zero.Add(-5 * time.Hour), UpdatedBy: "ana", Grace: 10 * time.Minute, ExpiresAt: zero.Add(3 * time.Hour)},
		Spend: func() policy.Spend { return policy.Spend{Totals: []guard.Money{guard.MustMoney("12 USD")}} }}
	for _, c := range change {
		c(&f)
	}
	return f
}

func observing(f *policy.Facts) { f.Mode = guard.Observe }

func unleased(f *policy.Facts) { f.Lease, f.Plan = nil, guard.Plan{} }

func alerting(f *policy.Facts) { f.Lease.OnLimit = guard.ActAlert }

func capped(due time.Duration) func(*policy.Facts) {
	return func(f *policy.Facts) {
		f.Lease.Budget = guard.MustMoney("20 USD")
		f.Plan.Deadlines = append(f.Plan.Deadlines, guard.Deadline{Reason: guard.DeadlineBudget, Limit: zero.Add(due + time.Minute), Due: zero.Add(due), Basis: f.Lease.BudgetBasis()})
	}
}

// ceilinged has a ceiling on its life, as solved by the rules that underCeiling gives.
func ceilinged(due time.Duration) func(*policy.Facts) {
	return func(f *policy.Facts) {
		d, _ := underCeiling(due).Ceiling(*f.Lease, nil, 0, zero)
		f.Plan.Deadlines = append(f.Plan.Deadlines, d)
	}
}

func underCeiling(due time.Duration) policy.Rules {
	r := policy.DefaultRules()
	r.Ceilings.TTL = due + 5*time.Hour // from the registration
	return r
}

// dear has a ceiling in money, and pricedOut reaches it.
var dear = func() policy.Rules {
	r := policy.DefaultRules()
	r.Ceilings.Budget = []guard.Money{guard.MustMoney("50 USD")}
	return r
}()

func pricedOut(due time.Duration) func(*policy.Facts) {
	return func(f *policy.Facts) {
		d, _ := dear.Ceiling(*f.Lease, nil, 0, zero)
		d.Limit, d.Due = zero.Add(due), zero.Add(due)
		f.Plan.Deadlines = append(f.Plan.Deadlines, d)
	}
}

func releasing(state guard.ReleaseState, cause guard.Cause, change ...func(*guard.Release)) func(*policy.Facts) {
	return func(f *policy.Facts) {
		f.Release = &guard.Release{ID: "r-1", Target: f.Resource(), State: state, Cause: cause, Action: guard.ActRelease, By: "guard", Due: zero.Add(30 * time.Minute), NoticedAt: zero}
		if cause.Stops() {
			f.Release.Action = guard.ActStop
		}
		for _, c := range change {
			c(f.Release)
		}
	}
}

func gone(f *policy.Facts) {
	f.Observed.Gone = &guard.Gone{At: zero, How: guard.ByReclaim, ProvenAt: zero}
}

// TestCard: what it is, whose, what it costs and what guard does next.
func TestCard(t *testing.T) {
	got := policy.Card(policy.DefaultRules(), boxed(), []guard.Rule{guard.RuleIdleEmpty})
	want := &guard.Card{Name: "train-3", Purpose: "lora 70b", Owner: "ana", Team: "nlp", State: guard.StateRunning, Spot: true, GPUs: 8, Model: "H100", Type: "p5.48xlarge",
		Spent: []guard.Money{guard.MustMoney("12 USD")}, Hourly: guard.MustMoney("2.40 USD"), Started: zero.Add(-5 * time.Hour), Ends: zero.Add(3 * time.Hour),
		Does: guard.ActRelease, By: guard.CauseExpiry, Open: []guard.Rule{guard.RuleIdleEmpty}, AsOf: zero}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
	if c := policy.Card(policy.DefaultRules(), policy.Facts{At: zero, Account: guard.AccountStatus{Name: "lab"}}, nil); c != nil {
		t.Errorf("an account has a card: %+v", c)
	}
	unknown := policy.Card(policy.DefaultRules(), boxed(func(f *policy.Facts) {
		f.Spend, f.Observed.Resource.Rate = func() policy.Spend { return policy.Spend{AtLeast: true} }, guard.Rate{}
	}), nil)
	if len(unknown.Spent) > 0 || !unknown.AtLeast || unknown.Hourly.IsSet() {
		t.Errorf("what is not known is told: %+v", unknown)
	}
}

// TestCardNext: when guard acts next, and how.
func TestCardNext(t *testing.T) {
	type next struct {
		in   time.Duration // from zero; 0: nothing is coming
		does guard.Action
		by   guard.Cause
	}
	protected := policy.DefaultRules()
	protected.Protect.Tags = map[string]string{"keep": "yes"}
	off := policy.DefaultRules()
	off.Per = map[guard.Rule]policy.Per{guard.RuleExpired: {Off: true}}
	for name, c := range map[string]struct {
		facts policy.Facts
		rules policy.Rules
		want  next
	}{
		"its time":                      {boxed(), policy.DefaultRules(), next{3 * time.Hour, guard.ActRelease, guard.CauseExpiry}},
		"its cap, which is first":       {boxed(capped(time.Hour)), policy.DefaultRules(), next{time.Hour, guard.ActRelease, guard.CauseBudget}},
		"a cap of another basis":        {boxed(capped(time.Hour), func(f *policy.Facts) { f.Lease.Budget = guard.MustMoney("90 USD") }), policy.DefaultRules(), next{3 * time.Hour, guard.ActRelease, guard.CauseExpiry}},
		"its ceiling":                   {boxed(ceilinged(2*time.Hour), alerting), underCeiling(2 * time.Hour), next{2 * time.Hour, guard.ActRelease, guard.CauseCeiling}},
		"a ceiling that is off now":     {boxed(ceilinged(2 * time.Hour)), policy.DefaultRules(), next{3 * time.Hour, guard.ActRelease, guard.CauseExpiry}},
		"a ceiling that is another now": {boxed(ceilinged(2 * time.Hour)), underCeiling(90 * time.Hour), next{3 * time.Hour, guard.ActRelease, guard.CauseExpiry}},
		"protected from its cap":        {boxed(capped(time.Hour), func(f *policy.Facts) { f.Lease.Protected = true }), policy.DefaultRules(), next{time.Hour, guard.ActAlert, guard.CauseBudget}},
		"observe mode":                  {boxed(observing), policy.DefaultRules(), next{3 * time.Hour, "", guard.CauseExpiry}},
		"it only tells":                 {boxed(alerting), policy.DefaultRules(), next{3 * time.Hour, guard.ActAlert, guard.CauseExpiry}},
		"it has told":                   {boxed(alerting, func(f *policy.Facts) { f.Lease.ExpiresAt = zero.Add(-time.Hour) }), policy.DefaultRules(), next{}},
		"held":                          {boxed(func(f *policy.Facts) { f.Lease.Holds = []guard.Hold{{Until: zero.Add(8 * time.Hour)}} }), policy.DefaultRules(), next{8 * time.Hour, guard.ActRelease, guard.CauseExpiry}},
		"vetoed": {boxed(func(f *policy.Facts) {
			f.Mutes = []guard.Mute{{Kind: guard.Veto, Subject: "lab/i-1", Rule: guard.RuleExpired, Until: zero.Add(9 * time.Hour)}}
		}), policy.DefaultRules(), next{9 * time.Hour, guard.ActRelease, guard.CauseExpiry}},
		"protected":               {boxed(func(f *policy.Facts) { f.Observed.Resource.Tags = map[string]string{"keep": "yes"} }), protected, next{3 * time.Hour, guard.ActAlert, guard.CauseExpiry}},
		"a rule that is off":      {boxed(), off, next{}},
		"nobody's":                {boxed(unleased), policy.DefaultRules(), next{}},
		"stopped, as asked for":   {boxed(func(f *policy.Facts) { f.Lease.OnLimit, f.Observed.Resource.State = guard.ActStop, guard.StateStopped }), policy.DefaultRules(), next{}},
		"a stop":                  {boxed(func(f *policy.Facts) { f.Lease.OnLimit = guard.ActStop }), policy.DefaultRules(), next{3 * time.Hour, guard.ActStop, guard.CauseExpiry}},
		"its release":             {boxed(releasing(guard.ReleaseNoticed, guard.CauseIdle)), policy.DefaultRules(), next{30 * time.Minute, guard.ActStop, guard.CauseIdle}},
		"on its way out":          {boxed(func(f *policy.Facts) { f.Observed.Resource.State = guard.StateReleasing }), policy.DefaultRules(), next{}},
		"gone":                    {boxed(gone), policy.DefaultRules(), next{}},
		"a release that is over":  {boxed(releasing(guard.ReleaseWithdrawn, guard.CauseIdle)), policy.DefaultRules(), next{3 * time.Hour, guard.ActRelease, guard.CauseExpiry}},
		"a lease that has ended":  {boxed(func(f *policy.Facts) { f.Lease.Status = guard.LeaseGone }), policy.DefaultRules(), next{}},
		"a box nobody may act on": {boxed(func(f *policy.Facts) { f.May.GPU = false }), policy.DefaultRules(), next{3 * time.Hour, guard.ActAlert, guard.CauseExpiry}},
	} {
		card := policy.Card(c.rules, c.facts, nil)
		got := next{does: card.Does, by: card.By}
		if !card.Ends.IsZero() {
			got.in = card.Ends.Sub(zero)
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	c := policy.Card(policy.DefaultRules(), boxed(gone), nil)
	if c.State != guard.StateGone || c.Ended != guard.ByReclaim || c.Hourly.IsSet() {
		t.Errorf("gone: %+v", c)
	}
	c = policy.Card(policy.DefaultRules(), boxed(releasing(guard.ReleaseBlocked, guard.CauseExpiry, func(r *guard.Release) { r.Reason = guard.BlockPermission }), func(f *policy.Facts) {
		f.Mutes = []guard.Mute{{Kind: guard.Snooze, Subject: "lab/i-1", Until: zero.Add(time.Hour)}}
		f.Lease.Holds = []guard.Hold{{Until: zero.Add(2 * time.Hour)}}
	}), nil)
	if c.Release != guard.ReleaseBlocked || c.Blocked != guard.BlockPermission || !c.Snoozed.Equal(zero.Add(time.Hour)) || !c.Held.Equal(zero.Add(2*time.Hour)) {
		t.Errorf("blocked, held and snoozed: %+v", c)
	}
}

// TestCardDiffers: amounts and seconds are no other state, everything else is.
func TestCardDiffers(t *testing.T) {
	was := *policy.Card(policy.DefaultRules(), boxed(), []guard.Rule{guard.RuleIdleEmpty})
	for name, c := range map[string]struct {
		change          func(*guard.Card)
		differs, ticked bool
	}{
		"nothing":             {func(*guard.Card) {}, false, false},
		"later":               {func(c *guard.Card) { c.AsOf = c.AsOf.Add(time.Hour) }, false, false},
		"more spent":          {func(c *guard.Card) { c.Spent = []guard.Money{guard.MustMoney("13 USD")} }, false, true},
		"less than a cent":    {func(c *guard.Card) { c.Spent = []guard.Money{guard.MustMoney("12.001 USD")} }, false, false},
		"at least":            {func(c *guard.Card) { c.AtLeast = true }, false, true},
		"another price":       {func(c *guard.Card) { c.Hourly = guard.MustMoney("3 USD") }, false, true},
		"an unknown price":    {func(c *guard.Card) { c.Hourly = guard.Money{} }, false, true},
		"a minute later":      {func(c *guard.Card) { c.Ends = c.Ends.Add(time.Minute) }, false, false},
		"an hour later":       {func(c *guard.Card) { c.Ends = c.Ends.Add(time.Hour) }, true, false},
		"no end":              {func(c *guard.Card) { c.Ends = time.Time{} }, true, false},
		"stopped":             {func(c *guard.Card) { c.State = guard.StateStopped }, true, false},
		"another owner":       {func(c *guard.Card) { c.Owner = "bo" }, true, false},
		"a cap":               {func(c *guard.Card) { c.Budget = guard.MustMoney("20 USD") }, true, false},
		"a hold":              {func(c *guard.Card) { c.Held = zero.Add(time.Hour) }, true, false},
		"a snooze":            {func(c *guard.Card) { c.Snoozed = zero.Add(time.Hour) }, true, false},
		"a finding":           {func(c *guard.Card) { c.Open = nil }, true, false},
		"a release":           {func(c *guard.Card) { c.Release = guard.ReleaseNoticed }, true, false},
		"a block":             {func(c *guard.Card) { c.Blocked = guard.BlockClock }, true, false},
		"ended":               {func(c *guard.Card) { c.Ended = guard.ByOutside }, true, false},
		"another thing to do": {func(c *guard.Card) { c.Does = guard.ActStop }, true, false},
		"another limit":       {func(c *guard.Card) { c.By = guard.CauseBudget }, true, false},
	} {
		is := was
		c.change(&is)
		if differs, ticked := policy.Differs(was, is), policy.Ticked(was, is); differs != c.differs || ticked != c.ticked {
			t.Errorf("%s: differs %t, ticked %t; want %t, %t", name, differs, ticked, c.differs, c.ticked)
		}
	}
}

// TestAttention: the owner is mentioned where something is wanted of them, and what costs
// nothing until the morning may wait.
func TestAttention(t *testing.T) {
	noticed := releasing(guard.ReleaseNoticed, guard.CauseExpiry)
	far := func(f *policy.Facts) { f.Lease.ExpiresAt = zero.Add(72 * time.Hour) }
	for name, c := range map[string]struct {
		facts    policy.Facts
		message  guard.Message
		stage    string
		mentions bool
		waits    bool
	}{
		"a limit":               {boxed(), guard.Message{Rule: guard.RuleExpired}, "warn 1h", true, false},
		"a notice":              {boxed(noticed), guard.Message{Rule: guard.RuleExpired, Release: "r-1"}, "warn 1h", true, false},
		"half a cap, far off":   {boxed(far, capped(48*time.Hour)), guard.Message{Rule: guard.RuleBudgetWarning}, "50%", true, true},
		"half a cap, near":      {boxed(far, capped(8*time.Hour)), guard.Message{Rule: guard.RuleBudgetWarning}, "50%", true, false},
		"half a cap, unsolved":  {boxed(func(f *policy.Facts) { f.Lease.ExpiresAt = time.Time{} }), guard.Message{Rule: guard.RuleBudgetWarning}, "50%", true, false},
		"idle":                  {boxed(), guard.Message{Rule: guard.RuleIdleEmpty}, "warn", true, false},
		"underused":             {boxed(), guard.Message{Rule: guard.RuleUnderused}, "warn", true, true},
		"underused, and urgent": {boxed(), guard.Message{Rule: guard.RuleUnderused, Urgent: true}, "warn", true, false},
		"blocked":               {boxed(noticed), guard.Message{Rule: guard.RuleReleaseBlocked, Release: "r-1", Urgent: true}, "blocked permission", true, false},
		"over":                  {boxed(), guard.Message{Rule: guard.RuleIdleEmpty}, policy.StageOver, false, true},
		"over, with its stop":   {boxed(), guard.Message{Rule: guard.RuleIdleEmpty, Release: "r-1"}, policy.StageOver, false, false},
		"a receipt":             {boxed(gone), guard.Message{Release: "r-1"}, "released", false, true},
		"withdrawn":             {boxed(), guard.Message{Release: "r-1"}, "withdrawn", false, false},
		"moved":                 {boxed(noticed), guard.Message{Release: "r-1"}, "moved 1", false, false},
		"another's order":       {boxed(releasing(guard.ReleaseNoticed, guard.CausePerson, func(r *guard.Release) { r.By = "bo" })), guard.Message{Release: "r-1"}, "notice", true, false},
		"the owner's own order": {boxed(releasing(guard.ReleaseNoticed, guard.CausePerson, func(r *guard.Release) { r.By = "ana" })), guard.Message{Release: "r-1"}, "notice", false, false},
		"nobody's box":          {boxed(unleased), guard.Message{Rule: guard.RuleUnregistered}, "found", false, false},
		"a disk left behind":    {boxed(), guard.Message{Rule: guard.RuleOrphanVolume}, "orphaned", false, true},
		"a disk to be erased":   {boxed(releasing(guard.ReleaseNoticed, guard.CauseOrphan)), guard.Message{Rule: guard.RuleOrphanVolume, Release: "r-1"}, "orphaned", true, false},
		"a price that moved":    {boxed(), guard.Message{Rule: guard.RulePriceChanged}, "changed", false, true},
		"a price that is lost":  {boxed(), guard.Message{Rule: guard.RulePriceUnknown}, "unknown", false, false},
		"an account":            {policy.Facts{At: zero, Account: guard.AccountStatus{Name: "lab"}}, guard.Message{Rule: guard.RuleScopeBlind}, "blind", false, false},
		"what never came":       {boxed(func(f *policy.Facts) { f.Observed = nil }), guard.Message{Rule: guard.RuleExpectedMissing}, "missing", true, false},
		"a lease without owner": {boxed(func(f *policy.Facts) { f.Lease.Owner = "" }), guard.Message{Rule: guard.RuleExpired}, "warn 1h", false, false},
	} {
		var want []string
		if c.mentions {
			want = []string{"ana"}
		}
		if got := policy.Mentions(c.facts, c.message, c.stage); !slices.Equal(got, want) {
			t.Errorf("%s: mentions %q, want %q", name, got, want)
		}
		if got := policy.Waits(policy.DefaultRules(), c.facts, c.message, c.stage); got != c.waits {
			t.Errorf("%s: waits %t, want %t", name, got, c.waits)
		}
	}
}
