package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
)

// Prober tells beforehand what the credentials allow, so that a missing
// permission is found before a release needs it.
type Prober interface {
	// Probe tries each permission that guard needs and changes nothing: writes are
	// tried as dry runs only. Instances in on are preferred to try them on, the
	// first one first. What cannot be read is a check that says so; there is no
	// other error. The Instant in ctx is what the provider's clock is held against.
	Probe(ctx context.Context, on ...guard.ResourceID) []Check
}

// Outcome is what one check found.
type Outcome string

// The outcomes of a check.
const (
	CheckOK      Outcome = "ok"
	CheckRefused Outcome = "refused" // the provider says no
	CheckUnknown Outcome = "unknown" // asked, and it cannot be told
	CheckUntried Outcome = "untried" // there is nothing to try it on
)

// Check is one thing that a probe tried. No text in it holds a secret.
type Check struct {
	// Name is the permission as the provider calls it, or "identity", "clock".
	Name    string
	Outcome Outcome
	// Acts tells that only a release needs it; nothing in observe mode does.
	Acts bool
	Text string // what was found
	Do   string // what a person can do about it; "" where nothing is wrong
}

// CheckOf makes a check of how a call ended: nil is allowed.
func CheckOf(name string, err error) Check {
	c := Check{Name: name, Outcome: CheckOK}
	switch {
	case err == nil:
	case errors.Is(err, guard.ErrPermission):
		c.Outcome, c.Text = CheckRefused, err.Error()
	default:
		c.Outcome, c.Text = CheckUnknown, err.Error()
		c.Do = "look again later; if it stays, check the network and the endpoint"
	}
	return c
}

// Skew is how far a clock may be off before people are told. AWS refuses signatures
// that are 5 minutes off; the Date of a reply is whole seconds, and comes late by
// as long as the call took.
const Skew = 30 * time.Second

// CheckClock holds the clock here against the provider's. A zero server time is one
// that the provider does not tell.
func CheckClock(here, server time.Time) Check {
	c := Check{Name: "clock", Outcome: CheckOK}
	if server.IsZero() {
		c.Outcome, c.Text = CheckUntried, "the provider tells no time"
		return c
	}
	off := here.Sub(server).Round(time.Second)
	switch {
	case off.Abs() <= Skew:
		c.Text = "agrees with the provider's"
		return c
	case off > 0:
		c.Text = fmt.Sprintf("the clock here is %s ahead of the provider's", off)
	default:
		c.Text = fmt.Sprintf("the clock here is %s behind the provider's", -off)
	}
	c.Outcome, c.Do = CheckRefused, "set the clock: timedatectl set-ntp true"
	return c
}
