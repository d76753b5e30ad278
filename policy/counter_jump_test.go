package policy

import (
	"strings"
	"testing"
	"time"

	"guard"
)

// A jump that is in doubt is told where its traffic would be worth a word, for a day, and
// never stops anything.
func TestCounterJump(t *testing.T) {
	const gb = guard.GB
	jump := func(ago time.Duration, sent uint64) guard.Jump {
		return guard.Jump{NIC: "eth0", From: spikes.Add(-ago - 57*time.Minute), To: spikes.Add(-ago), Sent: sent}
	}
	for _, c := range []struct {
		name  string
		price string
		jumps []guard.Jump
		title string // "": nothing is told
		says  string
	}{
		{"none", "0.09 USD", nil, "", ""},
		{"a great one", "0.09 USD", []guard.Jump{jump(time.Hour, 9000*gb)}, "lab/i-1: a counter jumped by 9.00 TB while nothing was read", "as traffic it would cost: 810.00 USD"},
		{"of a price that nobody tells", "", []guard.Jump{jump(time.Hour, 9000*gb)}, "lab/i-1: a counter jumped by 9.00 TB while nothing was read", "its price is not known"},
		{"two together", "0.09 USD", []guard.Jump{jump(3*time.Hour, 12*gb), jump(time.Hour, 12*gb)}, "lab/i-1: a counter jumped by 24.0 GB while nothing was read", "as traffic it would cost: 2.16 USD"},
		{"of two dollars and less", "0.09 USD", []guard.Jump{jump(time.Hour, 22*gb)}, "", ""},
		{"where traffic is free", "0 USD", []guard.Jump{jump(time.Hour, 9000*gb)}, "", ""},
		{"of yesterday", "0.09 USD", []guard.Jump{jump(24*time.Hour, 9000*gb)}, "", ""},
	} {
		s := newSender()
		s.price = guard.EgressPrice{}
		if c.price != "" {
			s.price.PerGB = guard.MustMoney(c.price)
		}
		s.rec.Doubtful = c.jumps
		out := counterJump(DefaultRules(), s.facts())
		if c.title == "" {
			if len(out.Verdicts) > 0 {
				t.Errorf("%s: %+v", c.name, out.Verdicts)
			}
			continue
		}
		if len(out.Verdicts) != 1 || out.Act() != nil || out.Verdicts[0].Urgent || !out.Next.Equal(spikes.Add(23*time.Hour)) {
			t.Errorf("%s: %+v", c.name, out)
			continue
		}
		stage := out.Verdicts[0].Stages[0]
		if text := strings.Join(stage.Lines, "\n"); stage.Title != c.title || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s\n%s", c.name, stage.Title, text)
		}
	}
}
