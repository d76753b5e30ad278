package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/store"
)

// TestAgentOrders: a box hears when its lease ends and when a release of it is coming, and
// of nothing that guard would not do.
func TestAgentOrders(t *testing.T) {
	b := newBench(t)
	_, token := b.signals()
	seq := uint64(0)
	orders := func() wire.Orders {
		seq++
		b.pass(time.Second)
		return b.taken(token, b.report(seq, 1)).Orders
	}
	none := func(what string) {
		t.Helper()
		if o := orders(); o.Limit != nil || o.Release != nil {
			t.Errorf("%s: %+v", what, o)
		}
	}
	none("nobody has registered it")
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora", TTL: "10h", Grace: "10m"})
	end := b.at.Wall.Add(10 * time.Hour)
	limit := func(what string, want time.Time) {
		t.Helper()
		if o := orders(); o.Limit == nil || o.Limit.Sub(want).Abs() > time.Minute {
			t.Errorf("%s: limit %v, want %s", what, o.Limit, want)
		}
	}
	limit("an expiry waits its grace for a channel", end.Add(10*time.Minute))
	good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "2h"})
	limit("extended", end.Add(2*time.Hour+10*time.Minute))
	good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", For: "20h"})
	limit("held", b.at.Wall.Add(20*time.Hour+20*time.Minute))
	good[wire.Changed](b, "ana", http.MethodPost, "/unhold", wire.IDRequest{ID: "lab/i-1"})
	good[wire.Changed](b, "root", http.MethodPost, "/protect", wire.IDRequest{ID: "lab/i-1"})
	none("protected")
	good[wire.Changed](b, "root", http.MethodPost, "/unprotect", wire.IDRequest{ID: "lab/i-1"})
	b.acct.Mode = guard.Observe
	none("guard only watches")
	b.acct.Mode = guard.Enforce
	handler := b.h
	b.o.Modes.Pause = func() guard.Pause { return guard.Pause{Cause: "restored", Why: "a restore", Since: b.at.Wall} }
	b.h = api.New(b.o)
	none("guard acts nowhere")
	b.h = handler
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", OnLimit: "alert"})
	none("guard only alerts")
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", OnLimit: "release", Budget: "400CNY"})
	l, _ := b.lease("i-1")
	lands := b.at.Wall.Add(90 * time.Minute)
	b.put(func(tx *store.Tx) error {
		return tx.Plans.Put(guard.Plan{Lease: l.ID, Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget, Limit: lands.Add(time.Minute), Due: lands}}})
	})
	limit("the budget comes first, and no cap waits", lands)
	release := func(change func(*guard.Release)) *wire.Notice {
		t.Helper()
		b.put(func(tx *store.Tx) error {
			r := guard.Release{ID: "r", Target: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, State: guard.ReleaseNoticed,
				Action: guard.ActRelease, Cause: guard.CauseExpiry, By: "guard", Why: "it expires", Due: b.at.Wall.Add(8 * time.Minute)}
			change(&r)
			return tx.Releases.Put(r)
		})
		return orders().Release
	}
	if n := release(func(*guard.Release) {}); n == nil || n.Action != "release" || n.Why != "it expires" || n.Due.Sub(b.at.Wall).Round(time.Minute) != 8*time.Minute {
		t.Errorf("%+v", n)
	}
	if n := release(func(r *guard.Release) { r.State, r.Reason = guard.ReleaseBlocked, guard.BlockSurprise }); n != nil {
		t.Errorf("a blocked one: %+v", n)
	}
	if n := release(func(r *guard.Release) { r.Cause, r.Action = guard.CauseIdle, guard.ActStop }); n != nil {
		t.Errorf("a judgement that waits for people: %+v", n)
	}
	if n := release(func(r *guard.Release) {
		r.Cause, r.Action, r.State = guard.CauseIdle, guard.ActStop, guard.ReleaseIntended
	}); n == nil || n.Action != "stop" {
		t.Errorf("a judgement that acts: %+v", n)
	}
}

// TestAgentIsAsked: where only a person could end a box, it is asked to end itself once its
// release is due, and not where anybody's word has put that off.
func TestAgentIsAsked(t *testing.T) {
	b := newBench(t)
	_, token := b.signals()
	b.acct.Mode = guard.Enforce
	own := b.acct.Provider
	b.acct.Provider = byHand{own}
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora", TTL: "1h", Grace: "10m"})
	release := func(cause guard.Cause, why guard.BlockReason) {
		b.put(func(tx *store.Tx) error {
			return tx.Releases.Put(guard.Release{ID: "r", Target: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, State: guard.ReleaseBlocked,
				Reason: why, Action: guard.ActRelease, Cause: cause, Why: "it is over"})
		})
	}
	seq := uint64(0)
	asked := func(what string, want bool) {
		t.Helper()
		seq++
		b.pass(time.Second)
		if got := b.taken(token, b.report(seq, 1)).Orders.End; got != map[bool]string{true: "it is over"}[want] {
			t.Errorf("%s: asked %q", what, got)
		}
	}
	asked("nothing is to be released", false)
	release(guard.CauseExpiry, guard.BlockPerson)
	asked("its time is not over", false)
	b.pass(71 * time.Minute)
	asked("its time is over", true)
	b.acct.Mode = guard.Observe
	asked("guard only watches", false)
	b.acct.Mode = guard.Enforce
	b.acct.Provider = own
	asked("guard can end it itself", false)
	b.acct.Provider = byHand{own}
	release(guard.CauseExpiry, guard.BlockSurprise)
	asked("it is blocked for another reason", false)
	release(guard.CauseExpiry, guard.BlockPerson)
	good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "2h"})
	asked("extended", false)
	release(guard.CausePerson, guard.BlockPerson)
	asked("a person ordered it", true)
	good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", For: "20m"})
	asked("held", false)
}

// TestHeartbeat: what runs on the box, and whoever may change its registration, says that
// a job works there, and nobody else does.
func TestHeartbeat(t *testing.T) {
	b := leased(t)
	p, token := b.signals()
	beat := `{"id":"lab/i-1"}`
	stranger := b.token(wire.TokenRequest{Name: "vic", Role: "viewer"}).Secret
	b.denied(b.shows(stranger, http.MethodPost, "/agent/heartbeat", beat), 403, "ana's")
	other := b.token(wire.TokenRequest{Name: "other", Role: "operator", Scope: "lab/i-2"}).Secret
	b.denied(b.shows(other, http.MethodPost, "/agent/heartbeat", beat), 403, "for lab/i-2 only: it may not say that a job runs on lab/i-1")
	if len(p.samples) != 0 {
		t.Errorf("%+v", p.samples)
	}
	owner := b.token(wire.TokenRequest{Name: "ana", Role: "viewer"}).Secret
	for i, who := range []string{token, owner} {
		b.pass(time.Minute)
		if r := b.shows(who, http.MethodPost, "/agent/heartbeat", beat); r.status != http.StatusOK {
			t.Fatalf("%d: %s", r.status, r.body)
		}
		if len(p.samples) != i+1 || p.samples[i].Source != guard.Heartbeat || !p.samples[i].At.Equal(b.at.Wall) {
			t.Errorf("%+v", p.samples)
		}
	}
	if g := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil).Agent; g.Heartbeat == nil || !g.Heartbeat.Equal(b.at.Wall) {
		t.Errorf("%+v", g)
	}
	p.err = func(guard.Sample) error { return fmt.Errorf("%w: the book is away", guard.ErrUnavailable) }
	b.denied(b.shows(owner, http.MethodPost, "/agent/heartbeat", beat), 503, "the book is away")
}

// TestStop: a person's order to stop passes the same checks as one to release, and a stop
// that saves nothing is refused.
func TestStop(t *testing.T) {
	b := leased(t)
	body := func(id string) wire.StopRequest { return wire.StopRequest{ID: id, Reason: "the job is over"} }
	viewer := b.token(wire.TokenRequest{Name: "vic", Role: "viewer"}).Secret
	b.denied(b.shows(viewer, http.MethodPost, "/stop", `{"id":"lab/i-1"}`), 403, "ana's")
	b.bad("ana", http.MethodPost, "/stop", body("lab/i-kept"), 403, "refused", "guard:keep")
	b.bad("ana", http.MethodPost, "/stop", body("lab/nope"), 404, "not_found")
	b.acct.Mode = guard.Observe
	b.bad("ana", http.MethodPost, "/stop", body("lab/i-1"), 403, "refused", "observe mode")
	b.acct.Mode = guard.Enforce
	stopper := b.acct.Stopper
	b.acct.Stopper = nil
	b.bad("ana", http.MethodPost, "/stop", body("lab/i-1"), 403, "refused", "cannot stop it")
	if b.acct.Stopper = stopper; stopper == nil {
		t.Fatal("the fake cloud stops nothing")
	}
	if out := good[wire.ReleaseOutcome](b, "ana", http.MethodPost, "/stop", body("lab/i-1")); out.Outcome != wire.OutcomeOrdered || !strings.HasPrefix(out.Text, "stop ordered") {
		t.Errorf("%+v", out)
	}
	err := b.ledger.View(t.Context(), func(v *store.View) error {
		r, ok, err := v.Releases.Get("lab/instance/i-1")
		if !ok || r.Action != guard.ActStop || r.Cause != guard.CausePerson || r.By != "ana" || r.Why != "ordered by ana: the job is over" {
			t.Errorf("%+v", r)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAgentSaysNoToken: nothing that is logged or answered has the secret in it.
func TestAgentSaysNoToken(t *testing.T) {
	b := leased(t)
	var log bytes.Buffer
	b.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	_, token := b.signals()
	_, secret, _ := strings.Cut(token, ".")
	said := b.sends(token, b.report(1, 1)).body
	said += b.sends(token[:len(token)-2], b.report(2, 1)).body
	r := b.report(3, 1)
	r.ID = "lab/i-2"
	said += b.sends(token, r).body
	said += b.shows(token, http.MethodPost, "/agent/samples", "{").body
	b.o.Signals.Push = func(context.Context, guard.Instant, guard.ResourceID, []guard.Sample) error { panic("push") }
	b.h = api.New(b.o)
	said += b.sends(token, b.report(4, 1)).body + log.String()
	if strings.Contains(said, secret) || strings.Contains(said, secret[:20]) {
		t.Errorf("the secret was told: %s", said)
	}
}
