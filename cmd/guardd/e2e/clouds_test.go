package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/autodl/autodltest"
	"guard/providers/compshare/compsharetest"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/lambda/lambdatest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/runpod/runpodtest"
	"guard/providers/vast/vasttest"
)

// rented is one account at a fake of a GPU cloud, over loopback.
type rented struct {
	name, provider string
	// section is the provider's part of the configuration, for the folder of the keys and the
	// fake's address.
	section string
	ids     [3]string // a box to release, one that the key may not end, one that stays
	cloud   *cloudtest.Cloud
	serve   http.Handler
	ends    []string // what a call that ends or stops something has in its method, path or body
	who     string   // what one that asks whose the key is has in it; "": the cloud has none

	mu     sync.Mutex
	denied denial
	ended  [3]int // calls that end or stop each box, refused ones too
}

// denial is how much a key may not do any more.
type denial int

const (
	nothing denial = iota
	reading        // but to ask whose it is
	all
)

// ServeHTTP implements http.Handler. The key may not end the second box.
func (c *rented) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	call := r.Method + " " + r.URL.Path + " " + string(body)
	ends := slices.ContainsFunc(c.ends, func(part string) bool { return strings.Contains(call, part) })
	c.mu.Lock()
	for i, id := range c.ids {
		if ends && strings.Contains(call, id) {
			c.ended[i]++
		}
	}
	asks := c.who != "" && strings.Contains(call, c.who)
	denied := c.denied == all || c.denied == reading && !asks || ends && strings.Contains(call, c.ids[1])
	c.mu.Unlock()
	if denied {
		c.deny(w)
		return
	}
	c.serve.ServeHTTP(w, r)
}

// deny answers as each cloud does where a key may not do something.
func (c *rented) deny(w http.ResponseWriter) {
	switch c.provider {
	case "autodl":
		autodltest.Code(w, "AuthorizeFailed", "认证失败; 登录超时")
	case "compshare":
		compsharetest.Code(w, 171, "Signature VerifyAC Error")
	default:
		cloudtest.Reply(w, http.StatusUnauthorized, map[string]any{"error": "no", "success": false, "status": http.StatusUnauthorized})
	}
}

// deprive takes something from the key, or gives it back, and tells how many calls ended each
// box so far.
func (c *rented) deprive(of denial) [3]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = of
	return c.ended
}

// lives reports whether the cloud has a box, and nobody ended it.
func (c *rented) lives(t *testing.T, id string) bool {
	t.Helper()
	x, err := c.cloud.Get(guard.Instance, id)
	if err != nil && !errors.Is(err, guard.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil && x.State != guard.StateGone && x.State != guard.StateReleasing
}

// rent makes an account at each cloud. Whatever has to be off before it is released is.
func rent() []*rented {
	world := func(currency string, stopped bool, ids [3]string) providertest.World {
		w := providertest.World{Balance: guard.MustMoney("5000" + currency)}
		for i, id := range ids {
			w.Instances = append(w.Instances, providertest.Thing{ID: id, Name: "训练-" + id, GPUs: 8, Price: guard.MustMoney("16" + currency), Stopped: stopped && i < 2})
		}
		return w
	}
	numbered := func(form string) [3]string {
		return [3]string{fmt.Sprintf(form, 1), fmt.Sprintf(form, 2), fmt.Sprintf(form, 3)}
	}
	pods := &rented{name: "pods", provider: "runpod", ids: numbered("pod%06d"), ends: []string{"DELETE ", "/action"}, section: "runpod: {api_key: {file: %s}, endpoint: %q}"}
	p := runpodtest.Of(world("USD", false, pods.ids))
	pods.serve, pods.cloud = p, p.Cloud
	dl := &rented{name: "dl", provider: "autodl", ids: numbered("pro-%012x"), ends: []string{"/pro/release", "/pro/power_off"}, section: "autodl: {token: {file: %s}, endpoint: %q}"}
	d := autodltest.Of(world("CNY", true, dl.ids))
	dl.serve, dl.cloud = d, d.Cloud
	boxes := &rented{name: "boxes", provider: "vast", ids: numbered("1000000%d"), ends: []string{"DELETE ", "PUT "}, who: "/users/current", section: "vast: {api_key: {file: %s}, endpoint: %q}"}
	b := vasttest.Of(world("USD", false, boxes.ids))
	boxes.serve, boxes.cloud = b, b.Cloud
	gpus := &rented{name: "gpus", provider: "lambda", ids: numbered("%032x"), ends: []string{"/terminate"}, section: "lambda: {api_key: {file: %s}, endpoint: %q}"}
	l := lambdatest.Of(world("USD", false, gpus.ids))
	gpus.serve, gpus.cloud = l, l.Cloud
	ocean := &rented{name: "ocean", provider: "digitalocean", ids: numbered("316400%d"), ends: []string{"DELETE "}, who: "/v2/account", section: "digitalocean: {token: {file: %s}, endpoint: %q}"}
	o := digitaloceantest.Of(world("USD", false, ocean.ids))
	ocean.serve, ocean.cloud = o, o.Cloud
	cs := &rented{name: "cs", provider: "compshare", ids: numbered("uhost-%010d"), ends: []string{"Terminate", "StopCompShare"}, who: "GetProjectList",
		section: "compshare: {public_key: {file: public}, private_key: {file: %s}, endpoint: %q}"}
	c := compsharetest.Of(world("CNY", true, cs.ids))
	cs.serve, cs.cloud = c, c.Cloud
	return []*rented{pods, dl, boxes, gpus, ocean, cs}
}

// TestSixClouds rents at each cloud and guards all of it with one daemon: what appears is
// registered by its ID alone and released with one call; a key that may not end a box, one
// that may not read any more, and then one that is revoked, is told of by name and reason, and
// nothing is ended or closed for it; and all is as before when the keys are back. That each
// release ends with proof, which takes five minutes of absence, is told by the stories of
// package main.
func TestSixClouds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute, for Vast wants two seconds between calls; run without -short")
	}
	t.Parallel()
	g, clouds := unpack(t), rent()
	config := fmt.Sprintf("mode: enforce\nledger: bolt:%[1]s/ledger.db\nlisten: unix:%[1]s/guard.sock\ndefaults: {grace: 1s}\naccounts:\n", g.dir)
	g.write("key", providertest.Secret)
	g.write("public", compsharetest.PublicKey)
	for _, c := range clouds {
		config += fmt.Sprintf("  - {name: %s, provider: %s, poll: 5s, "+c.section+"}\n", c.name, c.provider, filepath.Join(g.dir, "key"), serve(t, c).URL)
	}
	g.write("guard.yaml", config)
	g.start()
	g.until("all boxes are seen", func() bool {
		var seen []wire.Item
		return g.json(&seen, "ls") && len(seen) == 3*len(clouds)
	})

	for _, c := range clouds {
		out := g.guard("register", c.ids[0], "--purpose", "试验", "--ttl", "1h")
		if !strings.Contains(out, "registered "+c.name+"/"+c.ids[0]) {
			t.Errorf("%s: %s", c.name, out)
		}
	}
	begun := time.Now()
	for _, c := range clouds {
		g.guard("release", c.name+"/"+c.ids[0], c.name+"/"+c.ids[1], "--yes", "--reason", "done")
	}
	for _, c := range clouds {
		g.until(c.name+" is told to end a box, and refuses to end another", func() bool {
			return g.stands(c, 0, guard.ReleaseIssued) && g.stands(c, 1, guard.ReleaseBlocked)
		})
		g.tells(c, fmt.Sprintf("the release of %s/%s is blocked (permission)", c.name, c.ids[1]), "permission denied")
		if c.lives(t, c.ids[0]) {
			t.Errorf("%s/%s lives", c.name, c.ids[0])
		}
	}

	ended := map[string][3]int{}
	for _, denied := range []denial{reading, all} {
		since := time.Now()
		for _, c := range clouds {
			n := c.deprive(denied)
			// What is refused for want of a right is tried again after five minutes.
			if most := 1 + int(time.Since(begun)/(5*time.Minute)); n[0] != 1 || n[1] < 1 || n[1] > most || n[2] != 0 {
				t.Errorf("%s: %d calls to end the boxes", c.name, n)
			}
			if denied == all && n != ended[c.name] {
				t.Errorf("%s: %d calls to end the boxes once none could be read, %d before", c.name, n, ended[c.name])
			}
			ended[c.name] = n
		}
		for _, c := range clouds {
			state := "blind"
			if denied == all && c.who != "" {
				state = "unreachable"
			}
			g.until(c.name+" is told to be "+state, func() bool { return g.account(c.name, func(a wire.Account) bool { return a.State == state }) })
			g.tells(c, "account   "+c.name+" ", state, "permission denied")
		}
		t.Logf("told of within %s", time.Since(since).Round(time.Second))
		g.stays(clouds)
	}
	for _, c := range clouds {
		if n := c.deprive(nothing); n != ended[c.name] {
			t.Errorf("%s: %d calls to end the boxes after the key was revoked, %d before", c.name, n, ended[c.name])
		}
	}
	for _, c := range clouds {
		g.until(c.name+" is read again", func() bool {
			return g.account(c.name, func(a wire.Account) bool { return a.State == "ok" && a.Error == "" && len(a.Blind) == 0 })
		})
	}
	g.stays(clouds)
}

// stays sees that what nobody could end is there as before, at the cloud and in `guard ls`.
func (g *guardd) stays(clouds []*rented) {
	g.t.Helper()
	var seen []wire.Item
	if !g.json(&seen, "ls") {
		g.t.Fatal("ls fails")
	}
	for _, c := range clouds {
		for _, id := range c.ids[1:] {
			i := slices.IndexFunc(seen, func(it wire.Item) bool { return it.Account == c.name && it.ID == id })
			if i < 0 || seen[i].EndedAt != nil || !c.lives(g.t, id) {
				g.t.Errorf("%s/%s is taken for gone", c.name, id)
			}
		}
	}
}

// stands reports whether the release of a cloud's box is in a state.
func (g *guardd) stands(c *rented, box int, state guard.ReleaseState) bool {
	var s wire.Show
	return g.json(&s, "show", c.name+"/"+c.ids[box]) && s.Release != nil && s.Release.State == string(state)
}

// account reports whether an account stands so, by the status that a program reads.
func (g *guardd) account(name string, so func(wire.Account) bool) bool {
	g.t.Helper()
	s, err := g.api.Status(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	return slices.ContainsFunc(s.Accounts, func(a wire.Account) bool { return a.Name == name && so(a) })
}

// tells sees that `guard status` says so in one line, and does not say that all is well.
func (g *guardd) tells(c *rented, words ...string) {
	g.t.Helper()
	out, _ := g.try("status")
	line := slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
	if !line || strings.Contains(out, "all is well") {
		g.t.Errorf("%s: no line with %q in\n%s", c.name, words, out)
	}
}
