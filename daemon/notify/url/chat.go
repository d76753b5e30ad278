package url

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"guard"
)

// services are those that take JSON over HTTP, by scheme.
var services = map[string]*service{
	"alertmanager": alertmanager,
	"dingtalk":     dingtalk,
	"discord":      discord,
	"feishu":       feishu("feishu", "open.feishu.cn"),
	"generic":      generic,
	"lark":         feishu("lark", "open.larksuite.com"),
	"ntfy":         ntfy,
	"pagerduty":    pagerduty,
	"teams":        teams,
	"telegram":     telegram,
	"wecom":        wecom,
}

// object is one of JSON.
type object map[string]any

// coded reads the answers of services that answer 200 to everything and say in the body
// what came of it: 0 is a yes. A code that is not in kinds refuses the one message.
func coded(code *int, kinds map[int]error) (reply, bool) {
	if code == nil {
		return reply{}, false
	}
	if *code == 0 {
		return reply{}, true
	}
	kind := kinds[*code]
	if kind == nil {
		kind = guard.ErrInvalid
	}
	return reply{kind: kind, code: strconv.Itoa(*code)}, true
}

// feishu is a custom bot of a group in Feishu or Lark. Limits and codes are those of
// open.feishu.cn/document/client-docs/bot-v3/add-custom-bot: 100 posts a minute, 20 KB. A
// text of a post, unlike that of a plain message, knows no tags.
func feishu(scheme, host string) *service {
	kinds := map[int]error{
		11232:    guard.ErrThrottled,
		99991400: guard.ErrThrottled,
		19001:    guard.ErrNotFound,   // no such hook
		19021:    guard.ErrPermission, // signature, or an old time stamp
		19022:    guard.ErrPermission, // not from this address
		19024:    guard.ErrPermission, // its keyword is missing
	}
	return &service{
		form: scheme + "://" + host + "/open-apis/bot/v2/hook/TOKEN?secret=SIGNING_KEY",
		pace: time.Second,
		room: room{all: 16_000, title: 300, each: 40, size: quoted},
		make: func(a *address) (build, error) {
			key := a.take("secret")
			if !strings.Contains(a.Path, "/hook/") {
				return nil, errors.New("this is no address of a bot")
			}
			to := a.same()
			return func(p post) request {
				var rows [][]object
				for _, l := range p.body() {
					rows = append(rows, []object{{"tag": "text", "text": l}})
				}
				locale := "en_us"
				if p.Lang == guard.Chinese {
					locale = "zh_cn"
				}
				body := object{"msg_type": "post", "content": object{"post": object{locale: object{"title": p.title, "content": rows}}}}
				if key != "" {
					stamp := strconv.FormatInt(p.at.Unix(), 10)
					body["timestamp"], body["sign"] = stamp, signed(stamp+"\n"+key, "")
				}
				return request{to: to, body: body}
			}, nil
		},
		read: func(body []byte) (reply, bool) {
			var in struct {
				Code   *int `json:"code"`
				Status *int `json:"StatusCode"` // of the hooks before v2
			}
			if !decode(body, &in) {
				return reply{}, false
			}
			if in.Code == nil {
				in.Code = in.Status
			}
			return coded(in.Code, kinds)
		},
		todo: map[error]string{guard.ErrPermission: "check the signing key (secret=), the bot's keywords and addresses, and this machine's clock"},
	}
}

// dingtalk is a custom bot of a group in DingTalk: 20 posts a minute, beyond which it is
// muted for ten, and 20 KB each (open.dingtalk.com/document/robots/custom-robot-access).
var dingtalk = &service{
	form: "dingtalk://oapi.dingtalk.com/robot/send?access_token=TOKEN&secret=SIGNING_KEY",
	pace: 3100 * time.Millisecond,
	room: room{all: 18_000, each: 2, size: quoted},
	rest: 10 * time.Minute,
	make: func(a *address) (build, error) {
		key := a.take("secret")
		if a.query.Get("access_token") == "" {
			return nil, errors.New("it has no access_token")
		}
		return func(p post) request {
			var sign map[string]string
			if key != "" {
				stamp := strconv.FormatInt(p.at.UnixMilli(), 10)
				sign = map[string]string{"timestamp": stamp, "sign": signed(key, stamp+"\n"+key)}
			}
			return request{to: a.to(a.Path, sign), body: object{
				"msgtype": "text", "text": object{"content": p.text()}, "at": object{"isAtAll": false}}}
		}, nil
	},
	read: func(body []byte) (reply, bool) {
		var in struct {
			Code *int `json:"errcode"`
		}
		if !decode(body, &in) {
			return reply{}, false
		}
		return coded(in.Code, map[int]error{
			-1:     guard.ErrUncertain, // busy
			130101: guard.ErrThrottled,
			302033: guard.ErrThrottled,
			410100: guard.ErrThrottled,
			90030:  guard.ErrThrottled,
			310000: guard.ErrPermission, // signature, keyword or address
			300001: guard.ErrNotFound,
			300005: guard.ErrNotFound, // no such token
			400013: guard.ErrNotFound, // the group is gone
			400101: guard.ErrNotFound,
			400102: guard.ErrNotFound, // the bot is switched off
			400106: guard.ErrNotFound,
		})
	},
	todo: map[error]string{guard.ErrPermission: "check the signing key (secret=), the bot's keywords and addresses, and this machine's clock"},
}

// wecom is a bot of a group in WeCom: 20 posts a minute, 2,048 bytes of text each
// (developer.work.weixin.qq.com/document/path/91770).
var wecom = &service{
	form: "wecom://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=KEY",
	pace: 3100 * time.Millisecond,
	room: room{all: 2048, each: 1},
	rest: time.Minute,
	make: func(a *address) (build, error) {
		if a.query.Get("key") == "" {
			return nil, errors.New("it has no key")
		}
		to := a.same()
		return func(p post) request {
			return request{to: to, body: object{"msgtype": "text", "text": object{"content": p.text(), "mentioned_list": []string{}}}}
		}, nil
	},
	read: func(body []byte) (reply, bool) {
		var in struct {
			Code *int `json:"errcode"`
		}
		if !decode(body, &in) {
			return reply{}, false
		}
		return coded(in.Code, map[int]error{
			-1:    guard.ErrUncertain, // busy
			45009: guard.ErrThrottled,
			45033: guard.ErrThrottled,
			93000: guard.ErrNotFound, // no such webhook
			93004: guard.ErrNotFound, // the bot is removed
			93008: guard.ErrNotFound, // it is not in the group
			40001: guard.ErrPermission,
			41001: guard.ErrPermission,
			42001: guard.ErrPermission,
		})
	},
}

// telegram is a bot in a chat: 20 posts a minute in a group, 4,096 characters each
// (core.telegram.org/bots/api, core.telegram.org/bots/faq).
var telegram = &service{
	form: "telegram://api.telegram.org/botTOKEN?chat_id=CHAT",
	pace: 3100 * time.Millisecond,
	room: room{all: 4096, each: 1, size: units},
	make: func(a *address) (build, error) {
		chat, topic := a.take("chat_id"), a.take("message_thread_id")
		if !strings.HasPrefix(a.Path, "/bot") || strings.Count(a.Path, "/") != 1 || chat == "" {
			return nil, errors.New("a token or a chat is missing")
		}
		if err := a.unknown(); err != nil {
			return nil, err
		}
		room, err := strconv.Atoi(cmp.Or(topic, "0"))
		if err != nil {
			return nil, errors.New("message_thread_id= is no number")
		}
		to := a.to(a.Path+"/sendMessage", nil)
		return func(p post) request {
			body := object{"chat_id": chat, "text": p.text(), "link_preview_options": object{"is_disabled": true}}
			if room != 0 {
				body["message_thread_id"] = room
			}
			// Messages of one instance answer its first one.
			root, in := strings.CutPrefix(p.under, chat+"|")
			if n, err := strconv.Atoi(root); in && err == nil {
				body["reply_parameters"] = object{"message_id": n, "allow_sending_without_reply": true}
			}
			return request{to: to, body: body, thread: func(receipt string) string {
				if in {
					return p.under
				}
				return chat + "|" + receipt
			}}
		}, nil
	},
	read: func(body []byte) (reply, bool) {
		var in struct {
			OK     bool `json:"ok"`
			Code   int  `json:"error_code"`
			Result struct {
				ID int `json:"message_id"`
			} `json:"result"`
			Why string `json:"description"`
		}
		switch {
		case !decode(body, &in), in.OK && in.Result.ID == 0, !in.OK && in.Code == 0:
			return reply{}, false
		case in.OK:
			return reply{receipt: strconv.Itoa(in.Result.ID)}, true
		}
		out := reply{kind: kindOf(in.Code), code: strconv.Itoa(in.Code)}
		for _, lost := range []string{"chat not found", "chat_id is empty", "upgraded to a supergroup", "not enough rights", "PEER_ID_INVALID"} {
			if strings.Contains(in.Why, lost) {
				out.kind = guard.ErrNotFound
			}
		}
		return out, true
	},
	todo: map[error]string{
		guard.ErrNotFound:   "check the token and chat_id=, and that the bot is in the chat and may post there",
		guard.ErrPermission: "put the bot into the chat again, or check its token",
	},
}

// discord is a webhook of a channel: 30 posts a minute, 2,000 characters each
// (discord.com/developers/docs/resources/webhook#execute-webhook).
var discord = &service{
	form: "discord://discord.com/api/webhooks/ID/TOKEN",
	pace: 2100 * time.Millisecond,
	room: room{all: 2000, each: 1, size: units, mark: func(r rune) string {
		if strings.ContainsRune("\\*_~`|<>[]#", r) {
			return `\` + string(r)
		}
		return string(r)
	}},
	make: func(a *address) (build, error) {
		if !strings.Contains(a.Path, "/webhooks/") {
			return nil, errors.New("this is no address of a webhook")
		}
		to := a.to(a.Path, map[string]string{"wait": "true"}) // answers with the message
		const noPreviews = 1 << 2
		return func(p post) request {
			return request{to: to, body: object{"content": p.text(), "flags": noPreviews, "allowed_mentions": object{"parse": []string{}}}}
		}, nil
	},
	read: named,
}

// named reads an answer that is the message, by its ID, or else an error, by its code.
func named(body []byte) (reply, bool) {
	var in struct {
		ID   string `json:"id"`
		Code int    `json:"code"`
	}
	if !decode(body, &in) || in.ID == "" && in.Code == 0 {
		return reply{}, false
	}
	if in.ID != "" {
		return reply{receipt: in.ID}, true
	}
	return reply{code: strconv.Itoa(in.Code)}, true
}

// teams is a workflow of Microsoft Teams that posts what its webhook gets: 28 KB each
// (learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors). Its text runs,
// unlike its text blocks, know no markup.
var teams = &service{
	form: "teams://HOST/workflows/…/invoke?…&sig=…",
	pace: time.Second,
	room: room{all: 20_000, each: 110, size: quoted},
	make: func(a *address) (build, error) {
		if len(a.query) == 0 || a.Path == "" {
			return nil, errors.New("this is no address of a workflow")
		}
		to := a.same()
		return func(p post) request {
			blocks := []object{run(p.title, object{"weight": "bolder"})}
			for _, l := range p.lines {
				blocks = append(blocks, run(l, nil))
			}
			card := object{"type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "version": "1.4", "body": blocks}
			return request{to: to, body: object{"type": "message", "attachments": []object{
				{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}}}
		}, nil
	},
	read: func(body []byte) (reply, bool) {
		// A connector that could not deliver says so in a sentence, with status 200.
		if at := strings.Index(string(body), "HTTP error "); at >= 0 {
			n, _ := strconv.Atoi(strings.TrimSpace(string(body[at+11:])[:min(3, len(body)-at-11)]))
			return reply{kind: kindOf(n), code: "HTTP-" + strconv.Itoa(n)}, true
		}
		return loose(body)
	},
}

// run is one line of a card.
func run(text string, more object) object {
	part := object{"type": "TextRun", "text": text}
	for k, v := range more {
		part[k] = v
	}
	return object{"type": "RichTextBlock", "inlines": []object{part}}
}

// ntfy is a topic of ntfy: 60 posts, then one every 5 s, 4,096 bytes each
// (docs.ntfy.sh/publish).
var ntfy = &service{
	form: "ntfy://ntfy.sh/TOPIC, with TOKEN@ or USER:PASSWORD@ before the host where it wants one",
	open: true,
	pace: 5 * time.Second,
	room: room{all: 4000, title: 200, each: 1},
	make: func(a *address) (build, error) {
		base, topic := a.Path, ""
		if i := strings.LastIndexByte(a.Path, '/'); i >= 0 {
			base, topic = a.Path[:i+1], a.Path[i+1:]
		}
		if topic == "" {
			return nil, errors.New("it names no topic")
		}
		if err := a.unknown(); err != nil {
			return nil, err
		}
		to, user := a.to(base, nil), a.User
		var header map[string]string
		if user != nil {
			if _, both := user.Password(); !both {
				header, user = map[string]string{"Authorization": "Bearer " + user.Username()}, nil
			}
		}
		const low, usual, most = 2, 3, 5
		return func(p post) request {
			priority := usual
			switch {
			case p.Urgent:
				priority = most
			case p.Waits:
				priority = low
			}
			return request{to: to, header: header, user: user, body: object{
				"topic": topic, "title": p.title, "message": strings.Join(p.body(), "\n"), "priority": priority}}
		}, nil
	},
	read: named,
}
