package autodl

import (
	"context"
	"time"

	"guard"
	"guard/providers"
)

const (
	// detailFor is how long a detail is believed; one that could not be read, or has no price
	// yet, is asked for again after detailAgain.
	detailFor   = 6 * time.Hour
	detailAgain = 10 * time.Minute
	// At most so many are asked for in one listing: of instances that nothing is known of,
	// and of those that are old.
	mostNew = 50
	mostOld = 5
)

func (p *Provider) detailOf(id string) detail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.details[id]
}

// learn reads the details of instances that are missing, and of those that are old. One that
// cannot be read leaves the instance as it was known, without a price where none was.
func (p *Provider) learn(ctx context.Context, instances []instance) {
	now := providers.Clock(ctx)
	fresh, old := 0, 0
	for _, x := range instances {
		id, _ := x.key()
		on := nullTime(x.Started)
		d := p.detailOf(id)
		counter, most := &old, mostOld
		if d.asked.IsZero() || !d.on.Equal(on) {
			counter, most = &fresh, mostNew
		} else if now.Sub(d.asked).Abs() < d.good {
			continue
		}
		if *counter++; *counter > most {
			continue
		}
		next, err := p.snapshot(ctx, id)
		if providers.EndsAll(err) {
			return
		}
		if err != nil && d.on.Equal(on) {
			next = d
		}
		next.asked, next.good, next.on = now, detailFor, on
		if err != nil || !next.rate.Known() && x.Charge.Text(maxWord) == payg {
			next.good = detailAgain
		}
		p.mu.Lock()
		p.details[id] = next
		p.mu.Unlock()
	}
}

// forget drops the details of instances that are no more.
func (p *Provider) forget(instances []instance) {
	here := make(map[string]bool, len(instances))
	for _, x := range instances {
		id, _ := x.key()
		here[id] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.details {
		if !here[id] {
			delete(p.details, id)
		}
	}
}

// snapshot reads the detail of one instance.
func (p *Provider) snapshot(ctx context.Context, id string) (detail, error) {
	data, err := p.about(ctx, id, snapshotPath)
	var x snapshot
	if err != nil {
		return detail{}, err
	}
	if !data.Into(&x) {
		return detail{}, guard.ErrBadReply
	}
	return detail{rate: thousandth(x.Price), model: x.Model.Text(maxName), disks: x.further()}, nil
}
