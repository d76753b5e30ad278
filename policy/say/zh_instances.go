package say

// chineseInstances is about instances: registered by nobody, expected, relaunched, taken
// back, stopped and yet billing.
var chineseInstances = map[string]string{
	// Unregistered.
	"It is %s, since %s.":                                                               "状态：%s，自 %s 起。",
	"Spent since the provider's start: %s.":                                             "自云厂商开始计费以来已花费：%s。",
	"What it has cost since the provider's start is not known.":                         "自云厂商开始计费以来的花费未知。",
	"To claim it: guard register %s --purpose TEXT --ttl 8h":                            "认领：guard register %s --purpose TEXT --ttl 8h",
	"To end it: guard release %s":                                                       "释放：guard release %s",
	"%s: nobody registered it; %s old, at an unknown price":                             "%s：无人登记；已存在 %s，价格未知",
	"%s: nobody registered it; %s old, for %s per hour":                                 "%s：无人登记；已存在 %s，每小时 %s",
	"%s; guard registers it until %s":                                                   "%s；guard 代为登记至 %s",
	"guard does not register it by itself: %s.":                                         "guard 不会代为登记：%s。",
	"its release is under way":                                                          "正在释放",
	"Until somebody claims it, guard keeps it registered until %s; then it will %s it.": "在有人认领之前，guard 代为登记至 %s；届时将%s该实例。",
	"Until somebody claims it, guard keeps it registered until %s; then it only tells.": "在有人认领之前，guard 代为登记至 %s；届时仅通知。",

	// Expected.
	"%s: it was expected until %s and was not seen":        "%s：预计在 %s 之前出现，但未发现",
	"%s: guard does not know it yet: %s":                   "%s：guard 尚不能确认：%s",
	"guard knows it for sure by the tag %s=%s.":            "加上标签 %s=%s，guard 即可准确识别。",
	"If it is there: guard register ACCOUNT/ID claims it.": "如实例已存在，请认领：guard register ACCOUNT/ID",
	"its tag %s":                                          "标签 %s",
	"its name, and when it was created":                   "名称和创建时间",
	"more than one could be it: %s":                       "有多个实例符合：%s",
	"%s could be what another registration expects, too":  "%s 也符合另一条登记",
	"%s looks like it, and guard may not act on that: %s": "%s 看似符合，但 guard 无权操作：%s",
	"%s (%s): it is here; registered without an end":      "%s（%s）：已出现；登记无到期时间",
	"%s (%s): it is here; registered until %s":            "%s（%s）：已出现；登记至 %s",
	"It is known by %s. Owner: %s.":                       "识别依据：%s。负责人：%s。",
	"%s: its time is up, and it was never seen":           "%s：登记已到期，实例始终未出现",
	"%s Registered at %s; its time ended at %s.":          "%s登记于 %s；已于 %s 到期。",
	"guard waits for it no longer.":                       "guard 不再等待。",

	// Relaunched.
	"It counts to the same lease: the same end and the same cap, with what %s has cost.":                                    "计入同一登记：到期时间和预算上限不变，并包含 %s 的花费。",
	"The spot request %s started it. A release cancels that first.":                                                         "由竞价请求 %s 启动。释放时会先取消该请求。",
	"The group %s started it. A release goes through the group, which then wants one fewer.":                                "由实例组 %s 启动。释放将通过该组进行，组的期望数量减 1。",
	"What started it is not visible to guard: it has the same tags, name and size. To end it for good, end what starts it.": "guard 看不到是谁启动了它：标签、名称和规格都相同。要彻底结束，请停掉启动它的程序。",
	"%s: it was started in the place of %s":                                                                                 "%s：已启动，接替 %s",

	// Reclaimed.
	"the provider took it back":                "已被云厂商收回",
	"the provider took it back and stopped it": "已被云厂商收回并停止",
	"It ended at %s at the latest.":            "最晚于 %s 结束。",
	"It ended at %s.":                          "已于 %s 结束。",
	"What was only on it is lost.":             "只保存在其上的数据已丢失。",
	"Its disks are kept and go on billing.":    "磁盘已保留，并继续计费。",
	"Left behind, as far as is known: %s.":     "据目前所知遗留：%s。",
	"Spent until then: %s.":                    "此前已花费：%s。",

	// Provisioning.
	"%s: provisioning for more than %s while billing, at a price that is not known":  "%s：创建超过 %s仍未完成且已计费，价格未知",
	"%s: provisioning for more than %s while billing, at %s per hour":                "%s：创建超过 %s仍未完成且已计费，每小时 %s",
	"It counts to its budget from the provider's start, whether it comes up or not.": "无论能否创建成功，均自云厂商开始计费时起计入预算。",
	"It is so since %s. To end it: guard release %s":                                 "该情况自 %s 起存在。释放：guard release %s",

	// Stopped, and billing.
	"%s: %s; not free: %s":      "%s：%s；仍在计费：%s",
	"It does not run since %s.": "自 %s 起未运行。",
	"A stop does not end the bill here. If nobody needs it: guard release %s": "在此处停止不会终止计费。如不再需要：guard release %s",
	"The account is in observe mode: guard will not release it.":              "账号处于观察模式：guard 不会释放该资源。",
	"%s; guard will release it at %s":                                         "%s；guard 将于 %s 释放该实例",
	"To keep it: guard hold %s --for 4h, or guard veto %s %s":                 "如需保留：guard hold %s --for 4h，或 guard veto %s %s",
	"%s: would release now: %s":                                               "%s：此刻本应释放：%s",
	"at a price that is not known":                                            "价格未知",
	"at least %s per day":                                                     "每天至少 %s",
	"%s per day":                                                              "每天 %s",

	// Protected.
	"Until the tag is exactly right or gone, guard treats it as protected and does not touch it.": "在标签完全正确或被移除之前，guard 按受保护处理，不会操作该资源。",
}
