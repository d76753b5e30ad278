package notifytest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// looks are the methods that change nothing.
var looks = map[string]func(s *Slack, w http.ResponseWriter, form url.Values) outcome{
	"conversations.history": (*Slack).history,
	"conversations.replies": (*Slack).replies,
	"conversations.list":    (*Slack).list,
	"conversations.info":    (*Slack).info,
	"users.lookupByEmail":   (*Slack).byEmail,
	"auth.test":             (*Slack).whoAmI,
}

func (m *message) json(metadata bool) map[string]any {
	out := map[string]any{"type": "message", "ts": m.ts, "text": m.shown.Text}
	if m.thread != "" {
		out["thread_ts"] = m.thread
	}
	if metadata && len(m.metadata) > 0 {
		out["metadata"] = m.metadata
	}
	return out
}

func (s *Slack) history(w http.ResponseWriter, form url.Values) outcome {
	r := s.find(form.Get("channel"))
	if r == nil || strings.HasPrefix(form.Get("channel"), "#") {
		return reply(w, "channel_not_found")
	}
	var seen []*message
	for _, m := range slices.Backward(r.messages) {
		if !m.deleted && (m.thread == "" || m.shown.Broadcast) {
			seen = append(seen, m)
		}
	}
	return s.page(w, form, seen)
}

func (s *Slack) replies(w http.ResponseWriter, form url.Values) outcome {
	r := s.find(form.Get("channel"))
	if r == nil || strings.HasPrefix(form.Get("channel"), "#") {
		return reply(w, "channel_not_found")
	}
	var seen []*message
	for _, m := range r.messages {
		if !m.deleted && (m.ts == form.Get("ts") || m.thread == form.Get("ts")) {
			seen = append(seen, m)
		}
	}
	if len(seen) == 0 {
		return reply(w, "thread_not_found")
	}
	return s.page(w, form, seen)
}

func (s *Slack) page(w http.ResponseWriter, form url.Values, ms []*message) outcome {
	oldest := form.Get("oldest")
	ms = slices.DeleteFunc(ms, func(m *message) bool { return oldest != "" && m.ts <= oldest })
	from, _ := strconv.Atoi(form.Get("cursor"))
	limit, err := strconv.Atoi(form.Get("limit"))
	if err != nil || limit < 1 {
		limit = 100
	}
	to := min(from+limit, len(ms))
	page := []map[string]any{}
	for _, m := range ms[min(from, to):to] {
		page = append(page, m.json(form.Get("include_all_metadata") == "1"))
	}
	out := map[string]any{"ok": true, "messages": page, "has_more": to < len(ms)}
	if to < len(ms) {
		out["response_metadata"] = map[string]any{"next_cursor": strconv.Itoa(to)}
	}
	return answer(w, out)
}

func (s *Slack) list(w http.ResponseWriter, _ url.Values) outcome {
	cs := []map[string]any{}
	for _, r := range s.channels {
		cs = append(cs, map[string]any{"id": r.id, "name": r.name, "is_channel": true})
	}
	return answer(w, map[string]any{"ok": true, "channels": cs})
}

func (s *Slack) info(w http.ResponseWriter, form url.Values) outcome {
	r := s.find(form.Get("channel"))
	if r == nil {
		return reply(w, "channel_not_found")
	}
	return answer(w, map[string]any{"ok": true, "channel": map[string]any{"id": r.id, "name": r.name, "is_member": !r.out}})
}

func (s *Slack) whoAmI(w http.ResponseWriter, _ url.Values) outcome {
	return answer(w, map[string]any{"ok": true, "user": "guard", "team": "lab", "user_id": "U0001", "bot_id": "B0001"})
}

func (s *Slack) byEmail(w http.ResponseWriter, form url.Values) outcome {
	s.emails++
	email := form.Get("email")
	id, ok := s.members[email]
	if !ok {
		return reply(w, "users_not_found")
	}
	return answer(w, map[string]any{"ok": true, "user": map[string]any{"id": id, "name": "a member", "profile": map[string]any{"email": email}}})
}
