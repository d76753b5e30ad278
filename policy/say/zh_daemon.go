package say

// chineseDaemon is about guard itself: its start, its modes, its pauses, its backups.
var chineseDaemon = map[string]string{
	"guardd was started with a configuration that newly ends %d: %s":                                                                                    "guardd 以新配置启动，新配置将结束 %d 个资源：%s",
	"The configuration before it spared them. Each gets fresh notice first. Extend, hold or protect what must live, or put the old configuration back.": "之前的配置不会结束它们。每个都会先重新预告。请延长、暂缓或保护需要保留的资源，或恢复旧配置。",

	"Account %s is in %s mode now, by %s": "账号 %s 现为%s模式，操作人 %s",
	"%s, by %s":                           "%s，操作人 %s",
	"guard acts again; every account is in observe mode":                                                                                  "guard 已恢复执行；所有账号均处于观察模式",
	"guard acts again in %s; everything overdue gets fresh notice first":                                                                  "guard 已在 %s 恢复执行；所有逾期项会先重新预告",
	"It watches, counts and tells meanwhile. No limit acts, caps included: what is due goes on billing.":                                  "其间仍会观察、计量和通知。所有限制（包括预算上限）都不执行：到点的资源仍在计费。",
	"What was registered, extended, held or protected since the backup is not known. Look at guard ls and say it again.":                  "备份之后的登记、延长、暂缓和保护均已丢失。请查看 guard ls 并重新操作。",
	"If this is a clone, stop guardd here: the first one goes on. If guard has moved here for good, make sure that the first one is off.": "如这是克隆，请停止此处的 guardd：原来的会继续运行。如 guard 已正式迁移到此，请确认原来的已关闭。",
	"Find the other guardd and stop it, or give it a ledger of its own.":                                                                  "请找到另一个 guardd 并停止，或为其使用独立的账本。",
	"Then: guard resume. Everything overdue gets fresh notice first. Paused since %s.":                                                    "然后运行：guard resume。所有逾期项会先重新预告。暂停始于 %s。",

	"guard works on; there is none yet.":         "guard 继续工作；目前还没有备份。",
	"guard works on; the last one is of %s, %s.": "guard 继续工作；最近一次备份来自 %s，%s。",
	"The ledger cannot be backed up: %s":         "账本无法备份：%s",
	"It is tried again within the hour. Make room in %s, or name another folder under backup: in the configuration.": "一小时内会重试。请在 %s 腾出空间，或在配置的 backup: 中指定其他目录。",
}
