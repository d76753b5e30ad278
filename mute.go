package guard

import "time"

// Mute is a person's word about one resource, until a time: it keeps a rule from acting,
// messages back, or others from being called. A ceiling does not heed it.
type Mute struct {
	// Subject is ACCOUNT/ID.
	Subject string   `json:"subject"`
	Kind    MuteKind `json:"kind"`
	// Rule is what a veto is against; "" for a snooze, which is about every message, and
	// for a word that somebody sees to it.
	Rule   Rule      `json:"rule,omitzero"`
	Until  time.Time `json:"until"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitzero"`
	Since  time.Time `json:"since"`
}

// MuteKind is what is muted.
type MuteKind string

// The kinds.
const (
	Veto   MuteKind = "veto"   // the rule does nothing on that resource
	Snooze MuteKind = "snooze" // nothing is said about it that is not urgent
	// Ack says that somebody sees to what is wrong with it since before Since: nobody
	// else is called for that. It quiets and puts off nothing.
	Ack MuteKind = "ack"
)

// Key identifies a mute: one of a kind, a subject and a rule.
func (m Mute) Key() string { return string(m.Kind) + "|" + m.Subject + "|" + string(m.Rule) }

// At reports whether it is in force at t.
func (m Mute) At(t time.Time) bool { return m.Until.After(t) }
