package simulate

import (
	"context"

	"guard"
)

// heart is what a story calls the watcher outside, as if it were a channel: a beat is a
// post in it. It hears of no address.
const heart = "heartbeat"

// beat is what guard's heartbeat reaches in a story.
func (l *life) beat(guard.Secret) func(context.Context) error {
	return func(context.Context) error {
		if l.dead() {
			return errDead
		}
		r := l.story
		r.mu.Lock()
		defer r.mu.Unlock()
		r.posts = append(r.posts, posting{at: r.now, channel: heart, requests: 1, stored: true})
		return nil
	}
}
