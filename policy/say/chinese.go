package say

import "guard"

// chinese is Simplified Chinese; its parts are by area. An English text that several areas
// say has one translation: TestCatalogue fails where two differ.
//
// Glossary. One word for one thing, as the consoles of Chinese clouds have it:
//
//	account 账号            budget, cap 预算上限        ceiling 管理员上限
//	provider 云厂商         spend, spent 花费、已花费    charge, bill 账单
//	instance 实例           balance 余额               price 价格
//	disk 磁盘, volume 云盘   renew 续费                 paid ahead 预付
//	snapshot 快照           expiry 到期                grace 宽限期
//	image 镜像              notice 预告                due 应执行、到点
//	address 弹性 IP         release 释放               stop 停止
//	file system 文件系统     hold 暂缓                  veto 否决
//	spot request 竞价请求    snooze 静音                protect 保护
//	reclaimed 被云厂商收回   register, lease 登记        claim 认领
//	left behind 遗留        purpose 用途               owner 负责人
//	idle 空闲               signals 监控信号            sample 采样
//	traffic 流量            counter 计数器              ledger 账本
//	observe mode 观察模式    enforce mode 执行模式       backup 备份
//
// What a person types stays as it is typed: guard extend, may_release, ACCOUNT/ID, names
// of rules, tags, currency codes.
var chinese = together(chineseParts...)

var chineseParts = []map[string]string{
	chineseKept, chineseWords, chineseLimits, chineseMoney, chineseInstances, chineseIdle,
	chineseOrphans, chineseAccounts, chinesePrepaid, chineseReleases, chineseDaemon,
	chineseExplain, chineseReport, chineseSlack, chinesePeople, chineseURL, chineseDelivery, chineseRules,
}

// kept are the phrases that are recognised where they were kept in English: see [Kept].
var kept = map[guard.Lang]map[string]string{guard.Chinese: together(chineseKept, chineseComposed)}
