package url

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"guard"
)

// The services that a program reads: each message is posted alone, with all that it knows.

// incident is what the messages about one trouble have in common.
func incident(m guard.Message) string {
	for _, k := range []string{m.Finding, m.Release, m.Thread} {
		if k != "" {
			return k
		}
	}
	return m.ID
}

// ended reports whether a message says that its trouble is over: the last part of its ID
// is its stage.
func ended(m guard.Message) bool {
	stage := m.ID[strings.LastIndexByte(m.ID, '|')+1:]
	return slices.Contains([]string{"over", "released", "withdrawn"}, stage)
}

// generic is any program that takes a POST of JSON. Version is that of the form.
var generic = &service{
	form: "generic://HOST/PATH, with USER:PASSWORD@ before the host where it wants one",
	open: true,
	room: room{all: 60_000, each: 4, size: quoted, raw: true},
	make: func(a *address) (build, error) {
		to, user := a.same(), a.User
		return func(p post) request {
			about := make([]string, len(p.About))
			for i, id := range p.About {
				about[i] = guard.Plain(id.String())
			}
			body := webhook{Version: 1, ID: p.ID, Channel: p.Channel, Language: p.Lang, Title: p.title, Lines: p.lines, Text: p.text(), Urgent: p.Urgent,
				Waits: p.Waits, Over: ended(p.Message), Incident: incident(p.Message), Rule: p.Rule, Thread: p.Thread, About: about, For: p.Mentions, Card: p.Card, CreatedAt: p.CreatedAt}
			return request{to: to, user: user, body: body, header: map[string]string{"Idempotency-Key": headerOf(p.ID)}}
		}, nil
	},
	read: loose,
}

// webhook is the body of a generic webhook.
type webhook struct {
	Version int `json:"version"`
	// ID is the message's: one that comes twice says the same, and is the
	// Idempotency-Key of the request.
	ID       string     `json:"id"`
	Channel  string     `json:"channel"`
	Language guard.Lang `json:"language"`
	Title    string     `json:"title"`
	Lines    []string   `json:"lines"`
	Text     string     `json:"text"` // title and lines
	Urgent   bool       `json:"urgent"`
	Waits    bool       `json:"waits,omitempty"` // until quiet hours are over
	// Incident is the same for all that is said about one trouble; Over ends it.
	Incident  string      `json:"incident"`
	Over      bool        `json:"over,omitempty"`
	Rule      guard.Rule  `json:"rule,omitempty"`
	Thread    string      `json:"thread,omitempty"`
	About     []string    `json:"about,omitempty"`
	For       []string    `json:"for,omitempty"`
	Card      *guard.Card `json:"card,omitempty"`
	CreatedAt time.Time   `json:"created_at"`
}

// headerOf is an ID as a header takes it.
func headerOf(id string) string {
	if strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) {
		return url.QueryEscape(id)
	}
	return id
}

// loose reads the answer of a service whose answers have no form: any is a yes that does
// not say no. What begins as JSON must be some.
func loose(body []byte) (reply, bool) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' && body[0] != '[' {
		return reply{}, true
	}
	if !json.Valid(body) {
		return reply{}, false
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(body, &in) != nil {
		return reply{}, true // a list
	}
	for _, key := range []string{"error", "errcode"} {
		if v, ok := in[key]; ok && !slices.Contains([]string{"null", "false", `""`, "0", "[]", "{}"}, string(v)) {
			return reply{kind: guard.ErrInvalid, code: key}, true
		}
	}
	if string(in["ok"]) == "false" || string(in["success"]) == "false" {
		return reply{kind: guard.ErrInvalid, code: "no"}, true
	}
	return reply{}, true
}

// alertmanager is Prometheus' Alertmanager, or what speaks its API: an alert for each
// trouble, which ends with it (prometheus.io/docs/alerting/latest/alerts_api, version 2).
var alertmanager = &service{
	form: "alertmanager://HOST:9093, with USER:PASSWORD@ before the host where it wants one",
	open: true,
	room: room{all: 30_000, each: 2, title: 1000, size: quoted, raw: true},
	make: func(a *address) (build, error) {
		if err := a.unknown(); err != nil {
			return nil, err
		}
		to, user := a.to(strings.TrimSuffix(a.Path, "/")+"/api/v2/alerts", nil), a.User
		return func(p post) request { return request{to: to, user: user, body: alerts(p)} }, nil
	},
	// There is nothing in its answers.
	read: loose,
	// An alert is known by its labels.
	once: func(guard.Message) bool { return true },
}

const (
	// An alert lasts until its end is told, or until guard reminds of it: at the latest
	// after a week. What has no end is an event.
	lasting  = 7*24*time.Hour + time.Hour
	eventful = time.Hour
)

// alerts are a trouble once for each severity: one lasts, the other is over.
func alerts(p post) []object {
	lasts := eventful
	if p.Finding != "" || p.Release != "" {
		lasts = lasting
	}
	over := p.at
	if over.Before(p.CreatedAt) { // the clock was set back
		over = p.CreatedAt
	}
	var out []object
	for _, severity := range []string{critical, info} {
		labels := map[string]string{"alertname": "guard", "severity": severity, "incident": guard.Plain(incident(p.Message))}
		if p.Rule != "" {
			labels["rule"] = string(p.Rule)
		}
		if len(p.About) == 1 {
			id := p.About[0]
			labels["account"], labels["kind"], labels["resource"] = guard.Plain(id.Account), string(id.Kind), guard.Plain(id.ID)
		}
		ends := over
		if severity == severityOf(p.Message) && !ended(p.Message) {
			ends = over.Add(lasts)
		}
		out = append(out, object{"labels": labels, "startsAt": p.CreatedAt.UTC().Format(time.RFC3339Nano), "endsAt": ends.UTC().Format(time.RFC3339Nano),
			"annotations": map[string]string{"summary": p.title, "description": strings.Join(p.lines, "\n"), "message": guard.Plain(p.ID)}})
	}
	return out
}

// The severities, as PagerDuty names them.
const (
	critical = "critical"
	info     = "info"
)

func severityOf(m guard.Message) string {
	if m.Urgent {
		return critical
	}
	return info
}

// pagerduty is a service of PagerDuty, by Events API v2: what is urgent opens an incident,
// whose end resolves it; the rest is an event of the service's history, which calls nobody
// (developer.pagerduty.com/docs/events-api-v2-overview).
var pagerduty = &service{
	form: "pagerduty://ROUTING_KEY@events.pagerduty.com",
	make: func(a *address) (build, error) {
		if a.User == nil || a.User.Username() == "" || strings.Trim(a.Path, "/") != "" {
			return nil, errors.New("it wants the routing key before the host, and no path")
		}
		if err := a.unknown(); err != nil {
			return nil, err
		}
		key, incidents, changes := a.User.Username(), a.to("/v2/enqueue", nil), a.to("/v2/change/enqueue", nil)
		return func(p post) request {
			details := object{"text": p.lines, "rule": p.Rule, "message": p.ID}
			payload := object{"summary": p.title, "source": "guard", "timestamp": p.CreatedAt.UTC().Format(time.RFC3339), "custom_details": details}
			body := object{"routing_key": key, "payload": payload}
			switch {
			case ended(p.Message):
				return request{to: incidents, body: object{"routing_key": key, "event_action": "resolve", "dedup_key": dedup(p.Message)}}
			case !p.Urgent:
				return request{to: changes, body: body}
			}
			payload["severity"] = critical
			body["event_action"], body["dedup_key"], body["client"] = "trigger", dedup(p.Message), "guard"
			return request{to: incidents, body: body}
		}, nil
	},
	room: room{all: 100_000, title: 1000, each: 4, size: quoted, raw: true},
	read: func(body []byte) (reply, bool) {
		var in struct {
			Status string   `json:"status"`
			Errors []string `json:"errors"`
		}
		switch {
		case !decode(body, &in) || in.Status == "":
			return reply{}, false
		case in.Status == "success":
			return reply{}, true
		}
		out := reply{kind: guard.ErrInvalid, code: strings.ReplaceAll(in.Status, " ", "_")}
		if slices.ContainsFunc(in.Errors, func(e string) bool { return strings.Contains(e, "routing_key") }) {
			out.kind = guard.ErrPermission
		}
		return out, true
	},
	once: func(m guard.Message) bool { return m.Urgent || ended(m) },
	todo: map[error]string{guard.ErrPermission: "check the routing key: it is that of an integration with Events API v2"},
}

// dedup is the key of an incident; PagerDuty takes 255 characters.
func dedup(m guard.Message) string {
	if k := incident(m); len(k) <= 255 {
		return k
	}
	return "guard-" + digest(incident(m))
}
