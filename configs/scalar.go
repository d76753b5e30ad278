package configs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"guard"
)

// longest bounds every duration in a file: beyond it lies a typing mistake.
const longest = 10 * 365 * 24 * time.Hour

// parseDuration reads 90s, 15m, 1h30m, 2d or 1w. Zero is an error: where
// something can be switched off there is a key for that.
func parseDuration(s string) (time.Duration, error) {
	d, err := model.ParseDuration(s)
	switch _, bare := strconv.ParseFloat(s, 64); {
	case strings.HasPrefix(s, "-"):
		return 0, errors.New("a duration cannot be negative")
	case bare == nil:
		return 0, fmt.Errorf("%s has no unit: write a duration as 90s, 15m, 1h30m, 2d or 1w", shown(s))
	case err != nil:
		return 0, fmt.Errorf("%s is not a duration: write it as 90s, 15m, 1h30m, 2d or 1w", shown(s))
	case d == 0:
		return 0, errors.New("a duration of nothing is not possible here")
	case time.Duration(d) > longest:
		return 0, errors.New("longer than ten years")
	}
	return time.Duration(d), nil
}

func formatDuration(d time.Duration) string { return model.Duration(d).String() }

// percent is a whole number of hundredths, written 50%.
type percent int

func (p *percent) UnmarshalText(b []byte) error {
	digits, ok := strings.CutSuffix(strings.TrimSpace(string(b)), "%")
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 16)
	if !ok || err != nil || n == 0 || n > 10_000 {
		return fmt.Errorf("%s is not a percentage: write a whole number from 1%% to 10000%%", shown(string(b)))
	}
	*p = percent(n)
	return nil
}

// shown quotes a value for a message, if it is short. A long one may be a token
// that landed under the wrong key.
func shown(s string) string {
	const most = 24
	if n := len([]rune(s)); n > most {
		return fmt.Sprintf("a value of %d characters", n)
	}
	return strconv.Quote(s)
}

type mode guard.Mode

func (m *mode) UnmarshalText(b []byte) error {
	switch v := guard.Mode(b); v {
	case guard.Observe, guard.Enforce:
		*m = mode(v)
		return nil
	}
	return fmt.Errorf("%s is not a mode: write observe or enforce", shown(string(b)))
}

type action guard.Action

func (a *action) UnmarshalText(b []byte) error {
	switch v := guard.Action(b); v {
	case guard.ActAlert, guard.ActStop, guard.ActRelease:
		*a = action(v)
		return nil
	}
	return fmt.Errorf("%s is not an action: write alert, stop or release", shown(string(b)))
}

func (*action) list() string { return "a list of tiers is not supported yet" }

// ledger is SCHEME:PATH.
type ledger struct{ Backend, Path string }

func (l *ledger) UnmarshalText(b []byte) error {
	scheme, path, _ := strings.Cut(string(b), ":")
	switch {
	case scheme == "etcd":
		return errors.New("a ledger in etcd is not supported yet: write bolt:PATH")
	case scheme != "bolt" || path == "":
		return errors.New("write bolt:PATH, such as bolt:/var/lib/guard/ledger.db")
	}
	*l = ledger{scheme, path}
	return nil
}

type zone struct{ *time.Location }

func (z *zone) UnmarshalText(b []byte) error {
	name := string(b)
	// "" and Local are what the machine happens to be set to.
	if name == "" || name == "Local" {
		return errors.New("name the zone itself, such as Asia/Shanghai or UTC")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return fmt.Errorf("%s is not a time zone: write one such as Asia/Shanghai or UTC", shown(name))
	}
	z.Location = loc
	return nil
}
