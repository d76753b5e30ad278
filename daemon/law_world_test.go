package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

// lab is a script of the account "lab" with these resources.
func lab(rs ...fake.Resource) fake.Script { return fake.Script{Account: "lab", Resources: rs} }

// gpu is a box with a GPU at a price per hour.
func gpu(id, hourly string, mods ...func(*fake.Resource)) fake.Resource {
	r := fake.Resource{ID: id, Rate: &fake.Rate{Amount: hourly, Per: "hour"}}
	for _, m := range mods {
		m(&r)
	}
	return r
}

func disk(id string, gb int64, goes bool) fake.Resource {
	return fake.Resource{ID: id, Kind: guard.Volume, SizeGB: gb, GoesWithInstance: goes, Rate: &fake.Rate{Amount: "0.10", Per: "gb_month"}}
}

// calls are when calls of one sort about a thing arrived, by the story's time.
func (w *world) calls(account, call, id string) []time.Duration {
	var out []time.Duration
	for _, c := range w.clouds[account].CallsOf(call, id) {
		out = append(out, c.At.Sub(w.start))
	}
	return out
}

// untouched fails the test where guard asked the cloud to change anything but
// its tags.
func (w *world) untouched(account string) {
	w.t.Helper()
	for _, c := range w.clouds[account].Calls() {
		switch c.Call {
		case fake.CallRelease, fake.CallStop, fake.CallDelete, fake.CallUnprotect:
			w.t.Errorf("guard called %s %v at %s", c.Call, c.IDs, c.At.Sub(w.start))
		}
	}
}

// truth fails the test where a thing is not in truth what it should be.
func (w *world) truth(account, id, want string) {
	w.t.Helper()
	if got := w.clouds[account].Truth(id); got != want {
		w.t.Errorf("at %s %s/%s is %s in truth, want %s", w.offset(), account, id, got, want)
	}
}

// gone fails the test unless the thing went between two moments of the story.
func (w *world) gone(account, id string, from, to time.Duration) {
	w.t.Helper()
	at := w.clouds[account].Gone(id)
	if at.IsZero() {
		w.t.Errorf("at %s %s/%s is still there: %s", w.offset(), account, id, w.tell(account+"/"+id))
		return
	}
	if d := at.Sub(w.start); d < from || d > to {
		w.t.Errorf("%s/%s went at %s, want between %s and %s", account, id, d, from, to)
	}
}

// tell is how guard sees a resource, for a failed test.
func (w *world) tell(id string) string {
	it := w.item(id)
	spend := "?"
	if it.Spend != nil {
		spend = *it.Spend
	}
	return fmt.Sprintf("state %s, lease %s, release %s %s, spend %s, deadline %v %s, findings %v", it.State, it.Lease, it.Release,
		it.ReleaseReason, spend, it.Deadline, it.DeadlineReason, it.Findings)
}

// says fails the test unless the resource's release is in one of these states.
func (w *world) release(id string, states ...string) {
	w.t.Helper()
	if it := w.item(id); !slices.Contains(states, strings.TrimSpace(it.Release+" "+it.ReleaseReason)) {
		w.t.Errorf("at %s: release %s %s, want one of %v", w.offset(), it.Release, it.ReleaseReason, states)
	}
}

func (w *world) finding(want bool, rule guard.Rule, subject string) {
	w.t.Helper()
	if got := slices.Contains(w.findings(), string(rule)+" "+subject); got != want {
		w.t.Errorf("at %s: finding %s of %s open: %v, want %v (open: %v)", w.offset(), rule, subject, got, want, w.findings())
	}
}

// order releases by hand and gives the outcome.
func (w *world) order(ids ...string) []wire.ReleaseOutcome {
	w.t.Helper()
	a, err := w.client.Release(w.t.Context(), wire.ReleaseRequest{IDs: ids})
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Results
}

func (w *world) extend(r wire.ExtendRequest) {
	w.t.Helper()
	if _, err := w.client.Extend(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

// attention is what `guard status` says needs a person.
func (w *world) attention() []string {
	w.t.Helper()
	s, err := w.client.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Attention
}

// said are the messages that hold a text, in order, with when they were queued.
func (w *world) said(part string) []guard.Message {
	var out []guard.Message
	for _, p := range w.channel.posts {
		if strings.Contains(p.Title+"\n"+strings.Join(p.Lines, "\n"), part) {
			out = append(out, p)
		}
	}
	return out
}

func (w *world) reload(config string) error {
	w.config = config
	return w.daemon.Reload(w.t.Context())
}

func story(t *testing.T, s fake.Script) *world { t.Helper(); return newWorld(t, enforce, s) }
