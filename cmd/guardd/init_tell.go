package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"guard"
	"guard/daemon"
	"guard/daemon/notify"
	"guard/daemon/notify/slack"
	"guard/daemon/notify/url"
)

const (
	// slackToken is the variable that has the bot's token, serviceURL the one that has the
	// address of another service.
	slackToken = "SLACK_BOT_TOKEN"
	serviceURL = "GUARD_NOTIFY_URL"
)

// told is where people are told.
type told struct {
	channel  string // in Slack; "" is none
	variable string // that has the address of another service; "" is none
}

// yaml is what of the configuration says so. Who is told gets a digest each morning, and
// hears again of what nobody sees to.
func (t told) yaml(slackEndpoint string) string {
	if t == (told{}) {
		return ""
	}
	var b strings.Builder
	b.WriteString("notify:\n")
	if t.channel != "" {
		fmt.Fprintf(&b, "  slack: {token: {env: %s}, channel: %s", slackToken, quote(t.channel))
		if slackEndpoint != "" {
			fmt.Fprintf(&b, ", endpoint: %s", quote(slackEndpoint))
		}
		b.WriteString("}\n")
	}
	if t.variable != "" {
		fmt.Fprintf(&b, "  urls: [{env: %s}]\n", quote(t.variable))
	}
	b.WriteString("  digest: \"0 9 * * *\"\n  escalate: [30m, 2h]\n")
	return b.String()
}

// slack asks for a channel where there is a token, and posts the first message.
func (s *setup) slack(ctx context.Context) error {
	value, ok := s.env(slackToken)
	if !ok || strings.TrimSpace(value) == "" {
		return nil
	}
	asked := s.Ask && s.people.channel == ""
	for {
		if asked {
			answer, err := s.question(ctx, "\nTell people in which Slack channel? (- for none)", "-")
			if err != nil || answer == "-" {
				s.people.channel = ""
				return err
			}
			s.people.channel = answer
		}
		if s.people.channel == "" {
			return nil
		}
		c, err := slack.New(slack.Config{Token: guard.NewSecret(strings.TrimSpace(value)), Channel: s.people.channel, Endpoint: s.slackEndpoint})
		if err == nil {
			err = s.greet(ctx, c, "Slack")
		}
		if err == nil {
			fmt.Fprintf(s.Out, "Slack has a first message in %s.\n", s.people.channel)
			return nil
		}
		if !asked || ctx.Err() != nil {
			return err
		}
		s.say("%v", err)
	}
}

// service posts the first message at the address that a variable has: the one that is
// named, or, where people are asked and say yes, serviceURL.
func (s *setup) service(ctx context.Context) error {
	named := s.people.variable
	variable := cmp.Or(named, serviceURL)
	value, _ := s.env(variable)
	if value = strings.TrimSpace(value); value == "" || named == "" && !s.Ask {
		return nil
	}
	err := s.through(ctx, variable, guard.NewSecret(value), named == "")
	if err == nil || named != "" || ctx.Err() != nil || errors.Is(err, errEnded) {
		return err
	}
	s.say("%v", err)
	return nil
}

func (s *setup) through(ctx context.Context, variable string, address guard.Secret, ask bool) error {
	c, err := url.New(url.Config{Name: "url:1", URL: address})
	if err != nil {
		return fmt.Errorf("the address in %s: %w", variable, err)
	}
	if ask {
		answer, err := s.question(ctx, fmt.Sprintf("\nTell people through %s (%s)? (- for not)", c.Place(), variable), "yes")
		if err != nil || answer != "yes" {
			return err
		}
	}
	if err := s.greet(ctx, c, c.Place()); err != nil {
		return err
	}
	s.people.variable = variable
	fmt.Fprintf(s.Out, "There is a first message through %s.\n", c.Place())
	return nil
}

// greet posts a message, so that what is wrong with a channel is known now.
func (s *setup) greet(ctx context.Context, c notify.Channel, where string) (err error) {
	at := daemon.Now()
	patiently(s.Err, "posting to "+where, func() {
		_, err = c.Post(guard.WithInstant(ctx, at), guard.Message{
			ID: fmt.Sprintf("init-%d", at.Wall.UnixNano()), CreatedAt: at.Wall, Title: "guard is being set up",
			Lines: []string{"This is a test: what guard has to say comes here.", observing},
		}, "")
	})
	return err
}
