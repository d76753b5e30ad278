package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/user"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/store"
)

func ids(l wire.List) []string {
	var out []string
	for _, it := range l.Items {
		out = append(out, it.ID)
	}
	return out
}

func TestList(t *testing.T) {
	b := leased(t)
	list := func(query string) []string {
		b.Helper()
		return ids(good[wire.List](b, "ana", http.MethodGet, "/resources"+query, nil))
	}
	if got := list(""); len(got) != 8 || slices.Contains(got, "v-1") {
		t.Errorf("default %v, want the eight instances", got)
	}
	if got := list("?kind=volume"); !slices.Equal(got, []string{"v-1", "v-2"}) {
		t.Errorf("volumes %v", got)
	}
	if got := list("?tag=team%3Dnlp&account=lab"); !slices.Equal(got, []string{"i-1"}) {
		t.Errorf("by tag %v", got)
	}
	if got := list("?owner=ana"); !slices.Equal(got, []string{"i-1"}) {
		t.Errorf("by owner %v", got)
	}
	// The instance goes: its disk shows, it does not.
	b.put(func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(b.cloud.ID(guard.Instance, "i-1").Key())
		o.Gone = &guard.Gone{At: start.Add(time.Hour), How: guard.ByReclaim}
		l, _, err2 := tx.LeaseOf(o.Resource.ID.Key())
		l.Status = guard.LeaseGone
		return cmpErr(err, err2, tx.Observed.Put(o), tx.Leases.Put(l))
	})
	got := list("")
	if slices.Contains(got, "i-1") || !slices.Contains(got, "v-1") {
		t.Errorf("after a reclaim %v, want what is left behind", got)
	}
	for _, it := range good[wire.List](b, "ana", http.MethodGet, "/resources?all=true", nil).Items {
		if it.ID == "i-1" && (it.State != "gone" || it.Billing != "no" || it.EndedHow != "reclaim" || it.Owner != "ana" || it.Deadline != nil) {
			t.Errorf("gone: %+v", it)
		}
	}
	b.bad("ana", http.MethodGet, "/resources?account=nowhere", nil, 404, "not_found", "known: lab")
	b.bad("ana", http.MethodGet, "/resources?kind=box", nil, 400, "invalid", "volume")
	b.bad("ana", http.MethodGet, "/resources?tag=x", nil, 400, "invalid", "KEY=VALUE")
	b.bad("ana", http.MethodGet, "/resources?colour=red", nil, 400, "invalid", "colour")
}

// TestItemShape pins what scripts read: names, money, times, null for unknown.
func TestItemShape(t *testing.T) {
	b := leased(t)
	b.pass(time.Minute)
	_, body := b.call("ana", http.MethodGet, "/resources", nil)
	var l struct{ Items []map[string]any }
	if err := json.Unmarshal(body, &l); err != nil {
		t.Fatal(err)
	}
	for _, it := range l.Items {
		for _, f := range strings.Split("account,id,kind,name,purpose,owner,state,billing,rate,spend,budget,expires_at,deadline,deadline_reason,release,findings,tags", ",") {
			if _, ok := it[f]; !ok {
				t.Errorf("%s has no field %s", it["id"], f)
			}
		}
		switch it["id"] {
		case "i-1":
			if it["budget"] != "2000.00 CNY" || it["billing"] != "yes" || it["release"] != "none" || it["expires_at"] != "2026-03-07T04:00:00+08:00" {
				t.Errorf("%v", it)
			}
			if it["rate"] != "240.00 CNY" {
				t.Errorf("rate %v", it["rate"])
			}
		case "i-3", "i-4": // no price, and a price of 0 that means none
			if it["rate"] != nil || it["spend"] != nil || it["spend_at_least"] != true {
				t.Errorf("unknown became %v, %v", it["rate"], it["spend"])
			}
		}
	}
}

func TestShowWhyLog(t *testing.T) {
	b := leased(t)
	b.pass(time.Hour)
	show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
	if show.Item.ID != "i-1" || len(show.Family) != 3 || len(show.Log) != 1 || show.RegisteredAt == nil {
		t.Errorf("%+v", show)
	}
	if len(show.Limits) == 0 || len(show.Erases) == 0 || len(show.Survives) == 0 {
		t.Errorf("limits %v, erases %v, survives %v", show.Limits, show.Erases, show.Survives)
	}
	why := good[wire.Why](b, "ana", http.MethodGet, "/why?id=lab/i-1", nil)
	if why.ID != "lab/i-1" || len(why.Facts) != 1 || len(why.Lines) != 1 {
		t.Errorf("%+v", why)
	}
	log := good[wire.Log](b, "ana", http.MethodGet, "/log?id=lab/i-1", nil)
	if len(log.Entries) != 1 || log.Entries[0].Who != "ana" || log.Entries[0].Verb != "registered" {
		t.Errorf("%+v", log)
	}
	if log := good[wire.Log](b, "ana", http.MethodGet, "/log?id=lab/i-2", nil); len(log.Entries) != 0 {
		t.Errorf("%+v", log)
	}
	for _, path := range []string{"/show", "/why", "/log"} {
		b.bad("ana", http.MethodGet, path+"?id=lab/i-77", nil, 404, "not_found", "lab/i-77")
		b.bad("ana", http.MethodGet, path+"?id=i-1", nil, 400, "invalid", "ACCOUNT/ID")
	}
	b.bad("ana", http.MethodGet, "/show?id=nowhere/i-1", nil, 404, "not_found", "known: lab")
	b.bad("ana", http.MethodGet, "/log?limit=0", nil, 400, "invalid")
}

func TestFindings(t *testing.T) {
	b := leased(t)
	b.put(func(tx *store.Tx) error {
		id := b.cloud.ID(guard.Instance, "i-2")
		return cmpErr(
			tx.Findings.Put(guard.Finding{ID: "a", Rule: guard.RuleUnregistered, Subject: "lab/i-2", Resource: id, Title: "nobody owns it", Since: b.at.Wall.Add(-2 * time.Hour), Opened: start, Wastes: guard.MustMoney("6.32CNY")}),
			tx.Findings.Put(guard.Finding{ID: "b", Rule: guard.RuleUnitMismatch, Subject: "lab/i-1", Resource: b.cloud.ID(guard.Instance, "i-1"), Urgent: true, Opened: start.Add(-time.Hour)}),
			tx.CloseFinding(guard.Finding{ID: "c", Rule: guard.RuleExpired, Subject: "lab/i-1", Opened: start, Closed: start}))
	})
	out := good[wire.Findings](b, "ana", http.MethodGet, "/findings", nil)
	if len(out.Findings) != 2 || out.Findings[0].ID != "b" || text(out.Findings[1].Wastes) != "6.32 CNY" ||
		text(out.Findings[1].AtStake) != "12.64 CNY" || !slices.Equal(out.SoFar, []string{"12.64 CNY"}) {
		t.Errorf("%+v, want what is urgent first", out)
	}
	if out := good[wire.Findings](b, "ana", http.MethodGet, "/findings?closed=true", nil); len(out.Findings) != 3 {
		t.Errorf("%+v", out.Findings)
	}
	l := good[wire.List](b, "ana", http.MethodGet, "/resources", nil)
	for _, it := range l.Items {
		if it.ID == "i-2" && !slices.Equal(it.Findings, []string{"unregistered"}) {
			t.Errorf("%+v", it.Findings)
		}
	}
}

// TestStatusNeedsAPerson: each trouble alone makes status speak up, in a
// sentence that names it; without any it is silent.
func TestStatusNeedsAPerson(t *testing.T) {
	long := start.Add(-time.Hour)
	for name, c := range map[string]struct {
		trouble func(b *bench, tx *store.Tx) error
		words   []string
	}{
		"nothing": {func(*bench, *store.Tx) error { return nil }, nil},
		"mismatch": {func(b *bench, tx *store.Tx) error {
			return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Identity: guard.Identity{ID: "acct-lab"}, Mismatch: "acct-2", Polled: start})
		}, []string{"account lab", "acct-2"}},
		"unreachable": {func(b *bench, tx *store.Tx) error {
			return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Failing: long, Error: "no route", Polled: long})
		}, []string{"account lab cannot be read since 2026-03-06T17:00:00+08:00", "no route"}},
		"one failed poll": {func(b *bench, tx *store.Tx) error {
			return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Failing: start.Add(-time.Second), Error: "no route", Polled: long})
		}, nil},
		"blind": {func(b *bench, tx *store.Tx) error {
			return tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Instance, Scope: "zone-b", Failing: long, Error: "503", Complete: long})
		}, []string{"zone-b", "503"}},
		"blocked": {func(b *bench, tx *store.Tx) error {
			return tx.Releases.Put(guard.Release{ID: "r", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseBlocked, Reason: guard.BlockSurprise, BlockedAt: long})
		}, []string{"lab/i-1 is blocked (surprise)", "guard release lab/i-1"}},
		"blocked by the provider": {func(b *bench, tx *store.Tx) error {
			return tx.Releases.Put(guard.Release{ID: "r", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseBlocked, Reason: guard.BlockProtected, BlockedAt: long,
				LastError: "terminate lab/i-1: protected by the provider: lift it"})
		}, []string{"goes on billing: protected by the provider: lift it"}},
		"undelivered": {func(b *bench, tx *store.Tx) error {
			b.delivery = []wire.Channel{{Name: "log"}, {Name: "slack", Undelivered: 1, Oldest: &start, Title: "i-1 ends", Error: "channel_not_found"}}
			return nil
		}, []string{"1 message to slack is not delivered, since 2026-03-06T18:00:00+08:00 (i-1 ends): channel_not_found"}},
		"undelivered for long": {func(b *bench, tx *store.Tx) error {
			b.delivery = []wire.Channel{{Name: "slack", Undelivered: 3, Oldest: &long, Title: "i-1 ends"}}
			return nil
		}, []string{"3 messages to slack are not delivered, the oldest since 2026-03-06T17:00:00+08:00"}},
		"just queued": {func(b *bench, tx *store.Tx) error {
			b.delivery = []wire.Channel{{Name: "slack", Undelivered: 1, Oldest: &start}}
			return nil
		}, nil},
		"a disk that fills": {func(b *bench, tx *store.Tx) error {
			b.storage = &wire.Storage{Trouble: "the disk is filling up"}
			return nil
		}, []string{"the ledger's place: the disk is filling up"}},
		"stale loop": {func(b *bench, tx *store.Tx) error {
			b.health.Loops = []wire.Loop{{Name: "meter", Last: &long, Stale: true}}
			return nil
		}, []string{"loop meter stands still"}},
		"a ledger that cannot be written": {func(b *bench, tx *store.Tx) error {
			b.health.Loops = []wire.Loop{{Name: "decide", Last: &start, Error: "no space left on device"}, {Name: "observe/lab", Last: &start, Error: "no space left here"}}
			return nil
		}, []string{"the loop decide fails and is tried again: no space left on device", "observe/lab fails"}},
		"a poll that failed and is on record": {func(b *bench, tx *store.Tx) error {
			b.health.Loops = []wire.Loop{{Name: "observe/lab", Last: &start, Error: "no route"}}
			return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Failing: start.Add(-time.Second), Error: "no route", Polled: long})
		}, nil},
		"stalled": {func(b *bench, tx *store.Tx) error {
			return tx.Findings.Put(guard.Finding{ID: "f", Rule: guard.RuleReleaseStalled, Subject: "lab/i-1", Title: "lab/i-1 still lives"})
		}, []string{"lab/i-1 still lives"}},
		"a clock that is wrong": {func(b *bench, tx *store.Tx) error {
			return tx.Findings.Put(guard.Finding{ID: "f", Rule: guard.RuleClockJump, Title: "guard's clock is 3h ahead", Urgent: true})
		}, []string{"guard's clock is 3h ahead"}},
		"a clock that was put right": {func(b *bench, tx *store.Tx) error {
			return tx.Findings.Put(guard.Finding{ID: "f", Rule: guard.RuleClockJump, Title: "the time that guard goes by was put forward by 3h"})
		}, nil},
		"account gone from the configuration": {func(b *bench, tx *store.Tx) error {
			return tx.Leases.Put(guard.Lease{ID: "l", Resource: guard.ResourceID{Account: "old", Kind: guard.Instance, ID: "i-1"}, Status: guard.LeaseActive})
		}, []string{"account old is not configured", "1 open lease needs it"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put(func(tx *store.Tx) error { return c.trouble(b, tx) })
			out := good[wire.Status](b, "ana", http.MethodGet, "/status", nil)
			all := strings.Join(out.Attention, "\n")
			if (len(out.Attention) > 0) != (len(c.words) > 0) {
				t.Errorf("attention %q", all)
			}
			for _, w := range c.words {
				if !strings.Contains(all, w) {
					t.Errorf("attention %q says nothing of %q", all, w)
				}
			}
		})
	}
}

// TestStatusOfOnePoll: an account that could not be read is told of at once, with the reason
// that was heard last of what runs there; nothing needs a person yet.
func TestStatusOfOnePoll(t *testing.T) {
	b := newBench(t)
	polled := start.Add(-time.Second)
	failing := func(kind guard.Kind, scope, why string) guard.ScopeStatus {
		return guard.ScopeStatus{Account: "lab", Kind: kind, Scope: scope, Failing: polled, Error: why, Complete: start.Add(-time.Minute)}
	}
	for _, c := range []struct {
		scopes       []guard.ScopeStatus
		state, error string
		blind        []string
		unreachable  string
	}{
		{nil, "ok", "", nil, ""},
		{[]guard.ScopeStatus{failing(guard.Filesystem, "zone-a", "a web page")}, "ok", "a web page", []string{"zone-a filesystems"}, ""},
		{[]guard.ScopeStatus{failing(guard.Instance, "zone-a", "status 401")}, "blind", "status 401", []string{"zone-a filesystems", "zone-a instances"}, ""},
		{nil, "unreachable", "no route", nil, "no route"}, // at all: of its scopes nothing is told
	} {
		b.put(func(tx *store.Tx) error {
			account := guard.AccountStatus{Name: "lab", Identity: guard.Identity{ID: "acct-lab"}, Polled: polled, Error: c.unreachable}
			if c.unreachable != "" {
				account.Failing = polled
			}
			if err := tx.Accounts.Put(account); err != nil {
				return err
			}
			for _, s := range c.scopes {
				if err := tx.Scopes.Put(s); err != nil {
					return err
				}
			}
			return nil
		})
		out := good[wire.Status](b, "ana", http.MethodGet, "/status", nil)
		if a := out.Accounts[0]; a.State != c.state || a.Error != c.error || !slices.Equal(a.Blind, c.blind) || len(out.Attention) > 0 {
			t.Errorf("%+v, %q; want %s, %q, %v", a, out.Attention, c.state, c.error, c.blind)
		}
	}
}

func TestStatusCounts(t *testing.T) {
	b := leased(t)
	out := good[wire.Status](b, "ana", http.MethodGet, "/status", nil)
	if c := out.Counts; c.Instances != 8 || c.Registered != 1 || c.Unregistered != 7 || c.NoPrice != 2 {
		t.Errorf("counts %+v", c)
	}
	// 240 + 6.32 + 4 × 2 + 600 GB of disk at 0.35 a month of 730 h.
	if !slices.Equal(out.Burn, []string{"254.61 CNY"}) || out.TimeZone != "Asia/Shanghai" || out.Deployment != b.ledger.Deployment() {
		t.Errorf("%+v", out)
	}
	if a := out.Accounts; len(a) != 1 || a[0].State != "ok" || a[0].Identity != "acct-lab" || a[0].Mode != "enforce" {
		t.Errorf("accounts %+v", a)
	}
}

func TestHealth(t *testing.T) {
	b := newBench(t)
	if status, _ := b.call("", http.MethodGet, "/healthz", nil); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	b.health = wire.Health{Loops: []wire.Loop{{Name: "meter", Stale: true}}}
	status, body := b.call("", http.MethodGet, "/healthz", nil)
	if h := decode[wire.Health](b, body); status != http.StatusServiceUnavailable || h.OK || len(h.Loops) != 1 {
		t.Errorf("status %d, %+v", status, h)
	}
}

func TestWrongRequests(t *testing.T) {
	b := newBench(t)
	b.bad("", http.MethodGet, "/nothing", nil, 404, "not_found", "/v1/nothing")
	b.bad("", http.MethodPost, "/register", map[string]any{"id": "lab/i-1", "ttll": "1h"}, 400, "invalid", "ttll")
	b.bad("", http.MethodPost, "/register", map[string]any{"id": 7}, 400, "invalid")
	b.bad("", http.MethodPost, "/register", map[string]any{}, 400, "invalid", "id")
	r := httptest.NewRequest(http.MethodPost, "/v1/release", strings.NewReader(`{"ids":["lab/i-1"]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	if _, ok := b.openRelease("i-1"); w.Code != http.StatusForbidden || ok {
		t.Errorf("a page in a browser got %d: %s", w.Code, w.Body)
	}
}

// TestCaller: the kernel says who is at the other end of the socket, and that
// name owns what it registers and stands in the journal.
func TestCaller(t *testing.T) {
	b := newBench(t)
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	t.Chdir(t.TempDir())
	const sock = "guard.sock" // relative: where temporary folders are may be too far for a socket's path
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: b.h, ConnContext: api.ConnContext}
	go srv.Serve(l)
	defer srv.Close()
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", sock)
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Post("http://guard/v1/register", "application/json", strings.NewReader(`{"id":"lab/i-1","ttl":"1h"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if lease, _ := b.lease("i-1"); resp.StatusCode != http.StatusOK || lease.Owner != me.Username {
		t.Errorf("%d: owner %q, want %q", resp.StatusCode, lease.Owner, me.Username)
	}
	if j := b.journal(); len(j) != 1 || j[0] != fmt.Sprintf("%s registered lab/i-1", me.Username) {
		t.Errorf("journal %q", j)
	}
}

func TestBackup(t *testing.T) {
	b := newBench(t)
	b.bad("ana", http.MethodPost, "/backup", wire.BackupRequest{To: "ledger.db"}, 400, "invalid", "absolute")
	b.bad("ana", http.MethodPost, "/backup", wire.BackupRequest{To: "/a/../etc/x"}, 400, "invalid", "absolute")
	out := good[wire.BackupAnswer](b, "ana", http.MethodPost, "/backup", wire.BackupRequest{To: "/backup/monday.db"})
	if out.Path != "/backup/monday.db" || b.copied != out.Path {
		t.Errorf("%+v, copied to %q", out, b.copied)
	}
	if j := b.journal(); len(j) != 1 || !strings.HasPrefix(j[0], "ana backed up") {
		t.Errorf("journal %q", j)
	}
}

// TestPanic: a handler that panics is an answer, not the end of the daemon.
func TestPanic(t *testing.T) {
	b := newBench(t)
	b.whyPanics = true
	b.bad("ana", http.MethodGet, "/why?id=lab/i-1", nil, 500, "internal", "its log has the details")
	if status, _ := b.call("ana", http.MethodGet, "/resources", nil); status != http.StatusOK {
		t.Errorf("afterwards %d", status)
	}
}

// TestDeadlineOfWhatIsPutOff: the deadline is when guard acts, not a limit that
// has passed while people get their notice.
func TestDeadlineOfWhatIsPutOff(t *testing.T) {
	b := newBench(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"})
	b.pass(2 * time.Hour)
	due := b.at.Wall.Add(10 * time.Minute)
	for state, want := range map[guard.ReleaseState]string{guard.ReleaseNoticed: "2026-03-06T20:10:00+08:00", guard.ReleaseIntended: "2026-03-06T19:00:00+08:00"} {
		b.put(func(tx *store.Tx) error {
			return tx.Releases.Put(guard.Release{ID: "r", Target: b.cloud.ID(guard.Instance, "i-1"), State: state, Action: guard.ActRelease, Cause: guard.CauseExpiry, Due: due})
		})
		show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
		if got := stamp(show.Item.Deadline); got != want || show.Item.DeadlineReason != "expiry" {
			t.Errorf("%s: deadline %s (%s), want %s", state, got, show.Item.DeadlineReason, want)
		}
	}
}
