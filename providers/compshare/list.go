package compshare

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// pageSize is the most that a page may have, and that may be asked for by ID (pages).
const pageSize = 100

// List reads instances, volumes (data disks, mounted or not) or images (those that the account
// has made). For other kinds the result is guard.ErrUnsupported.
//
// Instances are a call for each hundred, and one for each hundred of those whose price is not
// known, or has not been asked for in ten minutes. Volumes are one call. Images are one
// for each hundred in each region, where there are any one for each hundred instances, and one in
// six hours for the regions.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	return providers.ListScope(ctx, q, p.name, Scope, p.things), nil
}

// things reads what there is of a kind.
func (p *Provider) things(ctx context.Context, kind guard.Kind) ([]guard.Resource, error) {
	switch kind {
	case guard.Instance:
		return p.instances(ctx)
	case guard.Volume:
		return p.volumes(ctx)
	case guard.Image:
		return p.images(ctx)
	}
	return nil, guard.ErrUnsupported
}

// pageOf takes an answer apart: the entries in a set of it, and how many there are in all.
func pageOf(body providers.Field, set string) (entries []providers.Field, total int64, err error) {
	var x map[string]providers.Field
	body.Into(&x)
	total, ok := x["TotalCount"].Count(maxAll)
	if !ok {
		return nil, 0, fmt.Errorf("%w: the answer does not say how many there are", guard.ErrBadReply)
	}
	empty := total == 0 && string(x[set]) == "null"
	if !empty && !x[set].Into(&entries) {
		return nil, 0, fmt.Errorf("%w: the answer has no %s in it", guard.ErrBadReply, set)
	}
	return entries, total, nil
}

// record is an entry of a list.
type record interface {
	key() (string, bool)
}

// list reads every page of a list, and gives an error beside what was read where that is not
// all that the provider says there is. The call's own parameters are in.
func list[T record](ctx context.Context, p *Provider, action string, in params, set string) ([]T, error) {
	var out []T
	seen := map[string]bool{}
	wrong := 0
	var before int64
	for offset := 0; ; {
		page := params{"Offset": offset, "Limit": pageSize}
		maps.Copy(page, in)
		body, err := p.ask(ctx, action, page)
		if err != nil {
			return out, err
		}
		entries, total, err := pageOf(body, set)
		if err != nil {
			return out, err
		}
		if offset > 0 && total != before {
			return out, fmt.Errorf("%w: the list changed while it was read", guard.ErrUnavailable)
		}
		before = total
		offset += len(entries) // a page may be shorter than it could be
		had := len(out) + wrong
		for _, f := range entries {
			var x T
			id, ok := "", f.Into(&x)
			if ok {
				id, ok = x.key()
			}
			switch {
			case !ok:
				wrong++
			case !seen[id]:
				seen[id] = true
				out = append(out, x)
			}
		}
		switch got := len(out) + wrong; {
		case got < int(total) && got > had:
			continue // another page
		case got != int(total):
			return out, fmt.Errorf("%w: the list has %d entries, and says that there are %d", guard.ErrBadReply, got, total)
		case wrong > 0:
			return out, fmt.Errorf("%w: %d of %d entries of the list have no usable ID, so it does not count as complete", guard.ErrBadReply, wrong, got)
		}
		return out, nil
	}
}

// describe is the call that tells of instances, and hosts the set of them in its answer.
const (
	describe = "DescribeCompShareInstance"
	hosts    = "UHostSet"
)

// all are the instances as they are told of.
func (p *Provider) all(ctx context.Context) ([]instance, error) {
	return list[instance](ctx, p, describe, nil, hosts)
}

// instances gives what was read, and the first error.
func (p *Provider) instances(ctx context.Context) ([]guard.Resource, error) {
	all, err := p.all(ctx)
	if err == nil {
		p.forget(all)
	}
	if !providers.EndsAll(err) {
		p.learn(ctx, all)
	}
	out := make([]guard.Resource, 0, len(all))
	for _, x := range all {
		out = append(out, p.instance(x, providers.Clock(ctx)))
	}
	return out, err
}

const (
	// quoteFor is how long a price is believed; one that could not be read is asked for again
	// after quoteAgain.
	quoteFor   = 10 * time.Minute
	quoteAgain = 2 * time.Minute
)

func (p *Provider) quoteOf(id string) quote {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quotes[id]
}

// learn asks by ID for what listings do not tell. Where that fails what was known stands, as
// long as the instance is what it was.
func (p *Provider) learn(ctx context.Context, all []instance) {
	now := providers.Clock(ctx)
	var ids []string
	of := map[string]string{}
	for _, x := range all {
		id, _ := x.key()
		if q := p.quoteOf(id); q.asked.IsZero() || q.of != x.quoted() || now.Sub(q.asked).Abs() >= q.good {
			ids = append(ids, id)
			of[id] = x.quoted()
		}
	}
	for batch := range slices.Chunk(ids, pageSize) {
		told, _, err := p.byID(ctx, batch)
		if providers.EndsAll(err) {
			return
		}
		for _, id := range batch {
			if x, ok := told[id]; ok {
				p.keep(x, now)
				continue
			}
			q := p.quoteOf(id)
			if q.of != of[id] {
				q = quote{of: of[id]}
			}
			q.asked, q.good = now, quoteAgain
			p.put(id, q)
		}
	}
}

// keep keeps what an instance costs that was read by ID.
func (p *Provider) keep(x instance, now time.Time) {
	id, _ := x.key()
	q := x.quote()
	q.asked, q.good = now, quoteFor
	p.put(id, q)
}

func (p *Provider) put(id string, q quote) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quotes[id] = q
}

// forget drops the prices of instances that are no more.
func (p *Provider) forget(all []instance) {
	here := make(map[string]bool, len(all))
	for _, x := range all {
		id, _ := x.key()
		here[id] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.quotes {
		if !here[id] {
			delete(p.quotes, id)
		}
	}
}
