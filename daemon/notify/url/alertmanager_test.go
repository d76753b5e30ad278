package url

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
)

// keeper is an Alertmanager: it knows an alert by its labels.
type keeper struct {
	far
	alerts map[string]alert
	order  []string
}

type alert struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{alerts: map[string]alert{}}
	k.far = far{t: t, take: k.take, yes: fixed(200, ""), no: func(why string) (int, string) { return 400, `"` + why + `"` }}
	return k
}

func (k *keeper) take(r *http.Request, _ map[string]any, raw []byte) (string, string) {
	var in []alert
	user, password, _ := r.BasicAuth()
	switch err := json.Unmarshal(raw, &in); {
	case r.URL.String() != "https://am.example.com:9093/api/v2/alerts" || user != "u" || password != canary:
		return "", "401"
	case err != nil || len(in) == 0:
		return "", "bad_data"
	}
	for _, a := range in {
		if a.Labels["alertname"] == "" || a.Annotations["summary"] == "" || a.StartsAt.IsZero() || a.EndsAt.Before(a.StartsAt) {
			return "", "bad_data"
		}
		for name, v := range a.Labels {
			if v == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
				return "", "bad_data"
			}
		}
	}
	if len(k.faults) > 0 || r.Header.Get("User-Agent") != "guard" {
		return dropped, ""
	}
	for _, a := range in {
		b, _ := json.Marshal(a.Labels) // in order of the keys
		if _, ok := k.alerts[string(b)]; !ok {
			k.order = append(k.order, string(b))
		}
		k.alerts[string(b)] = a
	}
	return dropped, ""
}

// firing are the alerts that last.
func (k *keeper) firing() []alert {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []alert
	for _, key := range k.order {
		if a := k.alerts[key]; a.EndsAt.After(notifytest.Start) {
			out = append(out, a)
		}
	}
	return out
}

func (k *keeper) Seen() []string {
	var out []string
	for _, a := range k.firing() {
		out = append(out, a.Annotations["summary"]+"\n"+a.Annotations["description"])
	}
	return out
}

func openKeeper(t *testing.T) (Channel, *keeper) {
	t.Helper()
	k := newKeeper(t)
	c, err := New(Config{Name: "am", URL: guard.NewSecret("alertmanager://u:" + canary + "@am.example.com:9093"), Transport: k})
	if err != nil {
		t.Fatal(err)
	}
	return c, k
}

func TestAlertmanagerConformance(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) (notifytest.Channel, notifytest.Far) {
		c, k := openKeeper(t)
		return c, notifytest.Far{Seen: k.Seen, Inject: k.Inject, Secrets: []string{canary}, Mute: true, Once: true}
	})
}

// TestAlerts: a trouble is one alert from its first message to its last, whatever it
// becomes in between.
func TestAlerts(t *testing.T) {
	c, k := openKeeper(t)
	m := notifytest.Message("am", "one")
	m.Finding = "idle_empty|lab/i-one|1"
	say := func(stage string, urgent bool) []alert {
		t.Helper()
		m.ID, m.Urgent = "am|"+m.Finding+"|"+stage, urgent
		if _, err := c.Post(ctxAt(t), m, ""); err != nil {
			t.Fatal(err)
		}
		return k.firing()
	}
	first := say("warn", false)
	if len(first) != 1 || first[0].Labels["severity"] != "info" || first[0].Labels["resource"] != "i-one" || first[0].EndsAt.Sub(notifytest.Start) < 7*24*time.Hour {
		t.Fatalf("%+v", first)
	}
	worse := say("act", true)
	if len(worse) != 1 || worse[0].Labels["severity"] != "critical" {
		t.Errorf("%+v", worse)
	}
	delete(first[0].Labels, "severity")
	delete(worse[0].Labels, "severity")
	if !maps.Equal(first[0].Labels, worse[0].Labels) {
		t.Errorf("%v became %v", first[0].Labels, worse[0].Labels)
	}
	if over := say("over", false); len(over) != 0 {
		t.Errorf("over, and firing: %+v", over)
	}
	m.Finding = ""
	if event := say("reloaded", false); len(event) != 1 || event[0].EndsAt.Sub(notifytest.Start) != time.Hour {
		t.Errorf("an event: %+v", event)
	}
}
