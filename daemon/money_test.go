package daemon_test

import (
	"context"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/meter"
	"guard/daemon/observe"
	"guard/policy"
	"guard/policy/spend"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

// The money that observe and meter count from what the cloud tells equals what
// the cloud's own meter says, within one billing unit, over stops, starts, ends,
// lagging answers, restarts and times when guard was down.
func TestSpendEqualsTheCloudsOwnMeter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(from, to int, what string) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(t, what)) * time.Second
		}
		script := fake.Lab()
		script.Billing.Granularity = rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "granularity")
		script.Lag = fake.Lag{Disappears: 12 * time.Hour, State: seconds(0, 40, "lag")}
		at, running := time.Minute, true
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			at += seconds(200, 1500, "pause")
			state := map[bool]string{true: "stopped", false: "running"}[running]
			running = !running
			script.Timeline = append(script.Timeline, fake.Event{At: at, ID: "i-1", State: state})
		}
		if rapid.Bool().Draw(t, "ends") {
			at += seconds(200, 1500, "last")
			script.Timeline = append(script.Timeline, fake.Event{At: at, ID: "i-1", Delete: true})
		}
		cloud := fake.MustCloud(script)
		account := cloud.Account()
		account.Poll = seconds(30, 120, "poll")
		down := at/2 + seconds(0, 1500, "down from")
		back := down + seconds(0, 1800, "down for")
		end := max(at, back) + 10*time.Minute
		hidden := 0 // what happened unseen; a stop and a start between two looks are
		for _, e := range script.Timeline {
			if e.At > down-2*time.Minute && e.At <= back {
				hidden++
			}
		}
		backend := memory.New()
		var ledger *store.Ledger
		var watch, count func(guard.Instant) guard.Instant
		start := func() {
			var err error
			if ledger, err = store.Open(context.Background(), backend, cloud.At(0)); err != nil {
				t.Fatal(err)
			}
			run := func(l interface {
				Once(context.Context, guard.Instant) (guard.Instant, error)
			}) func(guard.Instant) guard.Instant {
				return func(at guard.Instant) guard.Instant {
					next, err := l.Once(guard.WithInstant(context.Background(), at), at)
					if err != nil {
						t.Fatal(err)
					}
					return next
				}
			}
			watch = run(observe.New(observe.Config{Ledger: ledger, Account: account}))
			count = run(meter.New(meter.Config{Ledger: ledger, Rules: policy.DefaultRules(),
				Account: func(name string) (*providers.Account, bool) { return account, true }}))
		}
		start()
		now := cloud.At(30 * time.Second)
		for now.Before(cloud.At(end)) {
			next := watch(now)
			count(now)
			if now = next; !now.Before(cloud.At(down)) && now.Before(cloud.At(back)) {
				start()
				now = cloud.At(back)
			}
		}
		now = cloud.At(end)
		watch(now)
		count(now)
		for _, id := range []guard.ResourceID{cloud.ID(guard.Instance, "i-1"), cloud.ID(guard.Instance, "i-2"),
			cloud.ID(guard.Volume, "v-1")} {
			want, currency := cloud.Spend(id.ID)
			var got guard.Money
			err := ledger.View(context.Background(), func(v *store.View) error {
				m, _, err := v.Metered.Get(id.Key())
				total := spend.Spent(m.Segments, now.Wall)
				if len(total.Unknown) > 0 {
					t.Errorf("%s: unknown parts: %v", id, total.Unknown)
				}
				got = total.In(currency)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			unit := new(big.Rat).Mul(big.NewRat(240, 1), big.NewRat(int64(script.Billing.Granularity), int64(time.Hour)))
			off := new(big.Rat).Sub(got.Rat(), want)
			if hidden > 1 {
				continue // nobody can know
			}
			if off.Abs(off).Cmp(unit) > 0 {
				t.Errorf("%s: guard counts %v, the cloud %s", id, got, want.FloatString(4))
			}
		}
	})
}
