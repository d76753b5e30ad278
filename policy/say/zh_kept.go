package say

// chineseKept is what the ledger keeps in English, and what samples are kept with: it is
// recognised when it is told. See [Kept].
var chineseKept = map[string]string{
	// Why something is released or stopped.
	"its time is up": "登记已到期", "its cap of %s is reached": "达到预算上限 %s", "its ceiling of %s": "管理员上限 %s", "%s is reached": "达到%s",
	"left behind since %s (%s)":             "自 %s 起遗留（%s）",
	"%s since %s (%s)":                      "自 %[2]s 起%[1]s（%[3]s）",
	"it sends far more than usual since %s": "自 %s 起流量远超平时",
	"stopped":                               "已停止", "stopped by the platform": "被平台停止", "stopped but billing as if it ran": "已停止但仍按运行计费", "paused (%s) but paying": "已暂停（%s）但仍在付费",

	// Why it is not, any more.
	"no limit calls for it any more": "已没有限制要求执行", "no rule calls for it any more": "已没有规则要求执行", "nothing calls for it any more": "已没有理由执行",
	"it is gone already": "资源已不存在", "it is gone": "资源已不存在", "the cause is gone": "阻碍已消除", "its lease has ended": "登记已结束", "it runs again": "已重新运行",
	"the account is in observe mode": "账号处于观察模式", "it is protected": "已受保护", "it is held until %s": "已暂缓至 %s",
	"its limits were changed by %s": "限制已由 %s 修改", "its limit asks for %s now, not %s": "其限制现要求%s，而非%s",
	"its traffic is down": "流量已回落", "nothing tells any more whether it works": "已无法得知其是否工作",
	"it works again: %s at %s": "已恢复工作：%s，%s", "whether it is idle cannot be told: %s": "无法判断是否空闲：%s", "it is quiet only since %s": "自 %s 起才空闲",
	"the rule %s is vetoed until %s by %s": "规则 %[1]s 已被 %[3]s 否决至 %[2]s",
	"it is used by %s":                     "正被 %s 使用", "it is on %s": "挂载在 %s", "its disk %s is there": "其磁盘 %s 仍存在",
	"it is %s's to delete": "应由 %s 删除", "it is reserved, which is on purpose": "已被保留，属有意为之", "the provider protects it": "云厂商已开启保护",

	// Why guard does not act, or only tells.
	"guard never touches it: %s":                                                         "guard 从不操作该资源：%s",
	"it is protected, so guard only tells: %s":                                           "已受保护，因此 guard 仅通知：%s",
	"nobody registered it, so guard only tells":                                          "无人登记，因此 guard 仅通知",
	"its on_limit is alert, so guard only tells":                                         "其 on_limit 为 alert，因此 guard 仅通知",
	"what its traffic costs is not known, so guard only tells":                           "流量费用未知，因此 guard 仅通知",
	"this provider cannot stop it, so guard only tells":                                  "该云厂商不支持停止，因此 guard 仅通知",
	"a stop would save nothing here, so guard only tells":                                "在此处停止不省钱，因此 guard 仅通知",
	"it is stopped already, and what is left of it goes on billing, so guard only tells": "已停止，剩余部分仍在计费，因此 guard 仅通知",
	"guard runs on it":                       "guard 运行在该实例上",
	"another guard (deployment %s) keeps it": "由另一个 guard（部署 %s）管理",
	"another guard (deployment %s) kept it until %s, and that counts until %s":                   "%[2]s 之前由另一个 guard（部署 %[1]s）管理，在 %[3]s 之前仍算数",
	"another guard (deployment %s) kept %s, which it was on":                                     "另一个 guard（部署 %s）曾管理它所挂载的 %s",
	"the provider does not tell its tags, so nobody knows whose it is":                           "云厂商未告知标签，无法得知归谁所有",
	"it was never seen on a leased instance, and may_release is for those and what hung on them": "从未在已登记的实例上看到它，而 may_release 只针对已登记的实例及其挂载的资源",
	"it was never seen on a leased instance, so that nobody has allowed it":                      "从未在已登记的实例上看到它，因此没有人授权",
	"it is of %s: %s":                                                              "属于 %s：%s",
	"nobody knows whether it is still there":                                       "无法得知是否仍存在",
	"the provider says that it still hangs on %s":                                  "云厂商称它仍挂载在 %s",
	"the provider does not tell everything that may need it":                       "云厂商未告知全部依赖",
	"nobody knows whether it has a GPU, and may_release allows GPU instances only": "无法得知是否有 GPU，而 may_release 仅允许 GPU 实例",
	"it has no GPU, and may_release allows GPU instances only":                     "没有 GPU，而 may_release 仅允许 GPU 实例",
	"may_release of the account does not allow GPU instances":                      "该账号的 may_release 不允许 GPU 实例",
	"may_release of the account asks for the tag %s=%s, which it does not have":    "该账号的 may_release 要求标签 %s=%s，而该资源没有",
	"protected by %s": "由 %s 保护", "the tag %s=%s protects it": "由标签 %s=%s 保护",
	"%s: it is missing since %s, and that counts from %s": "%s：该标签自 %s 起缺失，自 %s 起生效",
	"ambiguous protect tag: %q=%q looks like %s=%s":       "保护标签不明确：%q=%q 与 %s=%s 相似",

	// What stands in the way of a release.
	"no account of this name is configured":                   "配置中没有该名称的账号",
	"it cannot be read: %s":                                   "无法读取：%s",
	"the credentials belong to another account":               "凭证属于另一个账号",
	"the ID names another thing than the one registered":      "该 ID 指向的资源与登记时不同",
	"the provider's own protection is on":                     "云厂商的释放保护已开启",
	"no reason is told":                                       "未告知原因",
	"guard acts nowhere until somebody says guard resume: %s": "guard 已暂停一切执行，直到有人运行 guard resume：%s",

	"its deadline has stood since %s only, not for the grace of %s before it was due, and too many such releases came within an hour": "其截止时间自 %s 起才确定，未满执行前 %s的宽限期，且一小时内此类释放过多",

	// Why everything gets fresh notice, and why guard is paused.
	"guard was away":                                   "guard 曾离线",
	"the configuration was changed":                    "配置已变更",
	"the account was switched from observe to enforce": "账号已由观察模式切换为执行模式",
	"the time that guard went by was put back":         "guard 采用的时间曾被调慢",

	"its ledger was restored from %s":                                                       "其账本由 %s 恢复",
	"its ledger was restored from %s, whose last entry is of %s":                            "其账本由 %s 恢复，最后一条记录来自 %s",
	"its ledger woke up on another machine (%s, before it was %s) at %s":                    "其账本于 %[3]s 在另一台机器上启动（%[1]s，之前是 %[2]s）",
	"another guard with a copy of its ledger acts in account %s: its mark (%s %s) is on %s": "另一个 guard 持有其账本副本，正在账号 %s 中执行：标记（%s %s）在 %s 上",

	// How a thing went, and its proof.
	"released by guard": "已由 guard 释放", "taken back by the provider": "已被云厂商收回", "ended by the platform": "被平台结束", "ended by somebody else": "由他人结束",
	"terminal state": "云厂商显示已终止", "absence only": "仅凭不再出现", "the provider's own charge": "云厂商自己的账单", "seen stopped": "确认已停止",

	// What has no known price.
	"%s: no known price since %s": "%s：自 %s 起价格未知", "%s: bills in %s since %s": "%[1]s：自 %[3]s 起以 %[2]s 计费",

	// Why a provider deletes something.
	"stopped for 15 days": "停止满 15 天", "stopped for 7 days": "停止满 7 天", "paid until then and not renewed": "到期未续费",
	"two days after its host's offer ends, which stops it": "主机的出租结束并停止它两天之后",

	// Words.
	"adopted: nobody registered it": "代为登记：无人登记",
	"instance":                      "实例", "volume": "云盘", "snapshot": "快照", "image": "镜像", "address": "弹性 IP", "filesystem": "文件系统",
	"provisioning": "创建中", "running": "运行中", "stopping": "停止中", "releasing": "释放中", "gone": "已不存在", "unknown": "未知",
	"observe": "观察", "enforce": "执行", "not told": "未填写",
	"a cluster": "集群", "a backup tool": "备份工具", "the CSI driver": "CSI 驱动",

	// Samples.
	"no sample came since": "此后没有采样", "no GPU is told of": "没有 GPU 数据",
	"%s is not told any more": "不再有 %s 数据", "gpu %s is not told of": "没有 GPU %s 的数据", "util of gpu %s is not told": "没有 GPU %s 的利用率",
	"util of gpu %s is not told (MIG)":                                                                      "没有 GPU %s 的利用率（MIG）",
	"energy counter of gpu %s stands still while it draws power: the exporter is frozen":                    "GPU %s 有功耗而能耗计数器不动：采集器已卡住",
	"util of gpu %s is next to 0 at a power that only work draws: inconsistent":                             "GPU %s 的利用率接近 0，而功耗只有工作时才会这么高：数据矛盾",
	"profiling metrics (engine, tensor, dram active) of gpu %s are stuck at 0 while it works: inconsistent": "GPU %s 工作时性能指标（engine、tensor、dram）始终为 0：数据矛盾",
	"pinned at next to no power, without disk or network":                                                   "利用率满而几乎无功耗，磁盘和网络均无活动",
	"utilisation, and no GPU process alive":                                                                 "有利用率而没有存活的 GPU 进程",
	"memory held, and no process alive that holds it":                                                       "显存被占用而没有存活的进程",
	"gpu %s did nothing and holds nothing":                                                                  "GPU %s 未工作且未占用显存",
	"gpu %s":                                                                                                "GPU %s", "gpu in %s of readings": "%s 的读数中 GPU 在工作", "gpu engine, tensor or memory active %s": "GPU engine、tensor 或显存活跃 %s",
	"gpu memory moved by %s": "显存变化 %s", "gpu power %.0f W above its rest": "GPU 功耗高于静息 %.0f W",
	"%s in": "入流量 %s", "%s out": "出流量 %s", "%s disk": "磁盘 %s", "input %s": "终端输入于%s", "heartbeat %s": "心跳于%s", "%s ago": "%s前",
	"cpu %.1f cores": "CPU %.1f 核",
	"low confidence: nobody tells of its CPU, network and disk, so a download or a build would go unseen": "可信度低：没有 CPU、网络和磁盘数据，看不到下载或编译",
	"low confidence: somebody is logged in, and nobody tells when they last typed":                        "可信度低：有人登录，但不知最近何时输入",
	"low confidence: one instant each %s misses what is between":                                          "可信度低：每 %s一次瞬时读数，会漏掉其间的活动",
	"low confidence: work came after pauses of %s, and single instants may miss it":                       "可信度低：工作曾在停顿 %s后恢复，瞬时读数可能漏掉",
	"low confidence: one instant each %s misses bursts, until %d of them were quiet (%s)":                 "可信度低：每 %s一次瞬时读数会漏掉突发，需连续 %d 次空闲（%s）",
	"empty": "未加载", "resident": "已加载未运行", "blind": "看不到进程", "instant": "瞬时值", "average": "平均值", "summary": "汇总值",
	"cpu": "CPU", "net": "网络", "disk": "磁盘", "processes": "进程", "memory": "显存", "power": "功耗",
}

// chineseComposed are kept phrases that are made of several texts, or by another package.
var chineseComposed = map[string]string{
	"stop": "停止", "release": "释放", "alert": "仅通知", "released": "已释放",
	"planned": "已计划", "noticed": "已预告", "intended": "即将执行", "issued": "已请求", "blocked": "受阻", "withdrawn": "已撤销",
	"confirmed by %s": "由 %s 确认",
	"guard's machine was started anew, and no provider's own time says yet that it is so late; it is due at %s": "guard 所在机器已重启，尚无云厂商的时间能确认已到点；应于 %s 执行",
	"guard was away or asleep since %s": "guard 自 %s 起离线或休眠",
	"its time is up (%s)":               "登记已到期（%s）", "its cap of %s is reached (%s)": "达到预算上限 %s（%s）", "its ceiling of %s is reached (%s)": "达到管理员上限 %s（%s）",
	"its cap is exceeded (%s)":                                           "已超出预算上限（%s）",
	"idle since %s, with nothing loaded":                                 "自 %s 起空闲，未加载任何内容",
	"idle since %s, with something loaded":                               "自 %s 起空闲，已加载内容但未运行",
	"idle since %s, and nobody tells what is loaded":                     "自 %s 起空闲，无法得知加载了什么",
	"idle since %s, and what is loaded comes and goes":                   "自 %s 起空闲，加载的内容时有时无",
	"idle since %s, with memory held and no process alive that holds it": "自 %s 起空闲，显存被占用但没有存活的进程",
	"its GPUs wait since %s (%s)":                                        "自 %s 起其 GPU 在等待（%s）",
	"it looks hung since %s (%s)":                                        "自 %s 起疑似卡死（%s）",
	"%d of %d GPUs unused since %s":                                      "自 %[3]s 起共 %[2]d 张 GPU，%[1]d 张未使用",
	"stopped since %s (%s)":                                              "自 %s 起已停止（%s）",
	"stopped by the platform since %s (%s)":                              "自 %s 起被平台停止（%s）",
	"stopped but billing as if it ran since %s (%s)":                     "自 %s 起已停止但仍按运行计费（%s）",
	"paused (%s) but paying since %s (%s)":                               "自 %[2]s 起已暂停（%[1]s）但仍在付费（%[3]s）",
	"the rule %s is vetoed until %s by %s: %s":                           "规则 %[1]s 已被 %[3]s 否决至 %[2]s：%[4]s",
	"ordered by %s":                                                      "由 %s 下达", "ordered by %s: %s": "由 %s 下达：%s",
	"%s, %s came in so far": "%s，已传入 %s",
	"unavailable: the disk is filling up: %s of %s are left under the ledger (it has %s): guard works; make room before it cannot write down what it does any more": "磁盘将满：账本所在磁盘 %[2]s 只剩 %[1]s（账本占用 %[3]s）：guard 仍在工作；请尽快腾出空间，否则将无法记录操作",
}
