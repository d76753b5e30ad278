package policy

import (
	"time"

	"guard"
)

// phantomAfter is how long utilisation without a process lasts before it is told.
const phantomAfter = 30 * time.Minute

// phantom: the GPUs are said to work, and no process is alive that could. It is no
// work, and it is no proof that there is none, so it is only told.
func phantom(r Rules, f Facts) Outcome {
	a, ok := f.sampled()
	if !ok || !a.Phantom.On() {
		return Outcome{}
	}
	g := guess{Judgement: Judgement{Warn: phantomAfter, Then: guard.ActAlert}, rule: guard.RulePhantom, span: a.Phantom,
		what: f.say("phantom utilisation"), how: f.say(" (%s)", f.kept(a.Phantom.Why))}
	g.lines = append(f.window(), f.say("No process is alive that could do this work; a driver that lost one shows it until the machine is started anew."))
	g.wastes, _ = f.hourly()
	return g.judge(r, f)
}
