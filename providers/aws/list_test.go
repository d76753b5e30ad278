package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

var instancesOnly = providers.Query{Kinds: []guard.Kind{guard.Instance}}

// scope is the result of one region.
func scope(t *testing.T, inv providers.Inventory, region string) providers.ScopeResult {
	t.Helper()
	for _, r := range inv.Results {
		if r.Scope == region {
			return r
		}
	}
	t.Fatalf("no result for %s in %v", region, inv.Results)
	return providers.ScopeResult{}
}

func list(t *testing.T, p *Provider, q providers.Query) providers.Inventory {
	t.Helper()
	inv, err := p.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func TestListAllEnabledRegions(t *testing.T) {
	c := newCloud(t).usual().
		on("DescribeInstances us-east-1", instancesReply("", box("i-0aaaaaaaaaaaaaaaa"))).
		on("DescribeInstances eu-west-1", instancesReply("", box("i-0bbbbbbbbbbbbbbbb")))
	inv := list(t, c.adapter(), instancesOnly)
	if len(inv.Results) != 2 {
		t.Errorf("the disabled region was not left out: %v", inv.Results)
	}
	for region, id := range map[string]string{"us-east-1": "i-0aaaaaaaaaaaaaaaa", "eu-west-1": "i-0bbbbbbbbbbbbbbbb"} {
		r := scope(t, inv, region)
		if r.Err != nil || len(r.Resources) != 1 || r.Resources[0].ID.ID != id || r.Resources[0].ID.Scope != region {
			t.Errorf("%s: %+v", region, r)
		}
	}
	if want := time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC); !inv.ServerTime.Equal(want) {
		t.Errorf("server time %v, want %v", inv.ServerTime, want)
	}
	if got := c.last("DescribeRegions").Get("AllRegions"); got != "false" {
		t.Errorf("AllRegions=%s", got)
	}
	// Regions are asked for anew: one enabled meanwhile must not be missed.
	list(t, c.adapter(), instancesOnly)
	if c.made("DescribeRegions") != 2 {
		t.Errorf("DescribeRegions called %d times for two listings", c.made("DescribeRegions"))
	}
}

func TestListConfiguredRegions(t *testing.T) {
	c := newCloud(t).usual()
	p := c.adapter("us-east-1", "me-south-1")
	inv := list(t, p, instancesOnly)
	// The fixture answers with all three; me-south-1 is not opted in.
	if c.made("DescribeInstances", "me-south-1") != 0 {
		t.Errorf("asked a region that is not enabled: %v", inv.Results)
	}
	c.on("DescribeRegions", refuse(http.StatusForbidden, "UnauthorizedOperation", "no"))
	c.on("DescribeInstances me-south-1", refuse(http.StatusUnauthorized, "AuthFailure", "no"))
	inv = list(t, p, instancesOnly)
	if r := scope(t, inv, "us-east-1"); r.Err != nil {
		t.Errorf("without DescribeRegions the configured list must do: %v", r.Err)
	}
	if r := scope(t, inv, "me-south-1"); !errors.Is(r.Err, guard.ErrPermission) {
		t.Errorf("got %v", r.Err)
	}
}

func TestNoRegionsIsNoEmptyAccount(t *testing.T) {
	for name, a := range map[string]answer{
		"none":    reply("DescribeRegions", "<regionInfo/>"),
		"refused": refuse(http.StatusForbidden, "UnauthorizedOperation", "no"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t).usual().on("DescribeRegions", a)
			if inv, err := c.adapter().List(t.Context(), instancesOnly); err == nil {
				t.Errorf("got %v", inv)
			}
		})
	}
}

func TestOneFailingRegion(t *testing.T) {
	c := newCloud(t).usual().
		on("DescribeInstances us-east-1", instancesReply("", box("i-0aaaaaaaaaaaaaaaa"))).
		on("DescribeInstances eu-west-1", refuse(http.StatusInternalServerError, "InternalError", "sorry"))
	inv := list(t, c.adapter(), instancesOnly)
	if r := scope(t, inv, "eu-west-1"); !errors.Is(r.Err, guard.ErrUnavailable) || errors.Is(r.Err, guard.ErrUncertain) {
		t.Errorf("eu-west-1: %v", r.Err)
	}
	if r := scope(t, inv, "us-east-1"); r.Err != nil || len(r.Resources) != 1 {
		t.Errorf("us-east-1: %+v", r)
	}
}

func TestPages(t *testing.T) {
	a, b, c3 := box("i-0aaaaaaaaaaaaaaaa"), box("i-0bbbbbbbbbbbbbbbb"), box("i-0cccccccccccccccc")
	endless := func(i int) answer { return instancesReply(fmt.Sprint("token-", i)) }
	var never []answer
	for i := range maxEmpty + 5 {
		never = append(never, endless(i))
	}
	for name, c := range map[string]struct {
		answers []answer
		want    int
		err     error
	}{
		"two pages":                            {answers: []answer{instancesReply("t1", a, b), instancesReply("", c3)}, want: 3},
		"a full page, a token, an empty page":  {answers: []answer{instancesReply("t1", a, b), instancesReply("")}, want: 2},
		"an empty page with a token between":   {answers: []answer{instancesReply("t1", a), instancesReply("t2"), instancesReply("", b)}, want: 2},
		"the same thing on both pages":         {answers: []answer{instancesReply("t1", a), instancesReply("", a, b)}, want: 2},
		"a token twice":                        {answers: []answer{instancesReply("t1", a), instancesReply("t1", b)}, want: 2, err: guard.ErrBadReply},
		"empty pages without end":              {answers: never, err: guard.ErrBadReply},
		"the second page fails":                {answers: []answer{instancesReply("t1", a), refuse(400, "InvalidNextToken", "gone")}, want: 1, err: guard.ErrInvalid},
		"an instance without an ID":            {answers: []answer{instancesReply("", a, "<instanceType>g5.xlarge</instanceType>")}, want: 1, err: guard.ErrBadReply},
		"a page of HTML":                       {answers: []answer{ok("<!DOCTYPE html><html><body>Sign in</body></html>")}, err: guard.ErrBadReply},
		"an empty body":                        {answers: []answer{ok("")}, err: guard.ErrBadReply},
		"XML of another kind":                  {answers: []answer{ok("<hello/>")}, err: guard.ErrBadReply},
		"an error that calls itself a success": {answers: []answer{ok(refuse(0, "InternalError", "x").body)}, err: guard.ErrBadReply},
		"a reply cut in the middle":            {answers: []answer{ok(instancesReply("", a, b).body[:700])}, err: guard.ErrBadReply},
		"a bare 404":                           {answers: []answer{{status: 404, body: ""}}, err: guard.ErrBadReply},
		"JSON":                                 {answers: []answer{ok(`{"instances":[]}`)}, err: guard.ErrBadReply},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t).usual().on("DescribeInstances us-east-1", c.answers...)
			inv := list(t, cloud.adapter(), providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: []string{"us-east-1"}})
			r := scope(t, inv, "us-east-1")
			if !errors.Is(r.Err, c.err) || len(r.Resources) != c.want {
				t.Errorf("got %d, %v; want %d, %v", len(r.Resources), r.Err, c.want, c.err)
			}
			if n := cloud.made("DescribeInstances"); n > maxEmpty+5 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

func TestListingsAskForEverything(t *testing.T) {
	c := newCloud(t).usual()
	list(t, c.adapter(), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Volume, guard.Filesystem}})
	if f := c.last("DescribeInstances"); f.Get("MaxResults") != "1000" || f.Get("IncludeManagedResources") != "true" {
		t.Errorf("DescribeInstances with %v", f)
	}
	if f := c.last("DescribeVolumes"); f.Get("MaxResults") != "500" || f.Get("IncludeManagedResources") != "true" {
		t.Errorf("DescribeVolumes with %v", f)
	}
	inv := list(t, c.adapter(), providers.Query{Kinds: []guard.Kind{guard.Filesystem}})
	if len(inv.Results) != 2 || !errors.Is(inv.Results[0].Err, guard.ErrUnsupported) {
		t.Errorf("a kind that is not listed must not look empty: %v", inv.Results)
	}
}

// Throttled, the listing says when to come back and asks no more meanwhile.
func TestThrottledListing(t *testing.T) {
	c := newCloud(t).usual().on("DescribeInstances us-east-1", refuse(503, "RequestLimitExceeded", "Request limit exceeded."))
	inv := list(t, c.adapter(), providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: []string{"us-east-1"}})
	err := scope(t, inv, "us-east-1").Err
	if after, ok := guard.RetryAfter(err); !errors.Is(err, guard.ErrThrottled) || !ok || after != throttleWait {
		t.Errorf("got %v (wait %v)", err, after)
	}
	if n := c.made("DescribeInstances"); n != 1 {
		t.Errorf("%d calls in the face of throttling", n)
	}
}

func TestCancelledListingMakesNoCall(t *testing.T) {
	c := newCloud(t).usual()
	p := c.adapter()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.List(ctx, instancesOnly); !errors.Is(err, context.Canceled) || !errors.Is(err, guard.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if len(c.calls) != 0 {
		t.Errorf("calls: %v", c.order())
	}
}

// GPUs are read once for each type, and unknown where they cannot be read.
func TestGPUs(t *testing.T) {
	c := newCloud(t).usual().
		on("DescribeInstances us-east-1", instancesReply("", box("i-0aaaaaaaaaaaaaaaa"),
			strings.Replace(box("i-0bbbbbbbbbbbbbbbb"), "g5.xlarge", "m5.large", 1),
			strings.Replace(box("i-0cccccccccccccccc"), "g5.xlarge", "p4d.24xlarge", 1),
			strings.Replace(box("i-0dddddddddddddddd"), "g5.xlarge", "zz9.plural", 1))).
		on("DescribeInstanceTypes", refuse(http.StatusForbidden, "UnauthorizedOperation", "no"), reply("DescribeInstanceTypes", typesReply))
	p := c.adapter()
	q := providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: []string{"us-east-1"}}
	r := scope(t, list(t, p, q), "us-east-1")
	if r.Err != nil {
		t.Fatalf("what is only nice to know must not spoil the listing: %v", r.Err)
	}
	for _, b := range r.Resources {
		if b.HasGPU != guard.Unknown || b.GPUs != 0 {
			t.Errorf("%s: %v, %d GPUs; nobody said so", b.Type, b.HasGPU, b.GPUs)
		}
		if b.Type == "g5.xlarge" && b.Rate.Known() {
			t.Errorf("a price for each GPU of an unknown number: %v", b.Rate)
		}
	}
	got := map[string]guard.Resource{}
	for _, b := range scope(t, list(t, p, q), "us-east-1").Resources {
		got[b.Type] = b
	}
	if b := got["p4d.24xlarge"]; b.HasGPU != guard.Yes || b.GPUs != 8 || b.GPUModel != "NVIDIA A100" || b.Rate.String() != "32.7726 USD per hour" {
		t.Errorf("%+v", b)
	}
	if b := got["m5.large"]; b.HasGPU != guard.No || b.GPUs != 0 || b.Rate.Known() {
		t.Errorf("%+v", b)
	}
	if b := got["zz9.plural"]; b.HasGPU != guard.Unknown {
		t.Errorf("a type that EC2 does not describe has %q", b.HasGPU)
	}
	list(t, p, q)
	if f := c.last("DescribeInstanceTypes"); f.Get("Filter.1.Value.1") != "zz9.plural" || f.Has("Filter.1.Value.2") {
		t.Errorf("known types were asked for again: %v", f)
	}
}

func TestVolumes(t *testing.T) {
	const volumes = `<volumeSet>
<item><volumeId>vol-0aaaaaaaaaaaaaaaa</volumeId><size>500</size><status>in-use</status><createTime>2026-03-01T08:00:01.000Z</createTime><volumeType>gp3</volumeType>
<attachmentSet><item><volumeId>vol-0aaaaaaaaaaaaaaaa</volumeId><instanceId>i-0bbbbbbbbbbbbbbbb</instanceId><device>/dev/xvda</device><status>attached</status><deleteOnTermination>true</deleteOnTermination></item>
<item><volumeId>vol-0aaaaaaaaaaaaaaaa</volumeId><instanceId>i-0aaaaaaaaaaaaaaaa</instanceId><device>/dev/xvda</device><status>attached</status></item></attachmentSet>
<tagSet><item><key>Name</key><value>scratch</value></item></tagSet></item>
<item><volumeId>vol-0bbbbbbbbbbbbbbbb</volumeId><size>8</size><status>available</status><volumeType>gp9</volumeType><attachmentSet/></item>
<item><volumeId>vol-0cccccccccccccccc</volumeId><size>8</size><status>deleting</status><volumeType>gp3</volumeType></item>
<item><volumeId>vol-0dddddddddddddddd</volumeId><size>8</size><status>pondering</status><volumeType>gp3</volumeType></item>
<item><volumeId>vol-0eeeeeeeeeeeeeeee</volumeId><status>available</status><volumeType>gp3</volumeType></item>
</volumeSet>`
	c := newCloud(t).usual().on("DescribeVolumes us-east-1", reply("DescribeVolumes", volumes))
	r := scope(t, list(t, c.adapter(), providers.Query{Kinds: []guard.Kind{guard.Volume}, Scopes: []string{"us-east-1"}}), "us-east-1")
	if r.Err != nil || len(r.Resources) != 5 {
		t.Fatal(r)
	}
	a, b, gone, odd, sizeless := r.Resources[0], r.Resources[1], r.Resources[2], r.Resources[3], r.Resources[4]
	if a.Name != "scratch" || a.SizeGB != 500 || a.Parent.ID != "i-0aaaaaaaaaaaaaaaa" || a.Parent.Kind != guard.Instance || a.State != guard.StateRunning || a.Bills != guard.Yes {
		t.Errorf("%+v", a)
	}
	if got := a.Rate.String(); got != "0.054795 USD per hour (500 × 0.08 USD per gb per month)" {
		t.Errorf("rate %q", got)
	}
	if b.Rate.Known() || !b.Parent.IsZero() || b.Bills != guard.Yes {
		t.Errorf("%+v", b)
	}
	if gone.State != guard.StateReleasing || gone.Bills != guard.No {
		t.Errorf("%+v", gone)
	}
	if odd.State != guard.StateUnknown || odd.Bills == guard.No {
		t.Errorf("a state nobody knows must not be free: %+v", odd)
	}
	if sizeless.Rate.Known() {
		t.Errorf("a size that is not told is not 0 GB: %v", sizeless.Rate)
	}
}
