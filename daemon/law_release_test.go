package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard/daemon/wire"
	"guard/providers/fake"
)

// REL-01: nothing at the provider ends it; the daemon does, once, and is believed
// only when it is gone.
func TestLawExpiryIsGuardsOwnDoing(t *testing.T) {
	t.Parallel()
	s := lab(gpu("p1", "2"))
	s.Lag = fake.Lag{Disappears: 63 * time.Minute, State: 20 * time.Second}
	s.ReleaseTakes = 3 * time.Minute
	w := story(t, s)
	w.until(90 * time.Second)
	w.register(wire.RegisterRequest{ID: "lab/p1", TTL: "4h"})
	due := 4*time.Hour + 90*time.Second
	for at := due + 5*time.Second; at < due+3*time.Minute; at += 20 * time.Second {
		w.until(at)
		if it := w.item("lab/p1"); it.State == "released" || it.Lease != "active" {
			t.Fatalf("%s after the call, while it lives: %s", at-due, w.tell("lab/p1"))
		}
	}
	w.until(due + 10*time.Minute)
	w.gone("lab", "p1", due+3*time.Minute, due+3*time.Minute+2*time.Second)
	w.release("lab/p1", "released")
	if n := w.effective("lab", "p1"); n != 1 {
		t.Errorf("%d release calls", n)
	}
	// The tombstone that lingers for an hour is not the box coming back.
	w.until(due + 80*time.Minute)
	w.release("lab/p1", "released")
	if got := w.findings(); len(got) > 0 {
		t.Errorf("open: %q", got)
	}
}

// REL-02: the network is away from before a cap is due until half an hour after;
// the money counts on, the call comes within a minute of the network.
func TestLawOutageAtTheCap(t *testing.T) {
	t.Parallel()
	for _, from := range []time.Duration{-40 * time.Second, -5 * time.Second, time.Second} {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			t.Parallel()
			s := lab(gpu("p2", "6", func(r *fake.Resource) { r.Created = -time.Hour }))
			due := 40*time.Minute - 40*time.Second // 10 of 6 an hour since an hour before, less the lead
			s.Faults = []fake.Fault{{From: due + from, For: 31 * time.Minute, Reply: fake.Reply{Unreachable: true}}}
			w := story(t, s)
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/p2", Budget: "10USD", TTL: "1d"})
			w.until(due + from + 30*time.Minute)
			if from > 0 {
				// The call was in time; what fails is only the proof.
				w.release("lab/p2", "issued")
			} else {
				w.release("lab/p2", "intended", "blocked unreadable")
				if it := w.item("lab/p2"); it.Spend == nil || *it.Spend < "12.80" || it.State == "released" {
					t.Errorf("the money does not count on: %s", w.tell("lab/p2"))
				}
				if len(w.posts("cannot release it yet"))+len(w.posts("cannot be read")) == 0 {
					t.Errorf("nobody heard: %q", w.posts("lab/p2"))
				}
			}
			w.until(due + from + 36*time.Minute)
			last := due + from + 32*time.Minute + 31*time.Second
			if from > 0 {
				last = due + 31*time.Second
			}
			w.gone("lab", "p2", due, last)
			w.release("lab/p2", "released")
			if n := w.effective("lab", "p2"); n != 1 {
				t.Errorf("%d accepted calls", n)
			}
			w.toldOnce()
		})
	}
}

// A reply is lost, guard is killed, and the list shows nothing: still once, and
// never "released" while it lives.
func TestLawLostReplyAndCrash(t *testing.T) {
	t.Parallel()
	for _, reply := range []fake.Reply{{DoneButTimesOut: true}, {TimesOut: true}, {AcceptedIgnored: true}, {Status: 500}, {HTML: true}} {
		for _, down := range []time.Duration{3 * time.Second, 7 * time.Minute, 90 * time.Minute} {
			t.Run(fmt.Sprintf("%+v %s", reply, down), func(t *testing.T) {
				t.Parallel()
				s := lab(gpu("i-1", "3", func(r *fake.Resource) { r.Attached = []string{"v-1"} }), disk("v-1", 100, true))
				s.Faults = []fake.Fault{{Call: fake.CallRelease, Times: 1, Reply: reply},
					{Call: fake.CallList, From: 2 * time.Hour, Reply: fake.Reply{Empty: true}}}
				w := story(t, s)
				w.until(time.Minute)
				w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"})
				crashed := false
				w.stepped = func() {
					if !crashed && len(w.calls("lab", fake.CallRelease, "i-1")) > 0 {
						crashed = true
						w.at = w.at.Add(down)
						w.boot()
					}
					if it := w.item("lab/i-1"); it.State == "released" && w.clouds["lab"].Truth("i-1") != fake.TruthGone {
						t.Fatalf("said to be released at %s, and it lives", w.offset())
					}
				}
				w.until(2*time.Hour + down + 20*time.Minute)
				w.gone("lab", "i-1", 2*time.Hour, 2*time.Hour+down+12*time.Minute) // after more than an hour there is fresh notice first
				w.release("lab/i-1", "released")
				if n := len(w.calls("lab", fake.CallRelease, "i-1")); n > 2 {
					t.Errorf("%d calls", n)
				}
				w.toldOnce()
			})
		}
	}
}

// REL-04: a provider that asks for a minute gets it, seven times, and people hear
// once; an order by hand of a box that is half there and that nobody registered.
func TestLawHintInBody(t *testing.T) {
	t.Parallel()
	s := lab(gpu("n1", "2.50", func(r *fake.Resource) { r.State = "provisioning"; r.Created = -9 * time.Minute }))
	s.Faults = []fake.Fault{{Call: fake.CallRelease, Times: 6, Reply: fake.Reply{Status: 500, Body: `{"error":"busy, retry in 60 seconds"}`}}}
	w := story(t, s)
	w.until(2 * time.Minute)
	if o := w.order("lab/n1"); o[0].Outcome != wire.OutcomeOrdered {
		t.Fatalf("%+v", o)
	}
	w.until(20 * time.Minute)
	calls := w.calls("lab", fake.CallRelease, "n1")
	if len(calls) != 7 {
		t.Errorf("calls at %v", calls)
	}
	for i := 1; i < len(calls); i++ {
		if calls[i]-calls[i-1] < time.Minute {
			t.Errorf("calls at %s and %s", calls[i-1], calls[i])
		}
	}
	if it := w.item("lab/n1"); it.State != "gone" || it.EndedHow != "release" {
		t.Errorf("n1: %s, ended by %s", w.tell("lab/n1"), it.EndedHow)
	}
	if n := len(w.said("cannot release")); n != 1 {
		t.Errorf("said %d times: %q", n, w.posts("n1"))
	}
	w.toldOnce()
}

// REL-05: two boxes over their caps may not be ended; both are paged within a
// minute with the reason, status says so, no more than one try in five minutes,
// and once it may, it does.
func TestLawForbidden(t *testing.T) {
	t.Parallel()
	s := lab(gpu("v1", "10"), gpu("v2", "20"))
	s.Faults = []fake.Fault{{Call: fake.CallRelease, For: 3 * time.Hour, Reply: fake.Reply{Status: 403, Body: `{"error":"lab:Terminate missing"}`}}}
	w := story(t, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/v1", Budget: "10USD"})
	w.register(wire.RegisterRequest{ID: "lab/v2", Budget: "20USD"})
	w.until(time.Hour + time.Minute)
	for _, id := range []string{"lab/v1", "lab/v2"} {
		w.release(id, "blocked permission")
		page := w.said(id)
		if last := page[len(page)-1]; !last.Urgent || !strings.Contains(last.Title+strings.Join(last.Lines, " "), "permission") {
			t.Errorf("%s: page %+v", id, last)
		}
	}
	if len(w.attention()) < 2 {
		t.Errorf("attention %q", w.attention())
	}
	w.until(3*time.Hour + 10*time.Minute)
	calls := w.calls("lab", fake.CallRelease, "v1")
	for i := 1; i < len(calls); i++ {
		if calls[i]-calls[i-1] < 5*time.Minute {
			t.Errorf("calls at %s and %s", calls[i-1], calls[i])
		}
	}
	w.gone("lab", "v1", 3*time.Hour, 3*time.Hour+6*time.Minute)
	w.gone("lab", "v2", 3*time.Hour, 3*time.Hour+6*time.Minute)
	w.toldOnce()
	if got := w.attention(); len(got) > 0 {
		t.Errorf("attention %q", got)
	}
}

// REL-10: the provider's protection, told or hidden, is never stripped; people
// are paged each hour at a cap.
func TestLawProviderProtection(t *testing.T) {
	t.Parallel()
	for _, hidden := range []bool{false, true} {
		t.Run(fmt.Sprint(hidden), func(t *testing.T) {
			t.Parallel()
			w := story(t, lab(gpu("i-11", "8", func(r *fake.Resource) { r.Protected, r.HideProtection = []string{"release"}, hidden })))
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-11", Budget: "8USD", TTL: "30d", AllowUnprotect: true})
			w.until(4*time.Hour + 5*time.Minute)
			w.truth("lab", "i-11", fake.TruthRunning)
			w.release("lab/i-11", "blocked protected")
			if n := len(w.calls("lab", fake.CallUnprotect, "")); n > 0 {
				t.Errorf("stripped %d times", n)
			}
			if n := len(w.said("protect")); n < 4 {
				t.Errorf("paged %d times in three hours: %q", n, w.posts("i-11"))
			}
			no := []string{}
			if err := w.clouds["lab"].Do(fake.Event{ID: "i-11", Set: &fake.Changes{Protected: &no}}); err != nil {
				t.Fatal(err)
			}
			w.until(4*time.Hour + 15*time.Minute)
			w.gone("lab", "i-11", 4*time.Hour+5*time.Minute, 4*time.Hour+12*time.Minute)
		})
	}
}

// REL-11, REL-14: whatever a look-up answers that is no answer, nothing is closed
// while it lives, and all is closed when it is gone.
func TestLawNoAnswerIsNoAbsence(t *testing.T) {
	t.Parallel()
	due := 2*time.Hour + time.Minute
	for name, faults := range map[string][]fake.Fault{
		"expired credentials":    {{Call: fake.CallGet, Reply: fake.Reply{Status: 401}}, {Call: fake.CallList, Reply: fake.Reply{Status: 401}}},
		"503":                    {{Call: fake.CallGet, Reply: fake.Reply{Status: 503}}, {Call: fake.CallList, Reply: fake.Reply{Status: 503}}},
		"200 and empty":          {{Call: fake.CallGet, Reply: fake.Reply{Empty: true}}, {Call: fake.CallList, Reply: fake.Reply{Empty: true}}},
		"empty list, get works":  {{Call: fake.CallList, Reply: fake.Reply{Empty: true}}},
		"null object":            {{Call: fake.CallGet, Reply: fake.Reply{NullFields: []string{"id", "kind", "state", "rate"}}}},
		"a login page":           {{Call: fake.CallGet, Reply: fake.Reply{HTML: true}}, {Call: fake.CallList, Reply: fake.Reply{HTML: true}}},
		"a page dropped":         {{Call: fake.CallList, Reply: fake.Reply{DropPage: 1}}},
		"state null":             {{Call: fake.CallGet, Reply: fake.Reply{NullFields: []string{"state"}}}, {Call: fake.CallList, Reply: fake.Reply{NullFields: []string{"state"}}}},
		"identity does not tell": {{Call: fake.CallIdentity, Reply: fake.Reply{Status: 500}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lab(gpu("a-1", "1"), gpu("b-2", "1"), gpu("vm-12", "2"))
			s.PageSize = 2
			for _, f := range faults {
				// From before the deadline; the release itself is accepted and does nothing the first time.
				f.From, f.For = due-10*time.Minute, 40*time.Minute
				s.Faults = append(s.Faults, f)
			}
			s.Faults = append(s.Faults, fake.Fault{Call: fake.CallRelease, Times: 1, Reply: fake.Reply{AcceptedIgnored: true}})
			w := story(t, s)
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/vm-12", TTL: "2h", Budget: "60USD"})
			w.register(wire.RegisterRequest{ID: "lab/b-2", TTL: "5d"})
			w.stepped = func() {
				for _, id := range []string{"vm-12", "b-2", "a-1"} {
					if it := w.item("lab/" + id); (it.State == "released" || it.State == "gone") && w.clouds["lab"].Truth(id) != fake.TruthGone {
						t.Fatalf("%s at %s: %s, and it lives", id, w.offset(), it.State)
					}
				}
			}
			w.until(due + 50*time.Minute)
			w.gone("lab", "vm-12", due, due+45*time.Minute)
			w.release("lab/vm-12", "released")
			if it := w.item("lab/b-2"); it.Lease != "active" {
				t.Errorf("b-2: %s", w.tell("lab/b-2"))
			}
		})
	}
}

// REL-13: the ID (or name) belongs to another thing now.
func TestLawNameReused(t *testing.T) {
	t.Parallel()
	created := 110 * time.Minute
	s := lab(gpu("train-a", "4"))
	s.Timeline = []fake.Event{{At: created, ID: "train-a", Set: &fake.Changes{Created: &created}}}
	w := story(t, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/train-a", TTL: "3h", Budget: "20USD"})
	w.until(6 * time.Hour)
	w.truth("lab", "train-a", fake.TruthRunning)
	w.untouched("lab")
	w.release("lab/train-a", "blocked not_the_same", "withdrawn", "none")
	if len(w.attention()) == 0 {
		t.Errorf("nobody is told: %s", w.tell("lab/train-a"))
	}
}

// The credentials become somebody else's at each moment of a release: nothing is
// called with them, nothing is believed, and all goes on when they are back.
func TestLawIdentityChangesMidRelease(t *testing.T) {
	t.Parallel()
	due := 3*time.Hour + time.Minute
	for _, off := range []time.Duration{-2 * time.Minute, -14 * time.Second, -time.Second, 5 * time.Second, 35 * time.Second} {
		for _, kind := range []string{"strong", "weak"} {
			t.Run(fmt.Sprint(off, kind), func(t *testing.T) {
				t.Parallel()
				s := lab(gpu("i-1", "2"))
				// What was read up to 30 s ahead may be acted on, so only what comes before that finds a twin.
				if off < -15*time.Second || off > 0 {
					s.Resources = append(s.Resources, fake.Resource{ID: "i-1", Identity: "acct-2", Created: time.Hour, Rate: &fake.Rate{Amount: "9", Per: "hour"}})
				}
				s.IdentityKind, s.ReleaseTakes = kind, 20*time.Second
				s.Timeline = []fake.Event{{At: due + off, Identity: "acct-2"}, {At: due + 40*time.Minute, Identity: "acct-lab"}}
				w := story(t, s)
				w.until(time.Minute)
				w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "3h"})
				w.until(due + 39*time.Minute)
				for _, c := range w.clouds["lab"].CallsOf(fake.CallRelease, "") {
					if d := c.At.Sub(w.start); d >= due+off && d > due {
						t.Errorf("called with the other credentials at %s", d)
					}
				}
				if w.clouds["lab"].TruthOf("acct-2", "i-1") == fake.TruthGone {
					t.Error("the other account's box is gone")
				}
				if it := w.item("lab/i-1"); it.State == "released" {
					t.Errorf("believed: %s", w.tell("lab/i-1"))
				}
				w.until(due + 60*time.Minute)
				w.release("lab/i-1", "released")
				w.gone("lab", "i-1", due, due+46*time.Minute)
			})
		}
	}
}

// REL-16, OWN-12: forty due at once, and the reads are throttled: few reads, one
// call each, no alarm, all proven.
func TestLawFortyAtOnce(t *testing.T) {
	t.Parallel()
	due := 20*time.Minute + time.Minute
	s := lab(gpu("i", "2", func(r *fake.Resource) { r.Count = 40 }))
	s.Faults = []fake.Fault{{Call: fake.CallGet, From: due + time.Second, For: 4 * time.Minute, Reply: fake.Reply{Status: 429, RetryAfter: "15"}}}
	w := story(t, s)
	w.until(time.Minute)
	for i := range 40 {
		w.register(wire.RegisterRequest{ID: fmt.Sprintf("lab/i-%03d", i+1), TTL: "20m"})
	}
	w.until(due - time.Second)
	w.untouched("lab")
	w.until(due + 6*time.Minute)
	for i := range 40 {
		id := fmt.Sprintf("i-%03d", i+1)
		w.gone("lab", id, due, due+32*time.Second)
		if it := w.item("lab/" + id); it.State != "released" {
			t.Errorf("%s: %s", id, w.tell("lab/"+id))
		}
		if n := len(w.calls("lab", fake.CallRelease, id)); n != 1 {
			t.Errorf("%s: %d calls", id, n)
		}
	}
	gets := slices.DeleteFunc(w.calls("lab", fake.CallGet, ""), func(d time.Duration) bool { return d < due || d > due+4*time.Minute })
	if len(gets) > 20 {
		t.Errorf("%d reads in four minutes", len(gets))
	}
	if n := len(w.said("cannot release")) + len(w.said("still alive")); n > 0 {
		t.Errorf("%d false alarms", n)
	}
	w.toldOnce()
}

// API-07: a whole project is released by hand and one call in ten is lost, half
// of those done: none runs on, none is told to end more than three times.
func TestLawMassRelease(t *testing.T) {
	t.Parallel()
	const n = 60
	s := lab(gpu("i", "2", func(r *fake.Resource) { r.Count = n; r.Tags = map[string]string{"project": "x"} }), gpu("other", "2"))
	for i := 0; i < n; i += 10 {
		s.Faults = append(s.Faults, fake.Fault{Call: fake.CallRelease, ID: fmt.Sprintf("i-%03d", i+1), Times: 1,
			Reply: fake.Reply{TimesOut: i%20 == 0, DoneButTimesOut: i%20 != 0}})
	}
	w := story(t, s)
	w.until(2 * time.Minute)
	a, err := w.client.Release(t.Context(), wire.ReleaseRequest{All: true, Match: map[string]string{"project": "x"}})
	if err != nil || len(a.Results) != n {
		t.Fatalf("%d ordered, %v", len(a.Results), err)
	}
	w.until(12 * time.Minute)
	for i := range n {
		id := fmt.Sprintf("i-%03d", i+1)
		w.truth("lab", id, fake.TruthGone)
		if c := len(w.calls("lab", fake.CallRelease, id)); c > 3 {
			t.Errorf("%s: %d calls", id, c)
		}
	}
	w.truth("lab", "other", fake.TruthRunning)
	if st, err := w.client.Status(t.Context()); err != nil || st.Counts.Releases != 0 || st.Counts.Blocked != 0 {
		t.Errorf("open releases %d, %v", st.Counts.Releases, err)
	}
}

// A reload in the middle of a release, at each of its states, changes nothing of
// it: one call, one proof, one message each.
func TestLawReloadMidRelease(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"noticed", "intended", "issued"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			w := story(t, lab(gpu("i-1", "5"), gpu("i-2", "5")))
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "90m"})
			done := false
			w.stepped = func() {
				if !done && w.item("lab/i-1").Release == state {
					done = true
					if err := w.reload(strings.Replace(enforce, "fake}", "fake, poll: 45s}", 1)); err != nil {
						t.Error(err)
					}
				}
			}
			w.until(100 * time.Minute)
			w.gone("lab", "i-1", 91*time.Minute, 92*time.Minute)
			if n := len(w.calls("lab", fake.CallRelease, "i-1")); n != 1 || !done {
				t.Errorf("%d calls, reloaded %v", n, done)
			}
			w.release("lab/i-1", "released")
			w.toldOnce()
		})
	}
}

// A box is released by hand before its first poll, one that a reclaim takes at
// the same moment, and one that somebody else ends just before its deadline.
func TestLawEndsMeet(t *testing.T) {
	t.Parallel()
	due := time.Hour + time.Minute
	s := lab(gpu("spot", "3", func(r *fake.Resource) { r.Spot = true }), gpu("hand", "3"), gpu("new", "3"))
	s.Timeline = []fake.Event{
		{At: due - time.Second, ID: "spot", Reclaim: &fake.Reclaim{Lingers: 63 * time.Minute}},
		{At: due - 20*time.Second, ID: "hand", Delete: true}}
	w := story(t, s)
	w.until(time.Minute)
	if o := w.order("lab/new"); o[0].Outcome != wire.OutcomeOrdered {
		t.Errorf("%+v", o)
	}
	w.register(wire.RegisterRequest{ID: "lab/spot", TTL: "1h"})
	w.register(wire.RegisterRequest{ID: "lab/hand", TTL: "1h"})
	w.until(2*time.Hour + 30*time.Minute)
	w.gone("lab", "new", time.Minute, 2*time.Minute)
	for id, how := range map[string]string{"spot": "reclaim", "hand": "outside"} {
		it := w.item("lab/" + id)
		if it.EndedHow != how || it.Lease != "gone" {
			t.Errorf("%s: lease %s, ended by %s, release %s; want %s", id, it.Lease, it.EndedHow, it.Release, how)
		}
		if o := w.order("lab/" + id); o[0].Outcome != wire.OutcomeGone { // UX-03
			t.Errorf("%s: %+v", id, o)
		}
	}
	w.toldOnce()
}
