package autodl

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/autodl/autodltest"
	"guard/providers/providertest/cloudtest"
)

// says answers everything with one code.
func says(code, msg string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { autodltest.Code(w, code, msg) })
}

// TestCodes: with the status 200, each code has its kind in each call; one that nobody knows is
// neither done nor absent, and says what it is where that can be no secret.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		code, msg string
		want      error
		quoted    bool
	}{
		{"AuthorizeFailed", "认证失败; 登录超时", guard.ErrPermission, true},
		{"TORealName", "未完成实名认证,认证后才可使用", guard.ErrPermission, true},
		{"RequestParameterIsWrong", "请求参数错误", guard.ErrInvalid, true},
		{"BadRequest", "无当前资源访问权限", guard.ErrPermission, false},
		{"BadRequest", "请在实例关机状态下执行释放操作", guard.ErrConflict, true},
		{"BadRequest", "余额不足", guard.ErrInvalid, true},
		{"InternalError", "", guard.ErrUnavailable, true},
		{"success", "", guard.ErrUnavailable, true},
		{"Succeeded", "", guard.ErrUnavailable, true},
		{"", "", guard.ErrBadReply, false},
		{"sk-token=hunter2", "", guard.ErrUnavailable, false},
	} {
		p := on(t, says(c.code, c.msg))
		id := p.id(Scope, "pro-1")
		_, listErr := p.instances(at(t))
		_, balanceErr := p.Balance(at(t))
		look := p.Get(at(t), id)[0]
		for call, err := range map[string]error{
			"list": listErr, "balance": balanceErr, "get": look.Err, "release": p.Release(at(t), id, providers.ReleaseOptions{}), "stop": p.Stop(at(t), id),
			"get a container": p.Get(at(t), p.id(Deployments, "deployment/d/c"))[0].Err,
		} {
			if !errors.Is(err, c.want) || errors.Is(err, guard.ErrNotFound) {
				t.Errorf("%q to a %s: %v, want %v", c.code, call, err, c.want)
			}
			if got := strings.Contains(fmt.Sprint(err), c.code); c.code != "" && got != c.quoted {
				t.Errorf("%q to a %s: %v, is it quoted: %t, want %t", c.code, call, err, got, c.quoted)
			}
			if c.msg != "" && strings.Contains(fmt.Sprint(err), c.msg) {
				t.Errorf("%q to a %s quotes the provider: %v", c.code, call, err)
			}
		}
		if look.Verdict != guard.VerdictUnknown {
			t.Errorf("%q to a get: %s", c.code, look.Verdict)
		}
	}
}

// TestNotFound is absence for one thing, and for nothing else.
func TestNotFound(t *testing.T) {
	p := on(t, says("RecordNotFoundError", "未查询到相关实例"))
	if l := p.Get(at(t), p.id(Scope, "pro-1"))[0]; l.Verdict != guard.VerdictAbsent || l.Err != nil {
		t.Errorf("get: %s, %v", l.Verdict, l.Err)
	}
	if err := p.Release(at(t), p.id(Scope, "pro-1"), providers.ReleaseOptions{}); err != nil {
		t.Errorf("release: %v", err)
	}
	if _, err := p.instances(at(t)); !errors.Is(err, guard.ErrBadReply) || errors.Is(err, guard.ErrNotFound) {
		t.Errorf("list: %v", err)
	}
	if _, err := p.Balance(at(t)); !errors.Is(err, guard.ErrBadReply) || errors.Is(err, guard.ErrNotFound) {
		t.Errorf("balance: %v", err)
	}
	if err := p.Stop(at(t), p.id(Scope, "pro-1")); !errors.Is(err, guard.ErrNotFound) {
		t.Errorf("stop: %v", err)
	}
}

// TestAWriteWithoutACode leaves open whether it was done.
func TestAWriteWithoutACode(t *testing.T) {
	f := &cloudtest.Faults{Next: cloud(thing("pro-1"))}
	f.Add(0, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/power_off") }, func(w http.ResponseWriter, _ *http.Request) {
		cloudtest.Reply(w, http.StatusOK, map[string]any{"data": nil})
	})
	p := on(t, f)
	if err := p.Stop(at(t), p.id(Scope, "pro-1")); !errors.Is(err, guard.ErrUncertain) || !errors.Is(err, guard.ErrBadReply) {
		t.Error(err)
	}
}

func TestBalance(t *testing.T) {
	c := cloud()
	c.Assets, c.Blocked, c.Vouchers = "29290", 4290, 5000
	for _, want := range []string{"25.00 CNY", "-0.001 CNY"} {
		b, err := on(t, c).Balance(at(t))
		if err != nil || b.Amount.String() != want {
			t.Errorf("%s, %v; want %s", b.Amount, err, want)
		}
		c.Assets, c.Blocked = "0", 1
	}
	c.Blocked = -5
	if b, err := on(t, c).Balance(at(t)); !errors.Is(err, guard.ErrBadReply) {
		t.Errorf("less than nothing is blocked: %s, %v", b.Amount, err)
	}
}

func TestConfig(t *testing.T) {
	token := guard.NewSecret("t")
	for endpoint, want := range map[string]bool{"": true, "https://api.example.com": true, "http://127.0.0.1:4010": true,
		"api.example.com": false, "ftp://x": false, "https://u:p@x": false, "https://x/?k=1": false} {
		problems := 0
		c := Config{Token: token, Endpoint: endpoint}
		c.Check(func(string, string) { problems++ })
		if (problems == 0) != want {
			t.Errorf("endpoint %q: %d problems", endpoint, problems)
		}
	}
	var keys []string
	(&Config{}).Check(func(k, _ string) { keys = append(keys, k) })
	if fmt.Sprint(keys) != "[token]" {
		t.Errorf("without a token: %v", keys)
	}
	if _, err := New(Options{Name: "a"}); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("New without a token: %v", err)
	}
}

func TestFind(t *testing.T) {
	env := func(of map[string]string) func(string) (string, bool) {
		return func(k string) (string, bool) { v, ok := of[k]; return v, ok }
	}
	if got := Find(env(nil)); got != nil {
		t.Errorf("nowhere: %+v", got)
	}
	if got := Find(env(map[string]string{tokenEnv: "hunter2"})); len(got) != 1 || got[0].Section != "{token: {env: AUTODL_TOKEN}}" || strings.Contains(fmt.Sprint(got), "hunter2") {
		t.Errorf("%+v", got)
	}
}

func TestHere(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nowhere":           {},
		"in an instance":    {env: map[string]string{containerEnv: "pro-1"}, want: "pro-1"},
		"in a deployment":   {env: map[string]string{containerEnv: "c1", deploymentEnv: "d1"}, want: "deployment/d1/c1"},
		"in something else": {env: map[string]string{containerEnv: "a\nb"}},
		"too long":          {env: map[string]string{containerEnv: strings.Repeat("x", 999)}},
	} {
		if got := here(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTheTokenGoesAsItIs, with nothing before it.
func TestTheTokenGoesAsItIs(t *testing.T) {
	var sent []string
	p := on(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		autodltest.Code(w, "AuthorizeFailed", "")
	}))
	_, _ = p.Balance(at(t)) // refused
	if fmt.Sprint(sent) != "[cAnArY-5e1f-secret]" {
		t.Errorf("%v", sent)
	}
}
