package autodl

import (
	"testing"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// BenchmarkPoll is a poll of 500 Pro instances whose prices are known, without what the network
// and the server take.
func BenchmarkPoll(b *testing.B) {
	var things []providertest.Thing
	for i := range 500 {
		things = append(things, thing(proID(i)))
	}
	server := cloudtest.Record(cloudtest.In(cloud(things...)))
	p := adapter(b, "dl", server, guard.NewSecret(providertest.Secret))
	for range 500 / mostNew {
		listed(b, p, at(b))
	}
	server.Calls = 0
	b.ReportAllocs()
	for b.Loop() {
		if got := listed(b, p, at(b)); len(got) != 500 || !got[proID(499)].Rate.Known() {
			b.Fatalf("%d instances", len(got))
		}
	}
	b.ReportMetric(float64(server.Calls)/float64(b.N), "calls/op")
}
