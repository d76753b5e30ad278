package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/configs"
)

// expectation is one line of expect. main is the key that says what it is about.
type expectation struct {
	node configs.Node
	main string
	expectKeys

	window   window
	low      guard.Money // of spend
	high     guard.Money
	least    uint64 // of egress: bytes
	most     uint64
	is, not  []string
	args     []string // of exit
	exitIs   []int
	expires  *time.Duration // of has: the offset
	wantTime time.Time
}

type expectKeys struct {
	Released     word  `yaml:"released"`
	Gone         word  `yaml:"gone"`
	State        word  `yaml:"state"`
	Finding      word  `yaml:"finding"`
	Closed       word  `yaml:"closed"`
	Message      word  `yaml:"message"`
	Posts        word  `yaml:"posts"`
	Resource     word  `yaml:"resource"`
	Calls        word  `yaml:"calls"`
	CallsInOrder words `yaml:"calls_in_order"`
	Spend        word  `yaml:"spend"`
	Lease        word  `yaml:"lease"`
	Deadline     word  `yaml:"deadline"`
	Exit         word  `yaml:"exit"`
	Egress       word  `yaml:"egress"`

	ID        word         `yaml:"id"`
	About     word         `yaml:"about"`
	Between   configs.Node `yaml:"between"`
	By        when         `yaml:"by"`
	At        when         `yaml:"at"`
	Count     number       `yaml:"count"`
	AtLeast   number       `yaml:"at_least"`
	AtMost    number       `yaml:"at_most"`
	Never     bool         `yaml:"never"`
	Spaced    span         `yaml:"spaced"`
	How       word         `yaml:"how"`
	Estimated *bool        `yaml:"estimated"`
	Is        words        `yaml:"is"`
	Not       words        `yaml:"not"`
	Reason    word         `yaml:"reason"`
	Contains  words        `yaml:"contains"`
	Urgent    *bool        `yaml:"urgent"`
	Unknown   bool         `yaml:"unknown"`
	OrUnknown bool         `yaml:"or_unknown"`
	Has       *hasPart     `yaml:"has"`
	User      word         `yaml:"user"`
}

// hasPart is what a lease must have.
type hasPart struct {
	Purpose   *word           `yaml:"purpose"`
	Owner     *word           `yaml:"owner"`
	ExpiresAt *when           `yaml:"expires_at"`
	Budget    *amount         `yaml:"budget"`
	Status    words           `yaml:"status"`
	OnLimit   *word           `yaml:"on_limit"`
	Grace     *span           `yaml:"grace"`
	Tags      map[string]word `yaml:"tags"`
	Protected *bool           `yaml:"protected"`
	EndedHow  *word           `yaml:"ended_how"`
	Estimated *bool           `yaml:"estimated"`
}

// window is a stretch of the story, both ends included.
type window struct {
	from, to time.Duration
	set      bool
	exact    bool // an `at`
}

func (w window) has(at time.Duration) bool { return !w.set || at >= w.from && at <= w.to }

func (w window) String() string {
	switch {
	case !w.set:
		return "in the whole story"
	case w.exact:
		return "at " + offsetText(w.to)
	case w.from == beginning:
		return "by " + offsetText(w.to)
	}
	return "between " + offsetText(w.from) + " and " + offsetText(w.to)
}

// beginning is before everything that can happen in a story.
const beginning = -longest

// mains are the keys that say what an expectation is about, with the others that
// may stand beside each. message comes before finding, which may stand beside it.
var mains = []struct{ key, beside string }{
	{"message", "about finding contains between by at count at_least at_most never urgent"},
	{"posts", "between by at count at_least at_most never spaced"},
	{"released", "between by at count at_least at_most never"},
	{"gone", "between by at count at_least at_most never how estimated"},
	{"calls_in_order", "id between by"},
	{"calls", "id between by at count at_least at_most never spaced"},
	{"deadline", "at between reason"},
	{"state", "is not reason at between by count at_least at_most never"},
	{"finding", "id between by at count at_least at_most never"},
	{"closed", "id between by at count at_least at_most never"},
	{"resource", "at by is not"},
	{"spend", "at between unknown or_unknown"},
	{"egress", "at between unknown"},
	{"lease", "at has"},
	{"exit", "at is user"},
}

// The words of the page that a story may name, and those whose feature is built.
var (
	pageFindings = strings.Fields(`expired budget_warning budget_exceeded unregistered expected_missing idle_empty
		idle_resident idle_blind parked hung underused stopped_billing provisioning_long orphan_volume orphan_snapshot
		orphan_image orphan_address orphan_filesystem reclaimed relaunched egress_spike price_changed price_unknown
		unit_mismatch charge_mismatch renews_soon balance_low provider_reclaim signals_lost scope_blind
		account_unreachable account_mismatch release_blocked release_stalled clock_jump
		protect_ambiguous ceiling_reached ceiling_blind phantom counter_jump`)
	builtFindings = []string{
		string(guard.RuleExpired), string(guard.RuleBudgetWarning), string(guard.RuleBudgetExceeded), string(guard.RuleUnregistered),
		string(guard.RuleReclaimed), string(guard.RuleOrphanVolume), string(guard.RulePriceUnknown), string(guard.RulePriceChanged),
		string(guard.RuleUnitMismatch), string(guard.RuleScopeBlind), string(guard.RuleAccountUnreachable), string(guard.RuleAccountMismatch),
		string(guard.RuleReleaseBlocked), string(guard.RuleReleaseStalled), string(guard.RuleClockJump), string(guard.RuleProtectAmbiguous),
		string(guard.RuleCeilingReached), string(guard.RuleCeilingBlind), string(guard.RuleExpectedMissing),
		string(guard.RuleIdleEmpty), string(guard.RuleIdleResident), string(guard.RuleIdleBlind), string(guard.RuleParked),
		string(guard.RuleHung), string(guard.RuleUnderused), string(guard.RulePhantom), string(guard.RuleSignalsLost),
		string(guard.RuleStoppedBilling), string(guard.RuleProvisioningLong), string(guard.RuleOrphanSnapshot), string(guard.RuleOrphanImage),
		string(guard.RuleOrphanAddress), string(guard.RuleOrphanFilesystem), string(guard.RuleRelaunched), string(guard.RuleEgressSpike),
		string(guard.RuleCounterJump),
		string(guard.RuleBalanceLow), string(guard.RuleProviderReclaim), string(guard.RuleRenewsSoon), string(guard.RuleChargeMismatch),
	}
	releaseStates = strings.Fields("none planned noticed intended issued blocked released withdrawn")
	blockReasons  = []string{string(guard.BlockPermission), string(guard.BlockProtected), string(guard.BlockAccount), string(guard.BlockProvider),
		string(guard.BlockNotSame), string(guard.BlockSurprise), string(guard.BlockClock), string(guard.BlockUnreadable), string(guard.BlockPerson)}
	deadlineReasons = []string{string(guard.DeadlineExpiry), string(guard.DeadlineBudget), string(guard.DeadlineCeiling), string(guard.DeadlineIdle), string(guard.DeadlineEgress)}
	laterReasons    = strings.Fields("team_budget off_hours")
	hows            = []string{string(guard.ByRelease), string(guard.ByReclaim), string(guard.ByOutside), string(guard.ByPlatform)}
	leaseStatuses   = []string{string(guard.LeaseExpected), string(guard.LeaseActive), string(guard.LeaseStopped), string(guard.LeaseGone), string(guard.LeaseReleased)}
)

// readExpectations decodes expect.
func readExpectations(n configs.Node, start time.Time, length time.Duration) []*expectation {
	if n.IsZero() {
		return nil
	}
	var out []*expectation
	for _, item := range n.Items() {
		e := &expectation{node: item}
		if !item.IsGroup() {
			item.Problem("is %s: write {released: lab/i-1, between: [10h, 10h2m]}", item.Shape())
			continue
		}
		if item.Decode(&e.expectKeys) && e.check(start, length) {
			out = append(out, e)
		}
	}
	return out
}

// check reports what is wrong with one expectation, and resolves its times.
func (e *expectation) check(start time.Time, length time.Duration) bool {
	n := e.node
	var beside []string
	for _, m := range mains {
		if n.Has(m.key) {
			e.main, beside = m.key, strings.Fields(m.beside)
			break
		}
	}
	if e.main == "" {
		var keys []string
		for _, m := range mains {
			keys = append(keys, m.key)
		}
		n.Problem("says nothing to expect: write one of %s", strings.Join(keys, ", "))
		return false
	}
	ok := true
	wrong := func(key, format string, args ...any) {
		n.At(key, format, args...)
		ok = false
	}
	for _, f := range n.Fields() {
		if f.Key != e.main && !contains(beside, f.Key) {
			wrong(f.Key, "does not go with %s: with that go %s", e.main, strings.Join(beside, ", "))
		}
	}
	for _, id := range []struct{ key, value string }{{"released", string(e.Released)}, {"gone", string(e.Gone)}, {"state", string(e.State)},
		{"resource", string(e.Resource)}, {"spend", string(e.Spend)}, {"lease", string(e.Lease)}, {"deadline", string(e.Deadline)},
		{"egress", string(e.Egress)}} {
		if _, _, fine := guard.ParseID(id.value); id.key == e.main && !fine {
			wrong(id.key, "%q is not ACCOUNT/ID, such as lab/i-1", clip(id.value))
		}
	}
	e.times(start, length, wrong)
	e.checkWords(wrong)
	if n := boolCount(e.Count.set, e.AtLeast.set || e.AtMost.set, e.Never); n > 1 {
		wrong(e.main, "write one of count, never, or at_least and at_most")
	}
	return ok
}

// times resolves the window or the moment.
func (e *expectation) times(start time.Time, length time.Duration, wrong func(key, format string, args ...any)) {
	if boolCount(!e.Between.IsZero() && e.main != "spend" && e.main != "egress" && e.main != "deadline", e.By.set, e.At.set) > 1 {
		wrong(e.main, "write one of between, by and at")
		return
	}
	switch {
	case e.By.set:
		e.window = window{from: beginning, to: e.By.from(start), set: true}
	case e.At.set:
		e.window = window{from: e.At.from(start), to: e.At.from(start), set: true, exact: true}
	}
	if e.Between.IsZero() {
		if e.main == "deadline" && e.Reason == "" {
			wrong(e.main, "between is missing: say when the deadline must be")
		}
		if e.main == "egress" && !e.Unknown {
			wrong(e.main, `between is missing: write between: ["10GB", "11GB"], or unknown: true`)
		}
		if e.main == "spend" && !e.Unknown {
			wrong(e.main, `between is missing: write between: ["2395 CNY", "2400 CNY"], or unknown: true`)
		}
	} else {
		e.between(start, wrong)
	}
	if e.window.exact && length > 0 && e.window.to > length {
		wrong("at", "%s is after the story's end at %s", offsetText(e.window.to), offsetText(length))
	}
}

func (e *expectation) between(start time.Time, wrong func(key, format string, args ...any)) {
	items := e.Between.Items()
	if len(items) != 2 {
		wrong("between", "write two ends, such as [10h, 10h2m]")
		return
	}
	if e.main == "egress" {
		var low, high size
		if items[0].Decode(&low) && items[1].Decode(&high) {
			if e.least, e.most = uint64(low), uint64(high); e.least > e.most {
				wrong("between", "write the smaller size first")
			}
		}
		return
	}
	if e.main == "spend" {
		var low, high amount
		if items[0].Decode(&low) && items[1].Decode(&high) {
			e.low, e.high = low.Money, high.Money
			if c, err := e.low.Cmp(e.high); err != nil || c > 0 {
				wrong("between", "write the smaller amount first, both in one currency")
			}
		}
		return
	}
	var low, high when
	if !items[0].Decode(&low) || !items[1].Decode(&high) {
		return
	}
	w := window{from: low.from(start), to: high.from(start), set: true}
	if w.from > w.to {
		wrong("between", "write the earlier time first")
	}
	if e.main == "deadline" {
		// The window is when the deadline lies; at is when it is looked at.
		e.expires = &w.from
		e.wantTime = start.Add(w.to)
		return
	}
	e.window = w
}

func (e *expectation) checkWords(wrong func(key, format string, args ...any)) {
	e.is, e.not = e.Is, e.Not
	each := func(key string, list []string, known []string) {
		for _, w := range list {
			if !contains(known, w) {
				wrong(key, "%q is none of %s", clip(w), strings.Join(known, ", "))
			}
		}
	}
	one := func(key, w string, known, later []string) {
		switch {
		case w == "" || contains(known, w):
		case contains(later, w):
			wrong(key, "%s is not supported yet", w)
		default:
			each(key, []string{w}, known)
		}
	}
	unbuilt := slices.DeleteFunc(slices.Clone(pageFindings), func(f string) bool { return contains(builtFindings, f) })
	one("finding", string(e.Finding), builtFindings, unbuilt)
	one("closed", string(e.Closed), builtFindings, unbuilt)
	one("how", string(e.How), hows, nil)
	switch e.main {
	case "state":
		each("is", e.is, releaseStates)
		each("not", e.not, releaseStates)
		one("reason", string(e.Reason), blockReasons, nil)
		if len(e.is) == 0 && len(e.not) == 0 && e.Reason == "" {
			wrong("state", "say what it is: is: blocked, or not: released")
		}
	case "deadline":
		one("reason", string(e.Reason), deadlineReasons, laterReasons)
	case "resource":
		known := []string{"running", "stopped", "gone"}
		each("is", e.is, known)
		each("not", e.not, known)
		if len(e.is)+len(e.not) == 0 {
			wrong("resource", "say what it is: is: stopped")
		}
	case "message", "posts":
		channel := string(e.Posts)
		if e.main == "message" {
			channel = string(e.Message)
		}
		if !isService(channel) && !contains([]string{"slack", "log"}, channel) && (e.main != "posts" || channel != heart) {
			wrong(e.main, "%q is none of slack, log, url:1, url:2 and so on", clip(channel))
		}
	case "calls":
		callName(e.node, "calls", string(e.Calls))
	case "calls_in_order":
		for _, c := range e.CallsInOrder {
			callName(e.node, "calls_in_order", c)
		}
	case "lease":
		if e.Has == nil {
			wrong("lease", "has is missing: write has: {status: active}")
		} else {
			each("has", e.Has.Status, leaseStatuses)
		}
	case "exit":
		e.checkExit(wrong)
	}
}

func (e *expectation) checkExit(wrong func(key, format string, args ...any)) {
	var err error
	if e.args, err = splitWords(string(e.Exit)); err != nil {
		wrong("exit", "%v", err)
		return
	}
	checkProgram(e.node, "exit", e.args)
	for _, s := range e.is {
		var n number
		if err := n.UnmarshalText([]byte(s)); err != nil {
			wrong("is", "an exit status is a number: %v", err)
			continue
		}
		e.exitIs = append(e.exitIs, n.n)
	}
	if len(e.is) == 0 {
		wrong("exit", "is is missing: say which exit status, such as is: 1")
	}
}

func boolCount(of ...bool) int {
	n := 0
	for _, b := range of {
		if b {
			n++
		}
	}
	return n
}

// String is the expectation in words, for a failure.
func (e *expectation) String() string {
	var b strings.Builder
	what := map[string]string{"released": string(e.Released), "gone": string(e.Gone), "state": string(e.State), "finding": string(e.Finding),
		"closed": string(e.Closed), "message": string(e.Message), "posts": string(e.Posts), "resource": string(e.Resource),
		"calls": string(e.Calls), "calls_in_order": strings.Join(e.CallsInOrder, ", "), "spend": string(e.Spend), "lease": string(e.Lease),
		"deadline": string(e.Deadline), "exit": string(e.Exit), "egress": string(e.Egress)}
	fmt.Fprintf(&b, "%s: %s", e.main, what[e.main])
	for _, f := range e.node.Fields() {
		if f.Key != e.main {
			fmt.Fprintf(&b, ", %s: %s", f.Key, brief(f.Value))
		}
	}
	return b.String()
}

// brief is a value as it is written, on one line.
func brief(n configs.Node) string {
	switch {
	case n.IsList():
		var parts []string
		for _, i := range n.Items() {
			parts = append(parts, brief(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.IsGroup():
		var parts []string
		for _, f := range n.Fields() {
			parts = append(parts, f.Key+": "+brief(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	s, _ := n.Text()
	return s
}
