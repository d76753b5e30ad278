package policy

import (
	"cmp"

	"guard"
	"guard/policy/say"
)

// Thing is something as people know it.
type Thing struct {
	ID   string // ACCOUNT/ID
	What string // what it is for, or is called; "": not known
}

// In is a thing in a language.
func (t Thing) In(lang guard.Lang) string {
	if t.What == "" {
		return t.ID
	}
	return say.In(lang, "%s (%s)", t.ID, t.What)
}

// Compare orders things by their IDs.
func (t Thing) Compare(o Thing) int {
	return cmp.Or(cmp.Compare(t.ID, o.ID), cmp.Compare(t.What, o.What))
}

// things are several in a language, none too long.
func things(lang guard.Lang, ts []Thing) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = name(t.In(lang))
	}
	return out
}
