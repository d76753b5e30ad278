package exec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

// of is what a program's record makes, of a program that has told these truths.
func of(t *testing.T, kind guard.Kind, record, truths string) guard.Resource {
	t.Helper()
	s, f := specOf(providers.Field(`{"calls":["identity","list","get","release","stop"],"kinds":["volume"],"tags":true,"truths":` + truths + `}`))
	if f != nil {
		t.Fatal(f)
	}
	p := &Provider{name: "box", told: s}
	r, ok := p.resource(providers.Field(record), kind, "north")
	if !ok {
		t.Fatalf("%s is no record", record)
	}
	return r
}

// TestPrices: each is for what and for how long the page says, and what makes no sense is not
// known.
func TestPrices(t *testing.T) {
	for price, want := range map[string]string{
		`{"amount":"1.50","currency":"CNY","per":"hour"}`:                   "1.50 CNY per hour",
		`{"amount":1.5,"currency":"CNY","per":"hour","for":"machine"}`:      "1.50 CNY per hour",
		`{"amount":"1.50","currency":"CNY","per":"hour","for":"gpu"}`:       "12.00 CNY per hour (8 × 1.50 CNY per gpu per hour)",
		`{"amount":"3650","currency":"CNY","per":"month"}`:                  "5.00 CNY per hour (3650.00 CNY per month)",
		`{"amount":"24","currency":"USD","per":"day"}`:                      "1.00 USD per hour (24.00 USD per day)",
		`{"amount":"0.01","currency":"USD","per":"minute"}`:                 "0.60 USD per hour (0.01 USD per minute)",
		`{"amount":"0.001","currency":"USD","per":"second"}`:                "3.60 USD per hour (0.001 USD per second)",
		`{"amount":0,"currency":"CNY","per":"hour","free":true}`:            "0.00 CNY per hour",
		`{"amount":0,"currency":"CNY","per":"hour"}`:                        "unknown",
		`{"amount":"0","currency":"CNY","per":"hour","free":"yes"}`:         "unknown",
		`{"amount":1,"currency":"CNY","per":"hour","free":true}`:            "1.00 CNY per hour",
		`{"amount":"1,5","currency":"CNY","per":"hour"}`:                    "unknown",
		`{"amount":"¥1.5","currency":"CNY","per":"hour"}`:                   "unknown",
		`{"amount":" 1.5","currency":"CNY","per":"hour"}`:                   "unknown",
		`{"amount":"-1","currency":"CNY","per":"hour"}`:                     "unknown",
		`{"amount":"NaN","currency":"CNY","per":"hour"}`:                    "unknown",
		`{"amount":"1e99","currency":"CNY","per":"hour"}`:                   "unknown",
		`{"amount":true,"currency":"CNY","per":"hour"}`:                     "unknown",
		`{"amount":"1.50","per":"hour"}`:                                    "unknown",
		`{"amount":"1.50","currency":"元","per":"hour"}`:                     "unknown",
		`{"amount":"1.50","currency":"CNY"}`:                                "unknown",
		`{"amount":"1.50","currency":"CNY","per":"h"}`:                      "unknown",
		`{"amount":"1.50","currency":"CNY","per":"hour","for":"gb"}`:        "unknown",
		`{"amount":"1.50","currency":"CNY","per":"hour","for":"card"}`:      "unknown",
		`{"amount":"1.50","currency":"CNY","per":"hour","for":7}`:           "unknown",
		`{"amount":"0.12345678901234567890","currency":"CNY","per":"hour"}`: "0.123457 CNY per hour (0.123456789012 CNY per hour)",
		`"1.50 CNY"`: "unknown", `[]`: "unknown", `null`: "unknown", `1.5`: "unknown",
	} {
		r := of(t, guard.Instance, `{"id":"m","state":"running","gpus":8,"price":`+price+`}`, `{}`)
		if got := r.Rate.String(); got != want || r.Bills != guard.Yes {
			t.Errorf("%s: %s, bills %s; want %s", price, got, r.Bills, want)
		}
	}
	if r := of(t, guard.Instance, `{"id":"m","price":{"amount":"1","currency":"CNY","per":"hour","for":"gpu"}}`, `{}`); r.Rate.Known() || r.HasGPU != guard.Unknown {
		t.Errorf("a GPU's price of nobody knows how many: %+v", r)
	}
	if r := of(t, guard.Volume, `{"id":"d","size_gb":500,"price":{"amount":"0.73","currency":"CNY","per":"month","for":"gb"}}`, `{}`); r.Rate.String() != "0.50 CNY per hour (500 × 0.73 CNY per gb per month)" {
		t.Errorf("a disk: %s", r.Rate)
	}
}

// TestWhatIsStopped bills as its stop saves: by its own word, else by the truths.
func TestWhatIsStopped(t *testing.T) {
	const stopped = `"stopped_price":{"amount":"0.10","currency":"CNY","per":"hour"}`
	for record, c := range map[string]struct{ truths, want string }{
		`{"id":"m","state":"stopped"}`:                            {`{}`, "bills yes, saves nothing"},
		`{"id":"m","state":"stopped","stop_saves":"half"}`:        {`{"stop":"all"}`, "bills no, saves all"},
		`{"id":"m","state":"stopped","stop_saves":"nothing"}`:     {`{"stop":"all"}`, "bills yes, saves nothing"},
		`{"id":"m","state":"stopped","stop_saves":"compute"}`:     {`{}`, "bills unknown, saves compute"},
		`{"id":"m","state":"stopped",` + stopped + `}`:            {`{"stop":"compute"}`, "bills yes, saves compute"},
		`{"id":"m","state":"stopped","stop_saves":"unsupported"}`: {`{"stop":"all"}`, "bills yes, saves unsupported"},
		`{"id":"m","state":"hibernating"}`:                        {`{"stop":"all"}`, "bills yes, saves all"},
		`{"id":"m","state":"gone"}`:                               {`{}`, "bills no, saves nothing"},
		`{"id":"m","state":"releasing"}`:                          {`{"stop":"all"}`, "bills yes, saves all"},
		`{"id":"m"}`:                                              {`{"stop":"all"}`, "bills yes, saves all"},
		`{"id":"m","state":"stopped","stopped_price":{"amount":0,"currency":"CNY","per":"hour","free":true},"stop_saves":"compute"}`: {`{}`, "bills no, saves compute"},
	} {
		r := of(t, guard.Instance, record, c.truths)
		if got := fmt.Sprintf("bills %s, saves %s", r.Bills, r.StopSaves); got != c.want {
			t.Errorf("%s with %s: %s, want %s", record, c.truths, got, c.want)
		}
	}
}

// TestPrepaid is a lump from a time on; without that it is none.
func TestPrepaid(t *testing.T) {
	for lump, want := range map[string]string{
		`{"amount":"3000","currency":"CNY","from":"2026-03-01T00:00:00+08:00","until":"2026-04-01T00:00:00+08:00","renews":true}`: "3000.00 CNY from 2026-02-28 16:00 until 2026-03-31 16:00, renews yes",
		`{"amount":3000,"currency":"CNY","from":"2026-03-01T00:00:00Z"}`:                                                          "3000.00 CNY from 2026-03-01 00:00 until -, renews unknown",
		`{"from":"2026-03-01T00:00:00Z","until":"2026-04-01T00:00:00Z","renews":"maybe"}`:                                         "- from 2026-03-01 00:00 until 2026-04-01 00:00, renews unknown",
		`{"amount":-1,"currency":"CNY","from":"2026-03-01T00:00:00Z","until":"2026-04-01T00:00:00Z"}`:                             "- from 2026-03-01 00:00 until 2026-04-01 00:00, renews unknown",
		`{"amount":"3000","currency":"CNY","until":"2026-04-01T00:00:00Z"}`:                                                       "none",
		`{"amount":"3000","currency":"CNY","from":"2026-03-01 00:00:00"}`:                                                         "none",
		`{"amount":"3000","currency":"CNY","from":1772323200,"until":1775001600}`:                                                 "none",
		`{"amount":"3000","currency":"CNY","from":"2026-04-01T00:00:00Z","until":"2026-03-01T00:00:00Z"}`:                         "none",
		`{}`: "none", `"3000 CNY"`: "none", `null`: "none",
	} {
		l := of(t, guard.Instance, `{"id":"m","prepaid":`+lump+`}`, `{}`).Lump
		got := "none"
		if !l.IsZero() {
			amount, until := "-", "-"
			if l.Amount.IsSet() {
				amount = l.Amount.String()
			}
			if !l.Until.IsZero() {
				until = l.Until.Format("2006-01-02 15:04")
			}
			got = fmt.Sprintf("%s from %s until %s, renews %s", amount, l.From.Format("2006-01-02 15:04"), until, l.Renews)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", lump, got, want)
		}
	}
}

// TestTags are an object of texts, of which none that decides whose a box is gets lost.
func TestTags(t *testing.T) {
	many := make([]string, 0, 2*maxTags)
	for i := range 2 * maxTags {
		many = append(many, fmt.Sprintf(`"k%d":"v"`, i))
	}
	for tags, want := range map[string]string{
		`{"team":"nlp","n":"1"}`:                        "n=1 team=nlp",
		`{"guard:keep":true,"n":8,"f":1.50,"no":false}`: "f=1.50 guard:keep=true n=8 no=false",
		`{"a":null,"b":[],"c":{"d":1}}`:                 "a= b= c=",
		`{"a\u0000b":"c\nd\u202e"}`:                     "a b=c d ",
		`{}`:                                            "",
		`null`:                                          "untold", `[]`: "untold", `"team=nlp"`: "untold",
	} {
		r := of(t, guard.Instance, `{"id":"m","tags":`+tags+`}`, `{}`)
		got := "untold"
		if !r.TagsUntold {
			var out []string
			for _, k := range slices.Sorted(maps.Keys(r.Tags)) {
				out = append(out, k+"="+r.Tags[k])
			}
			got = strings.Join(out, " ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", tags, got, want)
		}
	}
	r := of(t, guard.Instance, `{"id":"m","tags":{`+strings.Join(many, ",")+`,"guard:deployment":"d","guard:lease":"l"}}`, `{}`)
	if r.Tags[guard.TagDeployment] != "d" || r.Tags[guard.TagLease] != "l" || len(r.Tags) > maxTags+2 {
		t.Errorf("%d of many tags, guard's own %q", len(r.Tags), r.Tags[guard.TagDeployment])
	}
}

// TestRelations: what hangs on a machine, and what a disk hangs on.
func TestRelations(t *testing.T) {
	m := of(t, guard.Instance, `{"id":"m","attached":[{"kind":"volume","id":"d-1","goes_with_instance":true},{"kind":"volume","id":"d-2"},{"kind":"moon","id":"x"},7]}`, `{}`)
	want := []guard.Child{
		{ID: guard.ResourceID{Account: "box", Kind: guard.Volume, Scope: "north", ID: "d-1"}, GoesWithInstance: guard.Yes},
		{ID: guard.ResourceID{Account: "box", Kind: guard.Volume, Scope: "north", ID: "d-2"}},
	}
	if !slices.Equal(m.Children, want) {
		t.Errorf("%+v", m.Children)
	}
	d := of(t, guard.Volume, `{"id":"d-1","attached_to":"m","used_by":["s-1","s-1",null],"protected":true,
		"platform_ends":{"at":"2026-03-20T00:00:00Z","why":"unpaid"},"ended":"reclaim","changed":"2026-03-10T00:00:00Z"}`, `{}`)
	if d.Parent.ID != "m" || d.Parent.Kind != guard.Instance || fmt.Sprint(d.UsedBy) != "[s-1]" || d.UsesUntold || d.ReleaseProtected != guard.Yes ||
		!d.PlatformEnds.At.Equal(time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)) || d.PlatformEnds.Why != "unpaid" || d.Ended != guard.ByReclaim {
		t.Errorf("%+v", d)
	}
}

// TestTruths: each is what the program declares, and what it leaves out, or says without sense,
// the least that can do harm.
func TestTruths(t *testing.T) {
	const all = `{"granularity":1,"minimum":60,"release_lead":120,"immutable_ids":true,"terminal_billing":true,"stop":"compute","stop_by":{"monthly":"nothing","odd":"half"},
		"stop_first":true,"stopped_ends":1296000,"at_zero":"destroy","price_unit":"gpu","delete_leaves":["volume","moon"],"reclaim_shows":"it stops"}`
	for calls, want := range map[string]string{
		`"identity","list","get","release","stop"`: "get true, 1s 1m0s, lead 2m0s, immutable true, terminal true, stop compute map[monthly:nothing], first true, kept 360h0m0s, zero destroy, gpu, leaves [volume snapshot], it stops",
		`"identity","list"`:                        "get false, 1s 1m0s, lead 2m0s, immutable true, terminal true, stop unsupported map[], first true, kept 360h0m0s, zero destroy, gpu, leaves [volume snapshot], it stops",
	} {
		if got := declares(t, calls, all); got != want {
			t.Errorf("%s:\n%s, want\n%s", calls, got, want)
		}
	}
	const none = "get true, 0s 0s, lead 1m0s, immutable false, terminal false, stop nothing map[], first false, kept 0s, zero , machine, leaves [snapshot], as the program tells"
	for _, odd := range []string{`null`, `{}`, `[]`, `"all"`, `{"granularity":-1,"minimum":"60","release_lead":1e38,"immutable_ids":"true","terminal_billing":1,"stop":"half","stop_by":{"a":7},
		"stop_first":"yes","stopped_ends":null,"at_zero":"explode","price_unit":7,"delete_leaves":"volume","reclaim_shows":7}`} {
		if got := declares(t, `"identity","list","get","release","stop"`, odd); got != none {
			t.Errorf("%s:\n%s, want\n%s", odd, got, none)
		}
	}
}

func declares(t *testing.T, calls, truths string) string {
	t.Helper()
	s, f := specOf(providers.Field(`{"calls":[` + calls + `],"kinds":["volume","snapshot"],"truths":` + truths + `}`))
	if f != nil {
		t.Fatal(f)
	}
	x := s.truths
	return fmt.Sprintf("get %t, %s %s, lead %s, immutable %t, terminal %t, stop %s %v, first %t, kept %s, zero %s, %s, leaves %v, %s", x.HasGet, x.Granularity, x.Minimum, x.ReleaseLead,
		x.ImmutableIDs, x.TerminalBilling, x.Stop, x.StopBy, x.StopFirst, x.StoppedEnds, x.AtZero, x.PriceUnit, x.DeleteLeaves, x.ReclaimShows)
}
