package e2e

import (
	"fmt"
	"strings"
	"testing"

	"guard/daemon/wire"
	"guard/providers/aws/mototest"
)

// house is a guardd that watches some regions of the server through a proxy of
// its own.
type house struct {
	*guardd
	moto    *mototest.Server
	proxy   *mototest.Proxy
	regions []string
}

// prices make a g5.xlarge cost a dollar a second, so that a cap is crossed
// while a test waits.
const prices = `currency: USD
instances:
  - {type: g5.xlarge, rate: {amount: "3600", per: hour}}
  - {type: p4d.24xlarge, rate: {amount: "32.77", per: hour}}
volumes:
  - {type: gp2, rate: {amount: "0.10", per: gb_month}}
  - {type: gp3, rate: {amount: "0.08", per: gb_month}}
`

const configuration = `mode: enforce
ledger: bolt:%[1]s/ledger.db
listen: unix:%[1]s/guard.sock
accounts:
  - name: research
    provider: aws
    poll: %[4]s
    sweep: 5s
    prices: %[1]s/prices.yaml
    aws:
      endpoint: %[2]s
      regions: [%[3]s]
      access_key_id: {env: GUARD_TEST_KEY}
      secret_access_key: {env: GUARD_TEST_SECRET}
defaults: {grace: 1s}
rules:
  unregistered: {after: 1s}
  orphan_volume: {after: 1s}
`

// moveIn starts a guardd that watches the regions.
func moveIn(t *testing.T, moto *mototest.Server, regions ...string) *house {
	t.Helper()
	h := build(t, moto, "2s", regions...)
	h.start()
	return h
}

// build makes ready all that a guardd needs, and starts none.
func build(t *testing.T, moto *mototest.Server, poll string, regions ...string) *house {
	t.Helper()
	h := &house{guardd: unpack(t), moto: moto, proxy: mototest.NewProxy(t, moto), regions: regions}
	h.configure(h.proxy.URL, poll, regions...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("calls: %v", h.proxy.Actions())
		}
	})
	return h
}

// configure writes the configuration of an account at the endpoint.
func (g *guardd) configure(endpoint, poll string, regions ...string) {
	g.t.Helper()
	g.write("prices.yaml", prices)
	g.write("guard.yaml", fmt.Sprintf(configuration, g.dir, endpoint, strings.Join(regions, ", "), poll))
}

// launch makes an instance in the first region and waits until guardd sees it.
func (h *house) launch(kind string) string {
	h.t.Helper()
	var ids []string
	h.moto.Do(h.t, &ids, "run", h.regions[0], kind)
	h.seen(ids[0])
	return ids[0]
}

// state is what the server itself says of an instance.
func (h *house) state(id string) string {
	h.t.Helper()
	var s string
	h.moto.Do(h.t, &s, "state", h.regions[0], id)
	return s
}

// released waits for the proven end of an instance and checks what must be true
// of every such end.
func (h *house) released(id string) wire.Show {
	h.t.Helper()
	h.until(id+" is released", func() bool { return h.release(id) == "released" })
	if s := h.state(id); s != "terminated" {
		h.t.Errorf("%s is released, and really %s", id, s)
	}
	s := h.show(id)
	if s.Item.State != "released" || s.Item.Billing != "no" || s.Release.Proof != "terminal state" || s.Release.EndedAt == nil {
		h.t.Errorf("%s ended as %+v, %+v", id, s.Item, s.Release)
	}
	return s
}

// terminated checks how often the server was asked to end an instance.
func (h *house) terminated(id string, times int) {
	h.t.Helper()
	if calls := h.proxy.Calls("TerminateInstances", id); len(calls) != times {
		h.t.Errorf("%s: %d terminate calls, want %d: %+v", id, len(calls), times, calls)
	}
}
