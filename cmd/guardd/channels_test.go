package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/configs"
)

// TestInSlack: people are known by name and by ID; buttons want a token to answer clicks.
func TestInSlack(t *testing.T) {
	zone := time.FixedZone("", 8*3600)
	s := &configs.Slack{Token: guard.NewSecret("xoxb-x"), Channel: "#gpu", Lang: guard.Chinese,
		Users: []configs.SlackUser{{ID: "U0ANA", Name: "ana"}, {ID: "U0BEN"}}, Admins: []configs.SlackUser{{ID: "W0EVA", Name: "eva"}}}
	got := inSlack(s, zone)
	if diff := cmp.Diff(map[string]string{"ana": "U0ANA", "U0ANA": "U0ANA", "U0BEN": "U0BEN", "eva": "W0EVA", "W0EVA": "W0EVA"}, got.Users); diff != "" {
		t.Errorf("people (-want +got):\n%s", diff)
	}
	if got.Buttons || got.Lang != guard.Chinese || got.Zone != zone || got.Channel != "#gpu" {
		t.Errorf("got %+v", got)
	}
	s.AppToken = guard.NewSecret("xapp-x")
	if !inSlack(s, zone).Buttons {
		t.Error("no buttons, and an app token")
	}
	all, err := channels(slog.New(slog.DiscardHandler))(&configs.Config{Notify: configs.Notify{Slack: s}, TimeZone: zone})
	if err != nil || len(all) != 2 || all[1].Name() != "slack" {
		t.Errorf("got %v, %v", all, err)
	}
}
