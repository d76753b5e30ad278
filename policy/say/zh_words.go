package say

// chineseWords is what texts of all areas are made of.
var chineseWords = map[string]string{
	// Joints.
	"%s (%s)": "%s（%s）", " (%s)": "（%s）", "%s: %s": "%s：%s", "%s: %s.": "%s：%s。", "%s.": "%s。", "; ": "；", " ": "", " or ": " 或 ",
	"%s and %d more": "%s 等，另有 %d 个",

	"at least %s": "至少 %s", "at most %s": "最多 %s", "%s per hour": "每小时 %s", "an unknown price": "未知价格",
	"less than a minute": "不到 1 分钟", "an admin": "管理员", "the account": "整个账号",

	"ask people to end": "请人工结束",
	"stop":              "停止", "release": "释放", "released": "已释放", "cap": "预算上限", "ceiling": "管理员上限",

	"Purpose: %s. Owner: %s.": "用途：%s。负责人：%s。", "%s Registered at %s.": "%s登记于 %s。", "Age: %s.": "已存在 %s。",

	// What it costs.
	"Spent %s of %s": "已花费 %s，预算上限 %s", "Spent %s": "已花费 %s", "Spent an unknown amount of %s": "已花费金额未知，预算上限 %s",
	"it bills %s per hour": "每小时计费 %s", "its price is unknown": "价格未知", "its price is not known": "价格未知",
	"It bills %s per hour.": "每小时计费 %s。",

	// What a release erases.
	"A release erases the instance and everything that is only on it.":           "释放将清除该实例以及只保存在其上的全部数据。",
	"A release erases the instance, everything that is only on it, and %s.":      "释放将清除该实例、只保存在其上的全部数据，以及 %s。",
	"It may erase %s too: the provider does not say.":                            "%s 也可能一并清除：云厂商未说明。",
	"It leaves %s, which goes on billing.":                                       "%s 会保留，并继续计费。",
	"A stop keeps its disks, and they go on billing.":                            "停止后磁盘会保留，并继续计费。",
	"The account is in observe mode, so guard does nothing. It goes on billing.": "账号处于观察模式，guard 不会执行任何操作，计费仍在继续。",

	// What becomes of a finding.
	"Still: %s": "仍未解决：%s", "Over: %s": "已解除：%s",
	"It is so since %s, and was first told at %s.": "该情况自 %s 起存在，首次通知于 %s。",
	"It lasted from %s to %s.":                     "持续时间：%s 至 %s。",

	// Many at once.
	"%s: %d × %s": "%s：%d 个%s",
	"Together they bill %s per hour, as far as is known.":             "据目前所知，合计每小时计费 %s。",
	"To claim one: guard register ACCOUNT/ID --purpose TEXT --ttl 8h": "认领：guard register ACCOUNT/ID --purpose TEXT --ttl 8h",
	"To end one: guard release ACCOUNT/ID":                            "释放：guard release ACCOUNT/ID",
	"an instance that nobody registered":                              "无人登记的实例",
	"an instance that the provider took back":                         "被云厂商收回的实例",
	"an instance whose signals are lost":                              "监控信号丢失的实例",
	"an instance that does not run and bills":                         "未运行但仍在计费的实例",
	"a thing that the provider will delete":                           "将被云厂商删除的资源",
	"a thing that renews itself":                                      "将自动续费的资源",
	"a thing that the provider bills otherwise than guard counts":     "账单与 guard 计量不符的资源",
	"a disk left behind":                                              "遗留磁盘",
	"a snapshot left behind":                                          "遗留快照",
	"an image left behind":                                            "遗留镜像",
	"an address left behind":                                          "遗留弹性 IP",
	"a file system left behind":                                       "遗留文件系统",

	"resources": "资源", "instances": "实例", "volumes": "云盘", "snapshots": "快照", "images": "镜像", "addresses": "弹性 IP", "filesystems": "文件系统",
}
