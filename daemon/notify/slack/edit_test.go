package slack

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
)

// stateOf is a message with the state of its instance, as an edit tells it.
func stateOf(m guard.Message, owner string) guard.Message {
	m.ID, m.Edit = "slack|card|"+m.Thread, true
	m.Card = &guard.Card{Name: "trainer", Owner: owner, State: guard.StateRunning, AsOf: notifytest.Start}
	m.Offers = []guard.Offer{{Click: guard.ClickWhy, Key: "k-" + owner}}
	return m
}

// TestEdit: the post keeps its text, its place and the ID that it is found by; what is
// below is the present state, with buttons that name the edit.
func TestEdit(t *testing.T) {
	c, far := staffed(t, guard.English)
	m := notifytest.Message("slack", "one")
	m.Mentions = []string{"ana"}
	posted, err := c.Post(ctxAt(t, 0), m, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Edit(ctxAt(t, time.Minute), posted.Receipt, stateOf(m, "ben")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(far.Posts()); n != 1 {
		t.Errorf("%d posts", n)
	}
	shown := far.Shown()
	if len(shown) != 1 || len(shown[0].Buttons) != 1 || !strings.Contains(shown[0].Blocks, "Whose: ben") || !strings.Contains(shown[0].Blocks, m.Lines[0]) {
		t.Fatalf("people see %+v", shown)
	}
	if v, err := decodeValue(shown[0].Buttons[0].Value); err != nil || v != (value{"slack|card|" + m.Thread, "why", "k-ben"}) {
		t.Errorf("the button means %+v, %v", v, err)
	}
	if got, found, err := c.Find(ctxAt(t, time.Minute), m, ""); err != nil || !found || got != posted {
		t.Errorf("found %+v, %t, %v", got, found, err)
	}
	// Slack found the post too long: the short form leaves no blocks behind.
	short := stateOf(m, "carl")
	short.Short = true
	if err := c.Edit(ctxAt(t, time.Minute), posted.Receipt, short); err != nil {
		t.Fatal(err)
	}
	if p := far.Shown()[0]; p.Form != "" || !strings.Contains(p.Text, "carl") {
		t.Errorf("people see %q and the blocks %s", p.Text, p.Form)
	}
}

// TestReplies: a reply leaves the card to the thread's first post, but for an urgent one,
// which is read in the channel too.
func TestReplies(t *testing.T) {
	c, far := staffed(t, guard.English)
	m := stateOf(notifytest.Message("slack", "one"), "ben")
	m.Mentions = []string{"ben"}
	root, err := c.Post(ctxAt(t, 0), m, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Post(ctxAt(t, 0), m, root.Thread); err != nil {
		t.Fatal(err)
	}
	m.Urgent = true
	if _, err := c.Post(ctxAt(t, 0), m, root.Thread); err != nil {
		t.Fatal(err)
	}
	for i, p := range far.Stored() {
		if got, want := strings.Contains(p.Blocks, "Whose: ben") && strings.Contains(p.Text, "Whose: ben"), i != 1; got != want {
			t.Errorf("post %d has a card: %t", i, got)
		}
		if len(p.Buttons) != 1 || strings.Contains(p.Blocks, "For ben") || strings.Contains(p.Blocks, "guard why") == (i == 1) || !strings.Contains(p.Blocks, m.Title) {
			t.Errorf("post %d is %+v", i, p)
		}
	}
}

// TestEditForm: text stays text, and the ID of the post is not touched.
func TestEditForm(t *testing.T) {
	c, m, posted, form := formOf(t)
	if err := c.Edit(ctxAt(t, 0), posted.Receipt, m); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"parse": "none", "link_names": "false", "channel": "C0001"} {
		if got := form(key); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if form("metadata") != nil {
		t.Error("the edit takes the post's ID away")
	}
}

// TestEditRefused: what Slack has against an edit, by kind.
func TestEditRefused(t *testing.T) {
	for code, want := range map[string]error{
		"message_not_found": guard.ErrNotFound, "channel_not_found": guard.ErrNotFound, "is_archived": guard.ErrNotFound,
		"cant_update_message": guard.ErrUnsupported, "edit_window_closed": guard.ErrUnsupported,
		"msg_too_long": guard.ErrInvalid, "invalid_blocks": guard.ErrInvalid, "token_revoked": guard.ErrPermission,
		"ratelimited": guard.ErrThrottled, "internal_error": guard.ErrUncertain,
	} {
		t.Run(code, func(t *testing.T) {
			c, far := staffed(t, guard.English)
			m := notifytest.Message("slack", "one")
			posted, err := c.Post(ctxAt(t, 0), m, "")
			if err != nil {
				t.Fatal(err)
			}
			far.Inject(notifytest.Fault{Error: code, Edits: true})
			err = c.Edit(ctxAt(t, 0), posted.Receipt, stateOf(m, "ben"))
			notifytest.Kind(t, err, want)
			notifytest.Clean(t, err, token)
		})
	}
	t.Run("deleted", func(t *testing.T) {
		c, far := staffed(t, guard.English)
		m := notifytest.Message("slack", "one")
		posted, err := c.Post(ctxAt(t, 0), m, "")
		if err != nil {
			t.Fatal(err)
		}
		far.Delete(far.Stored()[0].TS)
		notifytest.Kind(t, c.Edit(ctxAt(t, 0), posted.Receipt, stateOf(m, "ben")), guard.ErrNotFound)
	})
	t.Run("of the channel configured before", func(t *testing.T) {
		c, far := staffed(t, guard.English)
		notifytest.Kind(t, c.Edit(ctxAt(t, 0), "#general|C0001|1.1", notifytest.Message("slack", "one")), guard.ErrNotFound)
		if n := len(far.Edits()); n > 0 {
			t.Errorf("%d edits", n)
		}
	})
	t.Run("another message's answer", func(t *testing.T) {
		c, err := New(Config{Token: guard.NewSecret(token), Channel: "C0001", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"ok":true,"channel":"C0001","ts":"2.2"}`)), Request: r}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		notifytest.Kind(t, c.Edit(ctxAt(t, 0), "C0001|C0001|1.1", notifytest.Message("slack", "one")), guard.ErrUncertain)
	})
}
