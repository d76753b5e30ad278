package e2e

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/aws/mototest"
)

// TestAgainstMoto runs the stories side by side, each in regions of its own:
// most of their time is waiting for deadlines and for the second look that the
// proof of an end needs. With -short, only the one that needs no proof.
func TestAgainstMoto(t *testing.T) {
	t.Parallel()
	moto := mototest.Start(t)
	for _, story := range []struct {
		name    string
		regions []string
		tell    func(*house)
	}{
		{"register, expire, prove", []string{"us-east-1"}, expiry},
		{"a budget lands under its cap", []string{"us-east-2"}, budget},
		{"a protected instance is left alone", []string{"us-west-1"}, protected},
		{"a volume is left behind", []string{"us-west-2"}, leftBehind},
		{"a person releases, and what is not there", []string{"eu-west-1"}, byHand},
		{"a persistent spot instance does not come back", []string{"eu-west-2"}, spot},
		{"killed when the notice is out", []string{"eu-west-3"}, killedNoticed},
		{"killed before the call arrives", []string{"eu-central-1"}, killedBeforeTheCall},
		{"killed after the call, before its answer", []string{"eu-north-1"}, killedAfterTheCall},
		{"killed when the call was accepted", []string{"ap-northeast-1"}, killedIssued},
		{"killed after the proof", []string{"ap-northeast-2"}, killedReleased},
		{"the server is away when it is due", []string{"ap-south-1"}, awayWhenDue},
		{"the server is away before the proof", []string{"ap-southeast-1"}, awayBeforeProof},
		{"the answer is lost", []string{"ap-southeast-2"}, answerLost},
	} {
		t.Run(story.name, func(t *testing.T) {
			if testing.Short() && story.name != "a protected instance is left alone" {
				t.Skip("takes a minute or two; run without -short")
			}
			t.Parallel()
			story.tell(moveIn(t, moto, story.regions...))
		})
	}
}

func expiry(h *house) {
	id := h.launch("g5.xlarge")
	// Nobody registered it: that is found, and it is not touched.
	h.until("it is found unregistered", func() bool { return h.finding("unregistered", id) })
	if out, code := h.try("register", "research/"+id, "--purpose", "too late", "--ttl", "-5m"); code != 2 {
		h.t.Errorf("a past ttl: exit %d: %s", code, out)
	}
	out := h.guard("register", "research/"+id, "--purpose", "lora 70b", "--owner", "ada", "--ttl", "15s", "--tag", "team=nlp")
	for _, want := range []string{"3600.00 USD", "release"} {
		if !strings.Contains(out, want) {
			h.t.Errorf("register does not print %q:\n%s", want, out)
		}
	}
	h.until("the tags are written", func() bool {
		var tags map[string]string
		h.moto.Do(h.t, &tags, "tags", h.regions[0], id)
		return tags[guard.TagLease] != "" && tags[guard.TagPurpose] == "lora 70b" && tags[guard.TagExpires] != ""
	})
	due := *h.show(id).Item.ExpiresAt
	s := h.released(id)
	h.terminated(id, 1)
	if h.finding("unregistered", id) {
		h.t.Error("it is still found unregistered")
	}
	call := h.proxy.Calls("TerminateInstances", id)[0]
	if call.At.Before(due) {
		h.t.Errorf("ended at %s, before it was due at %s", call.At, due)
	}
	h.punctual(s, due)
	if s.Item.Purpose != "lora 70b" || s.Item.Owner != "ada" || s.Item.EndedHow != "release" {
		h.t.Errorf("%+v", s.Item)
	}
	h.well()
}

// punctual checks that the intent was durable soon after the deadline, and not before. It is a
// matter of milliseconds; what a machine under all these stories needs is allowed for.
func (h *house) punctual(s wire.Show, due time.Time) {
	h.t.Helper()
	for _, e := range s.Log {
		if e.Verb == "intended" {
			if late := e.At.Sub(due); late > 10*time.Second || late < 0 {
				h.t.Errorf("intended %s after the deadline", late)
			}
			return
		}
	}
	h.t.Errorf("no intent in the journal: %+v", s.Log)
}

// well checks that nothing needs a person.
func (h *house) well() {
	h.t.Helper()
	if out, code := h.try("status"); code != 0 {
		h.t.Errorf("status: exit %d: %s", code, out)
	}
}

func (h *house) finding(rule, id string) bool {
	h.t.Helper()
	var all []wire.Finding
	if !h.json(&all, "findings") {
		return false
	}
	for _, f := range all {
		if f.Rule == rule && f.Subject == "research/"+id {
			return true
		}
	}
	return false
}

func amount(t *testing.T, s string) *big.Rat {
	t.Helper()
	m, err := guard.ParseMoney(s)
	if err != nil {
		t.Fatal(err)
	}
	return m.Rat()
}

func budget(h *house) {
	id := h.launch("g5.xlarge")
	const limit = "150USD" // at a dollar a second, from the provider's start
	h.guard("register", "research/"+id, "--purpose", "sweep", "--ttl", "8h", "--budget", limit)
	s := h.released(id)
	h.terminated(id, 1)
	if s.Release.Cause != "budget" {
		h.t.Errorf("released for %s", s.Release.Cause)
	}
	if s.Item.Spend == nil {
		h.t.Fatalf("no spend: %+v", s.Item)
	}
	spent, most := amount(h.t, *s.Item.Spend), amount(h.t, limit)
	// What EC2 would charge: from the launch until the call ended it.
	lived := h.proxy.Calls("TerminateInstances", id)[0].At.Sub(*s.Item.CreatedAt)
	if real := new(big.Rat).SetFrac64(int64(lived/time.Millisecond), 1000); real.Cmp(most) > 0 {
		h.t.Errorf("it really lived %s", lived)
	}
	// The lead of a minute, one billing unit, a minute of burn.
	least := new(big.Rat).Sub(most, big.NewRat(60+1+60, 1))
	if spent.Cmp(most) > 0 || spent.Cmp(least) < 0 {
		h.t.Errorf("spent %s of %s", *s.Item.Spend, limit)
	}
	h.t.Logf("spent %s of %s", *s.Item.Spend, limit)
	h.well()
}

func protected(h *house) {
	id := h.launch("g5.xlarge")
	h.moto.Do(h.t, nil, "protect", h.regions[0], id)
	h.guard("register", "research/"+id, "--purpose", "precious", "--ttl", "5s")
	h.until("the release is blocked", func() bool {
		r := h.show(id).Release
		return r != nil && r.State == "blocked" && r.Reason == "protected"
	})
	if out, code := h.try("status"); code != 1 || !strings.Contains(out, id) {
		h.t.Errorf("status: exit %d: %s", code, out)
	}
	if s := h.state(id); s != "running" {
		h.t.Errorf("it is %s", s)
	}
	var still bool
	if h.moto.Do(h.t, &still, "protected", h.regions[0], id); !still {
		h.t.Error("its protection is gone")
	}
	if n := len(h.proxy.Calls("ModifyInstanceAttribute", "")); n != 0 {
		h.t.Errorf("guard tried to lift the protection %d times", n)
	}
	if n := len(h.proxy.Calls("TerminateInstances", id)); n > 1 {
		h.t.Errorf("asked %d times within seconds", n)
	}
}

func leftBehind(h *house) {
	id := h.launch("g5.xlarge")
	var volume string
	h.moto.Do(h.t, &volume, "data_volume", h.regions[0], id, "500")
	h.until("the volume is seen", func() bool {
		for _, p := range h.show(id).Family {
			if strings.HasSuffix(p.ID, volume) {
				return true
			}
		}
		out := h.guard("register", "research/"+id, "--purpose", "data", "--ttl", "1h")
		return strings.Contains(out, volume)
	})
	h.guard("register", "research/"+id, "--ttl", "10s")
	h.released(id)
	h.until("the volume is found", func() bool { return h.finding("orphan_volume", volume) })
	var volumes map[string]string
	h.moto.Do(h.t, &volumes, "volumes", h.regions[0])
	if volumes[volume] != "available" || len(volumes) != 1 {
		h.t.Errorf("volumes left: %v", volumes)
	}
	if n := len(h.proxy.Calls("DeleteVolume", "")); n != 0 {
		h.t.Errorf("guard deleted data: %d calls", n)
	}
	var item []wire.Item
	h.json(&item, "ls")
	for _, i := range item {
		if i.ID == volume && (i.Billing != "yes" || i.Rate == nil) {
			h.t.Errorf("%+v", i)
		}
	}
}

func byHand(h *house) {
	id, other := h.launch("g5.xlarge"), h.launch("p4d.24xlarge")
	for _, bad := range [][]string{
		{"register", "research/i-0123456789abcdef0", "--purpose", "x", "--ttl", "1h"},
		{"register", "nowhere/" + id, "--purpose", "x", "--ttl", "1h"},
		{"register", "research/" + id, "--purpose", "x", "--ttl", "1h", "--budget", "40"},
		{"register", "research/" + id, "--purpose", "x", "--ttl", "1h", "--budget", "0USD"},
		{"register", "research/" + id, "--purpose", "x", "--ttl", "1h", "--budget", "1USD"}, // spent already
	} {
		if out, code := h.try(bad...); code == 0 {
			h.t.Errorf("guard %v: %s", bad, out)
		}
	}
	h.guard("register", "research/"+id, "--purpose", "x", "--ttl", "8h")
	h.guard("register", "research/"+other, "--purpose", "y", "--ttl", "8h")
	h.guard("release", "research/"+id, "--yes", "--reason", "done early")
	s := h.released(id)
	h.terminated(id, 1)
	h.terminated(other, 0)
	if s.Release.Cause != "person" {
		h.t.Errorf("cause %s", s.Release.Cause)
	}
	// Ended by somebody else, it is gone, and guard has no part in it.
	h.moto.Do(h.t, nil, "terminate", h.regions[0], other)
	h.until("the other is gone", func() bool { return h.show(other).Item.State == "gone" })
	if s := h.show(other); s.Item.EndedHow != "outside" || s.Release != nil {
		h.t.Errorf("%+v, %+v", s.Item, s.Release)
	}
	h.stop()
}

func spot(h *house) {
	var made struct{ Instance, Request string }
	h.moto.Do(h.t, &made, "spot", h.regions[0], "g5.xlarge")
	h.seen(made.Instance)
	// No spot price is in the book: the on-demand one is not taken for it.
	if r := h.show(made.Instance).Item.Rate; r != nil {
		h.t.Errorf("a price nobody told: %+v", r)
	}
	if out, code := h.try("register", "research/"+made.Instance, "--purpose", "x", "--budget", "40USD", "--ttl", "1h"); code == 0 {
		h.t.Errorf("a budget on an unknown price: %s", out)
	}
	h.guard("register", "research/"+made.Instance, "--purpose", "x", "--ttl", "5s")
	h.released(made.Instance)
	var left []string
	h.moto.Do(h.t, &left, "spot_requests", h.regions[0])
	if len(left) != 0 {
		h.t.Errorf("requests left: %v", left)
	}
	cancel, end := h.proxy.Calls("CancelSpotInstanceRequests", ""), h.proxy.Calls("TerminateInstances", made.Instance)
	if len(cancel) != 1 || len(end) != 1 || !cancel[0].At.Before(end[0].At) {
		h.t.Errorf("cancelled %v, terminated %v", cancel, end)
	}
}

// Twelve hundred instances in two regions: every page counts. It has the server
// to itself: tests that run in parallel begin when it is over.
func TestTwelveHundred(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute; run without -short")
	}
	moto := mototest.Start(t)
	want := map[string]bool{}
	for region, count := range map[string]string{"us-east-1": "1100", "eu-west-1": "100"} {
		var ids []string
		moto.Do(t, &ids, "run", region, "g5.xlarge", count, "20")
		for _, id := range ids {
			want[id] = true
		}
	}
	if len(want) != 1200 {
		t.Fatalf("made %d", len(want))
	}
	h := build(t, moto, "60s", "us-east-1", "eu-west-1")
	h.proxy.Pages(10) // moto counts reservations: 200 instances
	h.start()
	count := func() int {
		var items []wire.Item
		n := 0
		if h.json(&items, "ls") {
			for _, i := range items {
				if want[i.ID] && i.State == "running" && i.Billing == "yes" && i.GPUs == 1 && i.Rate != nil {
					n++
				}
			}
		}
		return n
	}
	h.until("all are listed", func() bool { return count() == 1200 })
	if calls := h.proxy.Calls("DescribeInstances", ""); len(calls) < 7 {
		t.Errorf("%d pages", len(calls))
	}
	// The fields that other tools read.
	var items []map[string]json.RawMessage
	h.json(&items, "ls")
	for _, f := range []string{"account", "id", "kind", "name", "purpose", "owner", "state", "billing", "rate", "spend", "budget", "expires_at", "deadline", "deadline_reason", "release", "findings", "tags"} {
		if _, ok := items[0][f]; !ok {
			t.Errorf("guard ls -o json has no %s", f)
		}
	}
}
