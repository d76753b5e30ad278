package signals

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"guard"
	"guard/policy/activity"
	"guard/providers"
	"guard/store/samples"
)

// Once a minute is asked what is new since the last sample; it is folded, stored and told
// to whoever judges. The ledger is not touched.
func TestPoll(t *testing.T) {
	w := newWorld(t)
	c := &cloud{name: "cloud"}
	l := w.own(c)
	_, all, v := w.book.Stirred(0)
	if !all {
		t.Error("at first all are to be judged")
	}
	w.fine(w.poll(1, l)...)
	if got := c.asked[0].Of[0].Since; !got.Equal(start.Add(-2 * time.Hour)) {
		t.Errorf("first asked since %s: not before the instance was there", got)
	}
	keys, all, v2 := w.book.Stirred(v)
	if all || !slices.Equal(keys, []string{box1}) || v2 == v {
		t.Errorf("stirred %v, all %v", keys, all)
	}
	s, ok := w.book.Activity(box1)
	if !ok || !s.Idle.On() || s.Sort != activity.Empty || !s.Heard.Equal(w.now) {
		t.Fatalf("%+v", s)
	}
	if !slices.Contains(w.kicks, "decide") {
		t.Error("nobody is asked to decide")
	}
	w.fine(w.poll(5, l)...)
	if got := c.asked[5].Of[0].Since; !got.Equal(w.now.Add(-time.Minute)) {
		t.Errorf("asked since %s", got)
	}
	if keys, all, _ := w.book.Stirred(v2); all || len(keys) > 0 {
		t.Errorf("an hour that goes on stirs %v", keys)
	}
	c.util = 90
	w.fine(w.poll(1, l)...)
	if keys, _, _ := w.book.Stirred(v2); !slices.Equal(keys, []string{box1}) {
		t.Errorf("work stirs %v", keys)
	}
	if s, _ := w.book.Activity(box1); s.Idle.On() || !s.Worked.Equal(w.now) {
		t.Errorf("it works: %+v", s)
	}
	if got, _ := w.book.Recent(t.Context(), box1, start); len(got) != 7 {
		t.Errorf("%d samples since the start", len(got))
	}
	if w.backend.updates > 1 { // of rates of traffic
		t.Logf("%d updates of the ledger", w.backend.updates)
	}
}

// What does not run is not asked about and has no activity.
func TestStopped(t *testing.T) {
	w := newWorld(t)
	c := &cloud{name: "cloud"}
	l := w.own(c)
	w.fine(w.poll(3, l)...)
	w.see("i-1", guard.StateStopped)
	w.fine(w.poll(3, l)...)
	if len(c.asked) != 3 {
		t.Errorf("asked %d times", len(c.asked))
	}
	if s, ok := w.book.Activity(box1); ok {
		t.Errorf("it is stopped: %+v", s)
	}
	w.see("i-1", guard.StateRunning)
	w.fine(w.poll(1, l)...)
	if s, _ := w.book.Activity(box1); s.Idle.Lasts(w.now) > 5*time.Minute {
		t.Errorf("its clock begins anew: %+v", s.Idle)
	}
}

// Pushing twice changes nothing; what cannot be believed is refused and the rest counts.
func TestPush(t *testing.T) {
	w := newWorld(t)
	w.now = start.Add(10 * time.Minute)
	xs := run("agent", start, 10, 0)
	w.fine(w.push(xs[:6]...), w.push(xs[:6]...), w.push(xs[3:]...), w.push(xs[0]))
	s, _ := w.book.Activity(box1)
	if s.Idle.Seen != 10*time.Minute || !s.Heard.Equal(xs[9].At) {
		t.Errorf("pushed in pieces and twice: %+v", s.Idle)
	}
	if got, _ := w.book.Recent(t.Context(), box1, start); len(got) != 10 {
		t.Errorf("%d samples are stored", len(got))
	}
	for name, bad := range map[string]guard.Sample{
		"the future":          sample("agent", w.now.Add(2*time.Hour), 0),
		"before it was there": sample("agent", start.Add(-3*time.Hour), 0),
		"no time":             sample("agent", time.Time{}, 0),
		"years ago":           sample("agent", start.AddDate(-1, 0, 0), 0),
	} {
		w.now = w.now.Add(time.Minute)
		good := sample("agent", w.now, 0)
		fresh := newWorld(t)
		fresh.now = w.now
		err := fresh.push(good, bad)
		if bad.At.Before(good.At) {
			err = fresh.push(bad, good)
			if s, _ := fresh.book.Activity(box1); !s.Heard.Equal(good.At) {
				t.Errorf("%s: the good one does not count", name)
			}
		}
		if name != "before it was there" && name != "years ago" && name != "no time" && !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		alone := newWorld(t)
		alone.now = w.now
		if err := alone.push(bad); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%s, alone: %v", name, err)
		}
		if _, ok := alone.book.Activity(box1); ok {
			t.Errorf("%s: it counts", name)
		}
	}
	if err := w.push(make([]guard.Sample, MostPushed+1)...); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("too many at once: %v", err)
	}
	if err := w.book.Push(t.Context(), instant(w.now), idOf("nobody"), xs); !errors.Is(err, guard.ErrNotFound) {
		t.Errorf("an unknown instance: %v", err)
	}
}

// A clock that is ahead does not keep the source from being heard once it is right.
func TestClockWasAhead(t *testing.T) {
	w := newWorld(t)
	if err := w.push(sample("agent", start.Add(8*time.Hour), 0)); !errors.Is(err, guard.ErrInvalid) {
		t.Fatal(err)
	}
	w.fine(w.push(sample("agent", start, 0)))
	if _, ok := w.book.Activity(box1); !ok {
		t.Error("what came with the right time is not taken in")
	}
}

// The finest source judges: the agent before Prometheus before the cloud. A lesser one is
// not even asked meanwhile, stands in once the better one is silent, and gives way when it
// is back.
func TestSources(t *testing.T) {
	w := newWorld(t)
	own := &cloud{name: "cloud"}
	prom := &cloud{name: "prometheus"}
	cloudLoop := w.own(own)
	promLoop := NewOf(w.book, w.account, Source{Name: "prom", SignalSource: prom})
	judge := func(want string) {
		t.Helper()
		if s, ok := w.book.Activity(box1); !ok || s.Source != want {
			t.Fatalf("at %s %q judges, want %q", w.now.Sub(start), s.Source, want)
		}
	}
	w.fine(w.poll(3, cloudLoop)...)
	judge("cloud")
	w.fine(w.poll(3, promLoop, cloudLoop)...)
	judge("prometheus")
	asked := len(own.asked)
	w.fine(w.poll(3, promLoop, cloudLoop)...)
	if len(own.asked) != asked {
		t.Error("the cloud is asked although Prometheus tells")
	}
	for range 10 {
		w.fine(w.poll(1, promLoop, cloudLoop)...)
		w.fine(w.push(sample("agent", w.now.Add(time.Second), 0)))
		judge("agent")
	}
	asked = len(prom.asked)
	w.fine(w.poll(5, promLoop, cloudLoop)...)
	judge("agent")
	if len(prom.asked) != asked {
		t.Error("Prometheus is asked although the agent was heard minutes ago")
	}
	w.fine(w.poll(2, promLoop, cloudLoop)...)
	judge("prometheus")
	prom.err = guard.ErrUnavailable
	w.poll(8, promLoop, cloudLoop)
	judge("cloud")
	prom.err = nil
	w.fine(w.poll(2, promLoop, cloudLoop)...)
	judge("prometheus")
	if s, _ := w.book.Activity(box1); s.Idle.Lasts(w.now) < 30*time.Minute {
		t.Errorf("the quiet clock began anew with another source: %+v", s.Idle)
	}
	w.fine(w.push(sample("agent", w.now.Add(time.Second), 0)))
	judge("agent")
}

// Sending the same again is no sign of life.
func TestOldNews(t *testing.T) {
	w := newWorld(t)
	l := w.own(&cloud{name: "cloud"})
	x := sample("agent", start, 0)
	w.fine(w.push(x))
	for range 8 {
		w.fine(w.poll(1, l)...)
		w.fine(w.push(x))
	}
	if s, _ := w.book.Activity(box1); s.Source != "cloud" {
		t.Errorf("%q judges", s.Source)
	}
}

// A finer source that tells nothing of the GPUs does not keep a lesser one from judging.
func TestFinerTellsNothing(t *testing.T) {
	w := newWorld(t)
	c := &cloud{name: "cloud"}
	l := w.own(c)
	for range 10 {
		w.fine(w.poll(1, l)...)
		w.fine(w.push(guard.Sample{At: w.now.Add(time.Second), Interval: time.Minute, Basis: guard.Summary, Source: "agent"}))
	}
	if s, _ := w.book.Activity(box1); s.Source != "cloud" || !s.Idle.On() {
		t.Errorf("%q judges: %+v", s.Source, s.Idle)
	}
}

// After a restart an agent has the chance to send what it kept before the cloud stands in.
func TestAgentAfterRestart(t *testing.T) {
	w := newWorld(t)
	c := &cloud{name: "cloud"}
	w.fine(w.push(run("agent", start.Add(-time.Minute), 1, 0)...))
	w.restart()
	w.now = start.Add(time.Hour)
	w.fine(w.poll(2, w.own(c))...)
	if len(c.asked) > 0 {
		t.Fatal("the cloud is asked right away")
	}
	w.fine(w.push(run("agent", start, 62, 0)...))
	if s, _ := w.book.Activity(box1); s.Source != "agent" || s.Idle.Seen < time.Hour {
		t.Errorf("what the agent kept: %+v", s.Idle)
	}
}

// A source that is refused is an error of its loop and told of each instance; once it lasts,
// that nothing is known is told as well, and since when. It is over when it answers.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	c := &cloud{name: "cloud", err: fmt.Errorf("%w: status 403", guard.ErrPermission)}
	l := w.own(c)
	first := start.Add(time.Minute)
	if errs := w.poll(1, l); !errors.Is(errs[0], guard.ErrPermission) {
		t.Fatal(errs)
	}
	c.err = fmt.Errorf("%w: status 403, request 17", guard.ErrPermission)
	w.poll(2, l)
	if _, ok := w.book.Activity(box1); ok {
		t.Error("two polls without an answer are told as silence")
	}
	w.poll(1, l)
	s, ok := w.book.Activity(box1)
	if !ok || !s.Lost.Since.Equal(first) || s.Lost.Why != "cloud: permission denied: status 403" {
		t.Errorf("%+v", s.Lost)
	}
	if got := w.book.Failing(box1, time.UTC); len(got) != 1 || !strings.Contains(got[0], "cloud") || !strings.Contains(got[0], "10:01") {
		t.Errorf("%q", got)
	}
	if got := w.book.Broken(); len(got) != 1 || got[0].Account != "lab" || !got[0].Since.Equal(first) || got[0].Loop != l.Name() {
		t.Errorf("%+v", got)
	}
	// Another reason is told in its place, since when stays.
	c.err = fmt.Errorf("%w: a web page", guard.ErrBadReply)
	w.poll(1, l)
	if got := w.book.Broken(); len(got) != 1 || !got[0].Since.Equal(first) || !strings.Contains(got[0].Why, "a web page") {
		t.Errorf("%+v", got)
	}
	if got := w.book.Failing(box1, time.UTC); len(got) != 1 || !strings.Contains(got[0], "10:01") || !strings.Contains(got[0], "a web page") {
		t.Errorf("%q", got)
	}
	c.err = nil
	w.fine(w.poll(1, l)...)
	if s, _ := w.book.Activity(box1); s.Lost.On() || len(w.book.Failing(box1, time.UTC)) > 0 || len(w.book.Broken()) > 0 {
		t.Errorf("it answers again: %+v", s.Lost)
	}
	c.err = errors.New("gone again")
	w.poll(6, l)
	if s, _ := w.book.Activity(box1); !s.Lost.On() || s.Lost.Why != "cloud: gone again" {
		t.Errorf("%+v", s.Lost)
	}
}

// One instance of which nothing is told is no error of the loop; a source that cannot tell
// of any is not one that fails; one that breaks its promise is told so.
func TestOddAnswers(t *testing.T) {
	w := newWorld(t)
	w.see("i-2", guard.StateRunning)
	c := &cloud{name: "cloud"}
	c.answers = func(_ context.Context, q providers.SignalQuery) []providers.Signals {
		return []providers.Signals{{Samples: run("cloud", w.now.Add(-time.Minute), 1, 0)}, {Err: errors.New("no such metric")}}
	}
	l := w.own(c)
	w.fine(w.poll(1, l)...)
	if len(w.book.Failing("lab/instance/i-2", time.UTC)) != 1 || len(w.book.Failing(box1, time.UTC)) != 0 {
		t.Error("which one it is of is not told")
	}
	c.answers = func(_ context.Context, q providers.SignalQuery) []providers.Signals {
		return []providers.Signals{{Err: guard.ErrUnsupported}, {Err: guard.ErrNotFound}}
	}
	w.fine(w.poll(1, l)...)
	if got := append(w.book.Failing(box1, time.UTC), w.book.Failing("lab/instance/i-2", time.UTC)...); len(got) > 0 {
		t.Error(got)
	}
	c.answers = func(context.Context, providers.SignalQuery) []providers.Signals { return nil }
	if errs := w.poll(1, l); !errors.Is(errs[0], guard.ErrBadReply) {
		t.Error(errs)
	}
	c.answers = func(context.Context, providers.SignalQuery) []providers.Signals {
		return make([]providers.Signals, 2)
	}
	w.fine(w.poll(4, l)...)
	if s, _ := w.book.Activity(box1); !s.Lost.On() {
		t.Errorf("no data is silence: %+v", s.Lost)
	}
}

// A source that does not answer is given up after a minute, and holds up no other.
func TestSleepingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		asleep := &cloud{answers: func(ctx context.Context, q providers.SignalQuery) []providers.Signals {
			<-ctx.Done()
			return []providers.Signals{{Err: context.Cause(ctx)}}
		}}
		l := w.own(asleep)
		done := make(chan error)
		began := time.Now()
		go func() {
			_, err := l.Once(t.Context(), instant(start))
			done <- err
		}()
		synctest.Wait()
		w.now = start
		w.fine(w.push(sample("agent", start, 0)))
		if err := <-done; err == nil || time.Since(began) > 2*time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// What is gone is forgotten a day later, what was stored of it, too; another thing with the
// ID of an earlier one begins anew.
func TestForgotten(t *testing.T) {
	w := newWorld(t)
	l := w.own(&cloud{name: "cloud"})
	w.fine(w.poll(3, l)...)
	w.observe(guard.Observed{Resource: guard.Resource{ID: idOf("i-1"), State: guard.StateGone, Created: start.Add(-2 * time.Hour)}, Gone: &guard.Gone{At: w.now}})
	w.fine(w.poll(2, l)...)
	if _, ok := w.book.Activity(box1); ok {
		t.Error("what is gone is judged")
	}
	if got, _ := w.book.Recent(t.Context(), box1, time.Time{}); len(got) == 0 {
		t.Error("what is gone is forgotten at once")
	}
	w.now = w.now.Add(25 * time.Hour)
	w.fine(w.poll(1, l)...)
	if got, _ := w.book.Recent(t.Context(), box1, time.Time{}); len(got) > 0 || len(w.store.States()) > 0 {
		t.Errorf("%d samples of what is long gone", len(got))
	}

	w.observe(guard.Observed{Resource: guard.Resource{ID: idOf("i-1"), State: guard.StateRunning, Created: w.now.Add(-time.Hour), GPUs: 1}})
	w.fine(w.poll(2, l)...)
	again := w.now.Add(-time.Minute)
	w.observe(guard.Observed{Resource: guard.Resource{ID: idOf("i-1"), State: guard.StateRunning, Created: again, GPUs: 1}})
	w.fine(w.poll(2, l)...)
	if s, _ := w.book.Activity(box1); s.Idle.Lasts(w.now) > 5*time.Minute {
		t.Errorf("a new thing has the old one's clock: %+v", s.Idle)
	}
	if got, _ := w.book.Recent(t.Context(), box1, time.Time{}); len(got) == 0 || got[0].At.Before(again) {
		t.Errorf("%d samples, the first of another thing", len(got))
	}
}

// After a restart the quiet clock goes on where it was, and what the source kept meanwhile
// is asked for; without the file it begins anew.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "signals.db")
	w.store = samples.Open(path, start)
	w.restart()
	c := &cloud{name: "cloud"}
	w.fine(w.poll(30, w.own(c))...)
	before, _ := w.book.Activity(box1)
	w.fine(w.store.Close())

	w.store = samples.Open(path, start)
	w.restart()
	if s, ok := w.book.Activity(box1); !ok || !s.Same(before) {
		t.Fatalf("after the restart %+v, before %+v", s, before)
	}
	w.now = w.now.Add(10 * time.Minute)
	w.fine(w.poll(1, w.own(c))...)
	s, _ := w.book.Activity(box1)
	if !s.Idle.Since.Equal(before.Idle.Since) || s.Idle.Seen != before.Idle.Seen+11*time.Minute {
		t.Errorf("%+v, before %+v", s.Idle, before.Idle)
	}
	w.fine(w.store.Close())

	w.store = samples.Memory()
	w.restart()
	c.silent = true
	w.fine(w.poll(1, w.own(c))...)
	if s, ok := w.book.Activity(box1); ok {
		t.Errorf("without the file: %+v", s)
	}
}

// beats says that a job works, now.
func (w *world) beats() {
	w.fine(w.push(guard.Sample{At: w.now, Interval: time.Second, Basis: guard.Instantaneous, Source: guard.Heartbeat, HeartbeatAge: guard.Known(0)}))
}

// A heartbeat goes with the next sample of whoever watches, and changes nothing else:
// neither who judges nor how often.
func TestHeartbeat(t *testing.T) {
	w := newWorld(t)
	l := w.own(&cloud{name: "cloud"})
	w.fine(w.poll(30, l)...)
	before, _ := w.book.Activity(box1)
	w.beats()
	if s, _ := w.book.Activity(box1); !s.Same(before) || !s.Heard.Equal(before.Heard) {
		t.Errorf("%+v", s)
	}
	w.fine(w.poll(1, l)...)
	s, _ := w.book.Activity(box1)
	if s.Idle.On() || s.Source != "cloud" || s.Interval != time.Minute {
		t.Errorf("a job is alive: %+v", s)
	}
	w.fine(w.poll(25, l)...)
	if s, _ := w.book.Activity(box1); !s.Idle.On() {
		t.Error("it has been alive once")
	}
}

// What tells late tells of a time of which heartbeats came long ago, and newer ones since.
func TestHeartbeatsOfALateSource(t *testing.T) {
	w := newWorld(t)
	l := w.own(&cloud{name: "cloud", late: 2 * time.Minute})
	w.fine(w.poll(60, l)...)
	if s, _ := w.book.Activity(box1); !s.Idle.On() {
		t.Fatalf("%+v", s)
	}
	for range 20 {
		w.beats()
		w.fine(w.poll(1, l)...)
	}
	if s, _ := w.book.Activity(box1); s.Idle.On() {
		t.Errorf("a job works, and has for longer than the source is late: %+v", s)
	}
	w.restart()
	w.fine(w.poll(5, l)...)
	if s, _ := w.book.Activity(box1); s.Idle.On() {
		t.Errorf("what came before a restart: %+v", s)
	}
}

func TestBeats(t *testing.T) {
	t0 := time.Date(2026, 3, 6, 9, 0, 0, 0, time.UTC)
	at := func(minutes float64) time.Time { return t0.Add(time.Duration(minutes * float64(time.Minute))) }
	var b beats
	for _, minute := range []float64{0, 1, 9, 3, 9} {
		b = b.with(at(minute))
	}
	if b != (beats{at(0), at(9)}) {
		t.Errorf("%+v", b)
	}
	r := record{Beats: b.with(at(20))}
	if r.Beats != (beats{at(20), at(20)}) {
		t.Errorf("after a pause: %+v", r.Beats)
	}
	for minute, want := range map[float64]guard.Gauge{19: {}, 20: guard.Known(0), 21.5: guard.Known(90)} {
		if x := r.beaten(guard.Sample{At: at(minute)}); x.HeartbeatAge != want {
			t.Errorf("minute %v: %v, want %v", minute, x.HeartbeatAge, want)
		}
	}
	if x := r.beaten(guard.Sample{At: at(22), HeartbeatAge: guard.Known(5)}); x.HeartbeatAge != guard.Known(5) {
		t.Errorf("the sample knows of a newer one: %v", x.HeartbeatAge)
	}
}
