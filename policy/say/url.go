package say

// chineseURL is what the channels of other services say themselves, and the test of them.
var chineseURL = map[string]string{
	"… (cut)": "…（已截断）", "%s guard show tells all of it": "%s 完整内容见 guard show",
	"For %s": "请 %s 查看",
	"The mail server does not take %s: change to= under notify.urls.": "邮件服务器不接受 %s：请修改 notify.urls 里的 to=。",

	"guard can reach you here":                                  "guard 能在这里通知到你",
	"This is a test: somebody ran guardd notify test.":          "这是一条测试消息：有人运行了 guardd notify test。",
	"What guard has to say comes here. There is nothing to do.": "guard 的通知会发到这里。现在不需要做任何事。",
}
