package policy

import (
	"fmt"

	"guard"
)

// staged is how many bytes come in before it is worth to fetch them on a machine
// without a GPU.
const staged = 20e9

// parked: the GPUs do nothing while the box downloads, unpacks or compiles, and the
// whole machine is paid for.
func parked(r Rules, f Facts) Outcome {
	a, ok := f.sampled()
	if !ok || !a.Parked.On() {
		return Outcome{}
	}
	g := guess{Judgement: r.Parked, rule: guard.RuleParked, span: f.unheld(a.Parked),
		what: "its GPUs wait", how: " (" + a.Parked.Why + ")"}
	g.lines = f.window()
	if a.Came >= staged {
		g.lines = append(g.lines, fmt.Sprintf("%.0f GB came in meanwhile: fetched to a disk on a machine without a GPU first, they cost a small part of this.", a.Came/guard.GB))
	}
	g.wastes, _ = f.hourly()
	return g.judge(r, f)
}
