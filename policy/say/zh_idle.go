package say

// chineseIdle is about what samples show: idle, parked, hung, underused, lost signals.
var chineseIdle = map[string]string{
	"idle": "空闲", "it looks hung": "疑似卡死", "phantom utilisation": "虚假占用", "its GPUs wait": "其 GPU 在等待",
	", with nothing loaded": "，未加载任何内容", ", with something loaded": "，已加载内容但未运行", ", and nobody tells what is loaded": "，无法得知加载了什么",
	", and what is loaded comes and goes":                   "，加载的内容时有时无",
	", with memory held and no process alive that holds it": "，显存被占用但没有存活的进程",
	"%d of %d GPUs unused":                                  "共 %[2]d 张 GPU，%[1]d 张未使用",
	"%s since %s%s":                                         "自 %[2]s 起%[1]s%[3]s",
	"%s: %s for %s%s":                                       "%[1]s：%[2]s已持续 %[3]s%[4]s",

	// Why it is not judged, or not stopped.
	"the newest sample that tells something is of %s, and they should come each %s": "最新的有效采样来自 %s，而采样间隔应为 %s",
	"only %.0f %% of the time since %s was seen, and %.0f %% must be":               "自 %[2]s 起只观测到 %.0[1]f %% 的时间，至少需要 %.0[3]f %%",
	"what is loaded on it has changed at %s (%s now)":                               "加载的内容已于 %s 变化（现为：%s）",
	"%s, so guard only tells": "%s，因此 guard 仅通知",
	"low confidence: single readings %s apart prove nothing, so guard only tells": "可信度低：间隔 %s的单次读数不足为凭，因此 guard 仅通知",

	// Below the title.
	"Wasted: %s per hour.":                                          "浪费：每小时 %s。",
	"What is wasted is not known: its price is not.":                "浪费金额未知：价格未知。",
	"guard only tells. If nobody needs it: guard release %s":        "guard 仅通知。如不再需要：guard release %s",
	"The account is in observe mode: guard will not stop it at %s.": "账号处于观察模式：guard 不会在 %s 停止该实例。",
	"If nothing changes until then, guard stops it at %s, once somebody was told. A stop keeps its disks, and they go on billing.": "若届时情况未变且已通知到人，guard 将于 %s 停止该实例。停止后磁盘会保留，并继续计费。",
	"To keep it running: guard hold %s --for 4h, or guard veto %s %s":                                                              "如需继续运行：guard hold %s --for 4h，或 guard veto %s %s",
	"No work was seen on it yet.": "尚未观测到任何工作负载。",
	"Processes that wait for a peer spin like this. What they have not written down is lost when they are killed.":    "等待对端的进程会这样空转。终止进程会丢失尚未写盘的内容。",
	"No process is alive that could do this work; a driver that lost one shows it until the machine is started anew.": "没有存活的进程在执行该任务；驱动丢失进程后会一直如此显示，直到机器重启。",
	"%.0f GB came in meanwhile: fetched to a disk on a machine without a GPU first, they cost a small part of this.":  "期间下载了 %.0f GB：先用无 GPU 的机器下载到磁盘，费用只是现在的一小部分。",
	"GPUs %s did nothing and hold nothing, while others worked for %s.":                                               "GPU %s 未工作且未占用显存，而其余 GPU 已工作 %s。",
	"A machine with %d would do.": "%d 张 GPU 的机器就够用。",

	// The window.
	"no sample yet":                        "尚无采样",
	"newest sample %s (%s, %s each %s)":    "最新采样：%s（%s，%s，间隔 %s）",
	"%s, %.0f %% of the quiet window seen": "%s，空闲窗口已观测 %.0f %%",
	"last work %s: %s":                     "最近一次工作 %s：%s",
	"not believed: %s":                     "未采信：%s",
	"nobody tells: %s":                     "缺少数据：%s",
	"last %s: %s":                          "最近 %s：%s",
	"gpu at most %.4g %%":                  "GPU 最高 %.4g %%",
	"mean %.3g %%":                         "平均 %.3g %%",
	"power at most %.0f W":                 "功耗最高 %.0f W",
	"memory %s":                            "显存 %s",
	"cpu at most %.2g cores":               "CPU 最高 %.2g 核",
	"net at most %s":                       "网络最高 %s",
	"disk at most %s":                      "磁盘最高 %s",

	// Signals that are lost.
	"%s. The last that told whether it works was of %s (%s).":                                                            "%s。最近一次能判断其是否工作的信号来自 %s（%s）。",
	"Until there are signals again, nobody sees whether it works: %s say nothing of it, and nothing is stopped by them.": "在信号恢复之前，无法判断其是否工作：规则 %s 不作判断，也不会据此停止任何资源。",
	"%s: its signals are lost since %s: %s":                                                                              "%s：监控信号自 %s 起丢失：%s",
	"Nobody registered it, so no limit bounds it either.":                                                                "该实例无人登记，因此也没有任何限制。",
	"its expiry at %s": "到期时间 %s", "its cap of %s": "预算上限 %s", "its ceiling": "管理员上限",
	"It has neither an expiry nor a cap, so nothing else bounds it.": "既无到期时间也无预算上限，没有其他限制。",
	"What bounds it all the same: %s.":                               "仍然有效的限制：%s。",
}
