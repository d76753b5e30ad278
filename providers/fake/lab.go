package fake

import (
	"time"

	"guard"
)

// Lab is a small account to try things on: "lab", in CNY, at DefaultStart.
//
//	i-1  trainer  8 H100, 240 CNY/h, v-1 (500 GB) stays when it goes, v-0 (its root) goes with it
//	i-2  batch    spot, 1 H100, 30 CNY/h, v-2 (200 GB) stays
//	i-3  web      no GPU, 1.20 CNY/h, protected against release and stop
//
// Change the script before giving it to NewCloud.
func Lab() Script {
	hourly := func(amount string) *Rate { return &Rate{Amount: amount, Per: "hour"} }
	disk := &Rate{Amount: "0.35", Per: "gb_month"}
	return Script{
		Account: "lab", Identity: "acct-1", Currency: "CNY",
		Billing: Billing{Granularity: time.Second, Minimum: time.Minute},
		Resources: []Resource{
			{ID: "i-1", Name: "trainer", Type: "gpu.h100.8", GPUs: 8, GPUModel: "H100", Rate: hourly("240"), Created: -10 * time.Minute,
				Attached: []string{"v-0", "v-1"}, Tags: map[string]string{"team": "nlp"}},
			{ID: "v-0", Kind: guard.Volume, SizeGB: 100, Rate: disk, Created: -10 * time.Minute, GoesWithInstance: true},
			{ID: "v-1", Kind: guard.Volume, SizeGB: 500, Rate: disk, Created: -10 * time.Minute},
			{ID: "i-2", Name: "batch", Type: "gpu.h100.1", GPUModel: "H100", Spot: true, Rate: hourly("30"), Attached: []string{"v-2"}},
			{ID: "v-2", Kind: guard.Volume, SizeGB: 200, Rate: disk},
			{ID: "i-3", Name: "web", Type: "cpu.2", GPUs: NoGPU, Rate: hourly("1.20"), Protected: []string{"release", "stop"}},
		},
	}
}

// ID names a resource of the cloud's account, in its first scope.
func (c *Cloud) ID(kind guard.Kind, id string) guard.ResourceID {
	return guard.ResourceID{Account: c.script.Account, Kind: kind, Scope: c.script.Scopes[0], ID: id}
}

// At is the instant a duration after the cloud's start, on both of its axes.
func (c *Cloud) At(d time.Duration) guard.Instant {
	return guard.Instant{Wall: c.script.Start, Elapsed: time.Hour}.Add(d)
}
