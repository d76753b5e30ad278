package say

// chineseAccounts is about accounts, what can be seen of them, and guard's own clock.
var chineseAccounts = map[string]string{
	"%s: its credentials belong to %s now, not to %s":                                                     "%s：凭证现属于 %s，而非 %s",
	"guard believes no listing of it and releases nothing there until the right credentials are back.":    "在恢复正确的凭证之前，guard 不采信该账号的任何列表，也不会释放其中的资源。",
	"%d leases there go on billing.":                                                                      "其中 %d 条登记仍在计费。",
	"%s: its credentials are account %s's too (%s)":                                                       "%s：其凭证与账号 %s 相同（%s）",
	"guard believes no listing of it and releases nothing there. Remove %s or %s from the configuration.": "guard 不采信该账号的任何列表，也不会释放其中的资源。请从配置中移除 %s 或 %s。",

	"%d leases there go on billing; guard goes on trying.": "其中 %d 条登记仍在计费；guard 会继续重试。",
	"It failed %d times since %s.":                         "自 %[2]s 起失败 %[1]d 次。",
	"It failed %d times since %s, now: %s.":                "自 %[2]s 起失败 %[1]d 次，目前：%[3]s。",
	"%s: the account comes and goes":                       "%s：账号时通时断",
	"%s: the account does not answer":                      "%s：账号无响应",
	"Since %s: %s.":                                        "自 %s 起：%s。",
	"%s: the account answers again":                        "%s：账号已恢复响应",
	"It did not from %s to %s.":                            "%s 至 %s 期间无响应。",
	"Each time is no news any more: people hear of one that lasts, and when it has been well for longer than it usually is.": "不再逐次通知：仅在持续不恢复，或稳定时间长于往常时通知。",

	"%s in %s":                            "%s（%s）",
	"%s failed %d times since %s.":        "%[1]s：自 %[3]s 起失败 %[2]d 次。",
	"%s could not be seen from %s to %s.": "%s：%s 至 %s 期间不可见。",
	"never seen; %s":                      "从未看到；%s",
	"last seen %s; %s":                    "最近看到于 %s；%s",
	"%s: guard sees %s only now and then": "%s：guard 只能时断时续地看到%s",
	"%s: guard cannot see %s":             "%s：guard 看不到%s",
	"%s: guard sees %s again":             "%s：guard 又能看到%s",
	"What is there is neither gone nor safe: limits that are known go on to apply.": "其中的资源既不算消失，也不算安全：已知的限制继续生效。",

	// The clock.
	"guard's clock is %s ahead":  "guard 的时钟快 %s",
	"guard's clock is %s behind": "guard 的时钟慢 %s",
	"guard goes by the time that has elapsed and by what providers tell: it is %s.":                                                                        "guard 以流逝的时间和云厂商的时间为准：现在是 %s。",
	"Set the clock right, or connect guard's machine to a time server. Where it is right as it is, a provider's own time soon says so, and guard follows.": "请校准时钟，或为 guard 所在机器配置时间服务器。如果时钟本就正确，云厂商的时间很快会予以确认，guard 随之采用。",
	"guard's clock is not confirmed since its machine started":                                                                                             "机器启动以来，guard 的时钟尚未得到确认",
	"Much time may have passed since guard ran last, and no provider's own time says how much: nothing is released that may not be due.":                   "距 guard 上次运行可能已过很久，而没有云厂商的时间可以确认：可能未到期的资源都不会释放。",
	"guard goes on by itself as soon as it can reach a provider.":                                                                                          "一旦能访问云厂商，guard 会自动继续。",
	"the time that guard goes by was put forward by %s":                                                                                                    "guard 采用的时间已调快 %s",
	"the time that guard goes by was put back by %s":                                                                                                       "guard 采用的时间已调慢 %s",
	"Providers tell that it is %s; limits are judged by that.":                                                                                             "云厂商的时间为 %s；各项限制以此为准。",

	// What ends a finding.
	"It is gone: %s.":                 "已消失：%s。",
	"It was started anew at %s.":      "已于 %s 重新启动。",
	"Its signals are back (%s).":      "监控信号已恢复（%s）。",
	"The last outage was over at %s.": "最近一次中断已于 %s 结束。",
	"It works again: %s at %s.":       "已恢复工作：%[2]s，%[1]s。",
}
