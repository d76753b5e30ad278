package spend

import (
	"fmt"
	"testing"
	"time"

	"guard"
)

func TestLead(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var ended []guard.Release
	add := func(took time.Duration, change func(*guard.Release)) {
		r := guard.Release{ID: fmt.Sprint(len(ended)), State: guard.ReleaseDone, Action: guard.ActRelease,
			EndedAt: start.Add(time.Duration(len(ended)) * time.Hour), Receipt: &guard.Receipt{Took: took}}
		if change != nil {
			change(&r)
		}
		ended = append(ended, r)
	}
	add(time.Hour, nil) // the 101st from the end
	for range 97 {
		add(40*time.Second, nil)
	}
	add(4*time.Minute, nil)
	add(2*time.Minute, nil)
	add(time.Minute, nil)
	add(5*time.Hour, func(r *guard.Release) { r.Action = guard.ActStop })
	add(5*time.Hour, func(r *guard.Release) { r.State = guard.ReleaseWithdrawn })
	add(0, func(r *guard.Release) { r.Receipt = nil })
	if got := Longest(ended); got != 4*time.Minute {
		t.Errorf("longest %s", got)
	}
	declared := guard.Truths{ReleaseLead: 30 * time.Second}
	if got := Lead(declared, 0); got != 30*time.Second+onTheWay {
		t.Errorf("nothing measured: %s", got)
	}
	if got := Lead(declared, 4*time.Minute); got != 4*time.Minute+onTheWay {
		t.Errorf("measured: %s", got)
	}
}
