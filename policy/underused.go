package policy

import (
	"fmt"
	"strings"
	"time"

	"guard"
)

// underused: some of the GPUs do all the work, for hours, and the others hold nothing.
// It is told once a day.
func underused(r Rules, f Facts) Outcome {
	a, ok := f.sampled()
	n := 0
	if ok {
		n = max(f.Observed.Resource.GPUs, len(a.Unused))
	}
	if !ok || !a.Underused.On() || len(a.Unused) == 0 {
		return Outcome{}
	}
	since := f.unheld(a.Underused.Since)
	g := guess{Judgement: r.Underused, rule: guard.RuleUnderused, span: a.Underused, since: since,
		what: fmt.Sprintf("%d of %d GPUs unused", len(a.Unused), n), word: fmt.Sprintf("%d of %d GPUs unused", len(a.Unused), n)}
	day := max(0, f.At.Sub(since.Add(g.Warn))) / (24 * time.Hour)
	g.stage = fmt.Sprintf("day %d", day)
	g.lines = append([]string{fmt.Sprintf("GPUs %s did nothing and hold nothing, while others worked.", indexes(a.Unused))}, a.Lines(f.At, f.Zone)...)
	whole, _ := f.hourly()
	g.wastes = part(whole, len(a.Unused), n)
	g.lines = append(g.lines, fmt.Sprintf("A machine with %d GPUs would do.", max(1, n-len(a.Unused))))
	out := g.judge(r, f)
	out.Next = earliest(out.Next, f.after(since.Add(g.Warn+(day+1)*24*time.Hour)))
	return out
}

func indexes(of []int) string {
	parts := make([]string, len(of))
	for i, n := range of {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, ", ")
}
