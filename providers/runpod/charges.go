package runpod

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

const (
	// bucket is the time that one charge covers: an hour, the finest there is. Another
	// length would count the same time twice.
	bucket = "hour"
	// window bounds one call, and furthest how far back is asked at all.
	window   = 7 * 24 * time.Hour
	furthest = 366 * 24 * time.Hour
)

// bill is one of the bills: its path, and what its records are about.
type bill struct {
	path string
	of   func(record) (kind guard.Kind, prefix string, id providers.Field)
}

// allBills are all of them. Public endpoints are billed without naming any.
var allBills = []bill{
	{"pods", func(r record) (guard.Kind, string, providers.Field) { return guard.Instance, "", r.Pod }},
	{"clusters", func(r record) (guard.Kind, string, providers.Field) { return guard.Instance, clusterPrefix, r.Cluster }},
	{"serverless", func(r record) (guard.Kind, string, providers.Field) {
		return guard.Instance, endpointPrefix, r.Serverless
	}},
	{"network-volumes", func(r record) (guard.Kind, string, providers.Field) { return guard.Filesystem, "", r.Volume }},
	{"endpoints", nil},
}

// record is one line of any bill.
type record struct {
	From       providers.Field `json:"startTime"`
	To         providers.Field `json:"endTime"`
	Pod        providers.Field `json:"podId"`
	Cluster    providers.Field `json:"clusterId"`
	Serverless providers.Field `json:"serverlessId"`
	Volume     providers.Field `json:"networkVolumeId"`

	Total      providers.Field `json:"totalAmount"`
	GPU        providers.Field `json:"gpuAmount"`
	CPU        providers.Field `json:"cpuAmount"`
	Disk       providers.Field `json:"diskAmount"`
	Fee        providers.Field `json:"feeAmount"`
	Standard   providers.Field `json:"standardAmount"`
	Fast       providers.Field `json:"highPerformanceAmount"`
	Networking providers.Field `json:"networkingAmount"`
}

// key makes a record one that list believes in: it says of what time it is.
func (r record) key() (string, bool) {
	from, to := r.From.Time(), r.To.Time()
	return "", !from.IsZero() && from.Before(to)
}

// Charges implements providers.Biller: five calls for each week since then. What two weeks'
// readings tell of one time is one charge.
func (p *Provider) Charges(ctx context.Context, since time.Time) ([]guard.Charge, error) {
	ctx = providers.Read(ctx)
	now := providers.Clock(ctx)
	from := since.UTC()
	if earliest := now.Add(-furthest); from.Before(earliest) {
		from = earliest
	}
	told := map[string][]guard.Charge{} // by bill, thing and beginning
	for from = from.Truncate(time.Hour); from.Before(now); from = from.Add(window) {
		to := from.Add(window)
		if to.After(now) {
			to = now.Truncate(time.Hour).Add(time.Hour)
		}
		for _, b := range allBills {
			if err := p.read(ctx, b, from, to, told); err != nil {
				return nil, fmt.Errorf("read the bill for %s of %s: %w", b.path, p.name, err)
			}
		}
	}
	var out []guard.Charge
	for _, charges := range told {
		for _, c := range charges {
			if c.To.After(since) {
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b guard.Charge) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Resource.Key(), b.Resource.Key()))
	})
	return out, nil
}

// read reads one bill of a time into what is told. One reading that tells of a thing's hour
// twice is guard.ErrBadReply: nobody knows which is right.
func (p *Provider) read(ctx context.Context, b bill, from, to time.Time, told map[string][]guard.Charge) error {
	q := url.Values{"bucketSize": {bucket}, "startTime": {from.Format(time.RFC3339)}, "endTime": {to.Format(time.RFC3339)}}
	records, err := list[record](ctx, p, "records", q, "billing", b.path)
	if isAbsent(err) {
		err = fmt.Errorf("%w: there is no such bill", guard.ErrBadReply)
	}
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for _, r := range records {
		id, charges, err := p.charges(b, r)
		if err != nil {
			return err
		}
		key := fmt.Sprintf("%s %s %d", b.path, id.Key(), r.From.Time().Unix())
		if here[key] {
			return fmt.Errorf("%w: it tells of the same hour twice", guard.ErrBadReply)
		}
		here[key], told[key] = true, charges
	}
	return nil
}

// charges makes the charges of a record, and says what it is for: one for each part that it
// names, where these make up its total, else one for the total.
func (p *Provider) charges(b bill, r record) (guard.ResourceID, []guard.Charge, error) {
	one := guard.Charge{From: r.From.Time(), To: r.To.Time(), What: b.path}
	if b.of != nil {
		kind, prefix, field := b.of(r)
		id, ok := field.ID(maxID)
		if !ok {
			return one.Resource, nil, fmt.Errorf("%w: a record names nothing that it is for", guard.ErrBadReply)
		}
		one.Resource, one.What = p.id(kind, prefix+id), "total"
	}
	total, ok := r.Total.Money(usd)
	if !ok {
		return one.Resource, nil, fmt.Errorf("%w: a record has no amount", guard.ErrBadReply)
	}
	if parts, ok := r.parts(one, total); ok {
		return one.Resource, parts, nil
	}
	if one.Amount = total; total.IsZero() {
		return one.Resource, nil, nil
	}
	return one.Resource, []guard.Charge{one}, nil
}

// parts are the parts of a record that are above nothing; false where they are not all of
// its total.
func (r record) parts(of guard.Charge, total guard.Money) ([]guard.Charge, bool) {
	sum := new(big.Rat)
	var out []guard.Charge
	for _, part := range []struct {
		what  string
		field providers.Field
	}{
		{"gpu", r.GPU}, {"cpu", r.CPU}, {"disk", r.Disk}, {"fee", r.Fee},
		{"standard", r.Standard}, {"high performance", r.Fast}, {"networking", r.Networking},
	} {
		m, ok := part.field.Money(usd)
		if !ok && !part.field.Null() {
			return nil, false
		}
		sum.Add(sum, m.Rat())
		if ok && !m.IsZero() {
			of.What, of.Amount = part.what, m
			out = append(out, of)
		}
	}
	off := sum.Sub(sum, total.Rat())
	return out, off.Abs(off).Cmp(rounding) <= 0
}

// rounding is how far the sum of a record's parts, which are floats, may be off its total.
var rounding = big.NewRat(1, 1_000_000)
