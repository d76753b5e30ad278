package say

// chineseDelivery is what is said of the way to people itself: several messages in one, and
// a channel that takes nothing.
var chineseDelivery = map[string]string{
	"%d messages: %s": "%d 条消息：%s", "%d messages: releases": "%d 条消息：释放", "%d messages of the quiet hours": "静默时段内的 %d 条消息",
	"(may repeat) %s": "（可能重复）%s", "for %s: %s": "代 %s 转告：%s", "Why: %s": "原因：%s",
	"%s takes nothing since %s: guard tells what is urgent elsewhere":                                     "自 %[2]s 起 %[1]s 收不到消息：紧急消息由 guard 改在其他渠道告知",
	"Messages that wait there: %d, %d of them urgent. They are kept, and told there once it works again.": "那里有 %d 条消息在等待，其中 %d 条紧急。消息不会丢失，恢复后会在那里告知。",
	"Until then %s is told what is urgent.":                                                               "在此之前，紧急消息改由 %s 告知。",
	"%s is told again":                                                                                    "%s 已恢复接收消息",
	"It took nothing from %s to %s. What waited is told there now.":                                       "它从 %s 到 %s 收不到消息。等待的消息现在会在那里告知。",
}
