package exec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

// echo is a program that answers hello as it should, and anything else with one text.
type echo struct {
	say  func(id int) string
	next bytes.Buffer
}

func (e *echo) Write(b []byte) (int, error) {
	var q request
	if err := json.Unmarshal(b, &q); err != nil {
		return 0, err
	}
	if q.Call == callHello {
		fmt.Fprintf(&e.next, `{"v":1,"id":%d,"result":{"kinds":["volume"],"calls":["identity","list","get","release","balance","charges"]}}`+"\n", q.ID)
	} else {
		e.next.WriteString(e.say(q.ID) + "\n")
	}
	return len(b), nil
}

func (e *echo) Read(b []byte) (int, error) {
	if e.next.Len() == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	return e.next.Read(b)
}

func (*echo) SetDeadline(time.Time) error { return nil }

func (*echo) unread() bool { return false }

func (*echo) end() (string, bool) { return "exit status 0", false }

// FuzzReplies: whatever a program answers, nothing is told that guard could count with and
// should not, and only the protocol's own word is an absence.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		`{"resources":[{"id":"m-1","state":"running","gpus":8,"price":{"amount":"1.5","currency":"CNY","per":"hour","for":"gpu"}}],"complete":true}`,
		`{"resource":{"id":"m-1","state":"gone","attached":[{"kind":"volume","id":"v"}],"prepaid":{"amount":1e9,"currency":"USD","from":"2026-01-01T00:00:00Z"}}}`,
		`{"id":"a","strong":true}`, `{"accepted":true}`, `{"amount":-1e400,"currency":"USD"}`, `{"charges":[null],"next":"x"}`, `null`, `[]`, `x`,
		`{},"error":{"kind":"not_found"}`, `null,"error":{"kind":"not_found","retry_after":1e300}`,
	} {
		f.Add(seed, false)
	}
	f.Add(`{"v":1,"id":2,"result":{}}`, true)
	f.Fuzz(func(t *testing.T, text string, raw bool) {
		say := func(id int) string {
			if raw {
				return text
			}
			return fmt.Sprintf(`{"v":1,"id":%d,"result":%s}`, id, text)
		}
		p, err := New(Options{Name: "fuzz", Config: Config{Command: []string{"/p"}}, dial: func() (conn, error) { return &echo{say: say}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		sane := func(r guard.Resource) {
			if r.ID.ID == "" || r.GPUs < 0 || r.GPUs > maxGPUs || r.SizeGB < 0 || r.State == guard.StateUnknown && r.Bills == guard.No {
				t.Errorf("%+v", r)
			}
			if h, ok := r.Rate.Hourly(); ok && h.IsNegative() {
				t.Errorf("it costs %s", r.Rate)
			}
		}
		inv, err := p.List(t.Context(), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Volume}})
		if err == nil && len(inv.Results) != 2 {
			t.Errorf("%+v", inv)
		}
		for _, res := range inv.Results {
			for _, r := range res.Resources {
				sane(r)
			}
		}
		look := p.Get(t.Context(), guard.ResourceID{Account: "fuzz", Kind: guard.Instance, Scope: "global", ID: "m-1"})[0]
		switch {
		case look.Verdict == guard.VerdictFound:
			if sane(look.Resource); look.Resource.ID.ID != "m-1" {
				t.Errorf("%+v", look)
			}
		case look.Verdict == guard.VerdictAbsent:
			if !bytes.Contains([]byte(text), []byte("_found")) && !bytes.Contains([]byte(text), []byte(`\u`)) {
				t.Errorf("absent by %q", text)
			}
		case look.Err == nil:
			t.Errorf("%+v", look)
		}
		if id, err := p.Identity(t.Context()); err == nil && id.ID == "" {
			t.Errorf("%+v", id)
		}
		if b, err := p.Balance(t.Context()); err == nil && !b.Amount.IsSet() {
			t.Errorf("%+v", b)
		}
		if all, err := p.Charges(t.Context(), time.Time{}); err == nil {
			for _, c := range all {
				if !c.Amount.IsSet() || c.From.IsZero() || c.To.Before(c.From) {
					t.Errorf("%+v", c)
				}
			}
		}
	})
}
