package cli

import (
	"fmt"
	"time"

	"guard/daemon/wire"
)

// agentLines is what show tells of the agent on the box; nothing where none was heard of.
func agentLines(s wire.Show) []string {
	g := s.Agent
	if g == nil {
		return nil
	}
	var lines []string
	if !g.Seen.IsZero() && g.Version != "" {
		lines = append(lines, g.Version+", last heard "+ahead(s.Now, g.Seen))
	}
	if g.Waiting > 0 {
		lines = append(lines, count(g.Waiting, "sample waits", "samples wait")+" on the box")
	}
	if g.Lost > 0 {
		lines = append(lines, count(g.Lost, "sample was", "samples were")+" given up there, because guardd could not be reached for so long")
	}
	if g.Skew != 0 {
		d := time.Duration(g.Skew * float64(time.Second))
		which := "behind"
		if d < 0 {
			which = "ahead"
		}
		lines = append(lines, fmt.Sprintf("its clock is %s %s: guardd puts the times right", span(d), which))
	}
	if n := g.Twice + g.Future + g.Unusable; n > 0 {
		line := fmt.Sprintf("dropped: %d that came twice, %d of the future, %d that cannot be used", g.Twice, g.Future, g.Unusable)
		lines = append(lines, line+prefixed(" (", g.Why+closing(g.Why)))
	}
	if g.Trouble != "" {
		lines = append(lines, "trouble: "+g.Trouble)
	}
	if g.Heartbeat != nil {
		lines = append(lines, "a job last said that it runs "+ahead(s.Now, *g.Heartbeat))
	}
	if g.Fuse != nil {
		lines = append(lines, fuseLine(s.Now, *g.Fuse))
	}
	return lines
}

func closing(s string) string {
	if s == "" {
		return ""
	}
	return ")"
}

// fuseLine is the dead-man fuse in one line.
func fuseLine(now time.Time, f wire.AgentFuse) string {
	line := "fuse " + f.State + ": " + f.Does + " after " + f.After + " without a word from guard, once the limit has passed"
	if f.DryRun {
		line += " (dry run: it only says so)"
	}
	if f.At != nil {
		line += "; if guard fell silent now, " + moment(now, *f.At)
	}
	return line + prefixed("; ", f.Why)
}
