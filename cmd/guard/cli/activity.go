package cli

import (
	"fmt"
	"time"

	"guard/daemon/wire"
)

// does is what a box does, in a word or two: "busy", "empty 47m", "no signals".
func does(now time.Time, a *wire.Activity) string {
	if a == nil {
		return ""
	}
	word := a.State
	switch word {
	case "lost":
		return "no signals"
	case "unknown":
		return "?"
	}
	if a.Since != nil {
		word += " " + span(now.Sub(*a.Since))
	}
	return word
}

// activity is all that is known of how hard a box works; nothing where nothing samples
// it.
func activity(now time.Time, a *wire.Activity) []string {
	if a == nil {
		return nil
	}
	head := does(now, a)
	switch a.State {
	case "lost":
		if a.Since != nil {
			head += " for " + span(now.Sub(*a.Since))
		}
	case "empty":
		head += ": no GPU works, and nothing is loaded"
	case "resident":
		head += ": no GPU works, and something is loaded"
	case "blind":
		head += ": no GPU works, and nobody tells what is loaded"
	case "parked":
		head += ": the GPUs wait"
	case "hung":
		head += ": pinned, with no progress"
	case "phantom":
		head += ": utilisation, and no process"
	case "unknown":
		head = "not known yet"
	}
	if a.Why != "" && (a.State != "lost" || len(a.Failing) == 0) { // else it stands there
		head += fmt.Sprintf(" (%s)", a.Why)
	}
	lines := append([]string{head}, a.Lines...)
	for _, x := range a.Failing {
		lines = append(lines, "! "+x)
	}
	return lines
}
