package notifytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestBlockRules: the fake refuses what Slack refuses of blocks, and nothing else.
func TestBlockRules(t *testing.T) {
	long := func(n int) string { return strings.Repeat("模", n) }
	list := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	const text, mark = `{"type":"plain_text","text":"a","emoji":false}`, `{"type":"mrkdwn","text":"a","verbatim":true}`
	of := func(s string) string { return `{"type":"plain_text","text":"` + s + `"}` }
	button := func(rest string) string { return `{"type":"button","text":` + text + rest + `}` }
	actions := func(elements string) string { return `[{"type":"actions","elements":[` + elements + `]}]` }
	confirm := func(title, question, yes, no string) string {
		return actions(button(`,"confirm":{"title":` + title + `,"text":` + question + `,"confirm":` + yes + `,"deny":` + no + `}`))
	}
	for blocks, want := range map[string]string{
		`[]`:     "",
		`null`:   "",
		`{}`:     "invalid_blocks",
		`[null]`: "invalid_blocks",
		`[{}]`:   "invalid_blocks",
		`["x"]`:  "invalid_blocks",
		`[{"type":"header","text":` + text + `},{"type":"divider"},{"type":"section","text":` + mark + `,"fields":[` + mark + `,` + text + `]},{"type":"context","elements":[` + mark + `,` + text + `]}]`: "",
		`[{"type":"something","text":` + text + `}]`:                                   "invalid_blocks",
		`[{"type":"section","text":` + text + `,"colour":"red"}]`:                      "invalid_blocks",
		`[` + list(50, `{"type":"divider"}`) + `]`:                                     "",
		`[` + list(51, `{"type":"divider"}`) + `]`:                                     "invalid_blocks",
		`[{"type":"divider","block_id":"a"},{"type":"divider","block_id":"b"}]`:        "",
		`[{"type":"divider","block_id":"a"},{"type":"divider","block_id":"a"}]`:        "invalid_blocks",
		`[{"type":"divider","block_id":"` + long(256) + `"}]`:                          "invalid_blocks",
		`[{"type":"header","text":` + mark + `}]`:                                      "invalid_blocks",
		`[{"type":"header"}]`:                                                          "invalid_blocks",
		`[{"type":"header","text":` + of(long(150)) + `}]`:                             "",
		`[{"type":"header","text":` + of(long(151)) + `}]`:                             "invalid_blocks",
		`[{"type":"section"}]`:                                                         "invalid_blocks",
		`[{"type":"section","text":` + of("") + `}]`:                                   "invalid_blocks",
		`[{"type":"section","text":` + of(` \n `) + `}]`:                               "invalid_blocks",
		`[{"type":"section","text":` + of(long(3000)) + `}]`:                           "",
		`[{"type":"section","text":` + of(long(3001)) + `}]`:                           "invalid_blocks",
		`[{"type":"section","text":{"type":"html","text":"a"}}]`:                       "invalid_blocks",
		`[{"type":"section","text":{"type":"mrkdwn","text":"a","emoji":true}}]`:        "invalid_blocks",
		`[{"type":"section","text":{"type":"plain_text","text":"a","verbatim":true}}]`: "invalid_blocks",
		`[{"type":"section","fields":[` + list(10, text) + `]}]`:                       "",
		`[{"type":"section","fields":[` + list(11, text) + `]}]`:                       "invalid_blocks",
		`[{"type":"section","fields":[` + of(long(2000)) + `]}]`:                       "",
		`[{"type":"section","fields":[` + of(long(2001)) + `]}]`:                       "invalid_blocks",
		`[{"type":"section","fields":[null]}]`:                                         "invalid_blocks",
		`[{"type":"header","text":` + text + `,"fields":[` + text + `]}]`:              "invalid_blocks",
		`[{"type":"context","elements":[]}]`:                                           "invalid_blocks",
		`[{"type":"context","elements":[` + list(11, text) + `]}]`:                     "invalid_blocks",
		`[{"type":"context","text":` + text + `,"elements":[` + text + `]}]`:           "invalid_blocks",
		actions(``): "invalid_blocks",
		actions(button(`,"action_id":"a","value":"v","style":"danger"`) + `,` + button(`,"action_id":"b"`)): "",
		actions(button(`,"action_id":"a"`) + `,` + button(`,"action_id":"a"`)):                              "invalid_blocks",
		actions(button(`,"action_id":"` + long(256) + `"`)):                                                 "invalid_blocks",
		actions(button(`,"value":"` + long(2000) + `"`)):                                                    "",
		actions(button(`,"value":"` + long(2001) + `"`)):                                                    "invalid_blocks",
		actions(button(`,"style":"green"`)):                                                                 "invalid_blocks",
		actions(list(25, button(``))):                                                                       "",
		actions(list(26, button(``))):                                                                       "invalid_blocks",
		actions(`{"type":"button","text":` + of(long(75)) + `}`):                                            "",
		actions(`{"type":"button","text":` + of(long(76)) + `}`):                                            "invalid_blocks",
		actions(`{"type":"button","text":` + mark + `}`):                                                    "invalid_blocks",
		actions(`{"type":"button"}`):                                                                        "invalid_blocks",
		actions(text):                                                                                       "invalid_blocks",
		confirm(text, mark, text, text):                                                                     "",
		confirm(of(long(101)), text, text, text):                                                            "invalid_blocks",
		confirm(text, of(long(301)), text, text):                                                            "invalid_blocks",
		confirm(text, text, of(long(31)), text):                                                             "invalid_blocks",
		confirm(text, text, text, of(long(31))):                                                             "invalid_blocks",
		confirm(text, text, text, `null`):                                                                   "invalid_blocks",
		`[` + list(4, `{"type":"section","text":`+of(long(3000))+`}`) + `]`:                                 "",
		`[` + list(5, `{"type":"section","text":`+of(long(3000))+`}`) + `]`:                                 "msg_too_long",
	} {
		if _, code := check(blocks, "text"); code != want {
			t.Errorf("%.300s is %q, want %q", blocks, code, want)
		}
	}
	if _, code := check("", ""); code != "no_text" {
		t.Errorf("a message of nothing is %q", code)
	}
}

// TestPings: mentions by markup are seen, where Slack makes any.
func TestPings(t *testing.T) {
	c, code := check(`[{"type":"section","text":{"type":"mrkdwn","text":"<@U1> <!channel|x> <!subteam^S1> &lt;@U2&gt; <http://x|y>"}},
		{"type":"section","text":{"type":"plain_text","text":"<@U3>"}}]`, "<@W4>")
	if want := []string{"W4", "U1", "!channel", "!subteam^S1"}; code != "" || !slices.Equal(c.pings, want) {
		t.Errorf("got %q, %q, want %q", c.pings, code, want)
	}
}

// ask is what the fake answers to a request.
func ask(t *testing.T, s *Slack, method string, form url.Values) map[string]any {
	t.Helper()
	form.Set("token", "xoxb-t")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://slack.invalid/api/"+method, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUpdate: what is not told stays as it is, and only guard's own messages change.
func TestUpdate(t *testing.T) {
	s := NewSlack("xoxb-t", "gpu")
	s.Chat("#gpu", 1)
	const blocks = `[{"type":"section","text":{"type":"plain_text","text":"old"}}]`
	posted := ask(t, s, "chat.postMessage", url.Values{"channel": {"#gpu"}, "text": {"t"}, "blocks": {blocks}, "metadata": {`{"event_payload":{"id":"m1"}}`}})
	ts := fmt.Sprint(posted["ts"])
	for _, tt := range []struct {
		form url.Values
		code any
	}{
		{url.Values{"channel": {"#gpu"}, "ts": {ts}, "text": {"t"}}, "channel_not_found"}, // an ID is wanted
		{url.Values{"channel": {"C0001"}, "ts": {"1.1"}, "text": {"t"}}, "message_not_found"},
		{url.Values{"channel": {"C0001"}, "ts": {s.channels[0].messages[0].ts}, "text": {"t"}}, "cant_update_message"},
		{url.Values{"channel": {"C0001"}, "ts": {ts}}, "no_text"},
		{url.Values{"channel": {"C0001"}, "ts": {ts}, "blocks": {`[{}]`}}, "invalid_blocks"},
		{url.Values{"channel": {"C0001"}, "ts": {ts}, "text": {"new"}}, nil},
	} {
		if got := ask(t, s, "chat.update", tt.form); got["error"] != tt.code {
			t.Errorf("%v is answered %v, want %v", tt.form, got, tt.code)
		}
	}
	if p := s.Shown()[0]; p.Text != "new" || p.Blocks != "old" || p.ID != "m1" || len(s.Posts()) != 1 || len(s.Edits()) != 6 {
		t.Errorf("people see %+v after %d posts and %d edits", p, len(s.Posts()), len(s.Edits()))
	}
	ask(t, s, "chat.update", url.Values{"channel": {"C0001"}, "ts": {ts}, "text": {"newer"}, "blocks": {`[]`}})
	if p := s.Shown()[0]; p.Blocks != "" || p.Text != "newer" {
		t.Errorf("people see %+v", p)
	}
}

// TestAsSlackSpecifies: the codes and the fields are those of Slack's own specification of
// its API, as far as it names them.
func TestAsSlackSpecifies(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/specs/slack.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("Slack's specification is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Required   []string
		Properties struct{ Error struct{ Enum []string } }
	}
	var spec struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Schema schema }
		}
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		t.Fatal(err)
	}
	s := NewSlack("xoxb-t", "gpu")
	s.AddMember("U1", "ana@lab.example")
	ts := fmt.Sprint(ask(t, s, "chat.postMessage", url.Values{"channel": {"#gpu"}, "text": {"t"}})["ts"])
	for method, tt := range map[string]struct {
		well  url.Values
		codes []string
	}{
		"chat.postMessage":    {url.Values{"channel": {"#gpu"}, "text": {"t"}}, []string{"channel_not_found", "no_text", "msg_too_long"}},
		"chat.update":         {url.Values{"channel": {"C0001"}, "ts": {ts}, "text": {"t"}}, []string{"channel_not_found", "message_not_found", "cant_update_message", "edit_window_closed", "no_text"}},
		"users.lookupByEmail": {url.Values{"email": {"ana@lab.example"}}, []string{"users_not_found"}},
	} {
		for _, op := range spec.Paths["/"+method] {
			for _, code := range tt.codes {
				if !slices.Contains(op.Responses["default"].Schema.Properties.Error.Enum, code) {
					t.Errorf("%s has no error %s", method, code)
				}
			}
			got := ask(t, s, method, tt.well)
			for _, field := range op.Responses["200"].Schema.Required {
				if _, ok := got[field]; !ok {
					t.Errorf("%s is answered without %s: %v", method, field, got)
				}
			}
		}
	}
}
