package vast

import (
	"fmt"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/vast/vasttest"
)

// BenchmarkPoll is a poll of 500 instances and the reading of their signals, without what
// the network and the server take. 20 calls are the least: a page has 25.
func BenchmarkPoll(b *testing.B) {
	var boxes []providertest.Thing
	for i := range 500 {
		boxes = append(boxes, thing(fmt.Sprint(1000+i)))
	}
	c, util := cloud(boxes...), 90.0
	for _, x := range boxes {
		c.Boxes[x.ID] = vasttest.Box{Util: &util}
	}
	server := cloudtest.Record(cloudtest.In(c))
	p := adapter(b, "boxes", server, guard.NewSecret(providertest.Secret))
	listed(b, p, guard.Instance)
	server.Calls = 0
	b.ReportAllocs()
	for b.Loop() {
		var q providers.SignalQuery
		for _, r := range listed(b, p, guard.Instance) {
			q.Of = append(q.Of, providers.SignalsOf{Resource: r})
		}
		if got := p.Signals(at(b), q); len(got) != 500 || len(got[0].Samples) != 1 {
			b.Fatalf("%d answers", len(got))
		}
	}
	b.ReportMetric(float64(server.Calls)/float64(b.N), "calls/op")
}
