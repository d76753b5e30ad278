package say

import (
	"strings"

	"guard"
)

// Rule is a rule in words, as a list of what is wrong names it.
func Rule(lang guard.Lang, r guard.Rule) string {
	return In(lang, strings.ReplaceAll(string(r), "_", " "))
}

// chineseRules are the rules in words.
var chineseRules = map[string]string{
	"expired": "已到期", "budget warning": "预算预警", "budget exceeded": "超出预算", "ceiling reached": "到达管理员上限", "ceiling blind": "上限无法判断",
	"unregistered": "未登记", "expected missing": "预期的资源未出现", "reclaimed": "被云厂商收回", "orphan volume": "遗留的云盘", "price unknown": "价格未知",
	"price changed": "价格变动", "unit mismatch": "计价单位不符", "scope blind": "区域不可见", "account unreachable": "账号无法访问", "account mismatch": "账号不符",
	"release blocked": "释放受阻", "release stalled": "释放停滞", "clock jump": "时钟跳变", "backup failed": "备份失败", "disk filling": "磁盘将满",
	"idle empty": "空闲：无任务", "idle resident": "空闲：已加载未运行", "idle blind": "疑似空闲：看不到进程", "parked": "GPU 在等待", "hung": "任务卡死",
	"underused": "GPU 利用不足", "phantom": "虚假占用", "signals lost": "监控信号丢失", "stopped billing": "已停止但仍计费", "provisioning long": "创建过久",
	"orphan snapshot": "遗留的快照", "orphan image": "遗留的镜像", "orphan address": "遗留的 IP 地址", "orphan filesystem": "遗留的文件系统", "relaunched": "被重新拉起",
	"egress spike": "出口流量激增", "counter jump": "计数器跳变", "balance low": "余额不足", "provider reclaim": "将被云厂商删除", "renews soon": "即将自动续费",
	"charge mismatch": "账单不符", "protect ambiguous": "保护标签不明确",
}
