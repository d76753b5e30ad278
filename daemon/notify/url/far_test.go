package url

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"guard"
	"guard/daemon/notify/notifytest"
)

const canary = "canary-4f9a8811d0"

// far is a service as an [http.RoundTripper] and an [http.Handler]: strict about what the
// real one is strict about.
type far struct {
	t testing.TB
	// take checks a request and returns what people see of it, and the refusal; "" where
	// it is right.
	take func(r *http.Request, body map[string]any, raw []byte) (text, bad string)
	// yes answers the nth message, no a refused one.
	yes func(n int) (status int, body string)
	no  func(why string) (status int, body string)

	mu       sync.Mutex
	faults   []*notifytest.Fault
	seen     []string
	requests int
}

func (f *far) Seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.seen...)
}

func (f *far) Inject(x notifytest.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &x)
}

func (f *far) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	status, header, body, err := f.serve(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, header, body, err := f.serve(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for k, v := range header {
		w.Header()[k] = v
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (f *far) serve(r *http.Request) (int, http.Header, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	var raw []byte
	if r.Body != nil {
		raw, _ = io.ReadAll(r.Body)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	var fault *notifytest.Fault
	if len(f.faults) > 0 {
		if fault = f.faults[0]; fault.Times > 0 {
			if fault.Times--; fault.Times == 0 {
				f.faults = f.faults[1:]
			}
		}
	}
	if fault != nil && fault.Refused {
		return 0, nil, "", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	text, bad := f.take(r, body, raw)
	if r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") || r.Header.Get("User-Agent") != "guard" {
		bad = "no POST of JSON by guard"
	}
	if bad == "" && (fault == nil || fault.Stored) && text != dropped {
		f.seen = append(f.seen, text)
	}
	switch {
	case fault == nil && bad != "":
		f.t.Logf("refused: %s", bad)
		status, body := f.no(bad)
		return status, header, body, nil
	case fault == nil:
		status, body := f.yes(len(f.seen))
		return status, header, body, nil
	case fault.TimesOut:
		return 0, nil, "", context.DeadlineExceeded
	}
	if fault.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(fault.RetryAfter/time.Second)))
	}
	return fault.Status, header, fault.Body, nil
}

// dropped is what a far end returns for what is no message to people.
const dropped = "\x00"

// fakes are the services, and an address of each.
var fakes = map[string]struct {
	address string
	secrets []string
	take    func(r *http.Request, body map[string]any, raw []byte) (text, bad string)
	yes     func(n int) (int, string)
	no      func(why string) (int, string)
	// refusals are answers that say no, and what they mean.
	refusals map[string]error
	mute     bool
}{
	"feishu": {
		address: "feishu://open.feishu.cn/open-apis/bot/v2/hook/" + canary + "?secret=key-" + canary,
		take: func(r *http.Request, in map[string]any, raw []byte) (string, string) {
			at, _ := guard.InstantFrom(r.Context())
			stamp := fmt.Sprint(in["timestamp"])
			post, _ := dig(in, "content", "post", "en_us").(map[string]any)
			switch {
			case r.URL.String() != "https://open.feishu.cn/open-apis/bot/v2/hook/"+canary:
				return "", "19001"
			case len(raw) > 20<<10:
				return "", "9499"
			case stamp != fmt.Sprint(at.Wall.Unix()) || in["sign"] != hmacOf(stamp+"\nkey-"+canary, ""):
				return "", "19021"
			case in["msg_type"] != "post" || post == nil:
				return "", "9499"
			}
			lines := []string{post["title"].(string)}
			for _, row := range post["content"].([]any) {
				for _, part := range row.([]any) {
					if dig(part, "tag") != "text" || dig(part, "text") == "" {
						return "", "9499"
					}
					lines = append(lines, dig(part, "text").(string))
				}
			}
			return strings.Join(lines, "\n"), ""
		},
		yes: fixed(200, `{"StatusCode":0,"StatusMessage":"success","code":0,"data":{},"msg":"success"}`),
		no:  func(why string) (int, string) { return 200, `{"code":` + why + `,"data":{},"msg":"no"}` },
		refusals: map[string]error{`{"code":19024,"msg":"Key Words Not Found"}`: guard.ErrPermission, `{"code":19001,"msg":"` + canary + `"}`: guard.ErrNotFound,
			`{"code":11232,"msg":"frequency limited"}`: guard.ErrThrottled, `{"code":12345}`: guard.ErrInvalid},
	},
	"dingtalk": {
		address: "dingtalk://oapi.dingtalk.com/robot/send?access_token=" + canary + "&secret=SEC" + canary,
		take: func(r *http.Request, in map[string]any, raw []byte) (string, string) {
			at, _ := guard.InstantFrom(r.Context())
			q := r.URL.Query()
			text, _ := dig(in, "text", "content").(string)
			switch {
			case r.URL.Path != "/robot/send" || q.Get("access_token") != canary || q.Has("secret"):
				return "", "300005"
			case q.Get("timestamp") != fmt.Sprint(at.Wall.UnixMilli()) || q.Get("sign") != hmacOf("SEC"+canary, q.Get("timestamp")+"\nSEC"+canary):
				return "", "310000"
			case len(raw) > 20_000 || in["msgtype"] != "text" || text == "" || dig(in, "at", "isAtAll") != false:
				return "", "40035"
			}
			return text, ""
		},
		yes: fixed(200, `{"errcode":0,"errmsg":"ok"}`),
		no:  func(why string) (int, string) { return 200, `{"errcode":` + why + `,"errmsg":"no"}` },
		refusals: map[string]error{`{"errcode":310000,"errmsg":"keywords not in content, more: ` + canary + `"}`: guard.ErrPermission,
			`{"errcode":130101,"errmsg":"send too fast"}`: guard.ErrThrottled, `{"errcode":-1}`: guard.ErrUncertain, `{"errcode":300005}`: guard.ErrNotFound, `{"errcode":430104}`: guard.ErrInvalid},
	},
	"wecom": {
		address: "wecom://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=" + canary,
		take: func(r *http.Request, in map[string]any, _ []byte) (string, string) {
			text, _ := dig(in, "text", "content").(string)
			mentioned, _ := dig(in, "text", "mentioned_list").([]any)
			switch {
			case r.URL.String() != "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key="+canary:
				return "", "93000"
			case len(text) > 2048:
				return "", "45002"
			case in["msgtype"] != "text" || text == "" || len(mentioned) > 0:
				return "", "40058"
			}
			return text, ""
		},
		yes: fixed(200, `{"errcode":0,"errmsg":"ok"}`),
		no:  func(why string) (int, string) { return 200, `{"errcode":` + why + `,"errmsg":"no"}` },
		refusals: map[string]error{`{"errcode":45009,"errmsg":"api freq out of limit"}`: guard.ErrThrottled, `{"errcode":93000}`: guard.ErrNotFound, `{"errcode":45002}`: guard.ErrInvalid,
			`{"errcode":-1}`: guard.ErrUncertain, `{"errcode":40001,"errmsg":"` + canary + `"}`: guard.ErrPermission},
	},
	"telegram": {
		address: "telegram://api.telegram.org/bot123:" + canary + "?chat_id=-1001",
		take: func(r *http.Request, in map[string]any, _ []byte) (string, string) {
			text, _ := in["text"].(string)
			switch root := dig(in, "reply_parameters", "message_id"); {
			case r.URL.String() != "https://api.telegram.org/bot123:"+canary+"/sendMessage":
				return "", "404 Not Found"
			case in["chat_id"] != "-1001":
				return "", "400 Bad Request: chat not found"
			case len(utf16.Encode([]rune(text))) > 4096 || strings.TrimSpace(text) == "":
				return "", "400 Bad Request: message is too long"
			case in["parse_mode"] != nil || in["entities"] != nil || dig(in, "link_preview_options", "is_disabled") != true:
				return "", "400 markup"
			case root != nil && (root.(float64) < 1 || dig(in, "reply_parameters", "allow_sending_without_reply") != true):
				return "", "400 Bad Request: message to be replied not found"
			}
			return text, ""
		},
		yes: func(n int) (int, string) {
			return 200, fmt.Sprintf(`{"ok":true,"result":{"message_id":%d,"chat":{"id":-1001}}}`, n)
		},
		no: func(why string) (int, string) {
			n, _ := strconv.Atoi(why[:3])
			return n, fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, n, why[4:])
		},
		refusals: map[string]error{`{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`: guard.ErrNotFound, `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked ` + canary + `"}`: guard.ErrPermission,
			`{"ok":false,"error_code":429,"parameters":{"retry_after":35}}`: guard.ErrThrottled, `{"ok":false,"error_code":400,"description":"Bad Request: message is too long"}`: guard.ErrInvalid},
	},
	"discord": {
		address: "discord://discord.com/api/webhooks/1/" + canary,
		take: func(r *http.Request, in map[string]any, _ []byte) (string, string) {
			text, _ := in["content"].(string)
			parse, ok := dig(in, "allowed_mentions", "parse").([]any)
			shown, markup := unescaped(text)
			switch {
			case r.URL.String() != "https://discord.com/api/webhooks/1/"+canary+"?wait=true":
				return "", "10015"
			case len(utf16.Encode([]rune(text))) > 2000 || strings.TrimSpace(shown) == "":
				return "", "50035"
			case !ok || len(parse) > 0 || in["flags"] != 4.0 || markup:
				return "", "50035"
			}
			return shown, ""
		},
		yes:      func(n int) (int, string) { return 200, fmt.Sprintf(`{"id":"%d","content":"x"}`, 1000+n) },
		no:       func(why string) (int, string) { return 400, `{"message":"no","code":` + why + `}` },
		refusals: map[string]error{},
	},
	"teams": {
		address: "teams://prod-1.westus.logic.azure.com:443/workflows/w/triggers/manual/paths/invoke?api-version=2016-06-01&sig=" + canary,
		mute:    true,
		take: func(r *http.Request, in map[string]any, raw []byte) (string, string) {
			files, _ := in["attachments"].([]any)
			switch {
			case r.URL.Host != "prod-1.westus.logic.azure.com:443" || r.URL.Query().Get("sig") != canary || r.URL.Query().Get("api-version") == "":
				return "", "401"
			case len(raw) > 28<<10:
				return "", "413"
			case in["type"] != "message" || len(files) != 1 || dig(files[0], "contentType") != "application/vnd.microsoft.card.adaptive" || dig(files[0], "content", "type") != "AdaptiveCard":
				return "", "400"
			}
			var lines []string
			for _, b := range dig(files[0], "content", "body").([]any) {
				inlines, _ := dig(b, "inlines").([]any)
				if dig(b, "type") != "RichTextBlock" || len(inlines) != 1 || dig(inlines[0], "type") != "TextRun" {
					return "", "400"
				}
				lines = append(lines, dig(inlines[0], "text").(string))
			}
			return strings.Join(lines, "\n"), ""
		},
		yes: fixed(202, ""),
		no: func(why string) (int, string) {
			n, _ := strconv.Atoi(why)
			return n, `{"error":{"code":"No"}}`
		},
		refusals: map[string]error{"Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId x": guard.ErrThrottled,
			"Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 404": guard.ErrNotFound, `{"error":{"code":"` + canary + `"}}`: guard.ErrInvalid},
	},
	"ntfy": {
		address: "ntfy://tk_" + canary + "@ntfy.sh/guard-" + canary,
		take: func(r *http.Request, in map[string]any, _ []byte) (string, string) {
			title, _ := in["title"].(string)
			text, _ := in["message"].(string)
			switch p, _ := in["priority"].(float64); {
			case r.URL.String() != "https://ntfy.sh/" || in["topic"] != "guard-"+canary:
				return "", "404"
			case r.Header.Get("Authorization") != "Bearer tk_"+canary:
				return "", "401"
			case len(text) > 4096 || text == "" || title == "" || len(title) > 256:
				return "", "413"
			case p < 1 || p > 5:
				return "", "400"
			}
			return title + "\n" + text, ""
		},
		yes: func(n int) (int, string) {
			return 200, fmt.Sprintf(`{"id":"m%d","time":1,"event":"message","topic":"t","message":"x"}`, n)
		},
		no: func(why string) (int, string) {
			n, _ := strconv.Atoi(why)
			return n, fmt.Sprintf(`{"code":%s01,"http":%s,"error":"no"}`, why, why)
		},
		refusals: map[string]error{},
	},
	"pagerduty": {
		address: "pagerduty://" + canary + "@events.pagerduty.com",
		take: func(r *http.Request, in map[string]any, raw []byte) (string, string) {
			summary, _ := dig(in, "payload", "summary").(string)
			if in["routing_key"] != canary || r.URL.User != nil || r.Header.Get("Authorization") != "" {
				return "", "'routing_key' is invalid"
			}
			switch r.URL.String() {
			case "https://events.pagerduty.com/v2/change/enqueue":
				if in["event_action"] != nil {
					return "", "not a change event"
				}
			case "https://events.pagerduty.com/v2/enqueue":
				key, _ := in["dedup_key"].(string)
				if key == "" || len(key) > 255 {
					return "", "'dedup_key'"
				}
				if in["event_action"] == "resolve" {
					return "resolve " + key, ""
				}
				if in["event_action"] != "trigger" || dig(in, "payload", "severity") != "critical" {
					return "", "no trigger"
				}
				summary = "PAGE " + summary
			default:
				return "", "no such path"
			}
			if summary == "" || len([]rune(summary)) > 1024 || dig(in, "payload", "source") == "" || len(raw) > 512<<10 {
				return "", "'payload'"
			}
			lines := []string{summary}
			for _, l := range dig(in, "payload", "custom_details", "text").([]any) {
				lines = append(lines, l.(string))
			}
			return strings.Join(lines, "\n"), ""
		},
		yes: fixed(202, `{"status":"success","message":"Event processed","dedup_key":"k"}`),
		no: func(why string) (int, string) {
			return 400, fmt.Sprintf(`{"status":"invalid event","message":"Event object is invalid","errors":[%q]}`, why)
		},
		refusals: map[string]error{`{"status":"invalid event","errors":["'routing_key' ` + canary + `"]}`: guard.ErrPermission, `{"status":"invalid event","errors":["'payload' is missing"]}`: guard.ErrInvalid},
	},
	"generic": {
		address: "generic://ana:" + canary + "@hooks.example.com/in/" + canary + "?k=" + canary,
		mute:    true,
		take: func(r *http.Request, in map[string]any, _ []byte) (string, string) {
			user, password, _ := r.BasicAuth()
			switch {
			case r.URL.String() != "https://hooks.example.com/in/"+canary+"?k="+canary || user != "ana" || password != canary:
				return "", "401"
			case in["version"] != 1.0 || in["id"] == "" || r.Header.Get("Idempotency-Key") != in["id"] || in["incident"] == "" || in["created_at"] == "":
				return "", "400"
			}
			return in["text"].(string), ""
		},
		yes: fixed(204, ""),
		no: func(why string) (int, string) {
			n, _ := strconv.Atoi(why)
			return n, ""
		},
		refusals: map[string]error{`{"ok":false,"why":"` + canary + `"}`: guard.ErrInvalid, `{"error":"` + canary + `"}`: guard.ErrInvalid, `{"errcode":40035}`: guard.ErrInvalid, `{"success":false}`: guard.ErrInvalid, `{"ok":fal`: guard.ErrBadReply},
	},
}

func fixed(status int, body string) func(int) (int, string) {
	return func(int) (int, string) { return status, body }
}

// dig is a field of a field.
func dig(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// unescaped is a text of Discord as it is shown; markup tells that some of it is not text.
func unescaped(s string) (shown string, markup bool) {
	var b bytes.Buffer
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			escaped = false
			b.WriteRune(r)
		case r == '\\':
			escaped = true
		default:
			markup = markup || strings.ContainsRune("*_~`|<>[]#", r)
			b.WriteRune(r)
		}
	}
	return b.String(), markup || escaped
}
