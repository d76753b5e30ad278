package digitalocean

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

const (
	invoicesPath = "v2/customers/my/invoices"
	// furthest is how far back bills are read at all.
	furthest = 366 * 24 * time.Hour
	// monthly is the time beyond which a thing costs no more in a month (pages). For GPU
	// droplets no page says so or denies it; the description's example of one has a price per
	// month of just as many hours.
	monthly = 672 * time.Hour
	// nights are the days of a month in which there may be no preview of it yet.
	nights = 2
)

// invoice is the bill of a month: one that was sent, or the preview of the running month,
// which is written anew each night (description).
type invoice struct {
	ID      providers.Field `json:"invoice_uuid"`
	Period  providers.Field `json:"invoice_period"`
	Updated providers.Field `json:"updated_at"` // of the preview alone
}

func (x invoice) key() (string, bool) { return name(x.ID) }

// month is the time that an invoice is of, in UTC; false where that cannot be read.
func (x invoice) month() (from, to time.Time, ok bool) {
	from, err := time.Parse("2006-01", x.Period.Text(maxWord))
	return from, from.AddDate(0, 1, 0), err == nil
}

// item is what is read of one line of an invoice.
type item struct {
	Product providers.Field `json:"product"`
	ID      providers.Field `json:"resource_id"`
	UUID    providers.Field `json:"resource_uuid"`
	Amount  providers.Field `json:"amount"`
	Start   providers.Field `json:"start_time"`
	End     providers.Field `json:"end_time"`
	Lasted  providers.Field `json:"duration"`
	Unit    providers.Field `json:"duration_unit"`
}

// key makes an item one that list believes in: it has an amount. Items have no IDs.
func (x item) key() (string, bool) {
	_, err := guard.NewMoney(x.Amount.Text(maxWord), usd)
	return "", err == nil
}

// bills are the words for products whose items name a thing that guard can see, and the
// field that has its ID: Droplets with the number in resource_id stand in the tests of godo
// and of doctl, Volumes with resource_uuid and "GPU Droplets" are as the control panel and
// people's own readings of invoices call them. An ID of another form names nothing. Items of
// backups carry a droplet's number under another word, those of Kubernetes its cluster, and
// of snapshots and addresses nothing tells which ID they have: none of these name anything.
var bills = map[string]struct {
	kind guard.Kind
	id   func(item) providers.Field
}{
	"Droplets":     {guard.Instance, func(x item) providers.Field { return x.ID }},
	"GPU Droplets": {guard.Instance, func(x item) providers.Field { return x.ID }},
	"Volumes":      {guard.Volume, func(x item) providers.Field { return x.UUID }},
}

// of is what an item is for; zero where it names nothing that guard can see.
func (p *Provider) of(x item) guard.ResourceID {
	b, ok := bills[x.Product.Text(maxWord)]
	if !ok {
		return guard.ResourceID{}
	}
	id, ok := b.id(x).ID(maxID)
	if r := p.id(b.kind, id); ok && shaped(r) {
		return r
	}
	return guard.ResourceID{}
}

// Charges implements providers.Biller: a call for the list of invoices, and one for every
// 200 items of the preview and of each past month that reaches beyond since. An item is of
// its month until the preview was written, so it grows each night. What a thing costs by the
// hour holds for 672 hours a month; the items of one that has more in a month name nothing,
// for that bill is lower than its price says. A token without billing:read is
// guard.ErrPermission.
func (p *Provider) Charges(ctx context.Context, since time.Time) ([]guard.Charge, error) {
	ctx = providers.Read(ctx)
	if earliest := providers.Clock(ctx).Add(-furthest); since.Before(earliest) {
		since = earliest
	}
	bill, err := p.charges(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("read the bill of %s: %w", p.name, scoped(err, "billing:read"))
	}
	var out []guard.Charge
	for _, c := range bill {
		if c.To.After(since) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b guard.Charge) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Resource.Key(), b.Resource.Key()), cmp.Compare(a.What, b.What))
	})
	return out, nil
}

// scoped names the scope that a refused token lacks. That a token is not known at all is
// another refusal.
func scoped(err error, scope string) error {
	var call *providers.CallError
	if errors.As(err, &call) && call.Status == http.StatusForbidden {
		return fmt.Errorf("%w; the token needs the scope %s", err, scope)
	}
	return err
}

// invoices are the account's invoices and the preview, which is nil where there is none
// yet: it comes in the nights of a month.
func (p *Provider) invoices(ctx context.Context) (past []invoice, preview *invoice, err error) {
	var running providers.Field
	past, err = list[invoice](ctx, p, "invoices", invoicesPath, nil, func(reply map[string]providers.Field) {
		running = reply["invoice_preview"]
	})
	if err != nil || running.Null() && providers.Clock(ctx).Day() <= nights {
		return past, nil, err
	}
	preview = new(invoice)
	running.Into(preview) // else it has no ID
	if _, ok := preview.key(); !ok || preview.Updated.Time().IsZero() {
		return past, nil, fmt.Errorf("%w: the month has no preview, or one that does not tell when it was written", guard.ErrBadReply)
	}
	return past, preview, nil
}

// line is what makes a charge one: a resource has one for each of these.
type line struct {
	resource, what string
	from           time.Time
}

// charges reads the invoices of the months that reach beyond since, and the preview where
// its month has no invoice yet.
func (p *Provider) charges(ctx context.Context, since time.Time) (map[line]guard.Charge, error) {
	past, preview, err := p.invoices(ctx)
	if err != nil {
		return nil, err
	}
	bill, sent := map[line]guard.Charge{}, map[time.Time]bool{}
	for _, x := range past {
		from, to, ok := x.month()
		if !ok {
			return nil, fmt.Errorf("%w: an invoice does not tell its month", guard.ErrBadReply)
		}
		if sent[from] = true; to.After(since) {
			if _, err := p.add(ctx, bill, x, from, to); err != nil {
				return nil, err
			}
		}
	}
	if preview == nil {
		return bill, nil
	}
	from, to, ok := preview.month()
	if !ok {
		return nil, fmt.Errorf("%w: the preview does not tell its month", guard.ErrBadReply)
	}
	if sent[from] {
		return bill, nil
	}
	if at := preview.Updated.Time(); at.Before(to) {
		to = at
	}
	pages, err := p.add(ctx, bill, *preview, from, to)
	if err != nil || pages < 2 {
		return bill, err
	}
	_, again, err := p.invoices(ctx)
	if err == nil && (again == nil || string(again.Updated) != string(preview.Updated)) {
		err = fmt.Errorf("%w: the bill was written anew while it was read", guard.ErrBadReply)
	}
	return bill, err
}

// add adds the items of one invoice, of a time, to a bill. It tells in how many pages they
// came.
func (p *Provider) add(ctx context.Context, bill map[line]guard.Charge, x invoice, from, to time.Time) (pages int, err error) {
	id, _ := x.key()
	items, err := list[item](ctx, p, "invoice_items", invoicesPath+"/"+id, nil, func(map[string]providers.Field) { pages++ })
	if err != nil {
		return pages, err
	}
	lines, hours := make([]guard.Charge, len(items)), map[string]time.Duration{}
	for i, x := range items {
		if lines[i], err = p.charge(x, from, to); err != nil {
			return pages, err
		}
		hours[lines[i].Resource.Key()] += lines[i].To.Sub(lines[i].From)
	}
	for i, c := range lines {
		switch named := c.Resource.ID != ""; {
		case named && hours[c.Resource.Key()] > monthly:
			c.Resource, c.What = guard.ResourceID{}, c.What+" beyond 672 hours of the month"
		case !named && c.Amount.IsZero():
			continue
		case named:
			c.To = items[i].upTo(c)
		}
		key := line{c.Resource.Key(), c.What, c.From}
		if was, ok := bill[key]; ok {
			if c.Amount, err = was.Amount.Add(c.Amount); err != nil {
				return pages, fmt.Errorf("%w: the sum of a bill's items is no amount", guard.ErrBadReply)
			}
			if was.To.After(c.To) {
				c.To = was.To
			}
		}
		bill[key] = c
	}
	return pages, nil
}

// charge makes a charge of an item of an invoice that is of a time. A tax or a credit, which
// names nothing and has no time, is of all of it; so is what began and ended at once, which
// cost the least there is and tells nothing of a price.
func (p *Provider) charge(x item, from, to time.Time) (guard.Charge, error) {
	c := guard.Charge{Resource: p.of(x), What: cmp.Or(x.Product.Text(maxWord), "no product"), From: x.Start.Time(), To: x.End.Time()}
	c.Amount, _ = guard.NewMoney(x.Amount.Text(maxWord), usd) // it has one
	untold := empty(x.Start) && empty(x.End)
	if untold && c.Resource.ID == "" || !c.From.IsZero() && c.From.Equal(c.To) {
		c.Resource, c.From, c.To = guard.ResourceID{}, from, to
	}
	if c.To.After(to) {
		c.To = to
	}
	if c.From.IsZero() || !c.From.Before(c.To) {
		return c, fmt.Errorf("%w: an item of a bill does not tell what time it is of", guard.ErrBadReply)
	}
	return c, nil
}

// upTo is the end of the time that a charge of an item is of: no more than the hours that it
// bills, for the end of one that goes on may be that of its month, or when the bill was
// written, whatever it counts until then.
func (x item) upTo(c guard.Charge) time.Time {
	lasted, err := time.ParseDuration(x.Lasted.Text(maxWord) + "h")
	if end := c.From.Add(lasted); err == nil && lasted > 0 && x.Unit.Text(maxWord) == "Hours" && end.Before(c.To) {
		return end
	}
	return c.To
}

// empty reports whether a field tells nothing.
func empty(f providers.Field) bool { return f.Null() || string(f) == `""` }
