package compshare

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// disk is what is read of a data disk (tool).
type disk struct {
	ID      providers.Field `json:"ResourceId"`
	Name    providers.Field `json:"Name"`
	Size    providers.Field `json:"Configuration"`
	Status  providers.Field `json:"Status"`
	Zone    providers.Field `json:"Zone"`
	On      providers.Field `json:"MountInstance"`
	Charge  providers.Field `json:"ChargeType"`
	Expires providers.Field `json:"ExpiredTime"`
}

func (x disk) key() (string, bool) { return x.ID.ID(maxID) }

// mounted is the instance that has the disk mounted, "" for none; false where the answer does
// not tell.
func (x disk) mounted() (string, bool) {
	if x.On.Null() || string(x.On) == `""` {
		return "", true
	}
	return x.On.ID(maxID)
}

// sureTotal is how many a list without a total may have and be whole: one fewer than the pages
// of the API's other lists have by themselves (pages).
const sureTotal = 19

// disks reads all data disks. Where the answer counts them it has to have as many.
func (p *Provider) disks(ctx context.Context) ([]disk, error) {
	body, err := p.ask(ctx, "DescribeCompshareDisk", nil)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Set   providers.Field `json:"DiskSet"`
		Total providers.Field `json:"TotalCount"`
	}
	var entries []providers.Field
	if body.Into(&reply); !reply.Set.Into(&entries) {
		return nil, fmt.Errorf("%w: the answer has no list of disks in it", guard.ErrBadReply)
	}
	var out []disk
	seen := map[string]bool{}
	for _, f := range entries {
		var x disk
		if !f.Into(&x) {
			continue
		}
		if id, ok := x.key(); ok && !seen[id] {
			seen[id] = true
			out = append(out, x)
		}
	}
	total, told := reply.Total.Count(maxAll)
	switch {
	case len(out) < len(entries):
		return out, fmt.Errorf("%w: %d of %d disks have no usable ID, or another's, so the list does not count as complete", guard.ErrBadReply, len(entries)-len(out), len(entries))
	case !reply.Total.Null() && (!told || total != int64(len(out))):
		return out, fmt.Errorf("%w: the list has %d disks, and does not say that there are as many", guard.ErrBadReply, len(out))
	case !told && len(out) > sureTotal:
		return out, fmt.Errorf("%w: a list of %d disks without a total may be a page of more", guard.ErrBadReply, len(out))
	}
	return out, nil
}

// volumes gives what was read of data disks, and the error.
func (p *Provider) volumes(ctx context.Context) ([]guard.Resource, error) {
	all, err := p.disks(ctx)
	var out []guard.Resource
	for _, x := range all {
		out = append(out, p.volume(x, providers.Clock(ctx)))
	}
	return out, err
}

// dataDisk is what a price book calls a volume.
const dataDisk = "data-disk"

// tariff is what a GB of a data disk costs (pages on billing, 2026); Dynamic is the same as
// Postpay.
var tariff = map[string]guard.Rate{
	postpay: {Amount: guard.MustMoney("0.0005CNY"), Per: time.Hour, Source: "tariff of 2026"},
	dynamic: {Amount: guard.MustMoney("0.0005CNY"), Per: time.Hour, Source: "tariff of 2026"},
	day:     {Amount: guard.MustMoney("0.011CNY"), Per: 24 * time.Hour, Source: "tariff of 2026"},
	month:   {Amount: guard.MustMoney("0.3CNY"), Per: guard.Month, Source: "tariff of 2026"},
}

// volume makes a volume of a data disk. It bills while it exists, mounted or not (pages).
func (p *Provider) volume(x disk, at time.Time) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Volume, id), Name: x.Name.Text(maxName), State: guard.StateRunning, RawState: x.Status.Text(maxWord),
		Type: dataDisk, SizeGB: gigabytes(x.Size.Text(maxWord)), Bills: guard.Yes, ReleaseProtected: guard.No,
	}
	on, ok := x.mounted()
	if r.UsesUntold = !ok; on != "" {
		r.Parent = p.id(guard.Instance, on)
	}
	charge := x.Charge.Text(maxWord)
	gb, known := tariff[charge]
	if rate := gb.PerGB(r.SizeGB); known && rate.Known() {
		r.Rate = rate
		if paid, _ := rate.For(gb.Per); charge != postpay {
			if r.Lump = ahead(charge, paid, unix(x.Expires), guard.Unknown, at); !r.Lump.IsZero() {
				r.Lump.Source, r.Rate = gb.Source, free
			}
		}
	}
	if rate, ok := p.book.Volume(prices.Want{Type: dataDisk, Scope: Scope, SizeGB: r.SizeGB}); ok {
		r.Rate = rate
	}
	return r
}

// gigabytes is the size in a text such as 100GB; 0 for anything else.
func gigabytes(s string) int64 {
	digits, ok := strings.CutSuffix(s, "GB")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 0 || n > maxGB {
		return 0
	}
	return n
}
