package providers

import (
	"time"

	"guard"
)

// Hourly is what an API says a whole machine, or a whole disk, costs an hour. A price of
// nothing for what bills is none, and none is the zero Rate.
func Hourly(m guard.Money) guard.Rate {
	r := guard.Rate{Amount: m, Per: time.Hour, Unit: "machine", Source: "api"}
	if !r.Known() {
		return guard.Rate{}
	}
	return r
}

// Hourly is [Hourly] of a number in a currency.
func (f Field) Hourly(currency string) guard.Rate {
	m, _ := f.Money(currency) // unset where it is none
	return Hourly(m)
}
