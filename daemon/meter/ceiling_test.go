package meter

import (
	"testing"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/spend"
)

// under sets the ceilings, as a reload does: by another meter on the same ledger.
func (b *bench) under(c policy.Ceilings) {
	rules := policy.DefaultRules()
	rules.Ceilings = c
	b.loop = New(Config{Ledger: b.ledger, Rules: rules, Account: b.loop.account, Sweep: b.loop.sweep})
}

func (b *bench) ceiling(id string) guard.Deadline {
	b.t.Helper()
	d, _ := b.plan(id).Deadline(guard.DeadlineCeiling)
	return d
}

func TestCeilingIsReachedByLifeOrMoney(t *testing.T) {
	money := []guard.Money{guard.MustMoney("1500 USD"), guard.MustMoney("100 CNY")}
	lead := spend.Lead(newBench(t).account.Provider.Truths(), 0)
	for _, c := range []struct {
		name     string
		ceilings policy.Ceilings
		due      time.Duration // from the start; 0: none
	}{
		{"none", policy.Ceilings{}, 0},
		{"life, from the registration", policy.Ceilings{TTL: 4 * hour}, 5 * hour},
		{"money, from the provider's start", policy.Ceilings{Budget: money}, 10*hour - lead},
		{"both, life first", policy.Ceilings{TTL: 4 * hour, Budget: money}, 5 * hour},
		{"both, money first", policy.Ceilings{TTL: 40 * hour, Budget: money}, 10*hour - lead},
		{"money in other currencies", policy.Ceilings{Budget: money[:1]}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.under(c.ceilings)
			b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
			b.lease("i-1", "1000 CNY", hour, nil)
			b.once(hour + time.Minute)
			if d := b.ceiling("i-1"); c.due == 0 && !d.Due.IsZero() || c.due != 0 && !d.Due.Equal(b.wall(c.due)) {
				t.Errorf("due at %v, want %v", d.Due.Sub(b.wall(0)), c.due)
			}
		})
	}
}

// TestACeilingThatIsLoweredGivesNotice: what a reload brings from far away to now wants
// a second reading and ten minutes (law 8); what it puts off is put off at once.
func TestACeilingThatIsLoweredGivesNotice(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
	b.lease("i-1", "", 0, nil)
	b.once(time.Minute)
	now := 5 * hour
	b.poll(now)
	b.under(policy.Ceilings{TTL: 4 * hour})
	b.once(now)
	if d := b.ceiling("i-1"); d.Candidate == nil || d.Due.Before(b.wall(now+1000*hour)) {
		t.Fatalf("one reading is enough: %+v", d)
	}
	now += 2*time.Minute + time.Second
	b.poll(now)
	b.once(now)
	d := b.ceiling("i-1")
	if d.Candidate != nil || !d.Due.Equal(b.wall(now+spend.Notice)) || !policy.Foreseen(guard.CauseCeiling, d.Stood, spend.Notice, d.Due) {
		t.Fatalf("got %+v", d)
	}
	b.under(policy.Ceilings{TTL: 40 * hour})
	b.once(now + time.Minute)
	if d := b.ceiling("i-1"); !d.Due.Equal(b.wall(40 * hour)) {
		t.Errorf("raised, and it is due at %v", d.Due.Sub(b.wall(0)))
	}
}

// TestAPersonsWordMovesNoCeiling: neither an extension nor a new cap does.
func TestAPersonsWordMovesNoCeiling(t *testing.T) {
	b := newBench(t)
	b.under(policy.Ceilings{TTL: 40 * hour, Budget: []guard.Money{guard.MustMoney("100 CNY")}})
	b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
	b.lease("i-1", "50 CNY", 0, nil)
	b.once(time.Minute)
	was := b.ceiling("i-1")
	b.lease("i-1", "5000 CNY", 0, func(l *guard.Lease) { l.ExpiresAt, l.UpdatedAt = b.wall(1000*hour), b.wall(hour) })
	b.once(hour)
	if d := b.ceiling("i-1"); !d.Due.Equal(was.Due) || !d.Stood.Equal(was.Stood) {
		t.Errorf("it was %+v and is %+v", was, d)
	}
}
