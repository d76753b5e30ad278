package fake

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/providers"
)

// story is a cloud, its adapter and a context at a time of it.
type story struct {
	*testing.T
	c *Cloud
	p *Provider
}

func tell(t *testing.T, s Script) story {
	t.Helper()
	c, err := NewCloud(s)
	if err != nil {
		t.Fatal(err)
	}
	return story{t, c, c.Provider()}
}

func (s story) at(d time.Duration) context.Context {
	return guard.WithInstant(s.Context(), s.c.At(d))
}

func (s story) list(d time.Duration, kind guard.Kind) []guard.Resource {
	s.Helper()
	inv, err := s.p.List(s.at(d), providers.Query{Kinds: []guard.Kind{kind}})
	if err != nil {
		s.Fatal(err)
	}
	var out []guard.Resource
	for _, r := range inv.Results {
		if r.Err != nil {
			s.Fatalf("%s: %v", r.Scope, r.Err)
		}
		out = append(out, r.Resources...)
	}
	return out
}

func (s story) states(d time.Duration, kind guard.Kind) map[string]guard.State {
	s.Helper()
	out := map[string]guard.State{}
	for _, r := range s.list(d, kind) {
		out[r.ID.ID] = r.State
	}
	return out
}

func (s story) get(d time.Duration, kind guard.Kind, id string) guard.Lookup {
	return s.p.Get(s.at(d), s.c.ID(kind, id))[0]
}

func (s story) want(what string, got, want any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (s story) spend(id, want string) {
	s.Helper()
	got, _ := s.c.Spend(id)
	w, _ := new(big.Rat).SetString(want)
	if got == nil || got.Cmp(w) != 0 {
		s.Errorf("%s has cost %v at %s, want %s", id, got, s.c.Now().Format(time.TimeOnly), want)
	}
}

type states = map[string]guard.State

func TestWhatTheAdapterTells(t *testing.T) {
	s := tell(t, Lab())
	r := s.get(0, guard.Instance, "i-1").Resource
	h, _ := r.Rate.Hourly()
	s.want("i-1", map[string]any{
		"name": r.Name, "state": r.State, "gpus": r.GPUs, "has": r.HasGPU, "model": r.GPUModel, "rate": h.String(), "bills": r.Bills,
		"created": r.Created, "team": r.Tags["team"], "stop": r.StopSaves, "protected": r.ReleaseProtected, "children": r.Children,
	}, map[string]any{
		"name": "trainer", "state": guard.StateRunning, "gpus": 8, "has": guard.Yes, "model": "H100", "rate": "240.00 CNY", "bills": guard.Yes,
		"created": DefaultStart.Add(-10 * time.Minute), "team": "nlp", "stop": guard.StopSavesCompute, "protected": guard.No,
		"children": []guard.Child{{ID: s.c.ID(guard.Volume, "v-0"), GoesWithInstance: guard.Yes}, {ID: s.c.ID(guard.Volume, "v-1"), GoesWithInstance: guard.No}},
	})
	v := s.get(0, guard.Volume, "v-1").Resource
	s.want("v-1's parent", v.Parent, s.c.ID(guard.Instance, "i-1"))
	h, _ = v.Rate.Hourly()
	s.want("v-1's rate", h.String(), "0.239726027397 CNY") // 500 × 0.35 / 730
	web := s.get(0, guard.Instance, "i-3").Resource
	s.want("i-3", []guard.Tri{web.HasGPU, web.ReleaseProtected, web.StopProtected}, []guard.Tri{guard.No, guard.Yes, guard.Yes})
	s.want("a stranger", s.get(0, guard.Instance, "i-9").Verdict, guard.VerdictAbsent)
	s.want("the wrong kind", s.get(0, guard.Volume, "i-1").Verdict, guard.VerdictAbsent)
	id, err := s.p.Identity(s.at(0))
	s.want("identity", id, guard.Identity{ID: "acct-1", Strong: true})
	s.want("error", err, nil)
	inv, _ := s.p.List(s.at(time.Hour), providers.Query{Kinds: []guard.Kind{guard.Instance}})
	s.want("server time", inv.ServerTime, DefaultStart.Add(time.Hour))
	s.want("truths", s.p.Truths().ReleaseLead, 30*time.Second)
}

func TestReleaseTakesItsTimeAndBillsUntilGone(t *testing.T) {
	sc := Lab()
	sc.ReleaseTakes, sc.Lag.Disappears = 45*time.Second, time.Minute
	s := tell(t, sc)
	id := s.c.ID(guard.Instance, "i-1")
	if err := s.p.Release(s.at(20*time.Minute), id, providers.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.p.Release(s.at(20*time.Minute+10*time.Second), id, providers.ReleaseOptions{}); err != nil {
		t.Fatalf("a second release: %v", err)
	}
	l := s.get(20*time.Minute+44*time.Second, guard.Instance, "i-1")
	s.want("before", []any{l.Resource.State, l.Resource.Bills, s.c.Truth("i-1")}, []any{guard.StateReleasing, guard.Yes, TruthRunning})
	l = s.get(20*time.Minute+45*time.Second, guard.Instance, "i-1")
	s.want("after", []any{l.Verdict, l.Resource.State, l.Resource.Bills, s.c.Truth("i-1")}, []any{guard.VerdictFound, guard.StateGone, guard.No, TruthGone})
	s.want("since when", l.Resource.Changed, DefaultStart.Add(20*time.Minute+45*time.Second))
	s.want("gone", s.c.Gone("i-1"), DefaultStart.Add(20*time.Minute+45*time.Second))
	s.want("listed still", s.states(21*time.Minute+44*time.Second, guard.Instance)["i-1"], guard.StateGone)
	s.want("and then not", s.get(21*time.Minute+45*time.Second, guard.Instance, "i-1").Verdict, guard.VerdictAbsent)
	s.want("volumes", s.states(22*time.Minute, guard.Volume), states{"v-1": guard.StateRunning, "v-2": guard.StateRunning})
	s.want("v-1 hangs on", s.get(22*time.Minute, guard.Volume, "v-1").Resource.Parent, guard.ResourceID{})
	s.spend("i-1", "123") // 30 min 45 s at 240 an hour
	s.want("calls", len(s.c.CallsOf(CallRelease, "i-1")), 2)
	if err := s.p.Release(s.at(time.Hour), id, providers.ReleaseOptions{}); err != nil {
		t.Errorf("a release of what is gone: %v", err)
	}
	if err := s.p.Release(s.at(time.Hour), s.c.ID(guard.Volume, "v-1"), providers.ReleaseOptions{}); err != nil {
		t.Error(err)
	}
	s.want("a volume's end is a delete", len(s.c.CallsOf(CallDelete, "v-1")), 1)
	s.c.Advance(DefaultStart.Add(2 * time.Hour))
	s.want("v-1", s.c.Truth("v-1"), TruthGone)
}

func TestWhatHangsOnAnInstanceIsInUse(t *testing.T) {
	s := tell(t, Lab())
	disk := s.c.ID(guard.Volume, "v-1")
	s.want("attached", errors.Is(s.p.Release(s.at(0), disk, providers.ReleaseOptions{}), guard.ErrConflict), true)
	if err := s.c.Do(Event{ID: "v-1", Detach: true}); err != nil {
		t.Fatal(err)
	}
	s.want("detached", s.p.Release(s.at(time.Minute), disk, providers.ReleaseOptions{}), nil)
}

func TestATombstoneStandsAllItsTimeFromWhenItShows(t *testing.T) {
	sc := Lab()
	sc.Lag = Lag{Disappears: time.Minute, State: 20 * time.Second}
	sc.Timeline = []Event{{At: time.Hour, ID: "i-1", Reclaim: &Reclaim{}}}
	s := tell(t, sc)
	s.want("behind the truth", s.states(time.Hour+19*time.Second, guard.Instance)["i-1"], guard.StateRunning)
	s.want("shown", s.states(time.Hour+20*time.Second, guard.Instance)["i-1"], guard.StateGone)
	s.want("for a minute", s.states(time.Hour+79*time.Second, guard.Instance)["i-1"], guard.StateGone)
	s.want("and then not", s.get(time.Hour+80*time.Second, guard.Instance, "i-1").Verdict, guard.VerdictAbsent)
}

func TestLag(t *testing.T) {
	sc := Lab()
	sc.Lag = Lag{Appears: 30 * time.Second, State: 20 * time.Second}
	sc.Timeline = []Event{
		{At: time.Minute, Create: &Resource{ID: "i-9"}},
		{At: 2 * time.Minute, ID: "i-1", State: "frozen"},
	}
	s := tell(t, sc)
	s.want("not yet", s.get(89*time.Second, guard.Instance, "i-9").Verdict, guard.VerdictAbsent)
	s.want("but it is there", s.c.Truth("i-9"), TruthRunning)
	s.want("now", s.get(90*time.Second, guard.Instance, "i-9").Verdict, guard.VerdictFound)
	s.want("old state", s.get(139*time.Second, guard.Instance, "i-1").Resource.State, guard.StateRunning)
	r := s.get(140*time.Second, guard.Instance, "i-1").Resource
	s.want("new state", []any{r.State, r.RawState, r.Bills}, []any{guard.StateUnknown, "frozen", guard.Yes})
}

func TestReclaim(t *testing.T) {
	sc := Lab()
	sc.Timeline = []Event{
		{At: time.Hour, ID: "i-2", Reclaim: &Reclaim{Lingers: 63 * time.Minute}},
		{At: time.Hour, ID: "i-1", Reclaim: &Reclaim{Stop: true}},
	}
	s := tell(t, sc)
	r := s.get(2*time.Hour, guard.Instance, "i-2").Resource
	s.want("tombstone", []any{r.State, r.Ended, r.Changed}, []any{guard.StateGone, guard.ByReclaim, DefaultStart.Add(time.Hour)})
	s.want("its end", s.get(time.Hour+63*time.Minute, guard.Instance, "i-2").Verdict, guard.VerdictAbsent)
	s.want("its disk", s.c.Truth("v-2"), TruthRunning)
	r = s.get(3*time.Hour, guard.Instance, "i-1").Resource
	s.want("stopped", []any{r.State, r.Ended, r.Bills}, []any{guard.StateStopped, guard.ByReclaim, guard.No})
}

func TestStopEffects(t *testing.T) {
	for effect, want := range map[guard.StopEffect]struct {
		bills guard.Tri
		spend string
	}{
		guard.StopSavesNothing: {guard.Yes, "520"}, guard.StopSavesCompute: {guard.No, "280"}, guard.StopSavesAll: {guard.No, "280"},
	} {
		sc := Lab()
		sc.StopEffect = effect
		s := tell(t, sc)
		if err := s.p.Stop(s.at(time.Hour), s.c.ID(guard.Instance, "i-1")); err != nil {
			t.Fatal(err)
		}
		r := s.get(2*time.Hour, guard.Instance, "i-1").Resource
		s.want(string(effect), []any{r.State, r.Bills, r.StopSaves, s.c.Truth("i-1")}, []any{guard.StateStopped, want.bills, effect, TruthStopped})
		s.spend("i-1", want.spend)
		err := s.p.Stop(s.at(2*time.Hour), s.c.ID(guard.Instance, "i-3"))
		s.want("protected", errors.Is(err, guard.ErrProtected), true)
	}
	sc := Lab()
	sc.StopEffect = guard.StopUnsupported
	s := tell(t, sc)
	err := s.p.Stop(s.at(0), s.c.ID(guard.Instance, "i-1"))
	s.want("unsupported", []any{errors.Is(err, guard.ErrUnsupported), len(s.c.CallsOf(CallStop, ""))}, []any{true, 0})

	sc = Lab()
	sc.Resources[0].StoppedRate = &Rate{Amount: "1.5", Per: "hour"}
	s = tell(t, sc)
	_ = s.p.Stop(s.at(0), s.c.ID(guard.Instance, "i-1"))
	s.want("a rate while stopped", s.get(time.Hour, guard.Instance, "i-1").Resource.Bills, guard.Yes)
	s.spend("i-1", "41.5")
}

func TestMeter(t *testing.T) {
	sc := Script{
		Account: "m", Billing: Billing{Granularity: time.Minute, Minimum: 10 * time.Minute}, ReleaseTakes: AtOnce,
		Resources: []Resource{
			{ID: "i-1", Rate: &Rate{Amount: "60", Per: "hour"}},
			{ID: "i-2", GPUs: 8, Rate: &Rate{Amount: "2", Per: "hour", PerGPU: true}},
			{ID: "i-3"},
			{ID: "v-1", Kind: guard.Volume, SizeGB: 730, Rate: &Rate{Amount: "1", Per: "gb_month"}},
		},
		Timeline: []Event{
			{At: 20 * time.Minute, ID: "i-1", Rate: &Rate{Amount: "120", Per: "hour"}},
			{At: 30*time.Minute + 10*time.Second, ID: "i-1", State: "stopped"},
			{At: time.Hour, ID: "i-1", State: "running"},
			{At: time.Hour + time.Second, ID: "i-1", Delete: true, By: guard.ByOutside},
		},
	}
	s := tell(t, sc)
	for _, step := range []struct {
		at             time.Duration
		i1, i2, volume string
	}{
		{0, "0", "0", "0"},
		{time.Second, "10", "8/3", "1/60"},                            // the minimum of a run; a begun minute
		{20*time.Minute + 30*time.Second, "22", "28/5", "21/60"},      // 20 at 1 a minute, a begun one at 2
		{45 * time.Minute, "42", "12", "45/60"},                       // 20 + 11 begun ones at 2; stopped for nothing
		{2 * time.Hour, "62", "32", "2"},                              // and the minimum of the second run, at 2
		{24 * time.Hour, "62", "384", "24"},                           //
		{24*time.Hour + time.Millisecond, "62", "5764/15", "1441/60"}, // one minute more
	} {
		s.c.Advance(DefaultStart.Add(step.at))
		s.spend("i-1", step.i1)
		s.spend("i-2", step.i2)
		s.spend("i-3", "0")
		s.spend("v-1", step.volume)
	}
}

func TestIdentities(t *testing.T) {
	sc := Lab()
	sc.Resources = append(sc.Resources, Resource{ID: "i-1", Identity: "acct-2", Name: "theirs"})
	sc.Timeline = []Event{{At: time.Hour, Identity: "acct-2"}}
	s := tell(t, sc)
	s.want("ours", s.get(0, guard.Instance, "i-1").Resource.Name, "trainer")
	s.want("theirs", s.get(time.Hour, guard.Instance, "i-1").Resource.Name, "theirs")
	s.want("all", s.states(time.Hour, guard.Instance), states{"i-1": guard.StateRunning})
	s.want("not theirs", s.get(time.Hour, guard.Instance, "i-2").Verdict, guard.VerdictAbsent)
	id, _ := s.p.Identity(s.at(time.Hour))
	s.want("identity", id.ID, "acct-2")
	_ = s.p.Release(s.at(time.Hour), s.c.ID(guard.Instance, "i-1"), providers.ReleaseOptions{})
	s.c.Advance(DefaultStart.Add(2 * time.Hour))
	s.want("whose is gone", []string{s.c.TruthOf("acct-1", "i-1"), s.c.TruthOf("acct-2", "i-1")}, []string{TruthRunning, TruthGone})
}

// An ID that is given again names the newer thing, also while the older one is still
// listed as ended.
func TestAnIDIsGivenAgain(t *testing.T) {
	sc := Lab()
	sc.Lag.Disappears = time.Hour
	sc.Timeline = []Event{
		{At: time.Hour, ID: "i-1", Delete: true},
		{At: 70 * time.Minute, Create: &Resource{ID: "i-1", Name: "the newer", Rate: &Rate{Amount: "7", Per: "hour"}}},
	}
	s := tell(t, sc)
	s.want("gone", s.c.Truth("i-1"), TruthRunning)
	s.want("ended", s.states(65*time.Minute, guard.Instance)["i-1"], guard.StateGone)
	s.want("newer", s.get(80*time.Minute, guard.Instance, "i-1").Resource.Name, "the newer")
	s.want("listed", s.states(80*time.Minute, guard.Instance)["i-1"], guard.StateRunning)
	s.want("truth", s.c.Truth("i-1"), TruthRunning)
	s.want("there", s.c.Gone("i-1").IsZero(), true)
	if err := s.p.Release(s.at(80*time.Minute), s.c.ID(guard.Instance, "i-1"), providers.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	s.c.Advance(DefaultStart.Add(2 * time.Hour))
	s.want("truth at last", s.c.Truth("i-1"), TruthGone)
}

func TestProtection(t *testing.T) {
	sc := Lab()
	sc.Resources[0].Protected, sc.Resources[0].HideProtection = []string{"release"}, true
	s := tell(t, sc)
	id := s.c.ID(guard.Instance, "i-1")
	s.want("hidden", s.get(0, guard.Instance, "i-1").Resource.ReleaseProtected, guard.Unknown)
	err := s.p.Release(s.at(0), id, providers.ReleaseOptions{})
	s.want("refused", errors.Is(err, guard.ErrProtected), true)
	p, err := s.p.Protection(s.at(0), id)
	s.want("asked", []any{p, err}, []any{providers.Protection{Release: guard.Yes, Stop: guard.No}, nil})
	if err := s.p.Unprotect(s.at(0), id); err != nil {
		t.Fatal(err)
	}
	if err := s.p.Release(s.at(0), id, providers.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	var log []string
	for _, c := range s.c.CallsOf(CallAny, "i-1") {
		log = append(log, c.Call+": "+c.Outcome)
	}
	s.want("calls", log, []string{"get: ok", "release: protected", "protection: ok", "unprotect: ok", "release: ok"})
}

func TestTags(t *testing.T) {
	s := tell(t, Lab())
	id := s.c.ID(guard.Instance, "i-1")
	if err := s.p.Tag(s.at(0), id, map[string]string{guard.TagLease: "L1"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"team": "nlp", guard.TagLease: "L1"}
	s.want("told", s.get(0, guard.Instance, "i-1").Resource.Tags, want)
	s.want("true", s.c.Tags("i-1"), want)
	s.want("of nobody", errors.Is(s.p.Tag(s.at(0), s.c.ID(guard.Instance, "i-9"), want), guard.ErrNotFound), true)
}

func TestRelaunch(t *testing.T) {
	spot := func(by string) Script {
		return Script{Account: "lab", ReleaseTakes: AtOnce, Resources: []Resource{
			{ID: "sir-1", Kind: guard.SpotRequest},
			{ID: "i-1", Spot: true, Relaunch: &Relaunch{By: by, Parent: "sir-1", After: 90 * time.Second, IDs: []string{"i-20", "i-21", "i-22"}, Times: 2}},
		}, Timeline: []Event{{At: time.Hour, ID: "i-1", Reclaim: &Reclaim{}}}}
	}
	s := tell(t, spot("spot_request"))
	s.want("before", s.states(time.Hour+89*time.Second, guard.Instance), states{})
	s.want("after", s.states(time.Hour+90*time.Second, guard.Instance), states{"i-20": guard.StateRunning})
	s.want("its parent", s.get(2*time.Hour, guard.Instance, "i-20").Resource.Parent, s.c.ID(guard.SpotRequest, "sir-1"))
	_ = s.p.Release(s.at(2*time.Hour), s.c.ID(guard.Instance, "i-20"), providers.ReleaseOptions{})
	s.want("again", s.states(3*time.Hour, guard.Instance), states{"i-21": guard.StateRunning})
	_ = s.p.Release(s.at(3*time.Hour), s.c.ID(guard.Instance, "i-21"), providers.ReleaseOptions{})
	s.want("twice at most", s.states(9*time.Hour, guard.Instance), states{})

	s = tell(t, spot("spot_request"))
	_ = s.p.Release(s.at(0), s.c.ID(guard.SpotRequest, "sir-1"), providers.ReleaseOptions{})
	s.want("without its request", s.states(9*time.Hour, guard.Instance), states{})
	s.want("a request's end is a release", len(s.c.CallsOf(CallRelease, "sir-1")), 1)

	s = tell(t, spot("spot_request"))
	id := s.c.ID(guard.Instance, "i-1")
	_ = s.p.Release(s.at(0), id, providers.ReleaseOptions{Parent: s.c.ID(guard.SpotRequest, "sir-1")})
	s.want("with its request", s.states(9*time.Hour, guard.Instance), states{})
	var order []string
	for _, call := range s.c.CallsOf(CallRelease, "") {
		order = append(order, call.IDs...)
	}
	s.want("the request first", order, []string{"sir-1", "i-1"})

	s = tell(t, spot("spot_request"))
	s.c.Fault(Fault{Call: CallRelease, ID: "sir-1", Reply: Reply{Status: 403}})
	err := s.p.Release(s.at(0), id, providers.ReleaseOptions{Parent: s.c.ID(guard.SpotRequest, "sir-1")})
	s.want("refused", errors.Is(err, guard.ErrPermission), true)
	s.want("and so is its instance", len(s.c.CallsOf(CallRelease, "i-1")), 0)

	sc := spot("spot_request")
	sc.Resources = sc.Resources[1:]
	s = tell(t, sc)
	_ = s.p.Release(s.at(0), id, providers.ReleaseOptions{Parent: s.c.ID(guard.SpotRequest, "sir-1")})
	s.want("of a request that is only told of", s.states(9*time.Hour, guard.Instance), states{})

	s = tell(t, spot("group"))
	s.want("its group", s.get(0, guard.Instance, "i-1").Resource.Group, "sir-1")
	_ = s.p.Release(s.at(0), id, providers.ReleaseOptions{Group: "sir-1"})
	s.want("through its group", s.states(9*time.Hour, guard.Instance), states{})
	s.want("one call", len(s.c.CallsOf(CallRelease, "i-1")), 1)

	s = tell(t, spot("group"))
	s.want("a group's member", s.get(0, guard.Instance, "i-1").Resource.Tags[groupTag], "sir-1")
}

// What something needs cannot be deleted, and an image names the snapshots behind it.
func TestInUse(t *testing.T) {
	s := tell(t, Script{Account: "lab", ReleaseTakes: AtOnce, Resources: []Resource{
		{ID: "img-1", Kind: guard.Image},
		{ID: "s-1", Kind: guard.Snapshot, Source: "v-1", UsedBy: []string{"img-1"}},
		{ID: "s-2", Kind: guard.Snapshot, Source: "v-1", UsedBy: []string{"elsewhere"}},
	}})
	image, used := s.c.ID(guard.Image, "img-1"), s.c.ID(guard.Snapshot, "s-1")
	s.want("behind the image", s.get(0, guard.Image, "img-1").Resource.Children, []guard.Child{{ID: used, GoesWithInstance: guard.No}})
	untold := tell(t, Script{Account: "lab", Resources: []Resource{{ID: "s-1", Kind: guard.Snapshot, UsedBy: []string{"img-1"}}},
		Faults: []Fault{{Call: CallGet, Reply: Reply{NullFields: []string{"used_by"}}}}})
	s.want("who needs it is not told", untold.get(0, guard.Snapshot, "s-1").Resource.UsesUntold, true)
	s.want("it is", s.get(0, guard.Snapshot, "s-1").Resource.UsesUntold, false)
	s.want("in use", errors.Is(s.p.Release(s.at(0), used, providers.ReleaseOptions{}), guard.ErrConflict), true)
	s.want("by what is not here", errors.Is(s.p.Release(s.at(0), s.c.ID(guard.Snapshot, "s-2"), providers.ReleaseOptions{}), guard.ErrConflict), true)
	s.want("there", s.c.Truth("s-1"), TruthRunning)
	if err := s.p.Release(s.at(time.Minute), image, providers.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	s.want("not used any more", s.get(2*time.Minute, guard.Snapshot, "s-1").Resource.UsedBy, []string(nil))
	s.want("then it goes", s.p.Release(s.at(2*time.Minute), used, providers.ReleaseOptions{}), nil)
	s.want("gone", s.c.Truth("s-1"), TruthGone)
}

func TestTimeline(t *testing.T) {
	name, created, none := "other", 9*time.Hour, []string(nil)
	sc := Lab()
	sc.Timeline = []Event{
		{At: time.Hour, ID: "i-3", Set: &Changes{Name: &name, Tags: map[string]string{}, Created: &created, Protected: &none}},
		{At: time.Hour, ID: "v-1", Detach: true},
		{At: 2 * time.Hour, ID: "v-1", Attach: "i-2"},
		{At: 3 * time.Hour, ID: "i-2", Delete: true, By: guard.ByPlatform},
		{At: 4 * time.Hour, Create: &Resource{ID: "many", Count: 3}},
		{At: 5 * time.Hour, ID: "i-2", State: "running"}, // too late: it is gone
	}
	sc.Lag.Disappears = time.Hour
	s := tell(t, sc)
	r := s.get(time.Hour, guard.Instance, "i-3").Resource
	s.want("set", []any{r.Name, len(r.Tags), r.Created, r.ReleaseProtected}, []any{"other", 0, DefaultStart.Add(created), guard.No})
	s.want("detached", s.get(time.Hour, guard.Volume, "v-1").Resource.Parent, guard.ResourceID{})
	s.want("attached", s.get(2*time.Hour, guard.Volume, "v-1").Resource.Parent, s.c.ID(guard.Instance, "i-2"))
	s.want("by the platform", s.get(3*time.Hour, guard.Instance, "i-2").Resource.Ended, guard.ByPlatform)
	s.want("many", s.states(5*time.Hour, guard.Instance), states{"i-1": guard.StateRunning, "i-3": guard.StateRunning,
		"many-001": guard.StateRunning, "many-002": guard.StateRunning, "many-003": guard.StateRunning})
	s.want("gone is gone", s.c.Truth("i-2"), TruthGone)
}

func TestDo(t *testing.T) {
	s := tell(t, Lab())
	s.c.Advance(DefaultStart.Add(time.Hour))
	if err := s.c.Do(Event{Create: &Resource{ID: "i-9"}}); err != nil {
		t.Fatal(err)
	}
	s.want("created", s.get(time.Hour, guard.Instance, "i-9").Resource.Created, DefaultStart.Add(time.Hour))
	if err := s.c.Do(Event{ID: "i-9", Delete: true}); err != nil {
		t.Fatal(err)
	}
	s.want("deleted", s.c.Truth("i-9"), TruthGone)
	s.want("nonsense", errors.Is(s.c.Do(Event{ID: "i-77", Delete: true}), guard.ErrInvalid), true)
	s.c.Advance(DefaultStart)
	s.want("time does not go back", s.c.Now(), DefaultStart.Add(time.Hour))
}

func TestTimeIsTheClouds(t *testing.T) {
	sc := Lab()
	sc.Time = func(at guard.Instant) time.Time { return DefaultStart.Add(at.Elapsed) }
	s := tell(t, sc)
	wrong := guard.Instant{Wall: DefaultStart.Add(1000 * time.Hour), Elapsed: time.Hour}
	_, _ = s.p.Identity(guard.WithInstant(t.Context(), wrong))
	s.want("a clock that was stepped", s.c.Now(), DefaultStart.Add(time.Hour))
}

func TestScriptMistakes(t *testing.T) {
	_, err := NewCloud(Script{
		Currency: "XYZ", IdentityKind: "odd", StopEffect: "some", Lag: Lag{State: -1},
		Resources: []Resource{
			{ID: "i-1", Scope: "mars", Kind: "toaster", SizeGB: -1, Protected: []string{"all"}}, {ID: "i-1"}, {ID: ""},
			{ID: "i-2", Rate: &Rate{Amount: "1e9", Per: "hour"}, Attached: []string{"v-9"}}, {ID: "i-3", Rate: &Rate{Amount: "1", Per: "fortnight"}},
			{ID: "i-4", Count: 2, Relaunch: &Relaunch{By: "magic"}},
		},
		Timeline: []Event{{ID: "i-1"}, {ID: "i-1", Delete: true, Detach: true}, {ID: "i-77", Delete: true}, {ID: "i-1", Attach: "i-77"}},
		Faults:   []Fault{{Call: "sing"}, {Scope: "mars"}},
	})
	if !errors.Is(err, guard.ErrInvalid) {
		t.Fatalf("err = %v", err)
	}
	for _, want := range []string{"XYZ", "identity_kind", "stop_effect", "lag", "mars", "toaster", "size_gb", "protected", "twice", "needs an id",
		"1e9", "v-9", "fortnight", "count", "relaunch", "not 0", "not 2", "no such resource", "attach", "sing"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %q in:\n%v", want, err)
		}
	}
}
