package soak

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plantAll is the environment variable that has all bugs planted, or a share of them:
// 0/3 is the first of each three. Without it only the quick ones are. A child has it unset.
const plantAll = "GUARD_PLANTED"

// plant is a bug as people make it: in a file, a text that stands there once is
// replaced, and the test must then fail and name the law.
type plant struct {
	law            int
	bug            string
	file, old, new string // file from the module's root
	pkg, test      string
	quick          bool
}

const here = "./daemon/simulate/soak"

// readFails is where presence keeps a read that failed apart from one that says no.
const readFails = "\tcase l.Verdict != guard.VerdictFound && l.Verdict != guard.VerdictAbsent:\n\t\treturn VerdictUnread, true\n\tcase l.Verdict == guard.VerdictAbsent:\n"

var plants = []plant{
	{law: 1, bug: "what has no price is left out of the sum", file: "daemon/meter/plan.go",
		old: "next.Unknown = spend.Lines(spend.Lacks(f.told, lease.Budget.Currency()))", new: "_ = spend.Lacks", pkg: here, test: "TestLaw1UnknownIsNeverZero"},
	{law: 2, bug: "a failed read counts as absent", file: "policy/presence/presence.go",
		old: readFails, new: "\tcase l.Verdict != guard.VerdictFound:\n",
		pkg: here, test: "TestLaw2AbsenceNeedsProof"},
	{law: 2, bug: "a failed read counts as absent", file: "policy/presence/presence.go",
		old: readFails, new: "\tcase l.Verdict != guard.VerdictFound:\n",
		pkg: "./policy/presence", test: "TestLaw2OnlyProofEnds", quick: true},
	{law: 2, bug: "whoever was asked vouches for it", file: "policy/presence/presence.go",
		old: "return identity != \"\" && identity == o.Identity", new: "return identity != \"\"", pkg: "./policy/presence", test: "TestLaw2OnlyProofEnds"},
	{law: 3, bug: "an intent that a restart finds is never carried out", file: "policy/release/step.go",
		old: "if !s.looked() || in.At.Before(s.r.NextAt) {", new: "if !s.looked() || in.At.Before(s.r.NextAt) || s.r.Calls < s.r.Attempt {", pkg: here, test: "TestLaw3WriteAhead"},
	{law: 3, bug: "a look from before the call tells what it did", file: "policy/release/step.go",
		old: "&& (s.r.Attempt == 0 || l.At.After(s.r.IntendedAt))", new: "", pkg: here, test: "TestLaw3WriteAhead"},
	{law: 4, bug: "accepted is done", file: "policy/release/step.go",
		old: "\t\ts.accepted(\"the provider accepted it\")\n", new: "\t\ts.accepted(\"the provider accepted it\")\n\t\ts.move(guard.ReleaseDone, \"the provider accepted it\")\n",
		pkg: here, test: "TestLaw4AcceptedIsNotDone"},
	{law: 3, bug: "what is paid ahead is paid at each reading", file: "policy/spend/lump.go",
		old: "\tcase i >= 0:\n", new: "\tcase i > 0:\n", pkg: here, test: "TestLaw3ALumpIsCountedOnce"},
	{law: 4, bug: "what is not told any more was never paid", file: "policy/spend/lump.go",
		old: "\tif l.IsZero() {\n\t\treturn f.share(paid)", new: "\tif l.IsZero() {\n\t\treturn nil", pkg: here, test: "TestLaw4WhatIsPaidStaysPaid"},
	{law: 4, bug: "a bill is a price", file: "policy/spend/billed.go",
		old: "\tb, n := f.in.Bill, len(f.life)\n", new: "\tb, n := f.in.Bill, len(f.life)\n\tif n > 0 && b.Last.Amount.IsPositive() {\n" +
			"\t\tf.life[n-1].Rate = guard.Rate{Amount: b.Last.Amount, Per: b.Last.To.Sub(b.Last.From), Source: \"bill\"}\n\t}\n",
		pkg: here, test: "TestLaw4WhatIsPaidStaysPaid"},
	{law: 5, bug: "a failed read stops nothing", file: "policy/release/step.go",
		old: "return s.r.Cause.HardCap() && l.Immutable && !l.Complete.IsZero() && s.in.At.Sub(l.Complete) <= blindFor", new: "return l.Immutable",
		pkg: here, test: "TestLaw5LookAgain"},
	{law: 6, bug: "the lead is taken off in the wrong unit", file: "policy/spend/crossing.go",
		old: "Due: cross.Add(-lead), Lead: lead}", new: "Due: cross.Add(-lead * 60), Lead: lead}", pkg: here, test: "TestLaw6OnlyALimitDestroys"},
	{law: 6, bug: "a busy CPU is no work", file: "policy/activity/read.go",
		old: "r.CPUCores.V >= s.Base.Or(0)+b.CPUCores", new: "r.CPUCores.V >= s.Base.Or(0)+1000*b.CPUCores", pkg: here, test: "TestLaw6AGuessStopsOnlyWhatRests"},
	{law: 6, bug: "a heartbeat is no work", file: "policy/activity/read.go",
		old: "job:      r.HeartbeatAge.OK", new: "job:      !r.HeartbeatAge.OK", pkg: here, test: "TestLaw6AGuessStopsOnlyWhatRests"},
	{law: 1, bug: "what is not told is 0", file: "policy/activity/gpu.go",
		old: "case l.util.OK, profiled && g.Engine.OK:", new: "case l.util.OK, profiled && g.Engine.OK, !g.MIG:", pkg: here, test: "TestLaw1WhatIsNotToldIsNotIdle"},
	{law: 6, bug: "nobody asks what uses a snapshot", file: "policy/orphan_left.go",
		old: "case len(r.UsedBy) > 0:", new: "case len(r.UsedBy) > 1<<20:", pkg: here, test: "TestLaw6DataIsKept"},
	{law: 6, bug: "a disk is left behind since it is known, not since it is free", file: "policy/orphan_left.go",
		old: "l := left{since: latest(o.DetachedAt, o.FreedAt),", new: "l := left{since: o.FirstSeen,", pkg: here, test: "TestLaw6DataIsKept"},
	{law: 8, bug: "a counter that jumps is a giant transfer", file: "policy/egress/step.go",
		old: "return float64(bytes) <= rate*(took.Seconds()+1)", new: "return rate*(took.Seconds()+1) >= 0", pkg: here, test: "TestLaw8ACounterThatJumps"},
	{law: 7, bug: "the bound is doubled", file: "policy/surprise.go",
		old: "return own < max(2,", new: "return own < 2*max(2,", pkg: here, test: "TestLaw7SurpriseIsBounded"},
	{law: 7, bug: "the bound is doubled", file: "policy/surprise.go",
		old: "return own < max(2,", new: "return own < 2*max(2,", pkg: "./policy", test: "TestLaw7NoMoreThanTheBound", quick: true},
	{law: 8, bug: "nobody notices that guard was away", file: "daemon/decide/clock.go",
		old: "case !c.away.IsZero():", new: "case c.away.After(now):", pkg: here, test: "TestLaw8OneOddFactNeverShoots"},
	{law: 8, bug: "the second reading may be the first", file: "policy/spend/settle.go",
		old: "if !s.Doubtful && !s.Read.Before(c.First.Add(Agree*s.Poll)) {", new: "if !s.Doubtful {", pkg: "./policy/spend", test: "TestLaw8AMoveIsReadTwice", quick: true},
	{law: 9, bug: "the grace counts forward from the limit", file: "policy/limit.go",
		old: "notice := due.Add(-lead)", new: "notice := due", pkg: here, test: "TestLaw9PeopleHearFirst"},
	{law: 9, bug: "a message that was answered 429 is taken for sent", file: "daemon/notify/deliver.go",
		old: "\tif failed == nil {\n\t\treturn nil, c.take(ctx, at, p, posted)", new: "\tif failed == nil || fateOf(failed, thread) == throttled {\n\t\treturn nil, c.take(ctx, at, p, posted)",
		pkg: here, test: "TestLaw9PeopleHearFirst"},
	{law: 9, bug: "a balance is told as low an hour too late", file: "policy/balance_low.go",
		old: "if tell := empty.Add(-warn); f.At.Before(tell) {", new: "if tell := empty.Add(-warn + time.Hour); f.At.Before(tell) {", pkg: here, test: "TestLaw9ABalanceIsToldInTime"},
	{law: 9, bug: "a balance that does not show a payment yet is not low any more", file: "policy/balance_low.go",
		old: " || w.At().Before(w.Paid.Add(drawnWithin)) {", new: " {", pkg: here, test: "TestLaw9ABalanceIsToldInTime"},
	{law: 10, bug: "what is paid again is not foreseen", file: "policy/spend/lump.go",
		old: "if n == 0 || l.Renews != guard.Yes ||", new: "if n == 0 || l.Renews == guard.Yes ||", pkg: here, test: "TestLaw10ACapKnowsWhatIsPaidAgain"},
	{law: 10, bug: "a hold is forgotten", file: "policy/limit.go",
		old: "until := f.Lease.HeldUntil(f.At)\n", new: "until := f.Lease.HeldUntil(f.At.Add(1 << 60))\n", pkg: here, test: "TestLaw10SecondThoughtsHaveAnEnd"},
	{law: 10, bug: "a veto is forgotten", file: "policy/mute.go",
		old: "m.Kind == guard.Veto && m.Rule == rule && m.At(f.At)", new: "m.Kind == guard.Veto && m.Rule == rule && m.At(f.At.Add(1<<60))", pkg: here, test: "TestLaw10SecondThoughtsHaveAnEnd"},
	{law: 10, bug: "a ceiling heeds a hold", file: "policy/limit.go",
		old: "if l.cause == guard.CauseCeiling {\n\t\treturn time.Time{}", new: "if l.cause == \"\" {\n\t\treturn time.Time{}", pkg: here, test: "TestLaw10ACeilingIsHard"},
	{law: 10, bug: "a ceiling heeds a hold", file: "policy/limit.go",
		old: "if l.cause == guard.CauseCeiling {\n\t\treturn time.Time{}", new: "if l.cause == \"\" {\n\t\treturn time.Time{}", pkg: "./policy", test: "TestLaw10NothingTakesALeasePastACeiling", quick: true},
	{law: 10, bug: "a ceiling does what the lease asks for", file: "policy/limit.go",
		old: "asked = guard.ActRelease", new: "asked = f.Lease.OnLimit", pkg: "./policy", test: "TestLaw10NothingTakesALeasePastACeiling", quick: true},
	{law: 10, bug: "a new lease of the same box begins anew", file: "policy/ceiling.go",
		old: "l.FirstRegistered = old.Since()", new: "l.FirstRegistered = l.RegisteredAt", pkg: "./policy", test: "TestLaw10NothingTakesALeasePastACeiling", quick: true},
	{law: 11, bug: "what guard may not touch is adopted", file: "policy/unregistered.go",
		old: "case f.Untouchable() != \"\":", new: "case f.Untouchable() == \"-\":", pkg: "./policy", test: "TestLaw11AdoptsOnlyWhatItMayTouch", quick: true},
	{law: 11, bug: "the deployment tag is forgotten", file: "policy/may.go",
		old: "d := r.Tags[guard.TagDeployment]; d != deployment {", new: "d := r.Tags[guard.TagDeployment]; d == deployment {", pkg: here, test: "TestLaw11NeverAnothers"},
	{law: 11, bug: "observe mode acts", file: "policy/limit.go",
		old: "enforce := f.Mode == guard.Enforce && action != guard.ActAlert", new: "enforce := f.Mode != \"\" && action != guard.ActAlert", pkg: "./policy", test: "TestLaw11WatchingOnlyWatches"},
	{law: 12, bug: "moves are not journaled", file: "daemon/release/step.go",
		old: "for _, m := range out.Moves {", new: "for _, m := range out.Moves[:0] {", pkg: here, test: "TestLaw12EveryDecisionExplainsItself"},
}

// TestPlantedBugs: each law's property sees the bugs that break it. With
// GUARD_PLANTED=all every bug is planted, each in a copy of its file that only the
// child's compiler sees.
func TestPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the daemon with bugs in it, which is not short")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	turn, of := 0, 1
	if share := os.Getenv(plantAll); share != "" && share != "all" {
		if n, err := fmt.Sscanf(share, "%d/%d", &turn, &of); n != 2 || err != nil || of < 1 || turn < 0 || turn >= of {
			t.Fatalf("%s is %q: write all, or a share such as 0/3", plantAll, share)
		}
	}
	laws := map[int]bool{}
	for i, p := range plants {
		laws[p.law] = true
		t.Run(fmt.Sprintf("law %d/%s/%s", p.law, p.bug, p.pkg), func(t *testing.T) {
			overlay := p.put(t, root)
			switch {
			case !p.quick && os.Getenv(plantAll) == "":
				t.Skipf("set %s=all to plant it", plantAll)
			case i%of != turn:
				t.Skip("it is not its turn")
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-run", "^"+p.test+"$", p.pkg,
				"-rapid.nofailfile", "-rapid.shrinktime=1s", "-rapid.seed=1") // the same tries each time
			cmd.Dir, cmd.Env = root, append(os.Environ(), plantAll+"=")
			out, err := cmd.CombinedOutput()
			switch text := string(out); {
			case strings.Contains(text, "[build failed]"), strings.Contains(text, "[setup failed]"):
				t.Fatalf("the bug does not compile:\n%s", text)
			case err == nil:
				t.Errorf("%s passes with this bug in %s:\n%s", p.test, p.file, text)
			case !strings.Contains(text, fmt.Sprintf("law %d broken", p.law)):
				t.Errorf("%s fails, and does not name law %d:\n%s", p.test, p.law, text)
			}
		})
	}
	for law := 1; law <= 12; law++ {
		if !laws[law] {
			t.Errorf("no bug is planted for law %d", law)
		}
	}
}

// put writes the copy with the bug and the file that tells the compiler of it.
func (p plant) put(t *testing.T, root string) (overlay string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(p.file))
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), p.old); n != 1 {
		t.Fatalf("%s has %q %d times; plant the bug anew", p.file, p.old, n)
	}
	text := strings.Replace(string(source), p.old, p.new, 1)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.go")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: bad}})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	for name, data := range map[string][]byte{bad: []byte(text), overlay: list} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
