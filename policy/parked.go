package policy

import (
	"time"

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
		return Outcome{Next: f.after(f.pauses())}
	}
	g := guess{Judgement: r.Parked, rule: guard.RuleParked, span: f.unheld(a.Parked),
		what: f.say("its GPUs wait"), how: f.say(" (%s)", f.kept(a.Parked.Why))}
	g.lines = f.window()
	if a.Came >= staged {
		g.lines = append(g.lines, f.say("%.0f GB came in meanwhile: fetched to a disk on a machine without a GPU first, they cost a small part of this.", a.Came/guard.GB))
	}
	g.wastes, _ = f.hourly()
	return g.judge(r, f)
}

// pauses is when what the GPUs waited for, which does not go on just now, is over: a pause
// of minutes in a download, or between two, is none. Zero where a GPU works, or nothing
// tells.
func (f Facts) pauses() time.Time {
	if a, ok := f.sampled(); ok && !a.Parked.On() && a.GPUsQuiet.On() && a.Idle.On() {
		return a.Idle.Since.Add(settles)
	}
	return time.Time{}
}
