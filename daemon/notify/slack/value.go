package slack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"guard"
)

// maxValue is how much a button carries (docs.slack.dev/reference/block-kit/block-elements/
// button-element: 2,000 characters, counted here in bytes).
const maxValue = 2000

// clicks are all that a button of guard's can mean.
var clicks = []guard.Click{guard.ClickExtend, guard.ClickRelease, guard.ClickHold, guard.ClickVeto, guard.ClickSnooze,
	guard.ClickRegister, guard.ClickWhy, guard.ClickAck}

// value is what a button carries: which offer of which message it is. It grants nothing:
// whoever clicks may send any value, and the ledger says what it is good for.
type value struct {
	Message string `json:"message"`
	Click   string `json:"click"`
	Key     string `json:"key"`
}

// encode is the button's value. It has no &, < or >, which Slack would escape on its way
// back. False: it names nothing, or Slack does not take one that long.
func (v value) encode() (string, bool) {
	if v.Message == "" || v.Key == "" || !slices.Contains(clicks, guard.Click(v.Click)) || !utf8.ValidString(v.Message+v.Key) {
		return "", false
	}
	b, err := json.Marshal(v)
	return string(b), err == nil && len(b) <= maxValue
}

// decodeValue reads a value as encode writes it, byte for byte; any other is refused with
// ErrInvalid.
func decodeValue(s string) (value, error) {
	var v value
	if json.Unmarshal([]byte(s), &v) == nil {
		if again, ok := v.encode(); ok && again == s {
			return v, nil
		}
	}
	return value{}, fmt.Errorf("%w: the button's value is not one of guard's", guard.ErrInvalid)
}

// actionPrefix opens the action IDs of guard's buttons.
const actionPrefix = "guard:"

// actionID names the button of the nth offer of a click in a message, from 1: Slack wants
// them all different.
func actionID(c guard.Click, n int) string {
	id := actionPrefix + string(c)
	if n > 1 {
		id += fmt.Sprintf(":%d", n)
	}
	return id
}

// ours reports whether an action is of one of guard's buttons.
func ours(action string) bool { return strings.HasPrefix(action, actionPrefix) }
