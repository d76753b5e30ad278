package presence

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

var t0 = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

func at(d time.Duration) guard.Instant {
	return guard.Instant{Wall: t0.Add(d), Elapsed: 1000*time.Hour + d}
}

var id = guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}

func box() guard.Observed {
	return guard.Observed{Resource: guard.Resource{ID: id, State: guard.StateRunning, Created: t0.Add(-time.Hour)},
		Identity: "acct-1", FirstSeen: t0.Add(-59 * time.Minute), Seen: t0}
}

func found(state guard.State) guard.Lookup {
	r := guard.Resource{ID: id, State: state, Created: t0.Add(-time.Hour)}
	return guard.Lookup{ID: id, Verdict: guard.VerdictFound, Resource: r}
}

var (
	missing = guard.Lookup{ID: id, Verdict: guard.VerdictAbsent}
	failed  = guard.Lookup{ID: id, Verdict: guard.VerdictUnknown, Err: errors.New("503")}
)

// TestLostTags: what a reading leaves out or changes is lost since then, until it is
// back as it was; later readings do not make it younger, and it is forgotten at last.
func TestLostTags(t *testing.T) {
	o := box()
	o.Resource.Tags = map[string]string{"keep": "true", "team": "x"}
	for _, step := range []struct {
		at   time.Duration
		tags map[string]string
		want string
	}{
		{0, map[string]string{"keep": "true", "team": "x"}, "[]"},
		{time.Minute, nil, "[keep=true 1m0s team=x 1m0s]"},
		{2 * time.Minute, map[string]string{"keep": "no", "team": "x"}, "[keep=true 1m0s]"},
		{3 * time.Minute, nil, "[keep=true 1m0s keep=no 3m0s team=x 3m0s]"},
		{4 * time.Minute, map[string]string{"keep": "true", "team": "x"}, "[keep=no 3m0s]"},
		{5 * time.Minute, map[string]string{"team": "x"}, "[keep=no 3m0s keep=true 5m0s]"},
		{64 * time.Minute, map[string]string{"team": "x"}, "[keep=true 5m0s]"},
		{65 * time.Minute, map[string]string{"team": "x"}, "[]"},
	} {
		fresh := o.Resource
		fresh.Tags = step.tags
		o.LostTags, o.Resource = LostTags(o, fresh, t0.Add(step.at)), fresh
		got := []string{}
		for _, l := range o.LostTags {
			got = append(got, l.Key+"="+l.Value+" "+l.Since.Sub(t0).String())
		}
		if fmt.Sprint(got) != step.want {
			t.Errorf("at %s: %s, want %s", step.at, got, step.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	other := found(guard.StateRunning)
	other.Resource.Created = t0.Add(-time.Minute)
	null := guard.Lookup{ID: id, Verdict: guard.VerdictFound}
	for _, c := range []struct {
		name     string
		lookup   guard.Lookup
		identity string
		want     Verdict
	}{
		{"alive", found(guard.StateRunning), "acct-1", VerdictPresent},
		{"a state that nobody knows is alive", found("hibernating-ish"), "acct-1", VerdictPresent},
		{"on its way out is alive", found(guard.StateReleasing), "acct-1", VerdictPresent},
		{"terminal", found(guard.StateGone), "acct-1", VerdictEnding},
		{"absent", missing, "acct-1", VerdictMissing},
		{"failed", failed, "acct-1", VerdictUnread},
		{"a verdict left empty", guard.Lookup{ID: id}, "acct-1", VerdictUnread},
		{"404 as someone else", missing, "acct-2", VerdictOtherIdentity},
		{"404 as nobody", missing, "", VerdictOtherIdentity},
		{"null object", null, "acct-1", VerdictNullObject},
		{"another thing", other, "acct-1", VerdictNotSame},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, j := Look(box(), c.lookup, c.identity, at(time.Minute), Case{HasGet: true})
			if j.Verdict != c.want {
				t.Errorf("got %s, want %s", j.Verdict, c.want)
			}
			// Read again and again: nothing but the two proofs ever ends it.
			for i := 2; i < 20; i++ {
				o, j = Look(o, c.lookup, c.identity, at(time.Duration(i)*time.Minute), Case{HasGet: true})
			}
			proven := c.want == VerdictEnding || c.want == VerdictMissing
			if (o.Gone != nil) != proven {
				t.Errorf("gone: %+v", o.Gone)
			}
		})
	}
}

func TestTwoReadsThirtySecondsApart(t *testing.T) {
	for _, l := range []guard.Lookup{missing, found(guard.StateGone)} {
		o, j := Look(box(), l, "acct-1", at(time.Minute), Case{HasGet: true})
		if want := t0.Add(90 * time.Second); !j.NextAt.Equal(want) {
			t.Errorf("next reading at %v, want %v", j.NextAt, want)
		}
		o, j = Look(o, l, "acct-1", at(time.Minute+29*time.Second), Case{HasGet: true})
		if o.Gone != nil {
			t.Fatal("gone after 29 s")
		}
		o, _ = Look(o, l, "acct-1", at(time.Minute+30*time.Second), Case{HasGet: true})
		if o.Gone == nil || !o.Gone.At.Equal(t0.Add(time.Minute)) || !o.Gone.Estimated || len(o.Gone.Readings) != 2 {
			t.Fatalf("got %+v", o.Gone)
		}
	}
}

func TestASteppedWallClockIsNoWait(t *testing.T) {
	o, _ := Look(box(), missing, "acct-1", at(time.Minute), Case{HasGet: true})
	stepped := at(time.Minute + time.Second)
	stepped.Wall = stepped.Wall.Add(2 * time.Hour)
	if o, _ = Look(o, missing, "acct-1", stepped, Case{HasGet: true}); o.Gone != nil {
		t.Fatal("a step of the wall clock proved an absence")
	}
}

func TestAliveBetweenVoidsWhatWasBefore(t *testing.T) {
	o, _ := Look(box(), missing, "acct-1", at(time.Minute), Case{HasGet: true})
	o, _ = Look(o, found(guard.StateRunning), "acct-1", at(2*time.Minute), Case{HasGet: true})
	if o, _ = Look(o, missing, "acct-1", at(3*time.Minute), Case{HasGet: true}); o.Gone != nil {
		t.Fatal("proved by readings on both sides of a sighting")
	}
}

func TestMixedReadingsProveNothingTogether(t *testing.T) {
	o, _ := Look(box(), found(guard.StateGone), "acct-1", at(time.Minute), Case{HasGet: true})
	if o, _ = Look(o, missing, "acct-1", at(2*time.Minute), Case{HasGet: true}); o.Gone != nil {
		t.Fatal("one terminal and one absent reading are neither proof")
	}
	o, _ = Look(o, missing, "acct-1", at(3*time.Minute), Case{HasGet: true})
	if o.Gone == nil || !o.Gone.At.Equal(t0.Add(time.Minute)) {
		t.Fatalf("got %+v, want an end at the terminal reading", o.Gone)
	}
}

func TestYoungThingsMayBeInvisible(t *testing.T) {
	o := box()
	o.Resource.Created, o.FirstSeen = t0, t0.Add(time.Second)
	j := Judgement{}
	for d := 10 * time.Second; d < Settled; d += 10 * time.Second {
		if o, j = Look(o, missing, "acct-1", at(d), Case{HasGet: true}); j.Verdict != VerdictTooYoung {
			t.Fatalf("at %v: %s", d, j.Verdict)
		}
	}
	if !j.NextAt.Equal(t0.Add(Settled)) {
		t.Errorf("next reading at %v", j.NextAt)
	}
	if n := len(o.Absent); n > 2 {
		t.Errorf("%d readings kept", n)
	}
	o, _ = Look(o, missing, "acct-1", at(Settled), Case{HasGet: true})
	if o.Gone != nil {
		t.Fatal("a reading from before counted")
	}
	if o, _ = Look(o, missing, "acct-1", at(Settled+Apart), Case{HasGet: true}); o.Gone == nil {
		t.Fatal("never proven")
	}
	// What was not found before that may have lived, and billed.
	if !o.Gone.At.Equal(t0.Add(Settled)) {
		t.Errorf("gone since %v, which was too soon to mean it", o.Gone.At)
	}
	// Registration counts where it is later, a terminal state needs no patience.
	if o, _ := twice(missing, Case{HasGet: true, Registered: t0}); o.Gone != nil {
		t.Error("gone a minute after registration")
	}
	if o, _ := twice(found(guard.StateGone), Case{HasGet: true, Registered: t0}); o.Gone == nil {
		t.Error("a terminal state is terminal at any age")
	}
}

func twice(l guard.Lookup, c Case) (guard.Observed, Judgement) {
	o, _ := Look(box(), l, "acct-1", at(time.Minute), c)
	return Look(o, l, "acct-1", at(2*time.Minute), c)
}

func TestListings(t *testing.T) {
	o := box()
	for d := time.Minute; d < time.Hour; d += time.Minute {
		if o, _ = Unlisted(o, "acct-1", at(d), Case{HasGet: true}); o.Gone != nil {
			t.Fatal("a listing proved an absence although single things can be read")
		}
	}
	o = box()
	o, j := Unlisted(o, "acct-1", at(time.Minute), Case{})
	if j.Verdict != VerdictUnlisted || !j.NextAt.Equal(t0.Add(time.Minute+ListApart)) {
		t.Errorf("got %+v", j)
	}
	if o, _ = Unlisted(o, "acct-2", at(7*time.Minute), Case{}); o.Gone != nil {
		t.Fatal("someone else's listing proved an absence")
	}
	if o, _ = Unlisted(o, "acct-1", at(time.Minute+ListApart), Case{}); o.Gone == nil || o.Gone.Proof != guard.ProofAbsence {
		t.Fatalf("got %+v", o.Gone)
	}
}

// Where nothing can be read by ID, what answers to one is a complete listing.
func TestAnAnswerOutOfAListing(t *testing.T) {
	o, j := Look(box(), missing, "acct-1", at(time.Minute), Case{})
	if j.Verdict != VerdictUnlisted || !j.NextAt.Equal(t0.Add(time.Minute+ListApart)) || o.Absent[0].ByID {
		t.Errorf("got %+v, %+v", j, o.Absent)
	}
	if o, _ = Look(o, missing, "acct-1", at(time.Minute+Apart), Case{}); o.Gone != nil {
		t.Fatalf("two listings %s apart are a proof: %+v", Apart, o.Gone)
	}
	if o, _ = Look(o, found(guard.StateGone), "acct-1", at(2*time.Minute), Case{}); o.Gone != nil {
		t.Fatalf("got %+v", o.Gone)
	}
	if o, _ = Unlisted(o, "acct-1", at(time.Minute+ListApart), Case{}); o.Gone == nil || o.Gone.Proof != guard.ProofAbsence {
		t.Fatalf("got %+v", o.Gone)
	}
	o, _ = Look(box(), found(guard.StateGone), "acct-1", at(time.Minute), Case{})
	if o, j = Look(o, found(guard.StateGone), "acct-1", at(time.Hour), Case{}); o.Gone != nil || j.Verdict != VerdictShown {
		t.Errorf("got %+v, %+v", j, o.Gone)
	}
}

func TestWhenAndByWhom(t *testing.T) {
	ended := func(how guard.How, changed time.Duration) guard.Lookup {
		l := found(guard.StateGone)
		l.Resource.Ended = how
		if changed != 0 {
			l.Resource.Changed = t0.Add(changed)
		}
		return l
	}
	for _, c := range []struct {
		name   string
		lookup guard.Lookup
		spot   bool
		issued bool
		how    guard.How
		at     time.Duration
		est    bool
		proof  string
	}{
		{"the provider's time", ended(guard.ByReclaim, 40*time.Second), true, false, guard.ByReclaim, 40 * time.Second, false, guard.ProofTerminal},
		{"no time told", ended(guard.ByPlatform, 0), false, false, guard.ByPlatform, time.Minute, true, guard.ProofTerminal},
		{"a time in the future is not believed", ended("", time.Hour), false, false, guard.ByOutside, time.Minute, true, guard.ProofTerminal},
		{"nor one long before it was last alive", ended("", -30*time.Minute), false, false, guard.ByOutside, time.Minute, true, guard.ProofTerminal},
		{"our release", ended(guard.ByOutside, 40*time.Second), false, true, guard.ByRelease, 40 * time.Second, false, guard.ProofTerminal},
		{"reclaimed while our release was on its way", ended(guard.ByReclaim, 40*time.Second), true, true, guard.ByReclaim, 40 * time.Second, false, guard.ProofTerminal},
		{"vanished", missing, false, false, guard.ByOutside, time.Minute, true, guard.ProofAbsence},
		{"vanished spot", missing, true, false, guard.ByReclaim, time.Minute, true, guard.ProofAbsence},
		{"vanished after our release", missing, true, true, guard.ByRelease, time.Minute, true, guard.ProofAbsence},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := box()
			o.Resource.Spot = c.spot
			k := Case{HasGet: true, Issued: c.issued}
			o, _ = Look(o, c.lookup, "acct-1", at(time.Minute), k)
			o, _ = Look(o, c.lookup, "acct-1", at(2*time.Minute), k)
			g := o.Gone
			if g == nil || g.How != c.how || !g.At.Equal(t0.Add(c.at)) || g.Estimated != c.est || g.Proof != c.proof {
				t.Errorf("got %+v", g)
			}
		})
	}
}

// TestWhatWasToBeDeletedThen: what vanished when the provider had said that it deletes it
// was ended by the provider, where nothing else is told; not what vanished before, and not
// what was there after that.
func TestWhatWasToBeDeletedThen(t *testing.T) {
	for _, c := range []struct {
		ends   time.Duration
		issued bool
		how    guard.How
	}{
		{time.Minute, false, guard.ByPlatform},
		{30 * time.Second, false, guard.ByPlatform},
		{time.Hour, false, guard.ByOutside},
		{-time.Hour, false, guard.ByOutside},
		{time.Minute, true, guard.ByRelease},
	} {
		o := box()
		o.Resource.PlatformEnds.At = t0.Add(c.ends)
		k := Case{HasGet: true, Issued: c.issued}
		o, _ = Look(o, missing, "acct-1", at(time.Minute), k)
		o, _ = Look(o, missing, "acct-1", at(2*time.Minute), k)
		if o.Gone == nil || o.Gone.How != c.how {
			t.Errorf("%+v: %+v", c, o.Gone)
		}
	}
}

func TestSame(t *testing.T) {
	a := guard.Resource{ID: id, Created: t0}
	for _, c := range []struct {
		created time.Time
		want    bool
	}{{t0, true}, {t0.Add(900 * time.Millisecond), true}, {t0.Add(-2 * time.Second), true}, {time.Time{}, true}, {t0.Add(time.Minute), false}} {
		if got := Same(a, guard.Resource{ID: id, Created: c.created}); got != c.want {
			t.Errorf("%v: got %v", c.created, got)
		}
	}
	if Same(a, guard.Resource{Created: t0}) {
		t.Error("an answer about nothing is the same")
	}
}

// Whatever the readings, gone always has two readings of one kind behind it,
// under the recorded identity, far enough apart, with no sighting between.
func TestAbsenceNeedsProof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Case{HasGet: rapid.Bool().Draw(t, "get"), Registered: t0.Add(time.Duration(rapid.IntRange(-30, 10).Draw(t, "registered")) * time.Minute)}
		o := box()
		var terminal, absent, listed []time.Duration
		now := time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(t, "readings") {
			now += time.Duration(rapid.IntRange(1, 200).Draw(t, "pause")) * time.Second
			identity := rapid.SampledFrom([]string{"acct-1", "acct-1", "acct-1", "acct-2", ""}).Draw(t, "identity")
			counts := identity == "acct-1"
			switch rapid.SampledFrom([]string{"alive", "gone", "absent", "failed", "unlisted", "null"}).Draw(t, "reading") {
			case "alive":
				if o, _ = Look(o, found(guard.StateRunning), identity, at(now), c); counts {
					terminal, absent, listed = nil, nil, nil
				}
			case "gone":
				if o, _ = Look(o, found(guard.StateGone), identity, at(now), c); counts && c.HasGet {
					terminal = append(terminal, now)
				}
			case "absent":
				switch o, _ = Look(o, missing, identity, at(now), c); {
				case counts && !c.HasGet:
					listed = append(listed, now)
				case counts && now >= c.Registered.Sub(t0)+Settled:
					absent = append(absent, now)
				}
			case "failed":
				o, _ = Look(o, failed, identity, at(now), c)
			case "null":
				o, _ = Look(o, guard.Lookup{ID: id, Verdict: guard.VerdictFound}, identity, at(now), c)
			case "unlisted":
				if o, _ = Unlisted(o, identity, at(now), c); counts && !c.HasGet {
					listed = append(listed, now)
				}
			}
			apart := func(rs []time.Duration, d time.Duration) bool { return len(rs) > 1 && rs[len(rs)-1]-rs[0] >= d }
			proven := apart(terminal, Apart) || apart(absent, Apart) ||
				(apart(listed, ListApart) && listed[len(listed)-1] >= c.Registered.Sub(t0)+Settled)
			if (o.Gone != nil) != proven {
				t.Fatalf("at %v: gone %+v, but terminal %v, absent %v, listed %v", now, o.Gone, terminal, absent, listed)
			}
			if proven {
				return
			}
		}
	})
}

func TestWhoNeedsItIsNotForgottenWhileNobodyTells(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	used := guard.Resource{UsedBy: []string{"img-1"}}
	untold := Known(used, guard.Resource{UsesUntold: true})
	if !slices.Equal(untold.UsedBy, used.UsedBy) || !untold.UsesUntold {
		t.Errorf("untold: used by %v, untold %t", untold.UsedBy, untold.UsesUntold)
	}
	if told := Known(used, guard.Resource{UsesUntold: true, UsedBy: []string{"img-2"}}); !slices.Equal(told.UsedBy, []string{"img-2"}) {
		t.Errorf("told: used by %v", told.UsedBy)
	}
	if free := Known(used, guard.Resource{}); free.UsedBy != nil {
		t.Errorf("free: used by %v", free.UsedBy)
	}
	o := guard.Observed{Resource: used}
	if got := FreedAt(o, untold, at); !got.IsZero() {
		t.Errorf("untold: freed at %v", got)
	}
	if got := FreedAt(o, guard.Resource{}, at); !got.Equal(at) {
		t.Errorf("freed at %v, want %v", got, at)
	}
	o = guard.Observed{FreedAt: at}
	if got := FreedAt(o, guard.Resource{}, at.Add(time.Hour)); !got.Equal(at) {
		t.Errorf("an hour later: freed at %v, want %v", got, at)
	}
	if got := FreedAt(o, used, at); !got.IsZero() {
		t.Errorf("used again: freed at %v", got)
	}
}

// Some providers tell of a stop by a release as of one of their own; one of theirs for
// another reason, and one after it ran, is not ours.
func TestOurStopStaysOurs(t *testing.T) {
	ours := guard.Resource{State: guard.StateStopped, Ended: guard.ByRelease}
	stopped := func(how guard.How) guard.Resource {
		return guard.Resource{State: guard.StateStopped, Ended: how}
	}
	for _, c := range []struct {
		known, fresh guard.Resource
		want         guard.How
	}{
		{ours, stopped(guard.ByReclaim), guard.ByRelease},
		{ours, stopped(""), guard.ByRelease},
		{guard.Resource{State: guard.StateRunning, Ended: guard.ByRelease}, stopped(guard.ByReclaim), guard.ByRelease},
		{ours, stopped(guard.ByPlatform), guard.ByPlatform},
		{ours, guard.Resource{State: guard.StateRunning}, ""},
		{guard.Resource{State: guard.StateRunning}, stopped(guard.ByReclaim), guard.ByReclaim},
	} {
		if got := Known(c.known, c.fresh).Ended; got != c.want {
			t.Errorf("%s by %q, then %s by %q: got %q, want %q", c.known.State, c.known.Ended, c.fresh.State, c.fresh.Ended, got, c.want)
		}
	}
}
