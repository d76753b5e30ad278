package fake

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers"
)

// What is kept of texts from outside, in characters.
const (
	maxID    = 256
	maxName  = 256
	maxValue = 1024
	maxTags  = 512
)

// Limits beyond which a number is noise.
const (
	maxGPUs = 4096
	maxGB   = 1_000_000_000
)

// field is a providers.Field, which also reads what this cloud alone tells.
type field struct{ providers.Field }

type listReply struct {
	Items    []field `json:"items"`
	Next     string  `json:"next"`
	Currency string  `json:"currency"`
}

type lookupReply struct {
	Results  []lookupItem `json:"results"`
	Currency string       `json:"currency"`
}

type lookupItem struct {
	Kind     field      `json:"kind"`
	ID       field      `json:"id"`
	Absent   bool       `json:"absent"`
	Error    *itemError `json:"error"`
	Resource field      `json:"resource"`
}

type itemError struct {
	Status     int    `json:"status"`
	Body       string `json:"body"`
	RetryAfter string `json:"retry_after"`
}

// err is the error of one item, as if it had been a reply of its own.
func (e *itemError) err() error {
	resp := &http.Response{StatusCode: e.Status, Header: http.Header{}}
	if e.RetryAfter != "" {
		resp.Header.Set("Retry-After", e.RetryAfter)
	}
	if err := providers.StatusError(resp, []byte(e.Body)); err != nil {
		return err
	}
	return guard.ErrBadReply
}

type record struct {
	ID               field `json:"id"`
	Kind             field `json:"kind"`
	Scope            field `json:"scope"`
	Name             field `json:"name"`
	Created          field `json:"created"`
	Changed          field `json:"changed"`
	State            field `json:"state"`
	Ended            field `json:"ended"`
	Type             field `json:"type"`
	GPUs             field `json:"gpus"`
	GPUModel         field `json:"gpu_model"`
	Spot             field `json:"spot"`
	Rate             field `json:"rate"`
	ListRate         field `json:"list_rate"`
	StoppedRate      field `json:"stopped_rate"`
	StopEffect       field `json:"stop_effect"`
	Egress           field `json:"egress"`
	Ingress          field `json:"ingress"`
	Tags             field `json:"tags"`
	SizeGB           field `json:"size_gb"`
	Parent           field `json:"parent"`
	Attached         field `json:"attached"`
	GoesWithInstance field `json:"goes_with_instance"`
	Source           field `json:"source"`
	UsedBy           field `json:"used_by"`
	Protected        field `json:"protected"`
	PlatformEnds     field `json:"platform_ends"`
	Lump             field `json:"lump"`
}

// decode reads one record; false where it does not say which thing it is about.
// Every other field that makes no sense becomes unknown.
func (p *Provider) decode(b field, currency string) (guard.Resource, bool) {
	var rec record
	if !b.Into(&rec) {
		return guard.Resource{}, false
	}
	scope := rec.Scope.Text(maxName)
	id, ok := p.id(rec.Kind, rec.ID, scope)
	if !ok {
		return guard.Resource{}, false
	}
	r := guard.Resource{
		ID: id, Name: rec.Name.Text(maxName),
		RawState: rec.State.Text(maxName), Created: rec.Created.Time(), Changed: rec.Changed.Time(),
		Type: rec.Type.Text(maxName), GPUModel: rec.GPUModel.Text(maxName),
		Spot: rec.Spot.Tri() == guard.Yes, Tags: rec.Tags.tags(), TagsUntold: rec.Tags.Null(),
		Source: rec.Source.Text(maxID), UsedBy: rec.UsedBy.texts(maxID), UsesUntold: rec.UsedBy.Field != nil && rec.UsedBy.Null(),
	}
	r.Group = r.Tags[groupTag]
	r.State = stateOf(r.RawState)
	switch rec.Ended.Text(maxName) {
	case endedUser: // somebody with the account's keys; guard knows its own releases
		r.Ended = guard.ByOutside
	case endedReclaim:
		r.Ended = guard.ByReclaim
	case endedPlatform:
		r.Ended = guard.ByPlatform
	}
	r.SizeGB, _ = rec.SizeGB.Count(maxGB)
	gpus, known := rec.GPUs.Count(maxGPUs)
	if id.Kind == guard.Instance && known {
		r.GPUs, r.HasGPU = int(gpus), guard.TriOf(gpus > 0)
	}
	r.ReleaseProtected, r.StopProtected = rec.Protected.protection()
	r.Rate = rec.Rate.rate(currency, r)
	if !r.Rate.Known() {
		if list := rec.ListRate.rate(currency, r); list.Known() {
			list.Source = "catalogue"
			r.Rate = list
		}
	}
	if id.Kind == guard.Instance {
		r.StoppedRate = rec.StoppedRate.rate(currency, r)
		r.StopSaves = effectOf(rec.StopEffect.Text(maxName))
	}
	r.Egress = traffic(rec.Egress, rec.Ingress, currency)
	r.Bills = bills(r)
	r.PlatformEnds, r.Lump = rec.PlatformEnds.ends(), rec.Lump.lump(currency)
	p.relations(&r, rec)
	return r, true
}

// id reads a reference.
func (p *Provider) id(kind, id field, scope string) (guard.ResourceID, bool) {
	k := guard.Kind(kind.Text(maxName))
	name, ok := id.ID(maxID)
	if !ok || !slices.Contains(guard.Kinds, k) {
		return guard.ResourceID{}, false
	}
	return guard.ResourceID{Account: p.cfg.Account, Kind: k, Scope: scope, ID: name}, true
}

func (p *Provider) relations(r *guard.Resource, rec record) {
	var parent struct{ Kind, ID, Scope field }
	if rec.Parent.Into(&parent) {
		r.Parent, _ = p.id(parent.Kind, parent.ID, parent.Scope.Text(maxName))
	}
	var attached []struct {
		Kind, ID, Scope field
		Goes            field `json:"goes_with_instance"`
	}
	if !rec.Attached.Into(&attached) {
		return
	}
	for _, a := range attached {
		if id, ok := p.id(a.Kind, a.ID, a.Scope.Text(maxName)); ok {
			r.Children = append(r.Children, guard.Child{ID: id, GoesWithInstance: a.Goes.Tri()})
		}
	}
}

func stateOf(word string) guard.State {
	switch word {
	case stateRunning:
		return guard.StateRunning
	case stateStopped:
		return guard.StateStopped
	case "provisioning":
		return guard.StateProvisioning
	case "stopping":
		return guard.StateStopping
	case stateReleasing:
		return guard.StateReleasing
	case stateGone:
		return guard.StateGone
	}
	return guard.StateUnknown
}

func effectOf(word string) guard.StopEffect {
	switch e := guard.StopEffect(word); e {
	case guard.StopSavesNothing, guard.StopSavesCompute, guard.StopSavesAll, guard.StopUnsupported:
		return e
	}
	return guard.StopUnknown
}

// bills is whether the meter runs: always, but when gone or stopped for nothing.
func bills(r guard.Resource) guard.Tri {
	switch {
	case r.State == guard.StateGone:
		return guard.No
	case r.State != guard.StateStopped, r.StopSaves != guard.StopSavesCompute && r.StopSaves != guard.StopSavesAll:
		return guard.Yes
	case !r.StoppedRate.Known():
		return guard.Unknown
	}
	return guard.TriOf(!r.StoppedRate.Free)
}

// amount is a sum of a currency, as a number or as its digits in a text; not set for
// anything else.
func (f field) amount(currency string) guard.Money {
	if m, ok := f.Money(currency); ok {
		return m
	}
	m, _ := guard.NewMoney(f.Text(64), currency) // not set with an error
	return m
}

func (f field) texts(most int) []string {
	var list []field
	if !f.Into(&list) {
		return nil
	}
	var out []string
	for _, x := range list {
		if s := x.Text(most); s != "" && len(out) < maxTags {
			out = append(out, s)
		}
	}
	return out
}

func (f field) tags() map[string]string {
	var in map[string]field
	if !f.Into(&in) || len(in) == 0 {
		return nil
	}
	out := map[string]string{}
	for k, v := range in {
		// guard's own tags decide whose a box is: they are never the ones dropped.
		if len(out) < maxTags || strings.HasPrefix(k, "guard:") {
			out[providers.Text(k, maxName)] = v.Text(maxValue)
		}
	}
	return out
}

// protection is what "protected" says; unknown where it says nothing.
func (f field) protection() (release, stop guard.Tri) {
	var list []string
	if !f.Into(&list) {
		return guard.Unknown, guard.Unknown
	}
	release, stop = guard.No, guard.No
	for _, s := range list {
		switch s {
		case "release":
			release = guard.Yes
		case "stop":
			stop = guard.Yes
		default: // a protection that this adapter does not know
			if release == guard.No {
				release = guard.Unknown
			}
		}
	}
	return release, stop
}

// traffic reads the prices of traffic; what is not one is not told.
func traffic(out, in field, currency string) guard.EgressPrice {
	var p guard.EgressPrice
	var unsaid bool
	p.PerGB, p.UpTo, p.FreeGB, unsaid = out.perGB(currency)
	p.InPerGB, _, _, _ = in.perGB(currency)
	if unsaid || !p.IsZero() {
		p.Source = "api"
	}
	return p
}

// perGB is a price of traffic, the most that it can be where it is not told, and what
// is free of it in a month; unsaid is that it costs something, and nobody tells how much.
// Where that makes no sense nothing is free.
func (f field) perGB(currency string) (amount, upTo guard.Money, freeGB int64, unsaid bool) {
	var in struct {
		Amount   field `json:"amount"`
		UpTo     field `json:"up_to"`
		Per      field `json:"per"`
		FreeGB   field `json:"free_gb"`
		Currency field `json:"currency"`
	}
	if !f.Into(&in) || in.Per.Text(16) != "gb" {
		return amount, upTo, 0, false
	}
	if c := in.Currency.Text(8); c != "" {
		currency = c
	}
	sum := func(f field) guard.Money {
		if m := f.amount(currency); !m.IsNegative() {
			return m
		}
		return guard.Money{}
	}
	if amount = sum(in.Amount); !amount.IsSet() {
		upTo = sum(in.UpTo)
	}
	freeGB, _ = in.FreeGB.Count(maxGB)
	return amount, upTo, freeGB, in.Amount.Null()
}

// rate reads a price; what is not one, or is for a number of GPUs or GB that is
// not known, is the unknown rate.
func (f field) rate(currency string, r guard.Resource) guard.Rate {
	var in struct {
		Amount   field `json:"amount"`
		Per      field `json:"per"`
		PerGPU   field `json:"per_gpu"`
		Currency field `json:"currency"`
		Free     field `json:"free"`
	}
	if !f.Into(&in) {
		return guard.Rate{}
	}
	if c := in.Currency.Text(8); c != "" {
		currency = c
	}
	amount := in.Amount.amount(currency)
	rate := guard.Rate{Amount: amount, Unit: "machine", Source: "api", Free: in.Free.Tri() == guard.Yes && amount.IsZero()}
	per := in.Per.Text(16)
	switch per {
	case "second":
		rate.Per = time.Second
	case "minute":
		rate.Per = time.Minute
	case "hour":
		rate.Per = time.Hour
	case "day":
		rate.Per = 24 * time.Hour
	case "month", "gb_month":
		rate.Per = guard.Month
	default:
		return guard.Rate{}
	}
	perGPU := in.PerGPU.Tri()
	switch {
	case per == "gb_month" && r.SizeGB > 0:
		rate = rate.PerGB(r.SizeGB)
	case perGPU == guard.Yes && r.GPUs > 0:
		rate = rate.PerGPU(r.GPUs)
	case per == "gb_month", perGPU == guard.Yes, perGPU == guard.Unknown && !in.PerGPU.Null():
		return guard.Rate{}
	}
	if !rate.Known() {
		return guard.Rate{}
	}
	return rate
}
