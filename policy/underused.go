package policy

import (
	"fmt"
	"strings"
	"time"

	"guard"
)

// underused: some of the GPUs do all the work, for hours, and the others hold nothing.
func underused(r Rules, f Facts) Outcome {
	a, ok := f.sampled()
	if !ok || !a.Underused.On() {
		return Outcome{}
	}
	unused := a.UnusedFor(r.Underused.Warn)
	if len(unused) == 0 {
		unused = a.Unused // not for long enough yet
	}
	n := max(f.Observed.Resource.GPUs, len(unused))
	g := guess{Judgement: r.Underused, rule: guard.RuleUnderused, span: a.Underused, patchy: true, what: f.say("%d of %d GPUs unused", len(unused), n)}
	g.lines = []string{f.say("GPUs %s did nothing and hold nothing, while others worked for %s.", indexes(unused), f.span(a.Underused.Seen.Truncate(time.Minute)))}
	if n > len(unused) {
		g.lines = append(g.lines, f.say("A machine with %d would do.", n-len(unused)))
	}
	g.lines = append(g.lines, f.window()...)
	whole, _ := f.hourly()
	g.wastes = part(whole, len(unused), n)
	return g.judge(r, f)
}

func indexes(of []int) string {
	parts := make([]string, len(of))
	for i, n := range of {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, ", ")
}
