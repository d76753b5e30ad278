package fake

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"guard"
)

// TestABalanceRunsDryToTheSecond: what really bills draws on it, what happens then happens
// when it is used up and not when somebody looks, and a top-up is a new beginning.
func TestABalanceRunsDryToTheSecond(t *testing.T) {
	for _, end := range []struct {
		atZero guard.AtZero
		want   string // at two hours
	}{{guard.ZeroStops, TruthStopped}, {guard.ZeroDeletes, TruthGone}, {guard.ZeroNothing, TruthRunning}, {guard.ZeroUnknown, TruthRunning}} {
		c := MustCloud(Script{Account: "lab", Balance: "6 USD", AtZero: end.atZero, Resources: []Resource{
			{ID: "i-1", Created: -time.Hour, Rate: &Rate{Amount: "3", Per: "hour"}},
			{ID: "i-2", Rate: &Rate{Amount: "3", Per: "hour"}},
			{ID: "v-1", Kind: guard.Volume, Rate: &Rate{Amount: "0", Per: "month"}},
		}})
		c.Advance(c.At(59 * time.Minute).Wall)
		if got := c.Truth("i-1"); got != TruthRunning {
			t.Errorf("%q: before, i-1 is %s", end.atZero, got)
		}
		c.Advance(c.At(2 * time.Hour).Wall)
		for _, id := range []string{"i-1", "i-2"} {
			if got := c.Truth(id); got != end.want {
				t.Errorf("%q: %s is %s", end.atZero, id, got)
			}
		}
		if gone := c.Gone("i-1").Sub(c.At(time.Hour).Wall); end.want == TruthGone && gone.Abs() > time.Second {
			t.Errorf("it was deleted %v after the balance was used up", gone)
		}
		if got := c.Truth("v-1"); got != TruthRunning {
			t.Errorf("%q: v-1 is %s", end.atZero, got)
		}
		want := "0.000000 USD"
		if end.want == TruthRunning {
			want = "-6.000000 USD"
		}
		if got := c.Balance(); got != want {
			t.Errorf("%q: %s is left, want %s", end.atZero, got, want)
		}
	}
}

func TestATopUpIsANewBeginning(t *testing.T) {
	c := MustCloud(Script{Account: "lab", Balance: "1 USD", AtZero: guard.ZeroStops,
		Resources: []Resource{{ID: "i-1", Rate: &Rate{Amount: "1", Per: "hour"}, StoppedRate: &Rate{Amount: "0.1", Per: "hour"}}},
		Timeline:  []Event{{At: 2 * time.Hour, TopUp: "1.1 USD"}, {At: 2 * time.Hour, ID: "i-1", State: "running"}}})
	c.Advance(c.At(150 * time.Minute).Wall)
	if c.Truth("i-1") != TruthRunning {
		t.Error("it does not run after the top-up")
	}
	c.Advance(c.At(4 * time.Hour).Wall)
	if c.Truth("i-1") != TruthStopped || !strings.HasPrefix(c.Balance(), "-0.1000") {
		t.Errorf("it is %s, and %s is left", c.Truth("i-1"), c.Balance())
	}
	for at, want := range map[time.Duration]string{30 * time.Minute: "0.5", 90 * time.Minute: "-0.05", 150 * time.Minute: "0.5"} {
		if got := c.BalanceAt(c.At(at).Wall); got.FloatString(2) != guard.MustMoney(want+" USD").Rat().FloatString(2) {
			t.Errorf("%s was left at %v, want %s", got.FloatString(2), at, want)
		}
	}
}

func TestWhatIsStoppedTooLongIsDeleted(t *testing.T) {
	c := MustCloud(Script{Account: "lab", StoppedEnds: 10 * time.Hour, Resources: []Resource{{ID: "i-1"}, {ID: "i-2", State: "stopped"}},
		Timeline: []Event{{At: time.Hour, ID: "i-1", State: "stopped"}, {At: 5 * time.Hour, ID: "i-1", State: "running"}, {At: 6 * time.Hour, ID: "i-1", State: "stopped"}}})
	at := c.At(7 * time.Hour)
	looks := c.Provider().Get(guard.WithInstant(context.Background(), at), c.ID(guard.Instance, "i-1"))
	if end := looks[0].Resource.PlatformEnds; !end.At.Equal(c.At(16*time.Hour).Wall) || end.Why == "" {
		t.Errorf("it is told to end at %+v", end)
	}
	c.Advance(c.At(15 * time.Hour).Wall)
	if c.Truth("i-1") != TruthStopped || !c.Gone("i-2").Equal(c.At(10*time.Hour).Wall) {
		t.Errorf("i-1 is %s, i-2 went at %v", c.Truth("i-1"), c.Gone("i-2"))
	}
	c.Advance(c.At(17 * time.Hour).Wall)
	if !c.Gone("i-1").Equal(c.At(16 * time.Hour).Wall) {
		t.Errorf("i-1 went at %v", c.Gone("i-1"))
	}
}

func TestABalanceThatIsNone(t *testing.T) {
	c := MustCloud(Script{Account: "lab"})
	if _, err := c.Provider().Paid().Balance(context.Background()); !errors.Is(err, guard.ErrUnsupported) {
		t.Errorf("an account that does not pay ahead: %v", err)
	}
	for _, s := range []Script{{Balance: "6"}, {Balance: "6 EUR"}, {AtZero: guard.ZeroStops}, {Balance: "6 USD", AtZero: "explode"}, {StoppedEnds: -1},
		{Timeline: []Event{{TopUp: "6 USD"}}}, {Balance: "6 USD", Timeline: []Event{{TopUp: "-6 USD"}}}} {
		if _, err := NewCloud(s); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
