package compshare

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/compshare/compsharetest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// says answers everything with one code.
func says(code int, message string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { compsharetest.Code(w, code, message) })
}

// TestCodes: with the status 200, each code has its kind in each call; one that nobody knows is
// neither done nor absent, and its message is never quoted.
func TestCodes(t *testing.T) {
	const message = "Params [Password] not available: hunter2"
	for _, c := range []struct {
		code    int
		message string
		want    error
		wait    bool
	}{
		{161, message, guard.ErrInvalid, false},
		{171, message, guard.ErrPermission, false},
		{172, message, guard.ErrPermission, false},
		{230, message, guard.ErrInvalid, false},
		{8429, message, guard.ErrRefused, false},
		{8433, message, guard.ErrUnavailable, false},
		{226601, message, guard.ErrRefused, false},
		{226602, message, guard.ErrRefused, false},
		{226606, message, guard.ErrPermission, false},
		{299, "IAM permission error hunter2", guard.ErrPermission, false},
		{292, "当前账号无权限", guard.ErrPermission, false},
		{8039, message, guard.ErrUnavailable, false},
		{-1, message, guard.ErrUnavailable, false},
		{1, message, guard.ErrUnavailable, false},
		{8500, "InstanceOperationInProgress", guard.ErrConflict, true},
	} {
		p := on(t, says(c.code, c.message))
		id := p.id(guard.Instance, "a")
		_, identity := p.Identity(at(t))
		_, instances := p.instances(at(t))
		_, volumes := p.volumes(at(t))
		look := p.Get(at(t), id)[0]
		for call, err := range map[string]error{
			"identity": identity, "list": instances, "list of volumes": volumes, "get": look.Err, "stop": p.Stop(at(t), id),
			"release": p.Release(at(t), id, providers.ReleaseOptions{}), "release of a volume": p.Release(at(t), p.id(guard.Volume, "v"), providers.ReleaseOptions{}),
			"signals": p.Signals(at(t), providers.SignalQuery{Of: []providers.SignalsOf{{Resource: guard.Resource{ID: id}}}})[0].Err,
		} {
			if !errors.Is(err, c.want) || errors.Is(err, guard.ErrNotFound) || strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("%d to a %s: %v, want %v", c.code, call, err, c.want)
			}
			if after, wait := guard.RetryAfter(err); wait != c.wait || wait && after != lockWait {
				t.Errorf("%d to a %s asks to wait %s", c.code, call, after)
			}
		}
		if look.Verdict != guard.VerdictUnknown {
			t.Errorf("%d to a get: %s", c.code, look.Verdict)
		}
	}
}

// TestNoCode is no success, and after a write leaves open whether it was done.
func TestNoCode(t *testing.T) {
	for _, code := range []any{nil, "0", "", 0.5, true, []any{0}, map[string]any{}, 1e15} {
		c := cloud(thing("a"))
		f := &cloudtest.Faults{Next: c}
		p := on(t, f)
		id := p.id(guard.Instance, "a")
		odd := func(w http.ResponseWriter, _ *http.Request) {
			cloudtest.Reply(w, http.StatusOK, map[string]any{"RetCode": code, "TotalCount": 0, "UHostSet": []any{}, "UHostId": "a"})
		}
		calls := 0
		f.Add(0, func(*http.Request) bool { calls++; return calls == 2 }, odd) // after the read
		if err := p.Stop(at(t), id); !errors.Is(err, guard.ErrUncertain) || !errors.Is(err, guard.ErrBadReply) {
			t.Errorf("code %v to a stop: %v", code, err)
		}
		calls = 1
		if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, guard.ErrBadReply) || errors.Is(l.Err, guard.ErrUncertain) {
			t.Errorf("code %v to a get: %s, %v", code, l.Verdict, l.Err)
		}
	}
}

func TestIdentity(t *testing.T) {
	c := cloud()
	for project, want := range map[string]string{"": compsharetest.Project, "org-other": "org-other", "org-nobody's": ""} {
		p := on(t, c)
		p.keys.Project = project
		id, err := p.Identity(at(t))
		if id.ID != want || (want != "") != (err == nil && id.Strong) || err != nil && !errors.Is(err, guard.ErrPermission) {
			t.Errorf("project %q: %+v, %v", project, id, err)
		}
	}
	wrong := adapter(t, "cs", cloudtest.In(c), guard.NewSecret("another"))
	if id, err := wrong.Identity(at(t)); !errors.Is(err, guard.ErrPermission) {
		t.Errorf("another's key: %+v, %v", id, err)
	}
	p := on(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cloudtest.Reply(w, http.StatusOK, map[string]any{"RetCode": 0, "ProjectSet": []any{map[string]any{"ProjectId": "org-1", "IsDefault": false}}})
	}))
	if id, err := p.Identity(at(t)); !errors.Is(err, guard.ErrBadReply) {
		t.Errorf("none is the default: %+v, %v", id, err)
	}
}

// TestTheProjectGoesWithEachCall where one is configured.
func TestTheProjectGoesWithEachCall(t *testing.T) {
	var sent []any
	p := on(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		cloudtest.Read(r, &in)
		sent = append(sent, in["ProjectId"])
		if _, told := in["Signature"]; !told || fmt.Sprint(in) != strings.ReplaceAll(fmt.Sprint(in), providertest.Secret, "") {
			t.Errorf("%v", in)
		}
		compsharetest.Code(w, 230, "")
	}))
	p.keys.Project = "org-other"
	_, _ = p.instances(at(t)) // refused
	_, _ = p.Identity(at(t))  // refused, too
	if fmt.Sprint(sent) != "[org-other <nil>]" {
		t.Errorf("%v", sent)
	}
}

func TestConfig(t *testing.T) {
	key := guard.NewSecret("k")
	for endpoint, want := range map[string]bool{"": true, "https://api.example.com": true, "http://127.0.0.1:4010": true,
		"api.example.com": false, "ftp://x": false, "https://u:p@x": false, "https://x/?k=1": false} {
		problems := 0
		c := Config{PublicKey: key, PrivateKey: key, Endpoint: endpoint}
		c.Check(func(string, string) { problems++ })
		if (problems == 0) != want {
			t.Errorf("endpoint %q: %d problems", endpoint, problems)
		}
	}
	var keys []string
	(&Config{}).Check(func(k, _ string) { keys = append(keys, k) })
	if fmt.Sprint(keys) != "[public_key private_key]" {
		t.Errorf("without keys: %v", keys)
	}
	for _, c := range []Config{{}, {PublicKey: key}, {PrivateKey: key}} {
		if _, err := New(Options{Name: "a", Config: c}); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("New without both keys: %v", err)
		}
	}
}

func TestFind(t *testing.T) {
	env := func(of map[string]string) func(string) (string, bool) {
		return func(k string) (string, bool) { v, ok := of[k]; return v, ok }
	}
	for _, of := range []map[string]string{nil, {publicEnv: "hunter1"}, {privateEnv: "hunter2"}} {
		if got := Find(env(of)); got != nil {
			t.Errorf("%v: %+v", of, got)
		}
	}
	got := Find(env(map[string]string{publicEnv: "hunter1", privateEnv: "hunter2"}))
	if len(got) != 1 || got[0].Section != "{public_key: {env: COMPSHARE_PUBLIC_KEY}, private_key: {env: COMPSHARE_PRIVATE_KEY}}" || strings.Contains(fmt.Sprint(got), "hunter") {
		t.Errorf("%+v", got)
	}
}
