package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/spend"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

// bench is an API over a ledger in memory and a fake cloud. Its little observer
// stands for the loops that would fill the ledger.
type bench struct {
	*testing.T
	cloud  *fake.Cloud
	acct   *providers.Account
	ledger *store.Ledger
	at     guard.Instant
	rules  policy.Rules
	health wire.Health
	copied string
	// delivery, storage and examined are what the API is told of channels, of the
	// ledger's file and by the doctor.
	delivery []wire.Channel
	storage  *wire.Storage
	examined wire.Status
	// whyPanics makes the function behind /why panic.
	whyPanics bool
	o         api.Options
	h         http.Handler

	mu    sync.Mutex
	kicks []string
}

// start is 18:00 in Shanghai.
var start = fake.DefaultStart

func lab() fake.Script {
	return fake.Script{
		Account: "lab", Currency: "CNY", Billing: fake.Billing{Granularity: time.Second}, ReleaseTakes: 45 * time.Second,
		Resources: []fake.Resource{
			{ID: "i-1", Name: "trainer", Created: -10 * time.Minute, GPUs: 8, GPUModel: "H100", Rate: &fake.Rate{Amount: "30", Per: "hour", PerGPU: true},
				Attached: []string{"v-1", "v-2"}, Tags: map[string]string{"team": "nlp"}},
			{ID: "v-1", Kind: guard.Volume, SizeGB: 500, Rate: &fake.Rate{Amount: "0.35", Per: "gb_month"}},
			{ID: "v-2", Kind: guard.Volume, SizeGB: 100, GoesWithInstance: true, Rate: &fake.Rate{Amount: "0.35", Per: "gb_month"}},
			{ID: "i-2", Name: "whole", Created: -time.Hour, GPUs: 8, Rate: &fake.Rate{Amount: "6.32", Per: "hour"}},
			{ID: "i-3", Name: "no-price"},
			{ID: "i-4", Name: "zero-price", Rate: &fake.Rate{Amount: "0", Per: "hour"}},
			{ID: "i-db", Name: "database", GPUs: fake.NoGPU, Rate: &fake.Rate{Amount: "2", Per: "hour"}},
			{ID: "i-locked", Rate: &fake.Rate{Amount: "2", Per: "hour"}, Protected: []string{"release"}},
			{ID: "i-kept", Rate: &fake.Rate{Amount: "2", Per: "hour"}, Tags: map[string]string{"guard:keep": "true"}},
			{ID: "i-foreign", Rate: &fake.Rate{Amount: "2", Per: "hour"}, Tags: map[string]string{guard.TagDeployment: "someone-else"}},
		},
	}
}

func newBench(t *testing.T, change ...func(*fake.Script)) *bench {
	t.Helper()
	script := lab()
	for _, f := range change {
		f(&script)
	}
	cloud, err := fake.NewCloud(script)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, cloud: cloud, acct: cloud.Account(), at: cloud.At(0), rules: policy.DefaultRules(), health: wire.Health{OK: true}}
	b.acct.Mode = guard.Enforce
	if b.ledger, err = store.Open(t.Context(), memory.New(), b.at); err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("Asia/Shanghai", 8*3600)
	b.o = api.Options{
		Ledger: b.ledger,
		Account: func(name string) (*providers.Account, bool) {
			if name != b.acct.Name {
				return nil, false
			}
			return b.acct, true
		},
		AccountNames: func() []string { return []string{b.acct.Name} },
		Now:          func() guard.Instant { return b.at },
		Delivery:     func(*store.View) ([]wire.Channel, error) { return b.delivery, nil },
		Storage: func(context.Context) wire.Storage {
			if b.storage == nil {
				return wire.Storage{Path: "/var/lib/guard/ledger.db"}
			}
			return *b.storage
		},
		Examine: func(_ context.Context, at guard.Instant, s wire.Status) wire.Diagnosis {
			b.examined = s
			return wire.Diagnosis{Now: at.Wall, Sections: []wire.Section{{Name: "account lab", Points: []wire.Point{{State: wire.PointOK, Text: "list"}}}}}
		},
		Report: func(_ context.Context, at guard.Instant, lang guard.Lang) (wire.Report, error) {
			return wire.Report{Now: at.Wall, Title: "told in " + string(lang), Lines: []string{}, Spend: []string{}, Unpriced: []string{}, Spent: []wire.ReportSpend{},
				Ended: []wire.ReportEnded{}, Ends: []wire.ReportEnd{}}, nil
		},
		Kick: func(loop string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.kicks = append(b.kicks, loop)
		},
		Rules:    func() policy.Rules { return b.rules },
		Location: func() *time.Location { return zone },
		Channels: func() []string { return []string{"log", "slack"} },
		Why: func(_ context.Context, at guard.Instant, id guard.ResourceID) ([]guard.Fact, []string, error) {
			if b.whyPanics {
				panic("why")
			}
			return []guard.Fact{{Name: "state", Value: "running", Source: "provider", At: at.Wall}}, []string{"no rule asks for anything of " + id.String()}, nil
		},
		Backup: func(_ context.Context, path string) error { b.copied = path; return nil },
		Health: func(guard.Instant) wire.Health { return b.health },
	}
	b.h = api.New(b.o)
	b.observe()
	return b
}

// observe lists the account and meters it, as the loops would.
func (b *bench) observe() {
	b.Helper()
	ctx := guard.WithInstant(b.Context(), b.at)
	inv, err := b.acct.Provider.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Volume}})
	if err != nil {
		b.Fatal(err)
	}
	status := guard.AccountStatus{Name: b.acct.Name, Provider: "fake", Mode: b.acct.Mode, Identity: guard.Identity{ID: "acct-lab", Strong: true}, Polled: b.at.Wall}
	b.put(func(tx *store.Tx) error { return tx.Accounts.Put(status) })
	for _, res := range inv.Results {
		if res.Err != nil {
			b.Fatal(res.Err)
		}
		for _, r := range res.Resources {
			b.see(r)
		}
	}
}

func (b *bench) see(r guard.Resource) {
	b.Helper()
	b.put(func(tx *store.Tx) error {
		o, ok, err := tx.Observed.Get(r.ID.Key())
		if err != nil {
			return err
		}
		if !ok {
			o = guard.Observed{Resource: r, Identity: "acct-lab", FirstSeen: b.at.Wall}
			at, _ := spend.Start(o)
			o.Pending = []guard.Change{{At: at, State: r.State, Bills: r.Bills, Rate: r.Rate, Saves: r.StopSaves}}
		}
		o.Resource, o.Seen = r, b.at.Wall
		if r.Parent.Kind == guard.Instance {
			o.Instance = r.Parent
		}
		l, _, err := tx.LeaseOf(r.ID.Key())
		if err != nil {
			return err
		}
		m, _, err := tx.Metered.Get(r.ID.Key())
		if err != nil {
			return err
		}
		m, _ = spend.Fold(spend.Input{Observed: o, Metered: m, Lease: l.ID, Price: l.Price, Truths: b.acct.Provider.Truths(), Poll: b.acct.Poll, Read: b.at.Wall, At: b.at.Wall})
		o.Pending = nil
		return cmpErr(tx.Observed.Put(o), tx.Metered.Put(m))
	})
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) put(fn func(tx *store.Tx) error) {
	b.Helper()
	if err := b.ledger.Update(b.Context(), fn); err != nil {
		b.Fatal(err)
	}
}

// pass moves guard's clock and the cloud's on.
func (b *bench) pass(d time.Duration) {
	b.at = b.at.Add(d)
	b.cloud.Advance(b.at.Wall)
}

// call sends a request and returns the status and the body.
func (b *bench) call(who, method, path string, in any) (int, []byte) {
	b.Helper()
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			b.Fatal(err)
		}
	}
	r := httptest.NewRequest(method, "/v1"+path, &body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	api.As(api.Caller{Name: who, Role: guard.Admin}, b.h).ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		b.Fatalf("%s %s: content type %q: %s", method, path, got, w.Body)
	}
	return w.Code, w.Body.Bytes()
}

func good[T any](b *bench, who, method, path string, in any) T {
	b.Helper()
	status, body := b.call(who, method, path, in)
	if status != http.StatusOK {
		b.Fatalf("%s %s: %d: %s", method, path, status, body)
	}
	return decode[T](b, body)
}

func decode[T any](b *bench, body []byte) T {
	b.Helper()
	var out T
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		b.Fatalf("%v: %s", err, body)
	}
	return out
}

// bad expects a refusal of that status and kind, whose sentence and hint hold
// every one of the words.
func (b *bench) bad(who, method, path string, in any, status int, kind string, words ...string) wire.Error {
	b.Helper()
	got, body := b.call(who, method, path, in)
	e := decode[wire.Error](b, body)
	if got != status || e.Kind != kind {
		b.Errorf("%s %s: %d %q, want %d %q: %s", method, path, got, e.Kind, status, kind, body)
	}
	all := e.Message + " " + e.Hint + " " + strings.Join(e.Details, " ")
	for _, w := range words {
		if !strings.Contains(all, w) {
			b.Errorf("%s %s: %q says nothing of %q", method, path, all, w)
		}
	}
	for _, k := range []string{"invalid: ", "refused: ", "conflict: ", "not found: "} {
		if strings.HasPrefix(e.Message, k) {
			b.Errorf("%q begins with the kind instead of a sentence", e.Message)
		}
	}
	return e
}

func (b *bench) register(who string, r wire.RegisterRequest) wire.Registered {
	b.Helper()
	return good[wire.Registered](b, who, http.MethodPost, "/register", r)
}

func (b *bench) lease(id string) (guard.Lease, bool) {
	b.Helper()
	var l guard.Lease
	var ok bool
	err := b.ledger.View(b.Context(), func(v *store.View) (err error) {
		l, ok, err = v.LeaseOf(b.cloud.ID(guard.Instance, id).Key())
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return l, ok
}

func (b *bench) openRelease(id string) (guard.Release, bool) {
	b.Helper()
	var r guard.Release
	var ok bool
	err := b.ledger.View(b.Context(), func(v *store.View) (err error) {
		r, ok, err = v.Releases.Get(b.cloud.ID(guard.Instance, id).Key())
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return r, ok
}

// journal is the whole history, oldest first, as "who verb subject".
func (b *bench) journal() []string {
	b.Helper()
	var out []string
	err := b.ledger.View(b.Context(), func(v *store.View) error {
		es, err := v.JournalSince(0, 0)
		for _, e := range es {
			out = append(out, fmt.Sprintf("%s %s %s", e.Who, e.Verb, e.Subject))
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func (b *bench) kicked(loops ...string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range loops {
		if !slices.Contains(b.kicks, l) {
			b.Errorf("loop %s was not kicked: %v", l, b.kicks)
		}
	}
}

func text(p *string) string {
	if p == nil {
		return "null"
	}
	return *p
}

func stamp(t *time.Time) string {
	if t == nil {
		return "null"
	}
	return t.Format(time.RFC3339)
}
