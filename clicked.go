package guard

import "time"

// ClicksName is the name of the ledger's value that holds the newest [Clicked], the oldest
// first.
const ClicksName = "guard/clicks"

// Clicked is a click that was carried out: another one like it changes nothing.
type Clicked struct {
	// Key is the request's: made of what was offered, about what, in which state.
	Key string    `json:"key"`
	By  string    `json:"by"`
	At  time.Time `json:"at"`
}
