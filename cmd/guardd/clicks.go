package main

import (
	"log/slog"

	"guard/configs"
	"guard/daemon"
	"guard/daemon/notify/slack"
)

// clicks makes what takes people's clicks in Slack; nil where no app token is configured.
func clicks(log *slog.Logger) func(*configs.Config) (daemon.Clicks, error) {
	return func(c *configs.Config) (daemon.Clicks, error) {
		s := c.Notify.Slack
		if s == nil || !s.AppToken.IsSet() {
			return nil, nil
		}
		socket, err := slack.NewSocket(slack.SocketConfig{AppToken: s.AppToken, Token: s.Token, Endpoint: s.Endpoint, Lang: s.Lang, Log: log})
		if err != nil {
			return nil, err
		}
		return socket, nil
	}
}
