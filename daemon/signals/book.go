// Package signals reads how hard instances work, from the clouds, from Prometheus, from
// agents on the boxes, and folds it into what judgements of idleness rest on. Samples
// live in a file of their own that may be lost: a full disk there never touches the
// ledger, and without it the quiet clocks begin anew.
package signals

import (
	"context"
	"time"

	"guard"
	"guard/policy/activity"
)

// Book keeps the activity of each instance. It goes on over reloads, and may be used
// from several goroutines.
type Book struct{}

// Push takes in samples that an agent sends, in the order of their time. What was taken
// in before is no error and changes nothing; a sample that cannot be believed is
// guard.ErrInvalid and says why, and those before it count.
func (b *Book) Push(ctx context.Context, at guard.Instant, id guard.ResourceID, samples []guard.Sample) error {
	return nil
}

// Activity is what is known of an instance, by its key; false where nothing samples it.
func (b *Book) Activity(key string) (activity.State, bool) { return activity.State{}, false }

// Stirred are the keys of which judgements may be other ones since a version, and the
// version now. all: that version is too old to tell, so it may be any of them.
func (b *Book) Stirred(since uint64) (keys []string, all bool, now uint64) { return nil, false, 0 }

// Recent are the stored samples of an instance since a time, oldest first.
func (b *Book) Recent(ctx context.Context, key string, since time.Time) ([]guard.Sample, error) {
	return nil, nil
}
