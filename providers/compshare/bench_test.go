package compshare

import (
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/compshare/compsharetest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// BenchmarkPoll is a poll of 500 instances whose prices are known, and the reading of their
// signals, without what the network and the server take.
func BenchmarkPoll(b *testing.B) {
	var things []providertest.Thing
	for i := range 500 {
		things = append(things, thing(uhostID(i)))
	}
	c := cloud(things...)
	for _, x := range things {
		c.Instances[x.ID] = compsharetest.Instance{Util: []int{90, 80}}
	}
	server := cloudtest.Record(cloudtest.In(c))
	p := adapter(b, "cs", server, guard.NewSecret(providertest.Secret))
	listed(at(b), b, p, guard.Instance)
	for _, of := range []string{"list", "list and signals"} {
		b.Run(of, func(b *testing.B) {
			server.Calls = 0
			b.ReportAllocs()
			for b.Loop() {
				all := listed(at(b), b, p, guard.Instance)
				if of == "list" {
					continue
				}
				var q providers.SignalQuery
				for _, x := range things {
					q.Of = append(q.Of, providers.SignalsOf{Resource: all[x.ID]})
				}
				if got := p.Signals(at(b), q); len(got) != 500 || got[0].Err != nil {
					b.Fatalf("%d answers, %v", len(got), got[0].Err)
				}
			}
			b.ReportMetric(float64(server.Calls)/float64(b.N), "calls/op")
		})
	}
}
