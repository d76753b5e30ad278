package fake

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

// rack is n instances in two zones, three entries a page.
func rack(n int, faults ...Fault) Script {
	s := Script{Account: "lab", Scopes: []string{"zone-a", "zone-b"}, PageSize: 3, Faults: faults}
	for _, scope := range s.Scopes {
		s.Resources = append(s.Resources, Resource{ID: "i-" + scope[5:], Scope: scope, Count: n, Rate: &Rate{Amount: "30", Per: "hour"}})
	}
	return s
}

// zones is how many instances each zone lists, or "error".
func (s story) zones(d time.Duration) string {
	s.Helper()
	inv, err := s.p.List(s.at(d), providers.Query{Kinds: []guard.Kind{guard.Instance}})
	if err != nil {
		return "error"
	}
	out := ""
	for _, r := range inv.Results {
		if r.Err != nil {
			out += fmt.Sprintf("%s: error after %d; ", r.Scope, len(r.Resources))
			continue
		}
		out += fmt.Sprintf("%s: %d; ", r.Scope, len(r.Resources))
	}
	return out
}

func TestListFaults(t *testing.T) {
	tests := []struct {
		name  string
		fault Fault
		want  string
	}{
		{"none", Fault{Call: CallStop, Reply: Reply{Status: 500}}, "zone-a: 7; zone-b: 7; "},
		{"one scope", Fault{Call: CallList, Scope: "zone-b", Reply: Reply{Status: 503}}, "zone-a: 7; zone-b: error after 0; "},
		{"empty", Fault{Call: CallList, Reply: Reply{Empty: true}}, "zone-a: 0; zone-b: 0; "},
		{"the first page dropped", Fault{Call: CallList, Reply: Reply{DropPage: 1}}, "zone-a: 4; zone-b: 4; "},
		{"a page dropped", Fault{Call: CallList, Scope: "zone-a", Reply: Reply{DropPage: 2}}, "zone-a: 4; zone-b: 7; "},
		{"the last page dropped", Fault{Call: CallList, Reply: Reply{DropPage: 3}}, "zone-a: 6; zone-b: 6; "},
		{"no such page to drop", Fault{Call: CallList, Reply: Reply{DropPage: 9}}, "zone-a: 7; zone-b: 7; "},
		{"unreachable", Fault{Call: CallAny, Reply: Reply{Unreachable: true}}, "zone-a: error after 0; zone-b: error after 0; "},
		{"a blip is read over", Fault{Call: CallList, Times: 2, Reply: Reply{Status: 500}}, "zone-a: 7; zone-b: 7; "},
		{"HTML", Fault{Call: CallList, Scope: "zone-a", Reply: Reply{HTML: true}}, "zone-a: error after 0; zone-b: 7; "},
		{"no IDs", Fault{Call: CallList, Scope: "zone-a", Reply: Reply{NullFields: []string{"id"}}}, "zone-a: error after 0; zone-b: 7; "},
		{"one without ID", Fault{Call: CallList, ID: "i-a-002", Reply: Reply{NullFields: []string{"id"}}}, "zone-a: error after 6; zone-b: 7; "},
		{"throttled ends the round", Fault{Call: CallList, Scope: "zone-a", Reply: Reply{Status: 429, RetryAfter: "30"}}, "zone-a: error after 0; zone-b: error after 0; "},
		{"later", Fault{Call: CallList, From: 2 * time.Hour, Reply: Reply{Status: 503}}, "zone-a: 7; zone-b: 7; "},
		{"over", Fault{Call: CallList, For: time.Hour, Reply: Reply{Status: 503}}, "zone-a: 7; zone-b: 7; "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tell(t, rack(7, tt.fault))
			s.want("zones", s.zones(time.Hour), tt.want)
		})
	}
	s := tell(t, rack(7, Fault{Call: CallList, Times: 1, Reply: Reply{DropPage: 2}}))
	s.want("first", s.zones(0), "zone-a: 4; zone-b: 7; ")
	s.want("then", s.zones(0), "zone-a: 7; zone-b: 7; ")
}

func TestFieldsAreNulledAndReplaced(t *testing.T) {
	sc := rack(2,
		Fault{Call: CallGet, ID: "i-a-001", Reply: Reply{NullFields: []string{"rate", "state", "gpus"}}},
		Fault{Call: CallList, Reply: Reply{SetFields: map[string]any{"rate": map[string]any{"amount": "4100", "per": "hour"}}}})
	s := tell(t, sc)
	r := s.get(0, guard.Instance, "i-a-001").Resource
	s.want("nulls", []any{r.State, r.Bills, r.Rate.Known(), r.HasGPU}, []any{guard.StateUnknown, guard.Yes, false, guard.Unknown})
	h, _ := s.get(0, guard.Instance, "i-a-002").Resource.Rate.Hourly()
	s.want("its neighbour", h.String(), "30.00 USD")
	h, _ = s.list(time.Hour, guard.Instance)[0].Rate.Hourly()
	s.want("a price in the account's currency", h.String(), "4100.00 USD")
	s.spend("i-a-001", "30")
}

func TestReadFaults(t *testing.T) {
	get := func(f Fault) (story, []guard.Lookup) {
		f.Call = CallGet
		s := tell(t, rack(2, f))
		return s, s.p.Get(s.at(0), s.c.ID(guard.Instance, "i-a-001"), s.c.ID(guard.Instance, "i-a-002"), s.c.ID(guard.Instance, "i-x"))
	}
	for name, reply := range map[string]Reply{
		"status": {Status: 500}, "throttled": {Status: 429, RetryAfter: "30"}, "unreachable": {Unreachable: true}, "time-out": {TimesOut: true},
		"empty": {Empty: true}, "HTML": {HTML: true}, "not found": {Status: 404}, "another ID": {SetFields: map[string]any{"id": "i-77"}},
	} {
		s, all := get(Fault{Reply: reply})
		for i, l := range all[:2] {
			if l.Verdict != guard.VerdictUnknown || l.Err == nil {
				t.Errorf("%s: lookup %d is %s, %v", name, i, l.Verdict, l.Err)
			}
		}
		s, one := get(Fault{ID: "i-a-001", Reply: reply})
		s.want(name+" for one", []guard.Verdict{one[0].Verdict, one[1].Verdict, one[2].Verdict},
			[]guard.Verdict{guard.VerdictUnknown, guard.VerdictFound, guard.VerdictAbsent})
		s.want("in one call", len(s.c.CallsOf(CallGet, "i-a-001")), 1)
	}
	_, one := get(Fault{ID: "i-a-001", Reply: Reply{Status: 429, RetryAfter: "30"}})
	if d, _ := guard.RetryAfter(one[0].Err); d != 30*time.Second || !errors.Is(one[0].Err, guard.ErrThrottled) {
		t.Errorf("err = %v", one[0].Err)
	}
}

func TestWriteFaults(t *testing.T) {
	tests := []struct {
		name  string
		reply Reply
		kind  error // nil: accepted
		truth string
		wait  time.Duration
	}{
		{"accepted, not done", Reply{AcceptedIgnored: true}, nil, TruthRunning, 0},
		{"done, and the reply lost", Reply{DoneButTimesOut: true}, guard.ErrUncertain, TruthGone, 0},
		{"not done, and no reply", Reply{TimesOut: true}, guard.ErrUncertain, TruthRunning, 0},
		{"never arrived", Reply{Unreachable: true}, guard.ErrUnavailable, TruthRunning, 0},
		{"refused", Reply{Status: 403}, guard.ErrPermission, TruthRunning, 0},
		{"asked to wait", Reply{Status: 500, Body: `{"error":"retry in 60 seconds"}`}, guard.ErrUnavailable, TruthRunning, time.Minute},
		{"nothing said", Reply{Empty: true}, guard.ErrBadReply, TruthRunning, 0},
		{"HTML", Reply{HTML: true}, guard.ErrUncertain, TruthRunning, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sc := rack(1, Fault{Call: CallRelease, Times: 1, Reply: tt.reply})
			sc.Resources[0].Count, sc.Resources[1].Count, sc.ReleaseTakes = 0, 0, AtOnce
			s := tell(t, sc)
			id := s.c.ID(guard.Instance, "i-a")
			err := s.p.Release(s.at(time.Hour), id, providers.ReleaseOptions{})
			if !errors.Is(err, tt.kind) {
				t.Errorf("err = %v, want %v", err, tt.kind)
			}
			d, _ := guard.RetryAfter(err)
			s.want("wait", d, tt.wait)
			s.want("truth", s.c.Truth("i-a"), tt.truth)
			s.want("calls", len(s.c.CallsOf(CallRelease, "i-a")), 1)
			if err := s.p.Release(s.at(time.Hour), id, providers.ReleaseOptions{}); err != nil {
				t.Errorf("the next one: %v", err)
			}
			s.want("in the end", s.c.Truth("i-a"), TruthGone)
		})
	}
}

func TestFaultsComeAndGo(t *testing.T) {
	s := tell(t, rack(1))
	s.c.Fault(Fault{Call: CallIdentity, Reply: Reply{Status: 401}})
	_, err := s.p.Identity(s.at(0))
	s.want("with", errors.Is(err, guard.ErrPermission), true)
	s.c.ClearFaults()
	_, err = s.p.Identity(s.at(0))
	s.want("without", err, nil)
	last := s.c.Calls()[len(s.c.Calls())-1]
	s.want("log", last, Call{At: DefaultStart, Call: CallIdentity, Status: 200, Outcome: "ok"})
}

func TestTheTokenIsAskedFor(t *testing.T) {
	sc := Lab()
	sc.Token = guard.NewSecret("right")
	c := MustCloud(sc)
	if _, err := c.Provider().Identity(t.Context()); err != nil {
		t.Error(err)
	}
	p, err := New(Config{Account: "lab", Scopes: []string{"default"}, Token: guard.NewSecret("wrong"), Next: c.RoundTripper()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Identity(t.Context()); !errors.Is(err, guard.ErrPermission) {
		t.Errorf("err = %v", err)
	}
	if _, err := New(Config{}); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("an adapter without an account: %v", err)
	}
}

// A thing that goes between two pages shifts nothing on the next.
func TestPagesDoNotShift(t *testing.T) {
	sc := rack(7)
	sc.Timeline = []Event{{At: time.Minute, ID: "i-a-001", Delete: true}, {At: time.Minute, ID: "i-a-002", Delete: true}}
	c := MustCloud(sc)
	o := op{call: CallList, kind: guard.Instance, scope: "zone-a"}
	page := func() ([]string, string) {
		body := c.list(o, Reply{}).body.(map[string]any)
		var ids []string
		for _, item := range body["items"].([]any) {
			ids = append(ids, item.(wireResource).ID)
		}
		next, _ := body["next"].(string)
		return ids, next
	}
	s := story{T: t, c: c}
	first, next := page()
	s.want("first", first, []string{"i-a-001", "i-a-002", "i-a-003"})
	c.Advance(DefaultStart.Add(time.Hour))
	_, err := fmt.Sscanf(next, "after-%d", &o.after)
	s.want("token", err, nil)
	second, _ := page()
	s.want("second", second, []string{"i-a-004", "i-a-005", "i-a-006"})
}

// One script gives the same run every time.
func TestDeterministic(t *testing.T) {
	run := func() string {
		s := tell(t, Lab())
		for i := range 5 {
			_ = s.p.Release(s.at(time.Duration(i)*time.Hour), s.c.ID(guard.Instance, "i-2"), providers.ReleaseOptions{})
			s.list(time.Duration(i)*time.Hour, guard.Volume)
		}
		a, _ := s.c.Spend("i-2")
		return fmt.Sprint(s.c.Calls(), a, s.list(6*time.Hour, guard.Instance))
	}
	if a, b := run(), run(); a != b {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
}
