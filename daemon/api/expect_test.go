package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/store"
)

func (b *bench) expect(name string, more ...func(*wire.RegisterRequest)) wire.Registered {
	b.Helper()
	r := wire.RegisterRequest{ID: "lab", Purpose: "lora", TTL: "10h", Expect: &wire.ExpectRequest{Name: name}}
	for _, f := range more {
		f(&r)
	}
	return b.register("ana", r)
}

// TestExpect: a machine that is about to be made has a lease of its own, which is
// seen and changed by the lease's ID.
func TestExpect(t *testing.T) {
	b := newBench(t)
	out := b.expect("trainer-7", func(r *wire.RegisterRequest) { r.Expect.Within, r.Tags = "1h", map[string]string{"team": "nlp"} })
	it := out.Item
	if out.Outcome != "created" || it.Lease != "expected" || it.State != "expected" || it.Name != "trainer-7" || it.Billing != "no" || it.Rate != nil {
		t.Fatalf("%+v", out)
	}
	if e := it.Expect; e == nil || e.Tag != "guard:lease="+it.ID || e.Until.Sub(b.at.Wall) != time.Hour || !e.From.Equal(b.at.Wall) {
		t.Errorf("%+v", it.Expect)
	}
	if len(out.Limits) != 1 || out.Limits[0].Reason != "expiry" || len(out.Erases) != 0 {
		t.Errorf("limits %+v, erases %q", out.Limits, out.Erases)
	}
	id := "lab/" + it.ID
	if j := b.journal(); j[len(j)-1] != "ana registered "+id {
		t.Errorf("journal %q", j)
	}
	list := good[wire.List](b, "bo", http.MethodGet, "/resources?tag=team%3Dnlp", nil)
	if !slices.ContainsFunc(list.Items, func(i wire.Item) bool { return i.ID == it.ID && i.Owner == "ana" }) {
		t.Errorf("not listed: %+v", list.Items)
	}
	if list := good[wire.List](b, "bo", http.MethodGet, "/resources?kind=volume", nil); slices.ContainsFunc(list.Items, func(i wire.Item) bool { return i.Expect != nil }) {
		t.Error("it is listed among the volumes")
	}
	show := good[wire.Show](b, "bo", http.MethodGet, "/show?id="+id, nil)
	if show.Item.Expect == nil || len(show.Log) != 1 || show.RegisteredAt == nil {
		t.Errorf("%+v", show)
	}
	why := good[wire.Why](b, "bo", http.MethodGet, "/why?id="+id, nil)
	if text := strings.Join(why.Lines, "\n"); why.ID != id || !strings.Contains(text, "guard:lease="+it.ID) || !strings.Contains(text, "expected_missing") {
		t.Errorf("%+v", why)
	}

	changed := good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: id, By: "1h"})
	if len(changed.Changes) != 1 || changed.Changes[0].Field != "expires_at" {
		t.Errorf("%+v", changed)
	}
	good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: id, For: "1h"})
	good[wire.Changed](b, "ana", http.MethodPost, "/snooze", wire.MuteRequest{ID: id})
	good[wire.Changed](b, "bo", http.MethodPost, "/protect", wire.IDRequest{ID: id})

	// The same name again is the same machine; its ID names it, too.
	again := b.expect("trainer-7", func(r *wire.RegisterRequest) { r.Purpose = "eval" })
	if again.Outcome != "updated" || again.Item.ID != it.ID || again.Item.Purpose != "eval" {
		t.Errorf("%+v", again)
	}
	again = b.register("ana", wire.RegisterRequest{ID: id, Purpose: "sweep"})
	if again.Outcome != "updated" || again.Item.Purpose != "sweep" || again.Item.Expect == nil {
		t.Errorf("%+v", again)
	}
	if other := b.expect(""); other.Item.ID == it.ID {
		t.Error("a second one without a name is the first")
	}
	if err := b.ledger.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// as registers as somebody with less than every right.
func (b *bench) as(c api.Caller, r wire.RegisterRequest) []byte {
	b.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "/v1/register", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	api.As(c, b.h).ServeHTTP(w, req)
	return w.Body.Bytes()
}

func TestExpectCancelled(t *testing.T) {
	b := newBench(t)
	id := "lab/" + b.expect("trainer-7").Item.ID
	dry := good[wire.ReleaseAnswer](b, "ana", http.MethodPost, "/release", wire.ReleaseRequest{IDs: []string{id}, DryRun: true})
	if dry.Results[0].Outcome != wire.OutcomeWould || dry.Results[0].Name != "trainer-7" {
		t.Errorf("%+v", dry)
	}
	out := good[wire.ReleaseAnswer](b, "ana", http.MethodPost, "/release", wire.ReleaseRequest{IDs: []string{id}})
	if out.Results[0].Outcome != wire.OutcomeCancelled {
		t.Errorf("%+v", out)
	}
	out = good[wire.ReleaseAnswer](b, "ana", http.MethodPost, "/release", wire.ReleaseRequest{IDs: []string{id}})
	if out.Results[0].Outcome != wire.OutcomeGone {
		t.Errorf("a second time: %+v", out)
	}
	b.bad("ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: id, By: "1h"}, 409, "conflict", "was expected, and that has ended")
	show := good[wire.Show](b, "ana", http.MethodGet, "/show?id="+id, nil)
	if show.Item.State != "gone" || show.Item.EndedAt == nil {
		t.Errorf("%+v", show.Item)
	}
}

func TestExpectRefuses(t *testing.T) {
	b := newBench(t)
	b.expect("taken")
	for name, c := range map[string]struct {
		who    string
		r      wire.RegisterRequest
		status int
		kind   string
		words  []string
	}{
		"no account": {"ana", wire.RegisterRequest{ID: "else", Expect: &wire.ExpectRequest{}}, 404, "not_found", []string{"no account", "lab"}},
		"empty":      {"ana", wire.RegisterRequest{Expect: &wire.ExpectRequest{}}, 404, "not_found", []string{"no account"}},
		"with an ID": {"ana", wire.RegisterRequest{ID: "lab/i-1", Expect: &wire.ExpectRequest{}}, 400, "invalid", []string{"has no ID yet"}},
		"within":     {"ana", wire.RegisterRequest{ID: "lab", Expect: &wire.ExpectRequest{Within: "soon"}}, 400, "invalid", []string{"within", "not a duration"}},
		"name":       {"ana", wire.RegisterRequest{ID: "lab", Expect: &wire.ExpectRequest{Name: "a\nb"}}, 400, "invalid", []string{"name", "one line"}},
		"currencies": {"ana", wire.RegisterRequest{ID: "lab", Budget: "5USD", Price: "1CNY/h", Expect: &wire.ExpectRequest{}}, 400, "currency", []string{"CNY"}},
		"taken":      {"bo", wire.RegisterRequest{ID: "lab", Expect: &wire.ExpectRequest{Name: "taken"}}, 409, "conflict", []string{"registered already", "ana"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{T: t, h: b.h}
			b.bad(c.who, http.MethodPost, "/register", c.r, c.status, c.kind, c.words...)
		})
	}
}

// TestLeaseNamesItsInstance: once the machine is there, the lease's ID means it.
func TestLeaseNamesItsInstance(t *testing.T) {
	b := leased(t)
	l, _ := b.lease("i-1")
	if show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/"+l.ID, nil); show.Item.ID != "i-1" {
		t.Errorf("%+v", show.Item)
	}
	if out := b.register("ana", wire.RegisterRequest{ID: "lab/" + l.ID, Purpose: "other"}); out.Outcome != "updated" || out.Item.ID != "i-1" {
		t.Errorf("%+v", out)
	}
}

// TestAdopted: what guard registered because nobody had is anybody's to take, and
// what it has cost stays on it.
func TestAdopted(t *testing.T) {
	b := newBench(t)
	b.register("bo", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"})
	l, _ := b.lease("i-1")
	b.put(func(tx *store.Tx) error {
		l.Adopted, l.Owner, l.UpdatedBy, l.OnLimit = true, "guard", "guard", guard.ActStop
		return tx.Leases.Put(l)
	})
	if it := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil).Item; !it.Adopted {
		t.Errorf("%+v", it)
	}
	b.pass(30 * time.Minute)
	out := decode[wire.Registered](b, b.as(api.Caller{Name: "ana", Role: guard.Operator}, wire.RegisterRequest{ID: "lab/i-1", Purpose: "mine"}))
	now, _ := b.lease("i-1")
	if now.ID != l.ID || now.Adopted || now.Owner != "ana" || now.OnLimit != guard.ActRelease || !now.RegisteredAt.Equal(l.RegisteredAt) {
		t.Errorf("%+v", now)
	}
	if got := now.ExpiresAt.Sub(b.at.Wall); got != b.rules.Defaults.TTL || len(out.Defaults) != 3 {
		t.Errorf("ends in %s, defaults %q", got, out.Defaults)
	}
	if out.Item.Spend == nil || *out.Item.Spend == "0.00 CNY" {
		t.Errorf("its spend is gone: %+v", out.Item)
	}
	b.bad("bo", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"}, 409, "conflict", "ana")
}
