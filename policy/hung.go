package policy

import "guard"

// hung: the GPUs are pinned at next to no power, and neither disk nor network moves.
func hung(r Rules, f Facts) Outcome {
	a, ok := f.sampled()
	if !ok || !a.Hung.On() {
		return Outcome{}
	}
	g := guess{Judgement: r.Hung, rule: guard.RuleHung, span: f.unheld(a.Hung),
		what: f.say("it looks hung"), how: f.say(" (%s)", f.kept(a.Hung.Why))}
	g.lines = append(f.window(), f.say("Processes that wait for a peer spin like this. What they have not written down is lost when they are killed."))
	g.wastes, _ = f.hourly()
	return g.judge(r, f)
}
