package say

// chineseLimits is about limits: expiry, caps, ceilings, and what puts them off.
var chineseLimits = map[string]string{
	"its time ends": "登记到期",

	// Titles.
	"%s at %s":                               "%s（%s）",
	"%s since %s":                            "%s（自 %s 起）",
	"%s (observe mode: guard only tells)":    "%s；观察模式，guard 仅通知",
	"%s, but it is protected":                "%s，但已受保护",
	"guard will %s it at %s: %s":             "guard 将于 %[2]s %[1]s该资源：%[3]s",
	"%s: would %s now: %s":                   "%s：此刻本应%s：%s",
	"%s: would ask people to end it now: %s": "%s：此刻本应请人工结束该资源：%s",
	"%s: guard will %s it at %s: the tag that protected it is missing": "%[1]s：guard 将于 %[3]s %[2]s该资源：原有的保护标签已消失",
	"%s: %s at %s; guard does nothing about it until %s":               "%[1]s：%[2]s（%[3]s）；guard 在 %[4]s 之前不会处理",

	// What happens, and what keeps it from happening.
	"The account is in observe mode: guard will not %s it.":                                                                         "账号处于观察模式：guard 不会%s该资源。",
	"%s; guard does not touch it and tells people every hour once the %s is reached.":                                               "%s；guard 不会操作该资源，达到%s后每小时通知一次。",
	"Nothing that is said about this lease puts it off: an admin has set it for all of them, as ceilings in guard's configuration.": "对本登记的任何操作都不能推迟它：这是管理员在 guard 配置的 ceilings 中为所有登记设定的上限。",
	"It cannot be kept longer, for that is %s.":                                                                                     "不能再延长，因为已到%s。",
	"To keep it longer: guard extend %s --by 2h --budget +%s":                                                                       "如需延长：guard extend %s --by 2h --budget +%s",
	"To keep it longer: guard extend %s --by 2h":                                                                                    "如需延长：guard extend %s --by 2h",
	"A hold puts it off until %s.":                                                                                                  "已暂缓至 %s。",
	"It was due at %s; fresh notice is given because %s.":                                                                           "原应于 %s 执行；现重新预告，原因：%s。",
	"It was due at %s; notice is given first.":                                                                                      "原应于 %s 执行；先行预告。",
	"It was registered at %s and expired at %s.":                                                                                    "登记于 %s，已于 %s 到期。",
	"If it should still come: guard extend %s --by 2h":                                                                              "如仍会创建：guard extend %s --by 2h",

	// Caps.
	"%s: %d%% of its cap is spent: %s of %s":                                                           "%[1]s：已花费预算上限的 %[2]d%%：%[3]s，上限 %[4]s",
	"The cap is reached at %s; %s.":                                                                    "预算上限将于 %s 达到；%s。",
	"The cap is reached at %s; in observe mode guard will not %s it.":                                  "预算上限将于 %s 达到；观察模式下 guard 不会%s该资源。",
	"The cap is reached at %s; guard does not touch it: %s.":                                           "预算上限将于 %s 达到；guard 不会操作该资源：%s。",
	"The cap is reached at %s; guard does nothing about it: %s.":                                       "预算上限将于 %s 达到；guard 不会处理：%s。",
	"The cap is reached at %s; guard will %s it at %s to land under it.":                               "预算上限将于 %[1]s 达到；guard 将于 %[3]s %[2]s该资源，以免超出。",
	"It is paid ahead, until %s: a release gives nothing back, so guard does not release it for that.": "已预付至 %s：释放不退款，guard 不会因此释放。",

	// Ceilings.
	"%s: it bills in %s, and there is no ceiling in that currency":                                      "%s：以 %s 计费，但没有该币种的管理员上限",
	"An admin can set one: ceilings.budget in guard's configuration. guard never converts for a limit.": "管理员可在 guard 配置的 ceilings.budget 中设置。guard 不会为上限做汇率换算。",
}
