package slack

import (
	"context"
	"encoding/json"
	"testing"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/daemon/wire"
)

// FuzzEnvelope: whatever Slack's connection brings, nothing panics, nothing is sent that Slack
// would not take, and nobody acts but who is named.
func FuzzEnvelope(f *testing.F) {
	fake := notifytest.NewSocket(notifytest.NewSlack(bot, "guard"), canary)
	v, _ := value{Message: "m", Click: "extend", Key: "k"}.encode()
	f.Add(fake.Pressed("U1", notifytest.Post{TS: "1.1", Channel: "C0001"}, notifytest.Button{Action: "guard:extend:2", Value: v}), "done", "a line")
	f.Add(fake.Typed("U1", "ls"), "", "`x` <!channel>")
	f.Add(fake.Submitted("U1", notifytest.View{ID: "V1", Callback: formID, Metadata: `{"message":"m","offer":"register","key":"k"}`, Fields: []string{"purpose"}}, map[string]string{"purpose": "x"}), "\u202e", "")
	f.Add([]byte(`{"type":"interactive","envelope_id":"e","payload":{"type":"block_actions","user":{"id":"U"},"actions":[{"action_id":"guard:x:y:z","value":"{}"}]}}`), "x", "y")
	f.Add([]byte(`{"type":"hello"}`), "x", "y")
	f.Fuzz(func(t *testing.T, data []byte, text, line string) {
		fake := notifytest.NewSocket(notifytest.NewSlack(bot, "guard"), canary)
		s, err := NewSocket(SocketConfig{AppToken: guard.NewSecret(canary), Token: guard.NewSecret(bot), Transport: fake})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Take(t.Context(), data, func(_ context.Context, c wire.Click) wire.ClickAnswer {
			if c.User == "" || c.Channel != "slack" {
				t.Errorf("%+v", c)
			}
			a := wire.ClickAnswer{Text: text, Lines: []string{line, line}, Aligned: c.Command != ""}
			if c.Offer == "register" && c.Form == nil {
				a.Ask = &wire.Form{Title: text, Send: text, About: line, Fields: []wire.Field{{Name: "a", Label: line, Hint: text}}}
			}
			// What a form is answered with has to be taken as well.
			if _, err := json.Marshal(s.shown(a)); err != nil {
				t.Error(err)
			}
			return a
		})
		if bad := fake.Wrong(); len(bad) > 0 {
			t.Errorf("%q (%v)", bad, err)
		}
	})
}
