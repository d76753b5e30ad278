package agent

import (
	"fmt"
	"strings"
	"time"

	"guard"
)

const (
	// settle is how long guard is called in vain at least before the fuse fires: after a
	// reboot, a sleep or a start of the agent its silence may be the box's own.
	settle = 10 * time.Minute
	// longOff is the longest that a box is believed to have been off. A clock that says
	// more is likelier to be wrong.
	longOff = 30 * 24 * time.Hour
)

// Heard is when guard was last heard, and what it then said of the box's end. The zero
// value is that it never was.
type Heard struct {
	Boot string        `json:"boot"` // in which At and Limit have their Elapsed
	At   guard.Instant `json:"at"`
	// Limit is when guard would act on a limit that a person set; zero: it would not.
	Limit guard.Instant `json:"limit"`
	// End is why guard asks this box to end itself; "": it does not. It counts in the boot
	// that it was heard in alone: whoever starts the box again had a reason.
	End string `json:"end,omitzero"`
}

// Scene is the moment that the fuse is judged in.
type Scene struct {
	At   guard.Instant
	Boot string
	// Vain is since when guard has been called and did not answer, without a break; zero:
	// the last call was answered, or there was none yet.
	Vain guard.Instant
}

// Burn is how far a fuse has come.
type Burn string

// The states of a fuse.
const (
	// FuseOff: guard has said nothing that it would act on, so there is nothing to do
	// in its place.
	FuseOff Burn = "off"
	// FuseArmed: guard is heard, or its silence is not long enough yet.
	FuseArmed Burn = "armed"
	// FuseBurning: guard is silent, and the fuse fires once the rest has passed, too.
	FuseBurning Burn = "burning"
	FuseFired   Burn = "fired"
)

// Verdict is what a fuse says.
type Verdict struct {
	Burn Burn
	// At is when it fires if guard is not heard any more; zero: it does not, or not
	// before more is known.
	At  guard.Instant
	Why string
}

// Judge says how far a fuse has come that fires once guard has been silent for after, and
// the limit that guard told of has passed as well, or at once where guard asks for it.
//
// Within one boot only what has elapsed counts, which no setting of the clock moves. Over
// a reboot there is the wall clock alone. Where it says what cannot be (a time before
// guard was heard, or a month without power), only what has elapsed in this boot is sure
// to have passed.
func Judge(after time.Duration, h Heard, now Scene) Verdict {
	switch {
	case h.At.IsZero():
		return Verdict{Burn: FuseOff, Why: "guard has not been heard yet"}
	case h.End != "" && h.Boot == now.Boot:
		return Verdict{Burn: FuseFired, At: now.At, Why: "guard asks for it, and cannot end this box itself: " + h.End}
	case h.Limit.IsZero():
		return Verdict{Burn: FuseOff, Why: "guard has told of no limit at which it would act"}
	}
	// silent and left are what has passed since guard was heard, and what had to pass from
	// then on.
	left := max(after, h.Limit.Sub(h.At))
	silent, looked := now.At.Sub(h.At), time.Duration(0)
	if h.Boot != now.Boot {
		silent = now.At.Wall.Sub(h.At.Wall)
		if silent < now.At.Elapsed || silent > longOff+now.At.Elapsed {
			silent = now.At.Elapsed
		}
	}
	if !now.Vain.IsZero() {
		looked = now.At.Sub(now.Vain)
	}
	wait := max(left-silent, settle-looked)
	v := Verdict{Burn: FuseArmed, At: now.At.Add(wait)}
	switch {
	case wait <= 0:
		return Verdict{Burn: FuseFired, At: now.At, Why: fmt.Sprintf("guard has not been heard for %s, and the limit it told of has passed", short(silent.Round(time.Second)))}
	case silent >= after:
		v.Burn, v.Why = FuseBurning, fmt.Sprintf("guard has not been heard for %s", short(silent.Round(time.Second)))
	}
	return v
}

// short is a duration without the zeros at its end: 6h, 1h30m.
func short(d time.Duration) string {
	s := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, none) {
			s = s[:len(s)-2]
		}
	}
	return s
}
