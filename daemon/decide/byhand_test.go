package decide_test

import (
	"strings"
	"testing"
	"time"

	"guard"
)

// byHand is a provider whose machines only people end.
type byHand struct{ still }

func (byHand) Truths() guard.Truths {
	t := still{}.Truths()
	t.ByHand = true
	return t
}

// TestPeopleAreAsked: of what only people can end guard says that it asks them, by a limit
// and by a person's order.
func TestPeopleAreAsked(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.config.Accounts[0].Provider = byHand{}
	w.restart()
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.instance("i-2")
	w.lease("i-2", 20*time.Hour)
	w.to(time.Hour)
	w.order("i-2")
	w.to(time.Hour + time.Second)
	for name, want := range map[string]string{"i-1": "guard will ask people to end it at", "i-2": "guard is about to ask people to end it"} {
		if got := w.about(name); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: told %q", name, got)
		}
	}
}
