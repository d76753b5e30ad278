package exec

import (
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// What is kept of texts from outside, in characters.
const (
	maxID    = 256
	maxName  = 256
	maxWord  = 64
	maxText  = 512
	maxTags  = 512
	maxUsers = 512
)

// Limits beyond which a number is noise.
const (
	maxGPUs  = 4096
	maxGB    = 1_000_000_000
	maxScope = 256
)

// helloArgs go with the first call: the versions that guard speaks.
type helloArgs struct {
	Versions []int `json:"versions"`
}

// spec is what a program has told of itself.
type spec struct {
	scopes []string
	kinds  []guard.Kind
	calls  map[string]bool
	tags   bool // things have tags there: one without has not told them
	truths guard.Truths
}

// needed are the calls that every program has.
var needed = []string{callIdentity, callList}

// specOf reads the result of a hello.
func specOf(result providers.Field) (*spec, *failure) {
	var in struct {
		Scopes providers.Field `json:"scopes"`
		Kinds  providers.Field `json:"kinds"`
		Calls  providers.Field `json:"calls"`
		Tags   providers.Field `json:"tags"`
		Truths providers.Field `json:"truths"`
	}
	if !result.Into(&in) {
		return nil, bad(true, "its hello is no object")
	}
	s := &spec{scopes: names(in.Scopes, maxScope), calls: map[string]bool{}}
	if in.Scopes.Null() {
		s.scopes = []string{"global"}
	}
	if len(s.scopes) == 0 {
		return nil, bad(true, "its hello names no scope; leave scopes out where there are none")
	}
	for _, c := range names(in.Calls, maxScope) {
		s.calls[c] = true
	}
	for _, c := range needed {
		if !s.calls[c] {
			return nil, bad(true, "its hello names no call %q, which every program has", c)
		}
	}
	s.tags = s.calls[callTag] || in.Tags.Tri() == guard.Yes
	s.kinds = []guard.Kind{guard.Instance}
	for _, k := range names(in.Kinds, maxScope) {
		kind := guard.Kind(k)
		switch {
		case !slices.Contains(guard.Kinds, kind):
			return nil, bad(true, "its hello names a kind that the protocol does not have")
		case !slices.Contains(s.kinds, kind):
			s.kinds = append(s.kinds, kind)
		}
	}
	s.truths = s.declared(in.Truths)
	return s, nil
}

// cautious are the truths of a program that has told none: each is what does least harm
// where it is wrong.
func cautious() guard.Truths {
	return guard.Truths{
		HasGet: true, ReleaseLead: time.Minute, PriceUnit: "machine",
		ReclaimShows: "as the program tells",
	}
}

// declared are the truths of a hello. One that makes no sense is as if it was not told.
func (s *spec) declared(f providers.Field) guard.Truths {
	var in struct {
		Granularity     providers.Field            `json:"granularity"`
		Minimum         providers.Field            `json:"minimum"`
		ReleaseLead     providers.Field            `json:"release_lead"`
		ImmutableIDs    providers.Field            `json:"immutable_ids"`
		TerminalBilling providers.Field            `json:"terminal_billing"`
		Stop            providers.Field            `json:"stop"`
		StopBy          map[string]providers.Field `json:"stop_by"`
		StopFirst       providers.Field            `json:"stop_first"`
		StoppedEnds     providers.Field            `json:"stopped_ends"`
		AtZero          providers.Field            `json:"at_zero"`
		PriceUnit       providers.Field            `json:"price_unit"`
		DeleteLeaves    providers.Field            `json:"delete_leaves"`
		ReclaimShows    providers.Field            `json:"reclaim_shows"`
	}
	f.Into(&in)
	t := cautious()
	t.HasGet = s.calls[callGet]
	t.Granularity, t.Minimum, t.StoppedEnds = seconds(in.Granularity), seconds(in.Minimum), seconds(in.StoppedEnds)
	if d := seconds(in.ReleaseLead); d > 0 {
		t.ReleaseLead = d
	}
	t.ImmutableIDs = in.ImmutableIDs.Tri() == guard.Yes
	t.TerminalBilling = in.TerminalBilling.Tri() == guard.Yes
	t.StopFirst = in.StopFirst.Tri() == guard.Yes // a release that stops needs no call for that
	t.Stop = guard.StopUnsupported
	if s.calls[callStop] {
		t.Stop = guard.StopSavesNothing
		if e := effect(in.Stop); e != guard.StopUnknown {
			t.Stop = e
		}
		for mode, e := range in.StopBy {
			if e := effect(e); e != guard.StopUnknown && mode != "" && len(t.StopBy) < maxTags {
				if t.StopBy == nil {
					t.StopBy = map[string]guard.StopEffect{}
				}
				t.StopBy[providers.Text(mode, maxName)] = e
			}
		}
	}
	switch z := guard.AtZero(in.AtZero.Text(maxWord)); z {
	case guard.ZeroNothing, guard.ZeroStops, guard.ZeroDeletes:
		t.AtZero = z
	}
	if in.PriceUnit.Text(maxWord) == "gpu" {
		t.PriceUnit = "gpu"
	}
	for _, k := range names(in.DeleteLeaves, maxScope) {
		if kind := guard.Kind(k); kind == guard.Volume && slices.Contains(s.kinds, kind) {
			t.DeleteLeaves = append(t.DeleteLeaves, kind)
		}
	}
	for _, kind := range s.kinds { // what is not named there is never looked for
		if kind != guard.Instance && kind != guard.Volume {
			t.DeleteLeaves = append(t.DeleteLeaves, kind)
		}
	}
	if shows := in.ReclaimShows.Text(maxText); shows != "" {
		t.ReclaimShows = shows
	}
	return t
}

// seconds is a time from nothing to a year; 0 for anything else.
func seconds(f providers.Field) time.Duration {
	s := f.Gauge().Or(0)
	if s <= 0 || s > (365*24*time.Hour).Seconds() {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

func effect(f providers.Field) guard.StopEffect {
	switch e := guard.StopEffect(f.Text(maxWord)); e {
	case guard.StopSavesNothing, guard.StopSavesCompute, guard.StopSavesAll, guard.StopUnsupported:
		return e
	}
	return guard.StopUnknown
}
