package say

// chineseOrphans is about what is left behind.
var chineseOrphans = map[string]string{
	"a disk": "磁盘", "a snapshot": "快照", "an image": "镜像", "an address": "弹性 IP", "a file system": "文件系统",

	"whether its disk is there is not known until there is a complete list": "在取得完整列表之前，无法得知其磁盘是否存在",
	"it may have gone as well: it was not seen since":                       "它可能也已不存在：此后未再看到",
	"%s: %s left behind; %s":                                                "%s：遗留的%s；%s",
	"%s: %s left behind, %d GB; %s":                                         "%s：遗留的%s，%d GB；%s",
	"%s, if it is still there":                                              "%s（如仍存在）",
	"guard does not delete it. Whoever needs it no more can delete it at the provider; a protect tag keeps guard silent.": "guard 不会删除。如不再需要，请在云厂商控制台删除；加上保护标签后 guard 不再提醒。",
	"guard does not delete it: %s.":                             "guard 不会删除：%s。",
	"The account is in observe mode: guard will not delete it.": "账号处于观察模式：guard 不会删除。",
	"%s; guard will delete it at %s":                            "%s；guard 将于 %s 删除",
	"What is on it is lost then.":                               "届时其上的数据将丢失。",
	"To keep it: guard veto %s %s, or a protect tag.":           "如需保留：guard veto %s %s，或加上保护标签。",
	"%s: would delete now: left behind since %s":                "%s：此刻本应删除：自 %s 起遗留",
	"Whether it is still there is not known: guard has not seen it since %s, and what is in %s is not listed.": "是否仍存在未知：guard 自 %s 起未再看到它，其所在范围（%s）未被列出。",
	"Whether something else needs it is not known: the provider does not tell everything that may.":            "是否有其他资源需要它未知：云厂商未告知全部依赖。",
	"it costs %s a month":                  "每月 %s",
	"%s made it (%s, by the tag %s)":       "创建者：%s（%s，依据标签 %s）",
	"Kubernetes made it (by its name, %s)": "创建者：Kubernetes（依据名称 %s）",

	// What became of what it was for.
	"It was made from a disk of %s, which is gone since %s (%s).": "由 %s 的磁盘创建，该实例已于 %s 消失（%s）。",
	"no provider deletes %s with its instance":                    "云厂商都不会随实例删除%s",
	"Nothing uses it since %s.":                                   "自 %s 起未被使用。",
	"It has hung on nothing since guard first saw it at %s.":      "自 guard 于 %s 首次看到以来，未挂载到任何实例。",
	"It was on %s, which is gone since %s (%s).":                  "曾挂载在 %s，该实例已于 %s 消失（%s）。",
	"It was on %s and was detached at %s.":                        "曾挂载在 %s，已于 %s 卸载。",
	"it was detached before the instance went":                    "在实例消失之前已卸载",
	"No instance that guard sees was started from it.":            "guard 所见的实例都不是由它启动的。",
	"The provider does not tell which disk it was made from.":     "云厂商未告知它由哪块磁盘创建。",
	"It was made from the disk %s, which is gone since %s.":       "由磁盘 %s 创建，该磁盘已于 %s 消失。",
	"It was made from the disk %s, which is not there.":           "由磁盘 %s 创建，该磁盘不存在。",
	"It is not left behind: %s.":                                  "并非遗留资源：%s。",
	"it was not set to go with its instance":                      "未设置随实例释放",
	"it was to go with its instance, and did not":                 "本应随实例释放，但未释放",
	"whether it goes with its instance was not told":              "未得知是否随实例释放",

	// Many of them.
	"older than 180 days": "超过 180 天", "90 to 180 days old": "90 至 180 天", "30 to 90 days old": "30 至 90 天",
	"7 to 30 days old": "7 至 30 天", "younger than 7 days": "不到 7 天",
	"made by %s, %s": "创建者：%s，%s", "%d %s: %s.": "%d 个，%s：%s。",
	"guard findings shows each of them.":     "逐一查看：guard findings",
	"what they cost is not known":            "费用未知",
	"%s a month, and %d of an unknown price": "每月 %s，另有 %d 个价格未知",
	"%s a month":                             "每月 %s",
}
