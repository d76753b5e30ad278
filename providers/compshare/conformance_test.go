package compshare

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/compshare/compsharetest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// noon is when the tests' calls are made.
var noon = guard.Instant{Wall: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Harness{
		New: func(t *testing.T, _ []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			return adapter(t, "conformance", rt, secret)
		},
		Serve:        func(_ *testing.T, w providertest.World) http.RoundTripper { return cloudtest.In(compsharetest.Of(w)) },
		Classify:     classify,
		Scopes:       []string{Scope},
		ID:           uhostID,
		LeftoverID:   leftoverID,
		Kinds:        []guard.Kind{guard.Volume, guard.Image},
		Attached:     []guard.Kind{guard.Volume},
		Currency:     cny,
		NoTags:       true,
		NoProtection: true,
		Odd:          oddServers(),
		Watched:      watched,
		OddSignals:   oddSignals(),
		Context:      func(t *testing.T) context.Context { return guard.WithInstant(t.Context(), noon) },
	})
}

// uhostID is the suite's n-th instance.
func uhostID(n int) string { return fmt.Sprintf("uhost-%010d", n) }

// leftoverID is the suite's n-th disk or image.
func leftoverID(kind guard.Kind, n int) string {
	if kind == guard.Image {
		return fmt.Sprintf("compshareImage-%08d", n)
	}
	return fmt.Sprintf("udisk-%08d", n)
}

// adapter is one without a pace.
func adapter(t testing.TB, name string, rt http.RoundTripper, secret guard.Secret) *Provider {
	t.Helper()
	p, err := New(Options{Name: name, Config: Config{PublicKey: guard.NewSecret(compsharetest.PublicKey), PrivateKey: secret}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func classify(_ *http.Request, body []byte) providertest.Op {
	var in struct {
		Action   string
		UHostIds []string
	}
	_ = json.Unmarshal(body, &in) // what is no request is of another sort
	switch in.Action {
	case "GetProjectList":
		return providertest.Op{Call: providertest.Identity}
	case "DescribeCompShareInstance":
		if in.UHostIds != nil {
			return providertest.Op{Call: providertest.Get}
		}
		return providertest.Op{Call: providertest.List, Scope: Scope}
	case "DescribeCompshareDisk", "DescribeCompShareCustomImages":
		return providertest.Op{Call: providertest.List, Scope: Scope}
	case "StopCompShareInstance":
		return providertest.Op{Call: providertest.Stop}
	case "TerminateCompShareInstance", "DeleteCompshareDisk", "TerminateCompShareCustomImage":
		return providertest.Op{Call: providertest.Release}
	case "GetCompShareInstanceMonitor":
		return providertest.Op{Call: providertest.Signals}
	}
	return providertest.Op{Call: providertest.Other}
}

// watched is a world whose instances work at 42 %, all but the last.
func watched(_ *testing.T, w providertest.World) providertest.Watched {
	c := compsharetest.Of(w)
	c.Clock = func() time.Time { return noon.Wall }
	for i, x := range w.Instances {
		if i < len(w.Instances)-1 {
			c.Instances[x.ID] = compsharetest.Instance{Util: []int{42, 0}}
		}
	}
	return providertest.Watched{Server: cloudtest.In(c), At: noon, Instants: true, GPUUtil: guard.Known(42)}
}

// one is the suite's first instance, and something special of it.
func one(x compsharetest.Instance) http.RoundTripper {
	c := cloud(thing(uhostID(1)))
	c.Clock = func() time.Time { return noon.Wall }
	c.Instances[uhostID(1)] = x
	return cloudtest.In(c)
}

// odd are records that no API should tell.
var odd = map[string]map[string]any{
	"nulls": {"Name": nil, "State": nil, "ChargeType": nil, "GPU": nil, "GpuType": nil, "DiskSet": nil, "CreateTime": nil, "ExpireTime": nil,
		"InstancePrice": nil, "CompShareImagePrice": nil, "DiskPriceInfo": nil, "PostPayPowerOffBillingResource": nil, "Zone": nil},
	"words for numbers": {"GPU": "two", "InstancePrice": "free", "CreateTime": "yesterday", "CompShareImagePrice": "-"},
	"absurd numbers": {"GPU": json.RawMessage("1e38"), "InstancePrice": json.RawMessage("1e38"), "CreateTime": json.RawMessage("1e38"),
		"ExpireTime": 99999999999999},
	"negative numbers":  {"GPU": -2, "InstancePrice": -3.5, "CompShareImagePrice": -1, "CreateTime": -1},
	"beyond a float":    {"InstancePrice": json.RawMessage("1e999")},
	"new words":         {"State": "Hibernating", "ChargeType": "Barter", "AutoRenew": "Maybe"},
	"lists for objects": {"DiskSet": map[string]any{}, "DiskPriceInfo": 7, "GraphicsMemory": []any{}, "PostPayPowerOffBillingResource": "no"},
	"huge texts":        {"Name": strings.Repeat("x", 1<<15), "State": strings.Repeat("y", 1<<15), "GPU": json.RawMessage(`"` + strings.Repeat("z", 1<<15) + `"`)},
	"no ID":             {"UHostId": nil},
	"a huge ID":         {"UHostId": strings.Repeat("i", 1<<12)},
	"odd disks":         {"DiskSet": []any{nil, 7, map[string]any{"DiskId": 3, "IsBoot": true}}, "DiskPriceInfo": []any{nil, map[string]any{"Price": "x", "IsBoot": true}}},
	"a month of 1970":   {"ChargeType": "Month", "ExpireTime": 7},
	"a month of 2099":   {"ChargeType": "Month", "ExpireTime": 4070908800},
	"an hour of 2099":   {"ChargeType": "Dynamic", "ExpireTime": 4070908800},
}

func oddServers() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, set := range odd {
		out[name] = one(compsharetest.Instance{Set: set})
	}
	return out
}

func oddSignals() map[string]http.RoundTripper {
	values := func(v ...any) map[string]any {
		return map[string]any{"Metrics": []any{map[string]any{"MetricKey": gpuUtil, "Results": []any{map[string]any{"TagMap": nil, "Values": v}}}}}
	}
	now := noon.Wall.Unix()
	out := map[string]http.RoundTripper{}
	for name, set := range map[string]map[string]any{
		"no metrics":         {"Metrics": nil},
		"words for metrics":  {"Metrics": "none"},
		"no values":          values(),
		"nulls":              values(nil, map[string]any{"Timestamp": nil, "Value": nil}),
		"words for numbers":  values(map[string]any{"Timestamp": "now", "Value": "N/A"}),
		"absurd numbers":     values(map[string]any{"Timestamp": now, "Value": json.RawMessage("1e300")}, map[string]any{"Timestamp": json.RawMessage("1e30"), "Value": 1}),
		"beyond a float":     values(map[string]any{"Timestamp": now, "Value": json.RawMessage("1e999")}),
		"the future":         values(map[string]any{"Timestamp": now + 3600, "Value": 1}),
		"milliseconds":       values(map[string]any{"Timestamp": now * 1000, "Value": 1}),
		"the same one twice": values(map[string]any{"Timestamp": now, "Value": 1}, map[string]any{"Timestamp": now, "Value": 2}),
		"another instance":   {"UHostId": "uhost-another"},
	} {
		out[name] = one(compsharetest.Instance{Util: []int{1}, Monitor: set})
	}
	return out
}

// cloud is a project with these instances.
func cloud(things ...providertest.Thing) *compsharetest.Cloud {
	return compsharetest.Of(providertest.World{Instances: things})
}

func thing(id string) providertest.Thing {
	return providertest.Thing{Kind: guard.Instance, ID: id, Name: id, GPUs: 2, Price: guard.MustMoney("3.16CNY")}
}
