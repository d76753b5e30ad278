package policy_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"guard"
	"guard/policy"
)

var update = flag.Bool("update", false, "write what the rules say into testdata")

// zero is offset 0 of all golden cases.
var zero = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

// goldens runs a test on each file of golden cases.
func goldens(t *testing.T, test func(t *testing.T, name string, a *txtar.Archive)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden cases", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			test(t, name, a)
		})
	}
}

// TestGolden reads one file a rule. Each case is two sections, NAME/facts and
// NAME/want; facts are lines "what: key=value …" with times as offsets, want is
// every verdict of every rule.
func TestGolden(t *testing.T) {
	goldens(t, func(t *testing.T, name string, a *txtar.Archive) {
		want := map[string]string{}
		for _, f := range a.Files {
			if n, ok := strings.CutSuffix(f.Name, "/want"); ok {
				want[n] = string(f.Data)
			}
		}
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			n, ok := strings.CutSuffix(f.Name, "/facts")
			if !ok {
				continue
			}
			got := ""
			t.Run(n, func(t *testing.T) {
				rules, facts := parse(t, string(f.Data))
				got = show(policy.Evaluate(rules, facts))
				if again := show(policy.Evaluate(rules, facts)); again != got {
					t.Errorf("not deterministic:\n%s", cmp.Diff(got, again))
				}
				if diff := cmp.Diff(want[n], got); diff != "" && !*update {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
			out.Files = append(out.Files, f, txtar.File{Name: n + "/want", Data: []byte(got)})
		}
		if *update {
			if err := os.WriteFile(name, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// show is an outcome as the golden files have it.
func show(o policy.Outcome) string {
	var b strings.Builder
	for _, v := range o.Verdicts {
		fmt.Fprintf(&b, "%s %q since %s", v.Rule, v.Subject, offset(v.Since))
		if v.Urgent {
			b.WriteString(" urgent")
		}
		if v.Wastes.IsSet() {
			fmt.Fprintf(&b, " wastes %s", v.Wastes.Round())
		}
		b.WriteString("\n")
		for i, s := range v.Stages {
			if i < len(v.Stages)-1 {
				fmt.Fprintf(&b, "\tstage %s\n", s.Name)
				continue
			}
			fmt.Fprintf(&b, "\tstage %s: %s\n", s.Name, s.Title)
			for _, l := range s.Lines {
				fmt.Fprintf(&b, "\t\t%s\n", l)
			}
		}
		if a := v.Act; a != nil {
			fmt.Fprintf(&b, "\tact %s for %s due %s notice %s", a.Action, a.Cause, offset(a.Due), offset(a.Notice))
			if a.Block != "" {
				fmt.Fprintf(&b, " blocked %s: %s", a.Block, a.BlockWhy)
			}
			b.WriteString("\n")
		}
	}
	if x := o.Booking; x != nil {
		fmt.Fprintf(&b, "%s: %s\n\tlease %s of %s %s since %s by %s\n", x.Verb, x.Text, x.Lease.ID, x.Lease.Resource, x.Lease.Status, offset(x.Lease.Since()), x.Lease.UpdatedBy)
		if x.Say != nil {
			fmt.Fprintf(&b, "\ttold %s: %s\n", x.Say.Name, x.Say.Title)
			for _, l := range x.Say.Lines {
				fmt.Fprintf(&b, "\t\t%s\n", l)
			}
		}
	}
	if o.Doubt != "" {
		fmt.Fprintf(&b, "in doubt: %s\n", o.Doubt)
	}
	if o.Unlisted != "" {
		fmt.Fprintf(&b, "next once a list of its kind %s is complete\n", o.Unlisted)
	}
	if !o.Next.IsZero() {
		fmt.Fprintf(&b, "next %s\n", offset(o.Next))
	}
	return b.String()
}

func offset(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.Sub(zero).String()
}

// parse reads the facts of a case. What it does not know is a mistake in the case.
func parse(t *testing.T, text string) (policy.Rules, policy.Facts) {
	t.Helper()
	rules := policy.DefaultRules()
	var spent policy.Spend
	f := policy.Facts{At: zero, Spend: func() policy.Spend { return spent }, Deployment: "me", Configured: true, Mode: guard.Enforce, May: policy.May{GPU: true}, Stop: guard.StopSavesCompute,
		Account: guard.AccountStatus{Name: "lab", Mode: guard.Enforce, Identity: guard.Identity{ID: "acct-lab"}, Polled: zero}}
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		what, rest, _ := strings.Cut(line, ":")
		p := params(t, rest)
		switch what {
		case "at":
			f.At = p.time("offset")
		case "mode":
			f.Mode = guard.Mode(p["is"])
		case "account":
			f.Account.Failing, f.Account.Error, f.Account.Mismatch = p.time("failing"), p["error"], p["mismatch"]
			f.Account.FreshFrom, f.Account.FreshWhy, f.Account.Identity.Self = p.time("fresh"), p["why"], p["self"]
			f.Account.Outages = p.outages()
			f.Leases, _ = strconv.Atoi(p["leases"])
			f.ByHand = p["by_hand"] == "yes"
		case "scope":
			f.Scopes = append(f.Scopes, guard.ScopeStatus{Account: "lab", Kind: guard.Kind(p.or("kind", "instance")), Scope: p["name"],
				Complete: p.time("complete"), Failing: p.time("failing"), Error: p["error"], Outages: p.outages()})
		case "may":
			f.May = policy.May{GPU: p["gpu"] != "no", Tags: p.tags()}
		case "rules":
			rules.Unregistered.After = p.time("after").Sub(zero)
		case "act":
			rules.Unregistered.Act, rules.ProvisioningLong.Act = p.span("after"), p.span("after")
		case "protect":
			rules.Protect.Tags = p.tags()
		case "ceilings":
			rules.Ceilings = policy.Ceilings{TTL: p.span("ttl")}
			for _, m := range p.list("budget") {
				rules.Ceilings.Budget = append(rules.Ceilings.Budget, guard.MustMoney(m))
			}
		case "adopt":
			rules.Unregistered.Adopt = &policy.Adopt{TTL: p.span("ttl"), OnLimit: guard.Action(p["on_limit"])}
		case "veto", "snooze":
			f.Mutes = append(f.Mutes, guard.Mute{Subject: "lab/i-1", Kind: guard.MuteKind(what), Rule: guard.Rule(p["rule"]), Until: p.time("until"),
				By: p.or("by", "ana"), Reason: p["reason"]})
		case "expected":
			l := p.expected(t, "l-1")
			f.Lease, f.Awaiting = &l, &policy.Awaiting{Name: "lab/l-1"}
		case "other":
			f.Awaiting.Others = append(f.Awaiting.Others, p.expected(t, "l-2"))
		case "stray":
			f.Awaiting.Seen = append(f.Awaiting.Seen, p.stray(t))
		case "instance", "volume", "snapshot", "image", "address", "filesystem":
			o := p.observed(t, guard.Kind(what))
			f.Observed = &o
		case "burn":
			f.Burn, f.BurnAtLeast = nil, p["at_least"] != ""
			for _, m := range p.list("amount") {
				f.Burn = append(f.Burn, guard.MustMoney(m))
			}
		case "ended":
			l := p.lease(t)
			l.ID, l.Status = p.or("lease", "l-0"), guard.LeaseStatus(p.or("status", "gone"))
			f.Ended = append(f.Ended, policy.Ended{Observed: p.observed(t, guard.Instance), Lease: l})
		case "stopped_billing":
			rules.StoppedBilling = policy.StoppedBilling{Warn: p.span("warn"), Act: p.span("act"), Then: guard.Action(p["then"])}
		case "disk":
			o := p.observed(t, guard.Volume)
			f.Source = &o
		case "leased":
			l := p.lease(t)
			f.InstanceLease = &l
		case "orphans":
			kind := guard.Kind(p["kind"])
			rules.Orphans[kind] = policy.Orphan{After: p.span("after"), Act: p.span("act"), Then: guard.Action(p["then"])}
		case "per":
			rule := guard.Rule(p["rule"])
			per := rules.Per[rule]
			per.Off, per.Match.Tags, per.Match.Owner = p["off"] != "", p.tags(), p.list("owner")
			per.Match.Purpose, per.Match.Account = p.list("purpose"), p.list("account")
			rules.Per[rule] = per
		case "lost":
			f.Observed.LostTags = append(f.Observed.LostTags, guard.LostTag{Key: p["key"], Value: p["value"], Since: p.time("since")})
		case "poll":
			f.Poll = p.time("every").Sub(zero)
		case "parent":
			o := p.observed(t, guard.Instance)
			f.Instance = &o
		case "lease":
			l := p.lease(t)
			f.Lease = &l
		case "plan":
			f.Plan = p.plan(rules)
		case "spent":
			spent.Totals = append(spent.Totals, guard.MustMoney(p["amount"]))
			spent.AtLeast = p["at_least"] != ""
		case "crossing":
			n, _ := strconv.Atoi(p["percent"])
			spent.Crossings = append(spent.Crossings, policy.Crossing{Percent: n, At: p.time("at")})
		case "activity":
			f.Activity = p.activity()
		case "judgement":
			p.judgement(&rules)
		case "heard":
			f.Heard = p.time("offset")
		case "release":
			f.Release = &guard.Release{State: guard.ReleaseNoticed, NoticedAt: p.time("noticed"), Cause: guard.Cause(p["cause"]),
				Action: guard.Action(p["action"]), IntendedAt: p.time("intended")}
		case "segment":
			f.Metered.Segments = append(f.Metered.Segments, guard.Segment{State: guard.StateRunning, Rate: rate(t, p["rate"]), From: p.time("from"), To: p.time("to")})
		case "odd":
			r := rate(t, p["rate"])
			f.Metered.Odd, f.Metered.OddSince = &r, p.time("since")
		case "clock":
			off, _ := time.ParseDuration(p["off"])
			moved, _ := time.ParseDuration(p["moved"])
			f.Clock = &policy.Clock{Off: off, Since: p.time("since"), DoubtSince: p.time("doubt"), Moved: moved, MovedAt: p.time("at")}
			f.Account = guard.AccountStatus{}
		default:
			if !p.prepaid(t, what, &rules, &f) {
				t.Fatalf("unknown line %q", line)
			}
		}
	}
	if f.Observed == nil && f.Lease == nil && f.Clock == nil && len(f.Scopes) == 0 && f.Account.Failing.IsZero() && len(f.Account.Outages) == 0 && f.Account.Mismatch == "" && f.Wallet == nil && f.Account.Bill.Count == 0 {
		t.Fatal("a case about nothing")
	}
	return rules, f
}

type fields map[string]string

// params reads key=value and key="a value"; a bare word is an offset.
func params(t *testing.T, s string) fields {
	t.Helper()
	p := fields{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		key, rest, ok := strings.Cut(s, "=")
		if !ok || strings.Contains(key, " ") {
			key, rest, _ = strings.Cut(s, " ")
			if _, err := time.ParseDuration(key); err == nil {
				p["offset"] = key
			} else {
				p["is"] = key
			}
			s = rest
			continue
		}
		if strings.HasPrefix(rest, `"`) {
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("%s: %v", s, err)
			}
			p[key], _ = strconv.Unquote(q)
			s = rest[len(q):]
			continue
		}
		p[key], s, _ = strings.Cut(rest, " ")
	}
	return p
}

func (p fields) or(key, otherwise string) string {
	if v := p[key]; v != "" {
		return v
	}
	return otherwise
}

func (p fields) time(key string) time.Time {
	d, err := time.ParseDuration(p[key])
	if err != nil {
		return time.Time{}
	}
	return zero.Add(d)
}

// outages reads outages="1h-1h12m,2h-2h12m".
func (p fields) outages() (o []guard.Outage) {
	for _, s := range p.list("outages") {
		from, until, _ := strings.Cut(s, "-")
		o = policy.Recovered(o, fields{"at": from}.time("at"), fields{"at": until}.time("at")) // the first is the oldest
	}
	return o
}

// tags reads tags="k=v,k2=v2".
func (p fields) tags() map[string]string {
	if p["tags"] == "" {
		return nil
	}
	m := map[string]string{}
	for _, kv := range strings.Split(p["tags"], ",") {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = v
	}
	return m
}

func (p fields) id(kind guard.Kind) guard.ResourceID {
	name := "i-1"
	if kind != guard.Instance {
		name = string(kind[:1]) + "-1"
	}
	return guard.ResourceID{Account: "lab", Kind: kind, ID: p.or("id", name)}
}

func (p fields) observed(t *testing.T, kind guard.Kind) guard.Observed {
	o := guard.Observed{Identity: "acct-lab", FirstSeen: p.time("seen"), Seen: p.time("seen"), DetachedAt: p.time("detached"), FreedAt: p.time("freed")}
	o.Resource = guard.Resource{ID: p.id(kind), Name: p["name"], State: guard.State(p.or("state", "running")), Created: p.time("created"),
		Changed: p.time("changed"), Ended: guard.How(p["ended"]), Tags: p.tags(), Bills: guard.Yes, StopSaves: guard.StopEffect(p["stop"])}
	if kind == guard.Instance {
		o.Resource.GPUs, _ = strconv.Atoi(p.or("gpus", "1"))
		o.Resource.HasGPU = guard.TriOf(o.Resource.GPUs > 0)
		if p["gpus"] == "unknown" {
			o.Resource.HasGPU = guard.Unknown
		}
		o.Resource.GPUModel = "H100"
	}
	o.Resource.Source, o.Resource.UsedBy, o.Resource.UsesUntold = p["source"], p.list("used_by"), p["uses"] == "untold"
	o.Resource.TagsUntold, o.Resource.RawState, o.Resource.ReleaseProtected = p["tags"] == "untold", p["raw"], guard.Tri(p["protected"])
	if o.Resource.TagsUntold {
		o.Resource.Tags = nil
	}
	if size := p["size"]; size != "" {
		o.Resource.SizeGB, _ = strconv.ParseInt(size, 10, 64)
	}
	if p["rate"] == "free" {
		o.Resource.Rate, o.Resource.Bills = guard.Rate{Amount: guard.ZeroMoney("USD"), Per: time.Hour, Free: true}, guard.No
	} else {
		o.Resource.Rate = rate(t, p["rate"])
	}
	o.Resource.Group = p["group"]
	if request := p["request"]; request != "" {
		o.Resource.Parent = guard.ResourceID{Account: "lab", Kind: guard.SpotRequest, ID: request}
	}
	if on := p["on"]; on != "" {
		o.Instance = guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: on}
		if p["detached"] == "" {
			o.Resource.Parent = o.Instance
		}
	}
	for _, c := range strings.Split(p["children"], ",") {
		if id, goes, ok := strings.Cut(c, "="); ok {
			o.Resource.Children = append(o.Resource.Children, guard.Child{ID: guard.ResourceID{Account: "lab", Kind: guard.Volume, ID: id}, GoesWithInstance: guard.Tri(goes)})
		}
	}
	if p["absent"] != "" {
		o.Absent = []guard.Reading{{At: p.time("absent"), Verdict: guard.VerdictAbsent, ByID: true}}
	}
	if how := p["gone"]; how != "" {
		o.Gone = &guard.Gone{At: p.time("gone_at"), ProvenAt: p.time("proven"), How: guard.How(how), Proof: guard.ProofTerminal, Estimated: p["estimated"] != ""}
	}
	return o
}

func rate(t *testing.T, s string) guard.Rate {
	t.Helper()
	if s == "" {
		return guard.Rate{}
	}
	r, err := guard.ParseRate(s)
	if err != nil {
		t.Fatal(err)
	}
	r.Source = "api"
	return r
}

func (p fields) lease(t *testing.T) guard.Lease {
	l := guard.Lease{ID: "l-1", Resource: p.id(guard.Instance), Purpose: p.or("purpose", "lora 70b"), Owner: "ana", RegisteredAt: zero,
		ExpiresAt: p.time("expires"), OnLimit: guard.Action(p.or("on_limit", "release")), Status: guard.LeaseStatus(p.or("status", "active")),
		Grace: 10 * time.Minute, UpdatedAt: zero, UpdatedBy: "ana", Protected: p["protected_by"] != "", ProtectedBy: p["protected_by"], NoGPUOK: p["no_gpu_ok"] != ""}
	for _, id := range p.list("earlier") {
		l.Earlier = append(l.Earlier, guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: id})
	}
	l.Adopted, l.ResourceCreated = p["adopted"] != "", p.time("created")
	if g := p["grace"]; g != "" {
		l.Grace, _ = time.ParseDuration(g)
	}
	if b := p["budget"]; b != "" {
		l.Budget = guard.MustMoney(b)
	}
	if h := p.time("held"); !h.IsZero() {
		l.Holds = []guard.Hold{{Until: h, By: "ana", Since: zero}}
	}
	if at := p.time("updated"); !at.IsZero() {
		l.UpdatedAt, l.UpdatedBy = at, p.or("by", "ana")
	}
	if at := p.time("ended"); !at.IsZero() {
		l.EndedAt = at
	}
	l.Price = rate(t, p["price"])
	return l
}

// expected is a lease of what nobody has seen yet.
func (p fields) expected(t *testing.T, id string) guard.Lease {
	l := p.lease(t)
	l.ID, l.Resource.ID, l.Status = id, "", guard.LeaseExpected
	l.Expect = &guard.Expect{Name: p["name"], From: zero, Until: p.time("until")}
	return l
}

func (p fields) stray(t *testing.T) policy.Stray {
	s := policy.Stray{Observed: p.observed(t, guard.Instance)}
	if was := p.time("was"); !was.IsZero() {
		s.Was = &guard.Lease{ID: "l-0", Resource: s.Observed.Resource.ID, ResourceCreated: s.Observed.Resource.Created, RegisteredAt: was, Status: guard.LeaseGone}
	}
	return s
}

func (p fields) span(key string) time.Duration {
	d, _ := time.ParseDuration(p[key])
	return d
}

func (p fields) list(key string) []string {
	return strings.FieldsFunc(p[key], func(r rune) bool { return r == ',' })
}

func (p fields) plan(rules policy.Rules) guard.Plan {
	plan := guard.Plan{Lease: "l-1", SolvedAt: p.time("solved")}
	if d := p.time("due"); !d.IsZero() {
		plan.Deadlines = []guard.Deadline{{Reason: guard.DeadlineBudget, Limit: p.time("limit"), Due: d, Lead: p.time("limit").Sub(d), Stood: zero, Basis: p["basis"]}}
		if c := p.time("candidate"); !c.IsZero() {
			plan.Deadlines[0].Candidate = &guard.Candidate{Limit: c, Due: c}
		}
	}
	if due := p.time("ceiling"); !due.IsZero() {
		d, _ := rules.Ceiling(guard.Lease{RegisteredAt: zero}, nil, 0, zero)
		d.Reason, d.Limit, d.Due, d.Stood, d.Basis = guard.DeadlineCeiling, due, due, zero, p.or("basis", d.Basis)
		if limit := p.time("ceiling_limit"); !limit.IsZero() {
			d.Limit, d.Lead = limit, limit.Sub(due)
		}
		plan.Deadlines = append(plan.Deadlines, d)
	}
	if u := p["unknown"]; u != "" {
		plan.Unknown = slices.Collect(strings.SplitSeq(u, ","))
	}
	return plan
}
