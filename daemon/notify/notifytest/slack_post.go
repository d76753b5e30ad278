package notifytest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// asked is what a request to post or to edit says, and what Slack has against it.
func (s *Slack) asked(form url.Values) (p Post, bad string) {
	p = Post{At: s.now, Channel: form.Get("channel"), Thread: form.Get("thread_ts"), Text: form.Get("text"), Broadcast: form.Get("reply_broadcast") == "true"}
	var meta struct {
		Payload struct{ ID string } `json:"event_payload"`
	}
	_ = json.Unmarshal([]byte(form.Get("metadata")), &meta)
	p.ID, p.Form = meta.Payload.ID, form.Get("blocks")
	c, bad := check(p.Form, p.Text)
	p.Blocks, p.Buttons, p.Pings = strings.Join(c.texts, "\n"), c.buttons, c.pings
	if p.Form == "[]" {
		p.Form = ""
	}
	return p, bad
}

func (s *Slack) post(w http.ResponseWriter, form url.Values) outcome {
	p, bad := s.asked(form)
	defer func() { s.posts = append(s.posts, p) }()
	r := s.find(p.Channel)
	f := s.fault(false)
	if bad == "" && r == nil {
		bad = "channel_not_found"
	}
	var m *message
	if bad == "" && (f == nil || f.Stored) {
		m = &message{ts: s.stamp(), metadata: json.RawMessage(form.Get("metadata"))}
		for _, root := range r.messages {
			if root.ts == p.Thread && !root.deleted {
				m.thread = p.Thread
			}
		}
		r.messages = append(r.messages, m)
		p.Channel, p.TS, p.Stored = r.id, m.ts, true
		m.shown = p
	}
	return finish(w, f, &p, bad, func() outcome {
		return answer(w, map[string]any{"ok": true, "channel": r.id, "ts": m.ts, "message": m.json(true)})
	})
}

// edit replaces what is told: the text, the blocks; what is not told stays. A channel
// goes by its ID only.
func (s *Slack) edit(w http.ResponseWriter, form url.Values) outcome {
	p, bad := s.asked(form)
	p.TS = form.Get("ts")
	defer func() { s.edits = append(s.edits, p) }()
	r := s.find(p.Channel)
	f := s.fault(true)
	var m *message
	switch {
	case bad != "":
	case r == nil || r.id != p.Channel:
		bad = "channel_not_found"
	default:
		if i := slices.IndexFunc(r.messages, func(m *message) bool { return m.ts == p.TS && !m.deleted }); i < 0 {
			bad = "message_not_found"
		} else if m = r.messages[i]; m.people {
			bad = "cant_update_message"
		}
	}
	if bad == "" && (f == nil || f.Stored) {
		was := m.shown
		if _, told := form["blocks"]; !told {
			p.Blocks, p.Form, p.Buttons = was.Blocks, was.Form, was.Buttons
		}
		if _, told := form["metadata"]; told {
			m.metadata = json.RawMessage(form.Get("metadata"))
		} else {
			p.ID = was.ID
		}
		p.Thread, p.Broadcast, p.Stored = was.Thread, was.Broadcast, true
		m.shown = p
	}
	return finish(w, f, &p, bad, func() outcome {
		return answer(w, map[string]any{"ok": true, "channel": r.id, "ts": m.ts, "text": p.Text, "message": m.json(false)})
	})
}

// finish answers as the fault does, or what Slack has against it, or well.
func finish(w http.ResponseWriter, f *Fault, p *Post, bad string, well func() outcome) outcome {
	switch {
	case f == nil && bad != "":
		p.Status, p.Error = http.StatusOK, bad
		return reply(w, bad)
	case f == nil:
		p.Status = http.StatusOK
		return well()
	case f.TimesOut:
		return gone
	case f.Refused:
		return refused
	case f.Error != "":
		p.Status, p.Error = http.StatusOK, f.Error
		return reply(w, f.Error)
	}
	p.Status = f.Status
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body))
	return answered
}
