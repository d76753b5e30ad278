package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/policy/activity"
)

// What a box does is one word, and the worst of what holds comes first.
func TestActivityWord(t *testing.T) {
	b := newBench(t)
	p, _ := b.signals()
	now := b.at.Wall
	on := func(ago time.Duration) activity.Span {
		return activity.Span{Since: now.Add(-ago), Seen: ago / 2, End: now, Why: "because"}
	}
	base := activity.State{At: now, Heard: now, Interval: time.Minute, Basis: guard.Summary, Source: "agent", Worked: now.Add(-time.Hour), Work: "gpu 93 %"}
	for _, c := range []struct {
		want string
		set  func(*activity.State)
	}{
		{"busy", func(a *activity.State) { a.Worked = now }},
		{"unknown", func(a *activity.State) {}},
		{"empty", func(a *activity.State) { a.Idle, a.Sort = on(time.Hour), activity.Empty }},
		{"resident", func(a *activity.State) { a.Idle, a.Sort, a.GPUsQuiet = on(time.Hour), activity.Resident, on(time.Hour) }},
		{"blind", func(a *activity.State) { a.Idle, a.Sort = on(time.Hour), activity.Blind }},
		{"parked", func(a *activity.State) { a.Parked, a.GPUsQuiet, a.Worked = on(time.Hour), on(time.Hour), now }},
		{"hung", func(a *activity.State) { a.Hung, a.Worked = on(time.Hour), now }},
		{"phantom", func(a *activity.State) { a.Phantom, a.Worked = on(time.Hour), now }},
		{"lost", func(a *activity.State) { a.Lost, a.Idle, a.Sort = on(time.Hour), on(time.Hour), activity.Empty }},
	} {
		s := base
		c.set(&s)
		p.state = &s
		show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
		a := show.Item.Activity
		if a == nil || a.State != c.want || a.Source != "agent" || a.Basis != "summary" || a.Interval != 60 || !a.SampledAt.Equal(now) || a.Work != "gpu 93 %" {
			t.Errorf("%s: %+v", c.want, a)
			continue
		}
		told := c.want != "busy" && c.want != "unknown"
		if told != (a.Since != nil && a.Since.Equal(now.Add(-time.Hour)) && a.Why == "because") {
			t.Errorf("%s since %v because %q", c.want, a.Since, a.Why)
		}
		if s.Idle.On() != (a.Coverage != nil && *a.Coverage == 0.5) {
			t.Errorf("%s: coverage %v", c.want, a.Coverage)
		}
		if len(a.Lines) == 0 {
			t.Errorf("%s: no numbers", c.want)
		}
		list := good[wire.List](b, "ana", http.MethodGet, "/resources", nil)
		i := slices.IndexFunc(list.Items, func(it wire.Item) bool { return it.ID == "i-1" })
		if got := list.Items[i].Activity; got == nil || got.State != c.want || len(got.Lines) > 0 {
			t.Errorf("%s in the list: %+v", c.want, got)
		}
	}
}

// Where nothing is sampled nothing is said, and a daemon without samples says so of none.
func TestNoActivity(t *testing.T) {
	b := newBench(t)
	show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
	if show.Item.Activity != nil {
		t.Errorf("%+v", show.Item.Activity)
	}
	b.signals()
	show = good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
	if show.Item.Activity != nil {
		t.Errorf("%+v", show.Item.Activity)
	}
}

// Status tells why samples do not come, once, and since when.
func TestSignalTroubles(t *testing.T) {
	b := newBench(t)
	since := b.at.Wall.Add(-time.Hour)
	b.o.Signals.Troubles = func() []api.SignalTrouble {
		return []api.SignalTrouble{
			{Loop: "signals/lab", Text: "signals of lab cannot be read from cloudwatch", Since: since, Why: "status 403"},
			{Text: "samples are not stored", Why: "no space"},
		}
	}
	b.health.Loops = []wire.Loop{{Name: "signals/lab", Error: "signals of lab from cloudwatch: status 403"}, {Name: "signals/lab/prom", Error: "no route"}}
	b.h = api.New(b.o)
	st := good[wire.Status](b, "ana", http.MethodGet, "/status", nil)
	all := strings.Join(st.Attention, "\n")
	for _, want := range []string{"signals of lab cannot be read from cloudwatch since 2026-", "+08:00: status 403", "samples are not stored: no space", "the loop signals/lab/prom fails and is tried again: no route"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not told: %s", want, all)
		}
	}
	if strings.Contains(all, "the loop signals/lab fails") {
		t.Errorf("it is told twice: %s", all)
	}
}
