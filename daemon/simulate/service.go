package simulate

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"guard"
	"guard/configs"
	"guard/daemon/notify"
)

// service is another service that people read, of those under notify.urls: in a story it
// takes everything, and shows nothing of what it took. Nothing leaves the story.
type service struct {
	configs.URLChannel
	number int // of the address, from 1
}

// Name implements notify.Channel.
func (s *service) Name() string { return s.URLChannel.Name }

// Lang is what its readers read.
func (s *service) Lang() guard.Lang { return s.URLChannel.Lang }

// Fallback reports whether it is told only what others could not be told.
func (s *service) Fallback() bool { return s.URLChannel.Fallback }

// Post implements notify.Channel.
func (s *service) Post(ctx context.Context, m guard.Message, _ string) (guard.Posted, error) {
	if err := ctx.Err(); err != nil {
		return guard.Posted{}, fmt.Errorf("%w: post to %s: not begun: %v", guard.ErrUnavailable, s.Name(), err)
	}
	return guard.Posted{Receipt: m.ID}, nil
}

// Find implements notify.Channel.
func (s *service) Find(context.Context, guard.Message, string) (guard.Posted, bool, error) {
	return guard.Posted{}, false, fmt.Errorf("%w: %s shows nothing of what was posted", guard.ErrUnsupported, s.Name())
}

// services are the other services of a configuration.
func (l *life) services(c *configs.Config) (out []notify.Channel) {
	for i, u := range c.Notify.URLs {
		out = append(out, &recorder{&service{u, i + 1}, l})
	}
	return out
}

// story is what stories call a channel: slack, log, or url:N, whatever its name is.
func storyName(c notify.Channel) string {
	if s, ok := c.(*service); ok {
		return "url:" + strconv.Itoa(s.number)
	}
	return c.Name()
}

// isService reports whether a story's name for a channel is url:N.
func isService(name string) bool {
	digits, ok := strings.CutPrefix(name, "url:")
	n, err := strconv.Atoi(digits)
	return ok && err == nil && n > 0 && strconv.Itoa(n) == digits
}
