package say

// chineseSlack is what the Slack channel says itself: the card, the buttons, the times.
var chineseSlack = map[string]string{
	// Joints.
	", ":                           "、",
	"… guard show tells all of it": "… 完整内容见 guard show", "(no title)": "（无标题）",

	// Times and lengths.
	"today %s": "今天 %s", "tomorrow %s": "明天 %s", "yesterday %s": "昨天 %s",
	"%[1]s %[2]d %[3]s %[4]s": "%[3]s%[2]d日（%[1]s）%[4]s", "%[1]s %[2]d %[3]s %[5]d %[4]s": "%[5]d年%[3]s%[2]d日（%[1]s）%[4]s",
	"Mon": "周一", "Tue": "周二", "Wed": "周三", "Thu": "周四", "Fri": "周五", "Sat": "周六", "Sun": "周日",
	"Jan": "1月", "Feb": "2月", "Mar": "3月", "Apr": "4月", "May": "5月", "Jun": "6月",
	"Jul": "7月", "Aug": "8月", "Sep": "9月", "Oct": "10月", "Nov": "11月", "Dec": "12月",
	"%[1]s (%[2]s)": "%[1]s（%[2]s）", "in %s": "%s后", "%s ago": "%s前", "now": "现在",

	// The card: its fields.
	"What: %s": "资源：%s", "Whose: %s": "负责人：%s", "Purpose: %s": "用途：%s", "So far: %s": "已花费：%s", "Per hour: %s": "每小时：%s",
	"Next: %s": "接下来：%s", "On hold until %s": "暂缓至 %s", "Snoozed until %s": "静音至 %s", "Open: %s": "未解决：%s",
	"team %s": "团队 %s", "spot": "竞价", "unknown": "未知", "state unknown": "状态未知", "%s of %s": "%s，上限 %s", "unknown, of %s": "未知，上限 %s",
	"nobody has registered it": "无人登记", "not told": "未填写",

	// The states.
	"provisioning": "创建中", "running": "运行中", "stopping": "停止中", "stopped": "已停止", "releasing": "释放中", "gone": "已不存在",

	// What happens when.
	"nothing is due": "暂无安排", "stops %s": "%s停止", "is released %s": "%s释放", "reaches its limit %s": "%s到达上限", "%[1]s: %[2]s": "%[1]s：%[2]s",
	"its release is blocked": "释放受阻", "its stop is blocked": "停止受阻", "being released": "正在释放", "being stopped": "正在停止",
	"released by guard": "已由 guard 释放", "taken back by the provider": "已被云厂商收回", "ended outside guard": "已在 guard 之外结束", "ended by the provider": "已被云厂商结束",
	"expiry": "到期", "budget": "预算", "ceiling": "管理员上限", "a person's order": "人工指令", "idle": "空闲",
	"stopped and billing": "已停止但仍计费", "egress": "出口流量", "left behind": "遗留资源",
	"permission": "权限不足", "protected": "受保护", "another account": "账号不符", "account not configured": "账号未配置", "not the same thing": "不是同一个资源",
	"too many at once": "一次过多", "clock not trusted": "时钟不可信", "cannot be read": "无法读取", "a person must do it": "需要人工处理",

	// Buttons.
	"Extend %s": "延长 %s", "Hold %s": "暂缓 %s", "Veto %s": "否决 %s", "Snooze %s": "静音 %s",
	"Extend …": "延长…", "Hold …": "暂缓…", "Veto …": "否决…", "Snooze …": "静音…",
	"Release now": "立即释放", "Register this": "登记", "Show why": "查看原因", "I look after it": "我来处理",

	// The last line.
	"as of %s": "截至 %s",
}
