package policy_test

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"guard"
	"guard/policy"
)

func money(texts ...string) []guard.Money {
	out := make([]guard.Money, len(texts))
	for i, s := range texts {
		out[i] = guard.MustMoney(s)
	}
	return out
}

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// said is a message as a golden file has it.
func said(m guard.Message) string {
	var b strings.Builder
	flags := []string{}
	if m.Urgent {
		flags = append(flags, "urgent")
	}
	if m.Waits {
		flags = append(flags, "waits")
	}
	if len(m.Mentions) > 0 {
		flags = append(flags, "@"+strings.Join(m.Mentions, " @"))
	}
	if m.Thread != "" {
		flags = append(flags, "in "+m.Thread)
	}
	fmt.Fprintf(&b, "# %s\n[%s]\n", m.Title, strings.Join(flags, ", "))
	for _, l := range m.Lines {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// golden compares what is told, in every language, with a file of texts.
func golden(t *testing.T, name string, in func(guard.Lang) guard.Message) {
	t.Helper()
	var b strings.Builder
	for _, lang := range guard.Langs {
		fmt.Fprintf(&b, "-- %s --\n%s", lang, said(in(lang)))
	}
	path := filepath.Join("testdata", "told", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// day is a digest of Sunday, told on Monday at nine in Shanghai.
func day(t *testing.T) policy.Digest {
	zone := zoneOf(t, "Asia/Shanghai")
	at := time.Date(2026, 3, 9, 9, 0, 0, 0, zone)
	return policy.Digest{At: at, Zone: zone, From: time.Date(2026, 3, 8, 0, 0, 0, 0, zone), To: time.Date(2026, 3, 9, 0, 0, 0, 0, zone)}
}

func TestDigestGolden(t *testing.T) {
	full := day(t)
	full.Spent = []policy.DigestSpend{
		{Team: "nlp", Purpose: "lora 70b", Amounts: money("80.00 USD")},
		{Team: "nlp", Purpose: "eval", Amounts: money("20.50 USD", "100 CNY")},
		{Team: "vision", Purpose: "diffusion", Amounts: money("4.2 USD")},
		{Purpose: "notebook", Amounts: money("1 USD")},
		{Unregistered: true, Amounts: money("30.00 USD")},
		{Team: "idle", Purpose: "free", Amounts: money("0 USD")},
	}
	full.Total = money("100 CNY", "135.70 USD")
	full.Open = []policy.DigestFinding{
		{Rule: guard.RuleIdleEmpty, About: policy.Thing{ID: "lab/i-1", What: "lora 70b"}, Owner: "ana", Since: full.At.Add(-2 * time.Hour), Wastes: guard.MustMoney("3 USD")},
		{Rule: guard.RuleUnregistered, About: policy.Thing{ID: "lab/i-7"}, Since: full.At.Add(-30 * time.Hour), Wastes: guard.MustMoney("12.5 USD")},
		{Rule: guard.RuleSignalsLost, About: policy.Thing{ID: "lab/i-2", What: "eval"}, Owner: "bo", Since: full.At.Add(-3 * time.Hour)},
		{Rule: guard.RuleOrphanVolume, About: policy.Thing{ID: "lab/vol-9"}, Owner: "ana", Since: full.At.Add(-50 * time.Hour), Wastes: guard.MustMoney("0.02 USD")},
	}
	full.Ends = []policy.DigestEnd{
		{About: policy.Thing{ID: "lab/i-2", What: "eval"}, Owner: "bo", At: full.At.Add(9 * time.Hour), By: guard.DeadlineBudget, Does: guard.ActStop},
		{About: policy.Thing{ID: "lab/i-1", What: "lora 70b"}, Owner: "ana", At: full.At.Add(5 * time.Hour), By: guard.DeadlineExpiry, Does: guard.ActRelease},
		{About: policy.Thing{ID: "lab/i-4", What: "notebook"}, Owner: "eve", At: full.At.Add(6 * time.Hour), By: guard.DeadlineCeiling, Does: guard.ActAlert},
	}
	full.Ended = []policy.DigestEnded{
		{About: policy.Thing{ID: "lab/i-3", What: "batch"}, Cause: guard.CauseExpiry, Action: guard.ActRelease, At: full.At.Add(-11 * time.Hour), Less: money("2 USD")},
		{About: policy.Thing{ID: "lab/i-5"}, Cause: guard.CausePerson, Action: guard.ActRelease, At: full.At.Add(-14 * time.Hour)},
		{About: policy.Thing{ID: "lab/i-6", What: "dev"}, Cause: guard.CauseIdle, Action: guard.ActStop, At: full.At.Add(-20 * time.Hour), Less: money("7.25 CNY")},
	}
	full.Alive = &policy.DigestAlive{Version: "1.2.0", Started: full.At.Add(-9 * 24 * time.Hour), Polls: 12960, Releases: 14, Messages: 61,
		Accounts: []policy.DigestAccount{{Name: "lab", Complete: full.At.Add(-time.Minute)}, {Name: "pods"}}}

	unknown := day(t)
	unknown.Unpriced = []policy.Thing{{ID: "lab/i-9"}, {ID: "lab/i-8", What: "what is it"}}

	atLeast := day(t)
	atLeast.Spent = []policy.DigestSpend{{Team: "nlp", Purpose: "lora", Amounts: money("3 USD")}}
	atLeast.Total, atLeast.Unpriced = money("3 USD"), []policy.Thing{{ID: "lab/i-9"}}

	together := full
	together.Exchange = guard.Exchange{Base: "CNY", Rates: map[string]*big.Rat{"USD": big.NewRat(712, 100)}}
	together.Open, together.Ends, together.Ended, together.Alive = nil, nil, nil, nil

	for name, d := range map[string]policy.Digest{"full": full, "quiet": day(t), "unknown": unknown, "at-least": atLeast, "together": together} {
		t.Run(name, func(t *testing.T) { golden(t, "digest-"+name, d.Message) })
	}
}

// A digest stays within what a channel shows, whatever is in it, and says how much it
// leaves out.
func TestDigestIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := policy.Digest{At: zero, From: zero.Add(-34 * time.Hour), To: zero.Add(-10 * time.Hour)}
		text := rapid.StringMatching(`[a-z<&>@*世界 ]{0,300}`)
		for range rapid.IntRange(0, 40).Draw(t, "things") {
			name, owner := text.Draw(t, "name"), text.Draw(t, "owner")
			m := guard.MustMoney(fmt.Sprintf("%d.%02d USD", rapid.IntRange(0, 1e9).Draw(t, "amount"), rapid.IntRange(0, 99).Draw(t, "cents")))
			d.Spent = append(d.Spent, policy.DigestSpend{Team: text.Draw(t, "team"), Purpose: name, Amounts: []guard.Money{m}})
			d.Total = []guard.Money{guard.MustMoney("1 USD")}
			d.Open = append(d.Open, policy.DigestFinding{Rule: guard.RuleIdleEmpty, About: policy.Thing{ID: name}, Owner: owner, Since: zero, Wastes: m})
			d.Ends = append(d.Ends, policy.DigestEnd{About: policy.Thing{ID: name}, Owner: owner, At: zero.Add(time.Hour), By: guard.DeadlineExpiry, Does: guard.ActRelease})
			d.Ended = append(d.Ended, policy.DigestEnded{About: policy.Thing{ID: name}, Cause: guard.CauseExpiry, Action: guard.ActRelease, At: zero, Less: []guard.Money{m}})
			d.Unpriced = append(d.Unpriced, policy.Thing{ID: "lab/i-1", What: name})
		}
		for _, lang := range guard.Langs {
			m := d.Message(lang)
			if n := utf8.RuneCountInString(m.Title + strings.Join(m.Lines, "\n")); n > 4500 {
				t.Fatalf("a digest of %d characters", n)
			}
			if m.Urgent || !m.Waits {
				t.Fatal("a digest can wait")
			}
		}
	})
}

// What is dearest comes first, and nothing is added up across currencies without a rate.
func TestDigestAddsUpWithinACurrency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := policy.Digest{At: zero, From: zero.Add(-34 * time.Hour), To: zero.Add(-10 * time.Hour)}
		cents := map[string]int{}
		for range rapid.IntRange(1, 12).Draw(t, "rows") {
			code := rapid.SampledFrom([]string{"USD", "CNY", "EUR"}).Draw(t, "currency")
			n := rapid.IntRange(0, 100000).Draw(t, "cents")
			cents[code] += n
			d.Spent = append(d.Spent, policy.DigestSpend{Team: "one", Purpose: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "purpose"),
				Amounts: []guard.Money{guard.MustMoney(fmt.Sprintf("%d.%02d %s", n/100, n%100, code))}})
		}
		for code, n := range cents {
			d.Total = append(d.Total, guard.MustMoney(fmt.Sprintf("%d.%02d %s", n/100, n%100, code)))
		}
		lines := strings.Join(d.Message(guard.English).Lines, "\n")
		for code, n := range cents {
			if sum := fmt.Sprintf("%d.%02d %s", n/100, n%100, code); n > 0 && !strings.Contains(lines, sum) {
				t.Fatalf("%s of team one are not told:\n%s", sum, lines)
			}
		}
		if strings.Contains(d.Message(guard.English).Title, "together") {
			t.Fatal("added up without a rate")
		}
	})
}

func TestEscalationGolden(t *testing.T) {
	zone := zoneOf(t, "Asia/Shanghai")
	f := guard.Finding{ID: "f", Rule: guard.RuleReleaseBlocked, Subject: "lab/v1", Resource: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "v1"}}
	u := policy.Unheard{Finding: f, First: zero, Owner: "ana",
		What: policy.Stage{Title: "lab/v1 (lora): guard cannot release it: permission denied", Lines: []string{"It goes on billing 3.00 USD per hour."}}}
	at := zero.Add(45 * time.Minute)
	for c, name := range map[policy.Circle]string{policy.CircleChannel: "channel", policy.CircleAdmins: "admins", policy.CircleFallback: "fallback"} {
		t.Run(name, func(t *testing.T) {
			golden(t, "escalated-"+name, func(lang guard.Lang) guard.Message {
				return policy.Escalated(u, c, []string{"root", "U01"}, at, zone, lang)
			})
		})
	}
	t.Run("many", func(t *testing.T) {
		many := slices.Repeat([]policy.Unheard{u}, 12)
		golden(t, "escalated-many", func(lang guard.Lang) guard.Message {
			return policy.EscalatedAll(many, policy.CircleAdmins, []string{"root"}, at, lang)
		})
	})
	t.Run("cap", func(t *testing.T) {
		l := guard.Lease{Resource: f.Resource, Purpose: "lora", Owner: "ana", Budget: guard.MustMoney("40 USD")}
		f := f
		f.Rule = guard.RuleBudgetExceeded
		golden(t, "escalated-cap", func(lang guard.Lang) guard.Message {
			return policy.Escalated(policy.Unheard{Finding: f, First: zero, Owner: "ana",
				What: policy.OverCap(l, money("43.2 USD"), guard.MustMoney("3 USD"), zero, zone, lang)}, policy.CircleChannel, nil, at, zone, lang)
		})
		golden(t, "escalated-cap-unknown", func(lang guard.Lang) guard.Message {
			return policy.Escalated(policy.Unheard{Finding: f, First: zero,
				What: policy.OverCap(l, nil, guard.Money{}, zero, zone, lang)}, policy.CircleChannel, nil, at, zone, lang)
		})
	})
}

func TestAwayGolden(t *testing.T) {
	zone := zoneOf(t, "Europe/Berlin")
	away := func(why policy.Gap) policy.Away {
		return policy.Away{From: zero, Until: zero.Add(3*time.Hour + 20*time.Second), Why: why}
	}
	for name, m := range map[string]policy.Missed{
		"crashed": {Away: away(policy.GapCrashed), Expired: []policy.Thing{{ID: "lab/i-1", What: "lora"}}, Over: []policy.Thing{{ID: "lab/i-2", What: "eval"}}, Gone: []policy.Thing{{ID: "lab/i-3", What: "dev"}},
			New: []policy.Thing{{ID: "lab/i-4"}, {ID: "lab/i-5"}}, Overdue: []policy.Thing{{ID: "lab/i-6", What: "batch"}}, Unread: []string{"pods"}},
		"stopped":  {Away: away(policy.GapStopped)},
		"rebooted": {Away: away(policy.GapRebooted), Unread: []string{"pods"}},
		"asleep":   {Away: away(policy.GapAsleep), New: []policy.Thing{{ID: "lab/i-4"}}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "away-"+name, func(lang guard.Lang) guard.Message { return m.Message(zero.Add(4*time.Hour), zone, lang) })
		})
	}
}
