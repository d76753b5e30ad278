package job

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNext(t *testing.T) {
	const m = time.Minute
	p := Plan{MaxRuntime: 10 * m, KillAfter: m, Notice: 5 * m, Checkpoint: true}
	for name, c := range map[string]struct {
		plan  Plan
		c     Course
		step  Step
		until time.Duration
	}{
		"nothing bounds it":                {Plan{}, Course{Now: 1000 * m}, Wait, 0},
		"it runs":                          {p, Course{Now: m}, Wait, 10 * m},
		"its time is up":                   {p, Course{Now: 10 * m}, End, 0},
		"it has its minute":                {p, Course{Now: 10*m + 1, Ended: 10 * m}, Wait, 11 * m},
		"it does not end":                  {p, Course{Now: 11 * m, Ended: 10 * m}, Kill, 0},
		"it is killed":                     {p, Course{Now: 20 * m, Ended: 10 * m, Killed: true}, Wait, 0},
		"a release far ahead":              {p, Course{Now: m, Due: 8 * m, Coming: true}, Wait, 3 * m},
		"a release, now is the time":       {p, Course{Now: 3 * m, Due: 8 * m, Coming: true}, Checkpoint, 0},
		"the checkpoint runs":              {p, Course{Now: 4 * m, Due: 8 * m, Coming: true, Checkpointed: true}, Wait, 8*m - margin},
		"the checkpoint is done":           {p, Course{Now: 4 * m, Due: 8 * m, Coming: true, Checkpointed: true, Saved: true}, Warn, 0},
		"the checkpoint hangs":             {p, Course{Now: 8*m - margin, Due: 8 * m, Coming: true, Checkpointed: true}, Warn, 0},
		"it is warned":                     {p, Course{Now: 5 * m, Due: 8 * m, Coming: true, Checkpointed: true, Saved: true, Warned: true}, Wait, 10 * m},
		"no checkpoint":                    {Plan{Notice: 5 * m}, Course{Now: 3 * m, Due: 8 * m, Coming: true}, Warn, 0},
		"a release told late":              {Plan{Notice: 5 * m}, Course{Now: 3 * m, Due: 3*m + 1, Coming: true}, Warn, 0},
		"a release that was due":           {Plan{Notice: 5 * m}, Course{Now: 3 * m, Due: 2 * m, Coming: true}, Warn, 0},
		"called off":                       {p, Course{Now: 3 * m, Due: 8 * m}, Wait, 10 * m},
		"called off, the checkpoint began": {p, Course{Now: 4 * m, Due: 8 * m, Checkpointed: true, Saved: true}, Wait, 10 * m},
		"ended already":                    {p, Course{Now: 10*m + 1, Ended: 10 * m, Due: 12 * m, Coming: true}, Wait, 11 * m},
	} {
		if step, until := c.plan.Next(c.c); step != c.step || until != c.until {
			t.Errorf("%s: %s until %s, want %s until %s", name, step, until, c.step, c.until)
		}
	}
}

// TestNextEnds: whatever the times, each thing is done once, in its order, none before its
// time, and nobody waits for a moment that has passed.
func TestNextEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		long := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, name))
		}
		p := Plan{MaxRuntime: long("max"), KillAfter: long("kill"), Notice: long("notice"), Checkpoint: rapid.Bool().Draw(t, "checkpoint")}
		c := Course{}
		did := map[Step]int{}
		for range 200 {
			step, until := p.Next(c)
			did[step]++
			switch step {
			case Wait:
				if until != 0 && until <= c.Now {
					t.Fatalf("waits until %s, and it is %s: %+v", until, c.Now, c)
				}
				switch rapid.SampledFrom([]string{"time", "told", "off", "saved"}).Draw(t, "then") {
				case "time":
					if c.Now += max(long("passes"), 1); until != 0 && rapid.Bool().Draw(t, "punctual") {
						c.Now = max(until, c.Now-time.Hour)
					}
				case "told":
					c.Due, c.Coming = c.Now+long("due"), true
				case "off":
					c.Coming = false
				case "saved":
					c.Saved = c.Checkpointed
				}
			case Checkpoint:
				c.Checkpointed = true
				if b := p.Bound(c); b <= 0 {
					t.Fatalf("a checkpoint has %s", b)
				}
			case Warn:
				if !c.Coming || c.Now < c.Due-p.Notice && !c.Checkpointed {
					t.Fatalf("warned at %s of a release at %s", c.Now, c.Due)
				}
				c.Warned = true
			case End:
				if c.Now < p.MaxRuntime {
					t.Fatalf("ended at %s of %s", c.Now, p.MaxRuntime)
				}
				c.Ended = max(c.Now, 1)
			case Kill:
				if c.Now < c.Ended+p.KillAfter {
					t.Fatalf("killed %s after its end", c.Now-c.Ended)
				}
				c.Killed = true
			}
		}
		for step, n := range did {
			if step != Wait && n > 1 {
				t.Fatalf("%s was done %d times", step, n)
			}
		}
	})
}
