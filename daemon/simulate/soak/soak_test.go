package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/simulate"
	"guard/providers/fake"
)

// TestSoak plays weeks of fixed seeds; what they break is a failure. By default it
// takes a minute or two on two cores. GUARD_SOAK=10m plays whole weeks that long,
// from GUARD_SOAK_SEED on, and leaves shrunk failures in GUARD_SOAK_OUT.
func TestSoak(t *testing.T) {
	o := Options{Run: commandTree, Check: Check, Knobs: shortKnobs(), Seed: 1, Weeks: 40, KeepGoing: true, Out: os.Getenv("GUARD_SOAK_OUT")}
	if testing.Short() {
		o.Weeks = 4
	}
	if env := os.Getenv("GUARD_SOAK"); env != "" {
		d, err := time.ParseDuration(env)
		if err != nil {
			t.Fatal(err)
		}
		o.Duration, o.Weeks, o.Knobs = d, 0, Usual()
	}
	if env := os.Getenv("GUARD_SOAK_SEED"); env != "" {
		seed, err := strconv.ParseInt(env, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		o.Seed = seed
	}
	r, err := Soak(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	r.Table(&b)
	if len(r.Failures) > 0 {
		t.Error(b.String())
	} else {
		t.Log(b.String())
	}
}

// hours are weeks of a few hours.
func hours() Knobs {
	k := shortKnobs()
	k.Least, k.Most = 6*time.Hour, 8*time.Hour
	return k
}

// against is a checker that is against releases.
func against(_ Week, h *simulate.History) []Violation {
	for _, c := range h.Calls {
		if c.Call.Call == fake.CallRelease && c.Status == 200 {
			return []Violation{{Law: 10, Kind: "wrong release", At: c.At.Sub(h.Start), ID: c.Account + "/" + c.IDs[0], Text: "released",
				Lost: guard.MustMoney("2 USD")}}
		}
	}
	return nil
}

// TestTheFirstBySeedIsMadeSmall: of weeks that fail in the same way, whichever was over first.
func TestTheFirstBySeedIsMadeSmall(t *testing.T) {
	s := &soak{o: Options{Run: commandTree, Check: against, Out: t.TempDir(), Shrink: time.Nanosecond}, report: newReport(1)}
	for seed := int64(20); len(s.failed) < 2; seed-- {
		w := DrawSeed(seed, hours())
		found, tale, err := Judge(t.Context(), w, commandTree, against)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			s.report.add(w, tale, found)
			s.failed = append(s.failed, failed{w, found})
		}
	}
	s.report.finish()
	if err := s.shrink(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := s.report.Failures; f[0].Seed >= f[1].Seed || f[0].File == "" || f[1].File != "" {
		t.Errorf("%+v", f)
	}
}

// TestAFailureIsCountedAndMadeSmall: with a checker that is against releases.
func TestAFailureIsCountedAndMadeSmall(t *testing.T) {
	var said bytes.Buffer
	// One after the other: beside each other it would be chance which of them fails first.
	o := Options{Run: commandTree, Check: against, Knobs: hours(), Seed: 1, Weeks: 40, Parallel: 1, Out: t.TempDir(), Shrink: time.Hour, Progress: &said}
	r, err := Soak(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.WrongReleases == 0 || r.WrongReleases != r.Violations || len(r.Failures) != r.Violations || r.MoneyLost["USD"] == "" || r.Weeks == 0 || r.InstanceDays <= 0 || r.Releases == 0 {
		t.Fatalf("report: %+v", r)
	}
	f := r.Failures[0]
	text, err := os.ReadFile(f.File)
	if err != nil {
		t.Fatal(err, said.String())
	}
	if !strings.HasPrefix(string(text), "# wrong release (law 10) at ") || strings.Count(string(text), "kind: ") > 0 || !strings.Contains(string(text), "never: true") {
		t.Errorf("the scenario:\n%s", text)
	}
	story, err := simulate.Parse(text, f.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	played, err := story.Run(t.Context(), simulate.Options{Run: commandTree, Seed: f.Seed})
	if err != nil || len(played.Failures) != 1 {
		t.Errorf("the scenario fails %d times, %v", len(played.Failures), err)
	}
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	keys := map[string]any{}
	if err := json.Unmarshal(b.Bytes(), &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range strings.Fields("seed weeks real_seconds instance_days instance_days_per_minute faults crashes wrong_releases missed_limits false_holds " +
		"money_lost messages_lost messages_repeated ledger_errors failures") {
		if _, ok := keys[k]; !ok {
			t.Errorf("the JSON has no %s", k)
		}
	}
	b.Reset()
	r.Table(&b)
	for line := range strings.SplitSeq(b.String(), "\n") {
		if len([]rune(line)) > 80 && !strings.Contains(line, f.File) {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
}

// TestOneWeekIsOneStory: a seed gives the same events, however many are played beside.
func TestOneWeekIsOneStory(t *testing.T) {
	w := DrawSeed(3, hours())
	var texts []string
	for range 2 {
		tale, err := Play(t.Context(), w, commandTree)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(tale.Events)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	if texts[0] != texts[1] {
		t.Error("one week gives two stories")
	}
}

// TestAPanicIsAViolation: it ends neither the soak nor the test.
func TestAPanicIsAViolation(t *testing.T) {
	w := DrawSeed(3, hours())
	w.Orders = []Order{{At: time.Hour, Verb: Release, ID: "lab/i-1"}}
	found, tale, err := Judge(t.Context(), w, func(context.Context, simulate.Command) int { panic("boo") }, Check)
	if err != nil || tale.History != nil || len(found) != 1 || found[0].Kind != "crash" || !strings.Contains(found[0].Text, "boo") {
		t.Errorf("%v, %+v", err, found)
	}
	r := newReport(1)
	r.add(w, tale, found)
	if r.BrokenRuns != 1 {
		t.Errorf("%+v", r)
	}
}

// TestASoakThatIsStopped ends with the context's error.
func TestASoakThatIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Soak(ctx, Options{Run: commandTree, Check: Check, Knobs: hours(), Duration: time.Minute, Seed: 1})
	if !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("%v, %+v", err, r)
	}
}
