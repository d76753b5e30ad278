package aws

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/aws/mototest"
)

func TestMain(m *testing.M) { os.Exit(mototest.Main(m)) }

// onMoto is an adapter on a real EC2-compatible server, through a proxy.
func onMoto(t *testing.T, regions ...string) (*mototest.Server, *mototest.Proxy, *Provider) {
	t.Helper()
	moto := mototest.Start(t)
	proxy := mototest.NewProxy(t, moto)
	return moto, proxy, motoAdapter(t, proxy.URL, regions...)
}

func motoAdapter(t *testing.T, endpoint string, regions ...string) *Provider {
	t.Helper()
	cleanEnvironment(t)
	p, err := New(t.Context(), Options{Name: "research", Config: Config{
		Endpoint: endpoint, Regions: regions,
		AccessKeyID: guard.NewSecret("AKIAIOSFODNN7EXAMPLE"), SecretAccessKey: guard.NewSecret("moto"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func boxIn(region, id string) guard.ResourceID {
	return guard.ResourceID{Account: "research", Kind: guard.Instance, Scope: region, ID: id}
}

func TestMotoLife(t *testing.T) {
	moto, _, p := onMoto(t, "us-east-1", "eu-west-1")
	ctx := t.Context()
	before := time.Now().Add(-time.Minute)
	var ids []string
	moto.Do(t, &ids, "run", "us-east-1", "g5.xlarge")
	var data string
	moto.Do(t, &data, "data_volume", "us-east-1", ids[0], "100")
	box := boxIn("us-east-1", ids[0])

	id, err := p.Identity(ctx)
	if err != nil || id.ID != "123456789012" || !id.Strong {
		t.Errorf("identity %+v, %v", id, err)
	}
	inv := list(t, p, providers.Query{Kinds: []guard.Kind{guard.Instance}})
	r := scope(t, inv, "us-east-1")
	if other := scope(t, inv, "eu-west-1"); r.Err != nil || other.Err != nil || len(r.Resources) != 1 || len(other.Resources) != 0 {
		t.Fatalf("%+v", inv)
	}
	x := r.Resources[0]
	if x.ID != box || x.State != guard.StateRunning || x.GPUs != 1 || x.HasGPU != guard.Yes || x.GPUModel != "NVIDIA A10G" || x.Created.Before(before) {
		t.Errorf("%+v", x)
	}
	goes := map[guard.Tri]int{}
	for _, c := range x.Children {
		goes[c.GoesWithInstance]++
	}
	if len(x.Children) != 2 || goes[guard.Yes] != 1 || goes[guard.No] != 1 {
		t.Errorf("children %+v", x.Children)
	}
	for _, v := range scope(t, list(t, p, providers.Query{Kinds: []guard.Kind{guard.Volume}}), "us-east-1").Resources {
		if v.Parent != box || v.SizeGB == 0 {
			t.Errorf("volume %+v", v)
		}
	}

	if err := p.Tag(ctx, box, map[string]string{guard.TagLease: "L1", guard.TagPurpose: "微调 / eval"}); err != nil {
		t.Error(err)
	}
	var tags map[string]string
	moto.Do(t, &tags, "tags", "us-east-1", ids[0])
	if tags[guard.TagLease] != "L1" || tags[guard.TagPurpose] != "微调 / eval" {
		t.Errorf("tags %v", tags)
	}

	if err := p.Stop(ctx, box); err != nil {
		t.Error(err)
	}
	if l := p.Get(ctx, box)[0]; l.Resource.State != guard.StateStopped || l.Resource.Ended != guard.ByOutside || l.Resource.Changed.Before(before) || !l.Resource.Created.Equal(x.Created) {
		t.Errorf("stopped: %+v", l)
	}
	moto.Do(t, nil, "start", "us-east-1", ids[0])

	moto.Do(t, nil, "protect", "us-east-1", ids[0])
	if pr, err := p.Protection(ctx, box); err != nil || pr.Release != guard.Yes {
		t.Errorf("protection %+v, %v", pr, err)
	}
	if err := p.Release(ctx, box, none); !errors.Is(err, guard.ErrProtected) {
		t.Errorf("release of a protected instance: %v", err)
	}
	if err := p.Unprotect(ctx, box); err != nil {
		t.Error(err)
	}
	for range 2 { // the second time it is gone already
		if err := p.Release(ctx, box, none); err != nil {
			t.Error(err)
		}
	}
	if l := p.Get(ctx, box)[0]; l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateGone || l.Resource.Bills != guard.No {
		t.Errorf("terminated: %+v", l)
	}
	volume := guard.ResourceID{Account: "research", Kind: guard.Volume, Scope: "us-east-1", ID: data}
	if l := p.Get(ctx, volume)[0]; l.Verdict != guard.VerdictFound || !l.Resource.Parent.IsZero() {
		t.Errorf("the volume that was left: %+v", l)
	}
	if err := p.Release(ctx, volume, none); err != nil {
		t.Error(err)
	}
	if l := p.Get(ctx, volume)[0]; l.Verdict != guard.VerdictAbsent {
		t.Errorf("deleted: %+v", l)
	}
}

func TestMotoMissingAndAnywhere(t *testing.T) {
	moto, _, p := onMoto(t, "us-east-1", "eu-west-1")
	var ids []string
	moto.Do(t, &ids, "run", "eu-west-1", "m5.large", "2")
	const nobody = "i-0123456789abcdef0"
	ls := p.Get(t.Context(), boxIn("eu-west-1", ids[0]), boxIn("eu-west-1", nobody), boxIn("eu-west-1", ids[1]), boxIn("", ids[0]), boxIn("", nobody))
	if verdicts(ls) != "found absent found found absent" || ls[3].Resource.ID.Scope != "eu-west-1" {
		t.Errorf("%+v", ls)
	}
}

func TestMotoPersistentSpot(t *testing.T) {
	moto, proxy, p := onMoto(t, "us-east-1")
	var made struct{ Instance, Request string }
	moto.Do(t, &made, "spot", "us-east-1", "g5.xlarge")
	x := scope(t, list(t, p, instancesOnly), "us-east-1").Resources[0]
	if !x.Spot {
		t.Errorf("%+v", x)
	}
	if err := p.Release(t.Context(), boxIn("us-east-1", made.Instance), none); err != nil {
		t.Fatal(err)
	}
	var left []string
	moto.Do(t, &left, "spot_requests", "us-east-1")
	var state string
	moto.Do(t, &state, "state", "us-east-1", made.Instance)
	if len(left) != 0 || state != "terminated" {
		t.Errorf("request left: %v, instance %s", left, state)
	}
	cancel, end := proxy.Calls("CancelSpotInstanceRequests", ""), proxy.Calls("TerminateInstances", made.Instance)
	if len(cancel) != 1 || len(end) != 1 || !cancel[0].At.Before(end[0].At) {
		t.Errorf("cancelled %v, terminated %v", cancel, end)
	}
}

// 240 instances in two regions, on pages that the server keeps small. (The tests
// of the binaries do it with 1,200.)
func TestMotoPages(t *testing.T) {
	moto, proxy, p := onMoto(t, "us-east-1", "eu-west-1")
	want := map[string]bool{}
	for region, count := range map[string]string{"us-east-1": "200", "eu-west-1": "40"} {
		var ids []string
		moto.Do(t, &ids, "run", region, "m5.large", count, "5")
		for _, id := range ids {
			want[region+"/"+id] = true
		}
	}
	proxy.Pages(6) // moto counts reservations: 30 instances
	inv := list(t, p, instancesOnly)
	got := map[string]bool{}
	for _, r := range inv.Results {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Scope, r.Err)
		}
		for _, x := range r.Resources {
			got[x.ID.Scope+"/"+x.ID.ID] = true
		}
	}
	if len(want) != 240 || len(got) != len(want) {
		t.Errorf("%d of %d", len(got), len(want))
	}
	for id := range want {
		if !got[id] {
			t.Errorf("%s is missing", id)
			break
		}
	}
	if n := len(proxy.Calls("DescribeInstances", "")); n != 9 { // 7 and 2
		t.Errorf("%d pages", n)
	}
}

// A lost reply and a server that is away are told apart.
func TestMotoAway(t *testing.T) {
	moto, proxy, p := onMoto(t, "us-east-1")
	var ids []string
	moto.Do(t, &ids, "run", "us-east-1", "m5.large")
	box := boxIn("us-east-1", ids[0])
	list(t, p, instancesOnly)
	proxy.Cut()
	if l := p.Get(t.Context(), box)[0]; l.Verdict != guard.VerdictUnknown {
		t.Errorf("%+v", l)
	}
	if r := scope(t, list(t, p, instancesOnly), "us-east-1"); r.Err == nil {
		t.Error("a server that is away has no instances")
	}
	proxy.Mend()
	proxy.Lose(func(c mototest.Call) bool { return strings.HasPrefix(c.Action, "Terminate") })
	if err := p.Release(t.Context(), box, none); !errors.Is(err, guard.ErrUncertain) {
		t.Errorf("got %v", err)
	}
	if n := len(proxy.Calls("TerminateInstances", ids[0])); n != 1 {
		t.Errorf("sent %d times", n)
	}
	if l := p.Get(t.Context(), box)[0]; l.Resource.State != guard.StateGone {
		t.Errorf("it was done: %+v", l)
	}
}

// A server that is not ours takes the question, and its answer is read.
func TestMotoSignals(t *testing.T) {
	moto, proxy, p := onMoto(t, "us-east-1")
	var ids []string
	moto.Do(t, &ids, "run", "us-east-1", "g5.xlarge", "2")
	moto.Do(t, nil, "metric", "us-east-1", ids[0], "20", "CPUUtilization=10,10,10,10,10,10,10,10,10,10", "NetworkIn=600,600,600,600,600,600,600,600,600,600")
	var q providers.SignalQuery
	for _, id := range ids {
		q.Of = append(q.Of, providers.SignalsOf{Resource: guard.Resource{ID: boxIn("us-east-1", id)}, Since: time.Now().Add(-time.Hour)})
	}
	got := p.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: time.Now()}), q)
	if got[0].Err != nil || len(got[0].Samples) < 2 || len(got[0].Samples) > 3 {
		t.Fatalf("ten minutes of numbers: %+v", got[0])
	}
	for _, s := range got[0].Samples {
		if s.CPUCores != guard.Known(0.4) || s.Interval != 5*time.Minute || !s.Rx.OK || s.Rx.V > 10 || s.Tx.OK || s.Disk.OK {
			t.Errorf("got %+v", s)
		}
	}
	if got[1].Err != nil || len(got[1].Samples) != 0 {
		t.Errorf("one without numbers: %+v", got[1])
	}
	if n := len(proxy.Calls("GetMetricData", "")); n != 1 {
		t.Errorf("%d calls", n)
	}
}
