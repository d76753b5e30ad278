package slack

import (
	"fmt"
	"strings"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
)

// kind is one kind of message, for its picture.
type kind struct {
	name  string
	m     guard.Message
	now   *guard.Message // the state of later, told by an edit
	later time.Duration
	mute  bool // nobody answers clicks
}

// kindsOf are all kinds of messages, in a language. They are told at 18:00 in the team's
// zone.
func kindsOf(l guard.Lang) []kind {
	w := writer(l)
	at := notifytest.Start
	box := guard.ResourceID{Account: "research", Kind: guard.Instance, ID: "i-0abc12"}

	lease := guard.Card{Name: "trainer-a", Purpose: w("lora 70b, third run", "lora 70b 第三轮"), Owner: "ana", Team: "nlp", State: guard.StateRunning,
		GPUs: 8, Model: "H100 80GB", Type: "p5.48xlarge", Spent: []guard.Money{guard.MustMoney("312.40 USD")}, Budget: guard.MustMoney("400 USD"),
		Hourly: guard.MustMoney("55.04 USD"), Started: at.Add(-6 * time.Hour), Ends: at.Add(25 * time.Minute), Does: guard.ActRelease, By: guard.CauseExpiry,
		Release: guard.ReleaseNoticed, Open: []guard.Rule{guard.RuleExpired}, AsOf: at}
	with := func(change func(c *guard.Card)) *guard.Card {
		c := lease
		change(&c)
		return &c
	}
	offers := func(until time.Duration, cs ...guard.Click) (out []guard.Offer) {
		for _, c := range cs {
			o := guard.Offer{Click: c, Key: "5f0c2a91", Until: at.Add(until)}
			if c == guard.ClickExtend || c == guard.ClickHold || c == guard.ClickVeto || c == guard.ClickSnooze {
				o.For = 2 * time.Hour
			}
			out = append(out, o)
		}
		return out
	}
	told := func(rule guard.Rule, title string, lines ...string) guard.Message {
		return guard.Message{ID: "slack|" + string(rule) + "|1772791200|told", Channel: "slack", Lang: l, Rule: rule, About: []guard.ResourceID{box}, Thread: box.Key(),
			Title: title, Lines: lines, CreatedAt: at}
	}
	general := func(rule guard.Rule, title string, lines ...string) guard.Message {
		m := told(rule, title, lines...)
		m.About, m.Thread = nil, ""
		return m
	}
	after := func(m guard.Message, c *guard.Card, offers ...guard.Offer) *guard.Message {
		m.ID, m.Edit, m.Card, m.Offers = "slack|card|"+m.Thread, true, c, offers
		return &m
	}

	notice := told(guard.RuleExpired, w("research/i-0abc12 (lora 70b): guard will release it at 18:25: its time ends", "research/i-0abc12（lora 70b）：到期，guard 将于 18:25 释放它"),
		w("A release erases the instance and everything that is only on it.", "释放会清除该实例及只保存在其上的一切。"),
		w("It leaves vol-9, which goes on billing.", "vol-9 会保留，并继续计费。"))
	notice.Card, notice.Mentions = &lease, []string{"ana"}
	notice.Offers = append(offers(25*time.Minute, guard.ClickExtend), append([]guard.Offer{{Click: guard.ClickExtend, Key: "5f0c2a91"}},
		offers(25*time.Minute, guard.ClickHold, guard.ClickRelease, guard.ClickWhy)...)...)

	watched := told(guard.RuleExpired, w("research/i-0abc12 (lora 70b): its time ends at 18:25; guard would release it", "research/i-0abc12（lora 70b）：18:25 到期；guard 本会释放它"),
		w("The account is in observe mode, so guard does nothing.", "账号处于观察模式，guard 不会执行任何操作。"))
	watched.Card = with(func(c *guard.Card) { c.Does, c.Release, c.AtLeast = "", "", true })
	watched.Offers = offers(time.Hour, guard.ClickExtend, guard.ClickSnooze, guard.ClickWhy)

	idle := told(guard.RuleIdleEmpty, w("research/i-0abc12 (lora 70b): idle for 40m: guard stops it at 18:25", "research/i-0abc12（lora 70b）：已空闲 40 分钟，guard 将于 18:25 停止它"),
		w("All 8 GPUs are empty: nothing is loaded, nothing runs.", "8 张 GPU 全部空闲：未加载，也没有任务。"))
	idle.Card = with(func(c *guard.Card) {
		c.Does, c.By, c.Open = guard.ActStop, guard.CauseIdle, []guard.Rule{guard.RuleIdleEmpty}
	})
	idle.Offers = offers(time.Hour, guard.ClickVeto, guard.ClickAck, guard.ClickSnooze, guard.ClickWhy)

	warning := told(guard.RuleBudgetWarning, w("research/i-0abc12 (lora 70b): 80 % of its budget is spent", "research/i-0abc12（lora 70b）：预算已用 80 %"),
		w("At this rate the rest is spent at 19:35.", "按目前速度将在 19:35 用尽。"))
	warning.Waits = true
	warning.Card = with(func(c *guard.Card) {
		c.Ends, c.By, c.Release, c.Open = at.Add(95*time.Minute), guard.CauseBudget, "", []guard.Rule{guard.RuleBudgetWarning}
		c.Spent = []guard.Money{guard.MustMoney("312.40 USD"), guard.MustMoney("88 CNY")}
	})
	warning.Offers = offers(time.Hour, guard.ClickExtend, guard.ClickSnooze)

	stranger := told(guard.RuleUnregistered, w("research/i-0abc12 (sweep-3): nobody has registered it", "research/i-0abc12（sweep-3）：无人登记"),
		w("It runs since 16:10.", "它自 16:10 起运行。"))
	stranger.Card = &guard.Card{Name: "sweep-3", State: guard.StateRunning, GPUs: 1, Type: "g6.xlarge", Spot: true, Hourly: guard.MustMoney("0.80 USD"),
		Spent: []guard.Money{guard.MustMoney("1.47 USD")}, Open: []guard.Rule{guard.RuleUnregistered}, AsOf: at}
	stranger.Offers = offers(24*time.Hour, guard.ClickRegister, guard.ClickRelease, guard.ClickSnooze, guard.ClickWhy)

	group := general(guard.RuleUnregistered, w("research: 7 × an instance that nobody registered", "research：7 × 无人登记的实例"))
	for n := range 7 {
		group.About = append(group.About, guard.ResourceID{Account: "research", Kind: guard.Instance, ID: fmt.Sprintf("i-%04d", n+1)})
		group.Lines = append(group.Lines, fmt.Sprintf(w("research/i-%04d (sweep-%d): nobody has registered it", "research/i-%04d（sweep-%d）：无人登记"), n+1, n+1))
	}
	group.Lines = append(group.Lines, w("Together they bill 5.60 USD per hour, as far as is known.", "已知合计每小时 5.60 USD。"))

	stuck := told(guard.RuleReleaseBlocked, w("research/i-0abc12 (lora 70b): its release is blocked and it goes on billing", "research/i-0abc12（lora 70b）：释放受阻，仍在计费"),
		w("AWS refuses ec2:TerminateInstances: UnauthorizedOperation.", "AWS 拒绝了 ec2:TerminateInstances：UnauthorizedOperation。"))
	stuck.Urgent, stuck.Mentions = true, []string{"ana", "eva@lab.example", "ben"}
	stuck.Card = with(func(c *guard.Card) {
		c.Release, c.Blocked, c.Spent = guard.ReleaseBlocked, guard.BlockPermission, []guard.Money{guard.MustMoney("421.07 USD")}
		c.Open = []guard.Rule{guard.RuleBudgetExceeded, guard.RuleReleaseBlocked}
	})
	stuck.Offers = offers(24*time.Hour, guard.ClickAck, guard.ClickWhy)

	dark := told(guard.RulePriceUnknown, w("research/i-0abc12: its price is unknown", "research/i-0abc12：价格未知"))
	dark.Card = &guard.Card{Name: "trainer-a", Owner: "李雷", Purpose: "eval", State: guard.StateUnknown, Budget: guard.MustMoney("300 CNY"), Open: []guard.Rule{guard.RulePriceUnknown}, AsOf: at.Add(-26 * time.Hour)}
	dark.Offers = offers(24*time.Hour, guard.ClickSnooze)

	volume := told(guard.RuleOrphanVolume, w("research/vol-9: a volume left behind by i-0abc12", "research/vol-9：i-0abc12 遗留的卷"), w("500 GB; nothing is attached to it since 12:00.", "500 GB，自 12:00 起未挂载。"))
	volume.About = []guard.ResourceID{{Account: "research", Kind: guard.Volume, ID: "vol-9"}}
	volume.Waits, volume.Card = true, &guard.Card{Name: "data", State: guard.StateRunning, Hourly: guard.MustMoney("0.055 USD"), Open: []guard.Rule{guard.RuleOrphanVolume}, AsOf: at}
	volume.Offers = offers(24*time.Hour, guard.ClickRelease, guard.ClickSnooze)

	proof := told("", w("research/i-0abc12 (lora 70b): released, with proof", "research/i-0abc12（lora 70b）：已释放，并有证明"),
		w("Two reads 31 s apart say terminated. It cost 318.02 USD of 400.00 USD.", "两次读取相隔 31 秒，均为 terminated。共花费 318.02 USD，上限 400.00 USD。"))
	proof.Release, proof.Card = "r-1", with(func(c *guard.Card) {
		c.State, c.Release, c.Ended, c.Ends, c.Open, c.Hourly = guard.StateGone, "", guard.ByRelease, time.Time{}, nil, guard.Money{}
	})

	account := general(guard.RuleAccountUnreachable, w("research cannot be reached since 17:20", "research 自 17:20 起无法访问"),
		w("The provider answers 503. What runs there bills on, and guard cannot release it.", "云厂商返回 503。其中的资源继续计费，guard 无法释放。"))
	account.Urgent = true
	balance := general(guard.RuleBalanceLow, w("lab-cn: the balance lasts until tomorrow 03:10", "lab-cn：余额只够用到明天 03:10"), w("412.55 CNY are left; it bills 45.06 CNY per hour.", "余额 412.55 CNY，每小时花费 45.06 CNY。"))
	many := general("", w("12 messages: unregistered", "12 条消息：未登记"), strings.Split(strings.Repeat("research/i-0001: nobody has registered it · It runs since 16:10.\n", 12), "\n")[:12]...)
	daily := general("", w("Yesterday, Thu 5 Mar: 100.00 CNY + 135.70 USD", "昨天 3月5日（周四）：100.00 CNY + 135.70 USD"),
		w("nlp: 100.50 USD + 100.00 CNY (eval 20.50 USD + 100.00 CNY, lora 70b 80.00 USD)", "nlp：100.50 USD + 100.00 CNY（eval 20.50 USD + 100.00 CNY、lora 70b 80.00 USD）"),
		w("Ends today: 1", "今天到期：1 项"), w("- 21:00 lab/i-1 (lora 70b), of ana: it expires, guard releases it", "- 21:00 lab/i-1（lora 70b），负责人 ana：到期，guard 将释放"),
		w("Whom to ask: ana (3.02 USD per hour).", "可以问：ana（每小时 3.02 USD）。"))
	daily.Waits = true
	circle := general("", w("Nobody sees to 2 things that cost money", "有 2 项正在花钱，却无人处理"), w("People were told of each, and nobody has acknowledged them.", "均已通知，至今无人确认。"),
		w("lab/i-1 (lora 70b): guard cannot release it: permission denied", "lab/i-1（lora 70b）：guard 无法释放：权限不足"), w("lab/i-2 (eval): over its cap", "lab/i-2（eval）：超出预算上限"))
	circle.Urgent, circle.Mentions = true, []string{"李雷", "root"}
	back := general("", w("guard's machine was asleep for 3h, and guard is back", "guard 所在机器曾休眠 3 小时，guard 现已恢复"), w("New: lab/i-4.", "新出现：lab/i-4。"))
	long := told(guard.RuleReclaimed, "research/i-0abc12 "+strings.Repeat(w("(a purpose without an end) ", "（没完没了的用途）"), 9), strings.Repeat(w("so it goes on ", "如此继续"), 30))

	return []kind{
		{name: "notice", m: notice},
		{name: "notice_without_clicks", m: notice, mute: true},
		{name: "observed", m: watched},
		{name: "notice_extended", m: notice, later: 10 * time.Minute, now: after(notice, with(func(c *guard.Card) {
			c.Ends, c.Release, c.Open, c.AsOf = at.Add(145*time.Minute), "", nil, at.Add(10*time.Minute)
		}), offers(2*time.Hour, guard.ClickExtend, guard.ClickRelease)...)},
		{name: "notice_held", m: notice, later: 10 * time.Minute, now: after(notice, with(func(c *guard.Card) {
			c.Held, c.Ends, c.Release, c.AsOf = at.Add(4*time.Hour), at.Add(4*time.Hour), "", at.Add(10*time.Minute)
			c.Snoozed, c.Open = at.Add(8*time.Hour), nil
		}), offers(2*time.Hour, guard.ClickRelease)...)},
		{name: "notice_releasing", m: notice, later: 26 * time.Minute, now: after(notice, with(func(c *guard.Card) { c.Release, c.State = guard.ReleaseIssued, guard.StateReleasing }))},
		{name: "notice_ended", m: notice, later: 30 * time.Minute, now: after(notice, proof.Card)},
		{name: "idle", m: idle},
		{name: "budget_warning", m: warning},
		{name: "unregistered", m: stranger},
		{name: "unregistered_group", m: group},
		{name: "release_blocked", m: stuck},
		{name: "price_unknown", m: dark},
		{name: "orphan_volume", m: volume},
		{name: "released", m: proof},
		{name: "account_unreachable", m: account},
		{name: "balance_low", m: balance},
		{name: "digest", m: many},
		{name: "daily", m: daily},
		{name: "escalation", m: circle},
		{name: "back", m: back},
		{name: "long", m: long},
	}
}

// writer chooses the text of a language.
func writer(l guard.Lang) func(english, chinese string) string {
	return func(english, chinese string) string {
		if l == guard.Chinese {
			return chinese
		}
		return english
	}
}
