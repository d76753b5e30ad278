package slack

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	api "github.com/slack-go/slack"

	"guard"
	"guard/policy/say"
)

// noon is a Friday, 12:00 in a zone whose clock springs forward that Sunday.
func noon(t *testing.T) (time.Time, *time.Location) {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("no time zones on this machine: %v", err)
	}
	return time.Date(2026, 3, 27, 12, 0, 0, 0, zone), zone
}

func TestWhen(t *testing.T) {
	at, zone := noon(t)
	for _, tt := range []struct {
		t      time.Time
		en, zh string
	}{
		{at, "today 12:00 (now)", "今天 12:00（现在）"},
		{at.Add(25*time.Minute + 10*time.Second), "today 12:25 (in 25m)", "今天 12:25（25 分钟后）"},
		{at.Add(-40 * time.Second), "today 11:59 (1m ago)", "今天 11:59（1 分钟前）"},
		{at.Add(6 * time.Hour), "today 18:00 (in 6h)", "今天 18:00（6 小时后）"},
		{at.Add(12*time.Hour - time.Second), "today 23:59 (in 12h)", "今天 23:59（12 小时后）"},
		{at.Add(12 * time.Hour), "tomorrow 00:00 (in 12h)", "明天 00:00（12 小时后）"},
		{at.Add(-13 * time.Hour), "yesterday 23:00 (13h ago)", "昨天 23:00（13 小时前）"},
		{at.Add(48*time.Hour + 5*time.Minute), "Sun 29 Mar 13:05 (in 2d)", "3月29日（周日）13:05（2 天后）"}, // the clock sprang
		{at.Add(26*time.Hour + 5*time.Minute), "tomorrow 14:05 (in 1d2h)", "明天 14:05（1 天 2 小时后）"},
		{at.AddDate(1, 0, 0), "Sat 27 Mar 2027 12:00 (in 365d)", "2027年3月27日（周六）12:00（365 天后）"},
		{time.Date(2026, 3, 27, 18, 0, 0, 0, time.UTC), "today 19:00 (in 7h)", "今天 19:00（7 小时后）"},
	} {
		v := view{at: at, zone: zone}
		if got := v.when(guard.English, tt.t); got != tt.en {
			t.Errorf("%s is %q, want %q", tt.t, got, tt.en)
		}
		if got := v.when(guard.Chinese, tt.t); got != tt.zh {
			t.Errorf("%s is %q, want %q", tt.t, got, tt.zh)
		}
	}
}

// TestDays: days begin and end by the team's clock, not by UTC's.
func TestDays(t *testing.T) {
	v := view{at: time.Date(2026, 3, 6, 16, 30, 0, 0, time.UTC), zone: time.FixedZone("", 8*3600)} // 00:30 of the 7th
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{{-time.Hour, "yesterday 23:30 (1h ago)"}, {time.Hour, "today 01:30 (in 1h)"}, {23*time.Hour + 40*time.Minute, "tomorrow 00:10 (in 23h40m)"}} {
		if got := v.when(guard.English, v.at.Add(tt.d)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if got, want := v.stamp(v.at.Add(-time.Hour)), "2026-03-06 23:30 +08:00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNext: what happens when, and nothing that does not.
func TestNext(t *testing.T) {
	at, zone := noon(t)
	ends := at.Add(25 * time.Minute)
	for _, tt := range []struct {
		c      guard.Card
		en, zh string
	}{
		{guard.Card{}, "nothing is due", "暂无安排"},
		{guard.Card{Ends: ends, Does: guard.ActStop, By: guard.CauseIdle}, "stops today 12:25 (in 25m): idle", "今天 12:25（25 分钟后）停止：空闲"},
		{guard.Card{Ends: ends, Does: guard.ActRelease, By: guard.CauseExpiry}, "is released today 12:25 (in 25m): expiry", "今天 12:25（25 分钟后）释放：到期"},
		{guard.Card{Ends: ends, Does: guard.ActRelease, By: guard.CauseExpiry, Release: guard.ReleaseNoticed}, "is released today 12:25 (in 25m): expiry", "今天 12:25（25 分钟后）释放：到期"},
		{guard.Card{Ends: ends, Does: guard.ActAlert, By: guard.CauseBudget}, "reaches its limit today 12:25 (in 25m): budget", "今天 12:25（25 分钟后）到达上限：预算"},
		{guard.Card{Ends: ends, By: guard.CauseCeiling}, "reaches its limit today 12:25 (in 25m): ceiling", "今天 12:25（25 分钟后）到达上限：管理员上限"}, // observe mode
		{guard.Card{Ends: ends, Release: guard.ReleaseBlocked, Blocked: guard.BlockPermission}, "its release is blocked: permission", "释放受阻：权限不足"},
		{guard.Card{Does: guard.ActStop, Release: guard.ReleaseBlocked}, "its stop is blocked", "停止受阻"},
		{guard.Card{Ends: ends, Release: guard.ReleaseIssued}, "being released", "正在释放"},
		{guard.Card{Does: guard.ActStop, Release: guard.ReleaseIntended}, "being stopped", "正在停止"},
		{guard.Card{Ends: ends, Ended: guard.ByRelease, Release: guard.ReleaseDone}, "released by guard", "已由 guard 释放"},
		{guard.Card{Ended: guard.ByReclaim}, "taken back by the provider", "已被云厂商收回"},
		{guard.Card{State: guard.StateGone}, "gone", "已不存在"},
	} {
		v := view{at: at, zone: zone}
		if got := v.next(guard.English, &tt.c); got != tt.en {
			t.Errorf("%+v is %q, want %q", tt.c, got, tt.en)
		}
		if got := v.next(guard.Chinese, &tt.c); got != tt.zh {
			t.Errorf("%+v is %q, want %q", tt.c, got, tt.zh)
		}
	}
}

// TestUnknown: what is not known is said to be unknown, never left out or taken for
// nothing (law 1).
func TestUnknown(t *testing.T) {
	m := guard.Message{Lang: guard.English, About: []guard.ResourceID{{Account: "lab", Kind: guard.Instance, ID: "i-1"}}, Card: &guard.Card{}}
	want := []string{"What: i-1, state unknown", "Whose: nobody has registered it", "So far: unknown", "Per hour: unknown", "Next: nothing is due"}
	if got := (view{}).card(m); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.Card = &guard.Card{Purpose: "lora", Budget: guard.MustMoney("50 USD"), Hourly: guard.MustMoney("0 USD"), Spent: []guard.Money{{}}}
	want = []string{"What: i-1, state unknown", "Whose: not told", "Purpose: lora", "So far: unknown, of 50.00 USD", "Per hour: 0.00 USD", "Next: nothing is due"}
	if got := (view{}).card(m); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSoFar: an amount that is only part of it says so.
func TestSoFar(t *testing.T) {
	c := &guard.Card{Spent: []guard.Money{guard.MustMoney("3 USD"), guard.MustMoney("7 CNY")}, AtLeast: true, Budget: guard.MustMoney("50 USD")}
	if got, want := soFar(guard.English, c), "at least 3.00 USD + 7.00 CNY of 50.00 USD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := soFar(guard.Chinese, c), "至少 3.00 USD + 7.00 CNY，上限 50.00 USD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOffers: a button for each offer that counts, in the language, once each; without
// clicks there are none, and the last line tells what to type.
func TestOffers(t *testing.T) {
	at, zone := noon(t)
	m := guard.Message{ID: "slack|x", About: []guard.ResourceID{{Account: "lab", Kind: guard.Instance, ID: "i-1"}}, Card: &guard.Card{}}
	offer := func(c guard.Click, d time.Duration) guard.Offer {
		return guard.Offer{Click: c, For: d, Key: "k", Until: at.Add(time.Hour)}
	}
	m.Offers = []guard.Offer{offer(guard.ClickAck, 0), offer(guard.ClickExtend, 2*time.Hour), offer(guard.ClickExtend, 0), offer(guard.ClickRelease, 0),
		offer(guard.ClickHold, 90*time.Minute), {Click: guard.ClickVeto, Key: "k", Until: at}, {Click: "destroy", Key: "k"},
		{Click: guard.ClickSnooze, Key: strings.Repeat("k", maxValue)}, offer(guard.ClickRegister, 0), offer(guard.ClickWhy, 0)}
	words := func(v view, l guard.Lang) (out []string) {
		m.Lang = l
		for _, b := range v.render(m).blocks {
			for _, e := range buttonsOf(b) {
				out = append(out, e.Text.Text)
			}
		}
		return out
	}
	v := view{at: at, zone: zone, buttons: true}
	if got, want := words(v, guard.English), []string{"I look after it", "Extend 2h", "Extend …", "Release now", "Hold 1h30m", "Register this", "Show why"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := words(v, guard.Chinese), []string{"我来处理", "延长 2 小时", "延长…", "立即释放", "暂缓 1 小时 30 分钟", "登记", "查看原因"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := words(view{at: at, zone: zone}, guard.English); len(got) > 0 {
		t.Errorf("nobody answers clicks on %q", got)
	}
	if got, want := v.context(m), "lab/i-1 · guard ack lab/i-1"; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
	m.Offers = []guard.Offer{offer(guard.ClickExtend, 0), offer(guard.ClickHold, 2*time.Hour)} // at a cap more time is no help
	if got, want := v.context(m), "lab/i-1 · guard hold lab/i-1 --for 2h"; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
}

// TestWordsAreWhole: whatever the nouns can be has words, in each language.
func TestWordsAreWhole(t *testing.T) {
	keys := map[string]bool{}
	for _, s := range slices.Concat(constants(t, "finding.go", "Rule"), constants(t, "resource.go", "State")) {
		keys[strings.ReplaceAll(s, "_", " ")] = true
	}
	for _, s := range constants(t, "resource.go", "How") {
		keys[ends[guard.How(s)]] = true
	}
	for _, s := range constants(t, "finding.go", "Cause") {
		keys[causes[guard.Cause(s)]] = true
	}
	for _, s := range constants(t, "finding.go", "BlockReason") {
		keys[reasons[guard.BlockReason(s)]] = true
	}
	for d := range 366 {
		day := time.Date(2026, 1, 1+d, 0, 0, 0, 0, time.UTC)
		keys[day.Format("Mon")], keys[day.Format("Jan")] = true, true
	}
	for key := range keys {
		if key == "" || say.In(guard.Chinese, key) == key {
			t.Errorf("%q has no words, or no Chinese ones", key)
		}
	}
	for _, s := range constants(t, "message.go", "Click") {
		if buttonWords(guard.English, guard.Offer{Click: guard.Click(s)}) == "" || !slices.Contains(clicks, guard.Click(s)) {
			t.Errorf("the click %s has no button", s)
		}
	}
}

// constants are the values of a type's constants in a file of the root package.
func constants(t *testing.T, file, typ string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(gotoken.NewFileSet(), "../../../"+file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, named := v.Type.(*ast.Ident); !named || id.Name != typ {
			return false
		}
		for _, x := range v.Values {
			if lit, ok := x.(*ast.BasicLit); ok {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, s)
			}
		}
		return false
	})
	if len(out) == 0 {
		t.Fatalf("%s has no constants of %s", file, typ)
	}
	return out
}

// buttonsOf are the buttons of a block.
func buttonsOf(b api.Block) (out []*api.ButtonBlockElement) {
	if a, ok := b.(*api.ActionBlock); ok {
		for _, e := range a.Elements.ElementSet {
			out = append(out, e.(*api.ButtonBlockElement))
		}
	}
	return out
}
