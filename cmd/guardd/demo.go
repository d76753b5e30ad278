package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"guard"
	"guard/daemon"
	"guard/providers/fake"
)

// demoSpeed is how much faster than real the demo's time runs: its story of an
// hour takes a minute.
const demoSpeed = 60

const demoConfig = `mode: enforce
time_zone: UTC
accounts:
  - {name: lab, provider: fake, poll: 60s, sweep: 2m}
rules:
  unregistered: {after: 5m}
  orphan_volume: {after: 10m}
`

// demoCloud is the fake account of the story: a box that will be forgotten, a
// spot box that will be reclaimed, and one that nobody told guard about.
func demoCloud(start time.Time) fake.Script {
	hourly := func(amount string) *fake.Rate { return &fake.Rate{Amount: amount, Per: "hour"} }
	disk := &fake.Rate{Amount: "0.08", Per: "gb_month"}
	return fake.Script{
		Account: "lab", Start: start, Currency: "USD",
		Billing: fake.Billing{Granularity: time.Second, Minimum: time.Minute},
		Lag:     fake.Lag{Disappears: time.Minute},
		Resources: []fake.Resource{
			{ID: "trainer", Name: "llama-70b-lora", GPUs: 8, GPUModel: "H100", Rate: hourly("24"), Created: -3 * time.Minute, Attached: []string{"scratch"}},
			{ID: "scratch", Kind: guard.Volume, SizeGB: 1000, Rate: disk, Created: -3 * time.Minute, GoesWithInstance: true},
			{ID: "spot-1", Name: "eval", GPUs: 1, GPUModel: "A100", Spot: true, Rate: hourly("1.20"), Created: -time.Minute, Attached: []string{"spot-data"}},
			{ID: "spot-data", Kind: guard.Volume, SizeGB: 500, Rate: disk, Created: -time.Minute},
			{ID: "stray", Name: "try-vllm", GPUs: 4, GPUModel: "A100", Rate: hourly("8"), Created: -10 * time.Hour},
		},
		Timeline: []fake.Event{{At: 15 * time.Minute, ID: "spot-1", Reclaim: &fake.Reclaim{}}},
	}
}

// demoStep is something a person does in the story.
type demoStep struct {
	at   time.Duration // of the demo's time
	say  string
	args []string // of guard
}

var demoSteps = []demoStep{
	{at: 30 * time.Second, say: "ana starts a fine-tune on eight H100s and registers it, with a cap.",
		args: []string{"register", "lab/trainer", "--purpose", "lora 70b", "--owner", "ana", "--ttl", "10h", "--budget", "22USD"}},
	{at: 2 * time.Minute, say: "bo registers a spot box for an evaluation. Nobody registers lab/stray.",
		args: []string{"register", "lab/spot-1", "--purpose", "eval sweep", "--owner", "bo", "--ttl", "8h"}},
	{at: 14 * time.Minute, say: "ana goes home. The fine-tune is done; the box is forgotten."},
	{at: 15 * time.Minute, say: "The cloud takes the spot box back. Its disk stays, and bills."},
}

// demoEnd is when the story must have ended as told, in the demo's time.
const demoEnd = 59 * time.Minute

// demoClock is time sped up.
type demoClock struct {
	start time.Time
	base  guard.Instant
}

func (c demoClock) now() guard.Instant { return c.base.Add(demoSpeed * time.Since(c.start)) }

func (c demoClock) wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	daemon.Wait(ctx, d/demoSpeed, wake)
}

// until waits for an offset of the demo's time.
func (c demoClock) until(ctx context.Context, offset time.Duration) error {
	t := time.NewTimer(time.Until(c.start.Add(offset / demoSpeed)))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (c demoClock) stamp(w io.Writer, offset time.Duration, text string) {
	fmt.Fprintf(w, "\n── %02d:%02d ── %s\n", int(offset.Hours()), int(offset.Minutes())%60, text)
}
