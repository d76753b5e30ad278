package api_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
	"guard/store"
)

func TestRegister(t *testing.T) {
	b := newBench(t)
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora 70b", TTL: "10h", Budget: "2000CNY", Tags: map[string]string{"run": "7"}})
	if out.Outcome != "created" {
		t.Errorf("outcome %q", out.Outcome)
	}
	it := out.Item
	if it.Rate == nil || *it.Rate != "240.00 CNY" || it.RateQuote != "8 × 30.00 CNY per gpu per hour" {
		t.Errorf("rate %+v: want the whole machine's and the quote's unit", it.Rate)
	}
	if got := text(it.Spend); got != "40.00 CNY" {
		t.Errorf("spend %s, want ten minutes before the registration", got)
	}
	if it.Owner != "ana" || it.Purpose != "lora 70b" || it.Lease != "active" || text(it.Budget) != "2000.00 CNY" {
		t.Errorf("item %+v", it)
	}
	if got := stamp(it.ExpiresAt); got != "2026-03-07T04:00:00+08:00" {
		t.Errorf("expires_at %s", got)
	}
	if it.Tags["team"] != "nlp" || it.Tags["run"] != "7" {
		t.Errorf("tags %v: want the provider's and the lease's", it.Tags)
	}
	// 2000 CNY last (2000-40)/240.24 h, disks included; a release takes 45 s and 10 s on the way.
	var budget, expiry wire.Limit
	for _, l := range out.Limits {
		switch l.Reason {
		case "budget":
			budget = l
		case "expiry":
			expiry = l
		}
	}
	if budget.Reached == nil || budget.Acts == nil || budget.Reached.Sub(*budget.Acts) != 55*time.Second {
		t.Fatalf("budget limit %+v: want the call 55 s ahead", budget)
	}
	if left := budget.Reached.Sub(start); left < 8*time.Hour+8*time.Minute || left > 8*time.Hour+10*time.Minute {
		t.Errorf("budget lasts %s", left)
	}
	if expiry.Does != "release" || !strings.Contains(expiry.Text, "guard releases it") || !strings.Contains(expiry.Text, "1h before") {
		t.Errorf("expiry %+v", expiry)
	}
	if it.DeadlineReason != "budget" || stamp(it.Deadline) != stamp(budget.Acts) {
		t.Errorf("deadline %s %s, want the budget's", stamp(it.Deadline), it.DeadlineReason)
	}
	erases, survives := strings.Join(out.Erases, "\n"), strings.Join(out.Survives, "\n")
	if !strings.Contains(erases, "v-2 (100 GB) goes with it") || strings.Contains(erases, "v-1") {
		t.Errorf("erases %q", erases)
	}
	if !strings.Contains(survives, "v-1 (500 GB) stays and goes on billing 0.24 CNY per hour") {
		t.Errorf("survives %q", survives)
	}
	if !slices.Contains(out.Defaults, "on_limit release") || !slices.Contains(out.Defaults, "grace 10m") || len(out.Defaults) != 2 {
		t.Errorf("defaults %v", out.Defaults)
	}
	l, _ := b.lease("i-1")
	if l.Identity != "acct-lab" || !l.ResourceCreated.Equal(start.Add(-10*time.Minute)) || l.OnLimit != guard.ActRelease || l.Grace != 10*time.Minute {
		t.Errorf("lease %+v", l)
	}
	if j := b.journal(); !slices.Equal(j, []string{"ana registered lab/i-1"}) {
		t.Errorf("journal %q", j)
	}
	b.kicked("observe/lab", "meter", "decide")
}

// TestRegisterSaysWhenPeopleAreTold: ahead where there is time for that.
func TestRegisterSaysWhenPeopleAreTold(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ ttl, want string }{{"10h", "people are told 1h before"}, {"1h", "people are told at once"}, {"20m", "people are told at once"}} {
		if out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: c.ttl}); !strings.Contains(out.Limits[0].Text, c.want) {
			t.Errorf("ttl %s: %q, want %q", c.ttl, out.Limits[0].Text, c.want)
		}
	}
	for range 2 { // while it comes near, and when it has passed: they are told already
		b.pass(10 * time.Minute)
		show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
		if text := show.Limits[0].Text; strings.Contains(text, "told") {
			t.Errorf("%q", text)
		}
	}
}

func TestRegisterAgain(t *testing.T) {
	b := newBench(t)
	r := wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora", Until: "2026-03-07T08:00:00+08:00"}
	b.register("ana", r)
	if out := b.register("ana", r); out.Outcome != "unchanged" || len(out.Changes) != 0 {
		t.Errorf("the same again: %s %v", out.Outcome, out.Changes)
	}
	if n := len(b.journal()); n != 1 {
		t.Errorf("%d journal entries, want none for no change", n)
	}
	before, _ := b.lease("i-1")
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora 70b", Tags: map[string]string{"run": "8"}})
	want := []wire.Change{{Field: "purpose", From: "lora", To: "lora 70b"}, {Field: "tags", From: "", To: "run=8"}}
	if out.Outcome != "updated" || !slices.Equal(out.Changes, want) {
		t.Errorf("%s %+v, want exactly what was given", out.Outcome, out.Changes)
	}
	after, _ := b.lease("i-1")
	if after.ID != before.ID || !after.ExpiresAt.Equal(before.ExpiresAt) || after.Owner != "ana" || !after.RegisteredAt.Equal(before.RegisteredAt) {
		t.Errorf("the update lost something: %+v, before %+v", after, before)
	}
	if len(out.Defaults) != 0 {
		t.Errorf("defaults %v filled into an update", out.Defaults)
	}
}

func TestRegisterBeforeTheFirstPoll(t *testing.T) {
	b := newBench(t)
	if err := b.cloud.Do(fake.Event{Create: &fake.Resource{ID: "i-new", Rate: &fake.Rate{Amount: "10", Per: "hour"}}}); err != nil {
		t.Fatal(err)
	}
	b.register("ana", wire.RegisterRequest{ID: "lab/i-new", TTL: "1h"})
	list := good[wire.List](b, "ana", http.MethodGet, "/resources?owner=ana", nil)
	if len(list.Items) != 1 || list.Items[0].ID != "i-new" || list.Items[0].DeadlineReason != "expiry" {
		t.Errorf("items %+v: want it shown at once", list.Items)
	}
}

func TestRegisterSaysObserve(t *testing.T) {
	b := newBench(t)
	b.acct.Mode = guard.Observe
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"})
	if out.Item.Mode != "observe" || out.Limits[0].Does != "nothing" || !strings.Contains(out.Limits[0].Text, "observe mode") {
		t.Errorf("mode %q, limits %+v", out.Item.Mode, out.Limits)
	}
}

func TestRegisterPerGPUAndPerMachine(t *testing.T) {
	b := newBench(t)
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-2", Budget: "50CNY"})
	if got := out.Item; *got.Rate != "6.32 CNY" || got.RateQuote != "6.32 CNY per hour" {
		t.Errorf("rate %+v: the price is the machine's, not of each of its 8 GPUs", got)
	}
	// A stated price is of the whole machine, whatever the provider quotes.
	out = b.register("bo", wire.RegisterRequest{ID: "lab/i-1", Budget: "500CNY", Price: "25CNY/h"})
	if got := out.Item; *got.Rate != "25.00 CNY" || got.RateSource != "person" {
		t.Errorf("rate %+v", got)
	}
	if !strings.Contains(strings.Join(out.Warnings, " "), "reports 240.00 CNY per hour") {
		t.Errorf("warnings %q: want the provider's own price told", out.Warnings)
	}
}

func TestRegisterWarns(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		r    wire.RegisterRequest
		want string
	}{
		{wire.RegisterRequest{ID: "lab/i-1", TTL: "5m"}, "expiry comes in 5m, sooner than the notice of 10m"},
		{wire.RegisterRequest{ID: "lab/i-locked", TTL: "1h"}, "the provider's own protection is on"},
		{wire.RegisterRequest{ID: "lab/i-kept", TTL: "1h"}, "guard:keep=true protects it"},
		{wire.RegisterRequest{ID: "lab/i-3", TTL: "1h"}, "its price is unknown"},
		{wire.RegisterRequest{ID: "lab/i-4", TTL: "1h"}, "its price is unknown"},
	} {
		if out := b.register("ana", c.r); !strings.Contains(strings.Join(out.Warnings, "\n"), c.want) {
			t.Errorf("%s: warnings %q, want %q", c.r.ID, out.Warnings, c.want)
		}
	}
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-2", Until: "2026-03-07 08:00"})
	if !strings.Contains(strings.Join(out.Notes, " "), "read as time in Asia/Shanghai: 2026-03-07T08:00:00+08:00") {
		t.Errorf("notes %q: want the zone said", out.Notes)
	}
}

// TestRegisterRefuses: each refusal is a sentence, and leaves nothing behind.
func TestRegisterRefuses(t *testing.T) {
	b := newBench(t)
	id := "lab/i-1"
	for name, c := range map[string]struct {
		r      wire.RegisterRequest
		status int
		kind   string
		words  []string
	}{
		"no account in the ID":  {wire.RegisterRequest{ID: "i-1"}, 400, "invalid", []string{"ACCOUNT/ID"}},
		"unknown account":       {wire.RegisterRequest{ID: "nowhere/i-1", TTL: "1h"}, 404, "not_found", []string{"nowhere", "known: lab", "guard status"}},
		"not there":             {wire.RegisterRequest{ID: "lab/i-9", TTL: "1h"}, 404, "not_found", []string{"lab/i-9", "not there", "lab/i-1"}},
		"its name":              {wire.RegisterRequest{ID: "lab/trainer", TTL: "1h"}, 404, "not_found", []string{"lab/i-1 (named trainer)"}},
		"a volume":              {wire.RegisterRequest{ID: "lab/v-1", TTL: "1h"}, 400, "invalid", []string{"volume", "Name the instance"}},
		"past ttl":              {wire.RegisterRequest{ID: id, TTL: "-5m"}, 400, "invalid", []string{"ttl", "-5m", "past"}},
		"no ttl at all":         {wire.RegisterRequest{ID: id, TTL: "0s"}, 400, "invalid", []string{"ttl", "above zero"}},
		"unparsable ttl":        {wire.RegisterRequest{ID: id, TTL: "ten hours"}, 400, "invalid", []string{"ttl", "ten hours", "10h"}},
		"fractional ttl":        {wire.RegisterRequest{ID: id, TTL: "1.5h"}, 400, "invalid", []string{"ttl", "1.5h"}},
		"ttl for ever":          {wire.RegisterRequest{ID: id, TTL: "100y"}, 400, "invalid", []string{"ten years"}},
		"past until":            {wire.RegisterRequest{ID: id, Until: "2026-03-06T17:00:00+08:00"}, 400, "invalid", []string{"until", "past", "it is 2026-03-06T18:00:00+08:00 now"}},
		"unparsable until":      {wire.RegisterRequest{ID: id, Until: "tomorrow"}, 400, "invalid", []string{"until", "tomorrow", "Asia/Shanghai"}},
		"ttl and until":         {wire.RegisterRequest{ID: id, TTL: "1h", Until: "2026-03-07T08:00:00Z"}, 400, "invalid", []string{"contradict"}},
		"zero budget":           {wire.RegisterRequest{ID: id, Budget: "0CNY"}, 400, "invalid", []string{"budget", "above zero"}},
		"negative budget":       {wire.RegisterRequest{ID: id, Budget: "-5CNY"}, 400, "invalid", []string{"budget", "above zero"}},
		"budget, no currency":   {wire.RegisterRequest{ID: id, Budget: "2400"}, 400, "invalid", []string{"budget", "currency", "2400.50CNY"}},
		"budget in no currency": {wire.RegisterRequest{ID: id, Budget: "2400ZZZ"}, 400, "invalid", []string{"budget", "ISO 4217"}},
		"budget, exponent":      {wire.RegisterRequest{ID: id, Budget: "1E9CNY"}, 400, "invalid", []string{"budget"}},
		"budget, other money":   {wire.RegisterRequest{ID: id, Budget: "40USD"}, 400, "currency", []string{"CNY", "never converts", "Give the budget in CNY"}},
		"budget spent":          {wire.RegisterRequest{ID: id, Budget: "39CNY"}, 403, "refused", []string{"already spent", "40.00 CNY", "provider's start"}},
		"budget all but spent":  {wire.RegisterRequest{ID: id, Budget: "41CNY"}, 403, "refused", []string{"all but spent", "55s"}},
		"budget, no price":      {wire.RegisterRequest{ID: "lab/i-3", Budget: "40CNY"}, 403, "refused", []string{"price is unknown", "--price"}},
		"budget, price of zero": {wire.RegisterRequest{ID: "lab/i-4", Budget: "40CNY"}, 403, "refused", []string{"price is unknown"}},
		"price without period":  {wire.RegisterRequest{ID: id, Price: "2.50USD"}, 400, "invalid", []string{"2.50USD/h"}},
		"price of nothing":      {wire.RegisterRequest{ID: id, Price: "0USD/h"}, 400, "invalid", []string{"above zero"}},
		"no GPU":                {wire.RegisterRequest{ID: "lab/i-db", TTL: "1h"}, 403, "refused", []string{"no GPU", "--no-gpu-ok"}},
		"another guard's":       {wire.RegisterRequest{ID: "lab/i-foreign", TTL: "1h"}, 403, "refused", []string{"another guard", "someone-else"}},
		"on_limit":              {wire.RegisterRequest{ID: id, OnLimit: "explode"}, 400, "invalid", []string{"release, stop, alert"}},
		"guard's tag":           {wire.RegisterRequest{ID: id, Tags: map[string]string{"guard:keep": "true"}}, 400, "invalid", []string{"guard protect"}},
		"purpose of two lines":  {wire.RegisterRequest{ID: id, Purpose: "a\x1b[31m"}, 400, "invalid", []string{"one line"}},
		"three at once":         {wire.RegisterRequest{ID: id, TTL: "x", Budget: "0CNY", OnLimit: "y"}, 400, "invalid", []string{"3 things", "ttl", "budget", "on_limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{T: t, h: b.h}
			b.bad("ana", http.MethodPost, "/register", c.r, c.status, c.kind, c.words...)
		})
	}
	for _, id := range []string{"i-1", "i-3", "i-4", "i-db", "i-foreign"} {
		if l, ok := b.lease(id); ok {
			t.Errorf("a refused registration left %+v", l)
		}
	}
	if j := b.journal(); len(j) != 0 {
		t.Errorf("journal %q", j)
	}
}

func TestRegisterWithoutGPUIfMeant(t *testing.T) {
	b := newBench(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-db", TTL: "1h", NoGPUOK: true})
	if l, _ := b.lease("i-db"); !l.NoGPUOK {
		t.Errorf("lease %+v", l)
	}
}

func TestRegisterStopNeedsAStopThatSaves(t *testing.T) {
	b := newBench(t, func(s *fake.Script) { s.StopEffect = guard.StopSavesNothing })
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h", OnLimit: "stop"}, 403, "refused", "costs the same", "--on-limit release")
	b.acct.Stopper = nil // that it saves nothing is then no less true
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h", OnLimit: "stop"}, 403, "refused", "costs the same")
	b = newBench(t)
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h", OnLimit: "stop"})
	if len(out.Erases) != 0 || !strings.Contains(strings.Join(out.Survives, " "), "nothing is erased") {
		t.Errorf("a stop erases %q, leaves %q", out.Erases, out.Survives)
	}
}

func TestRegisterTwoPeople(t *testing.T) {
	b := newBench(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora", TTL: "10h"})
	b.bad("bo", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"}, 409, "conflict",
		"ana has it until 2026-03-07T04:00:00+08:00", "lora", "Talk to ana", "--reassign")
	if l, _ := b.lease("i-1"); l.Owner != "ana" || !l.ExpiresAt.Equal(start.Add(10*time.Hour)) {
		t.Errorf("the refused one changed the lease: %+v", l)
	}
	out := b.register("bo", wire.RegisterRequest{ID: "lab/i-1", Owner: "ana", Purpose: "lora 2"})
	if out.Outcome != "updated" || out.Item.Owner != "ana" {
		t.Errorf("for her, by name: %+v", out)
	}
	out = b.register("cy", wire.RegisterRequest{ID: "lab/i-1", Reassign: true})
	if out.Item.Owner != "cy" || out.Changes[0] != (wire.Change{Field: "owner", From: "ana", To: "cy"}) {
		t.Errorf("reassigned: %+v", out.Changes)
	}
}

// TestRegisterRace: of two people who register one box at one moment, one wins
// and the other is told.
func TestRegisterRace(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	codes := make([]int, 8)
	for i := range codes {
		wg.Go(func() {
			codes[i], _ = b.call(string(rune('a'+i)), http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"})
		})
	}
	wg.Wait()
	slices.Sort(codes)
	if want := []int{200, 409, 409, 409, 409, 409, 409, 409}; !slices.Equal(codes, want) {
		t.Errorf("answers %v, want one winner", codes)
	}
	if j := b.journal(); len(j) != 1 {
		t.Errorf("journal %q", j)
	}
}

func TestRegisterWhenTheProviderFails(t *testing.T) {
	for name, c := range map[string]struct {
		reply  fake.Reply
		status int
		kind   string
		words  []string
	}{
		"HTML":        {fake.Reply{HTML: true}, 502, "bad_reply", []string{"lab/i-1", "nothing was done"}},
		"503":         {fake.Reply{Status: 503}, 503, "unavailable", []string{"lab/i-1", "try again"}},
		"403":         {fake.Reply{Status: 403}, 403, "permission", []string{"lab/i-1"}},
		"unreachable": {fake.Reply{Unreachable: true}, 503, "unavailable", []string{"lab/i-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.cloud.Fault(fake.Fault{Call: fake.CallGet, Reply: c.reply})
			b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"}, c.status, c.kind, c.words...)
			if _, ok := b.lease("i-1"); ok {
				t.Error("it was registered all the same")
			}
		})
	}
}

func TestRegisterUnderAnotherIdentity(t *testing.T) {
	b := newBench(t)
	b.put(func(tx *store.Tx) error {
		a, _, err := tx.Accounts.Get("lab")
		a.Mismatch = "acct-2"
		return cmpErr(err, tx.Accounts.Put(a))
	})
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"}, 409, "account_mismatch", "acct-2", "acct-lab", "credentials")
}

func TestRegisterOwnMachine(t *testing.T) {
	b := newBench(t)
	b.put(func(tx *store.Tx) error {
		a, _, err := tx.Accounts.Get("lab")
		a.Identity.Self = "i-1"
		return cmpErr(err, tx.Accounts.Put(a))
	})
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"}, 403, "refused", "guard itself runs on it")
}

func TestRegisterAnotherThingOfThatID(t *testing.T) {
	b := newBench(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"})
	later := 3 * time.Hour
	if err := b.cloud.Do(fake.Event{ID: "i-1", Set: &fake.Changes{Created: &later}}); err != nil {
		t.Fatal(err)
	}
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"}, 409, "conflict", "was created at")
}

// TestRegisterAsksForTheLock: EC2 tells of its termination protection only when
// asked, and at the limit is late to hear of it.
func TestRegisterAsksForTheLock(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		for i := range s.Resources {
			s.Resources[i].HideProtection = true
		}
	})
	said := func(id, onLimit string) bool {
		b.Helper()
		out := b.register("ana", wire.RegisterRequest{ID: id, TTL: "2h", OnLimit: onLimit})
		return strings.Contains(strings.Join(out.Warnings, "\n"), "Switch the protection off at the provider")
	}
	if !said("lab/i-locked", "release") || said("lab/i-locked", "stop") || said("lab/i-locked", "alert") || said("lab/i-1", "release") {
		t.Error("the warning must come where the lock is in the way, and nowhere else")
	}
}

// TestHeldLimits: while a hold is longer than a limit, the limit waits for it.
func TestHeldLimits(t *testing.T) {
	b := newBench(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"})
	for until, want := range map[string]string{"1h": "guard releases it; people are told 1h before", "5h": "guard releases it, with fresh notice, once the hold ends at 2026-03-06T23:00:00+08:00"} {
		out := good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", For: until})
		if got := out.Limits[0].Text; got != want {
			t.Errorf("held for %s: %q, want %q", until, got, want)
		}
		good[wire.Changed](b, "ana", http.MethodPost, "/unhold", wire.IDRequest{ID: "lab/i-1"})
	}
}
