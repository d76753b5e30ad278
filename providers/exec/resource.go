package exec

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers"
)

// record is a thing as a program tells of it.
type record struct {
	ID           providers.Field `json:"id"`
	Name         providers.Field `json:"name"`
	State        providers.Field `json:"state"`
	RawState     providers.Field `json:"raw_state"`
	Created      providers.Field `json:"created"`
	Changed      providers.Field `json:"changed"`
	Ended        providers.Field `json:"ended"`
	Type         providers.Field `json:"type"`
	GPUs         providers.Field `json:"gpus"`
	GPUModel     providers.Field `json:"gpu_model"`
	Spot         providers.Field `json:"spot"`
	SizeGB       providers.Field `json:"size_gb"`
	Tags         providers.Field `json:"tags"`
	Price        providers.Field `json:"price"`
	StoppedPrice providers.Field `json:"stopped_price"`
	Prepaid      providers.Field `json:"prepaid"`
	StopSaves    providers.Field `json:"stop_saves"`
	AttachedTo   providers.Field `json:"attached_to"`
	Attached     providers.Field `json:"attached"`
	UsedBy       providers.Field `json:"used_by"`
	Source       providers.Field `json:"source"`
	Protected    providers.Field `json:"protected"`
	PlatformEnds providers.Field `json:"platform_ends"`
}

// resource makes a resource of a record; false where that does not say which thing it is
// about. Every other field that makes no sense is not known.
func (p *Provider) resource(item providers.Field, kind guard.Kind, scope string) (guard.Resource, bool) {
	var x record
	if !item.Into(&x) {
		return guard.Resource{}, false
	}
	id, ok := x.ID.ID(maxID)
	if !ok || strings.TrimSpace(id) == "" {
		return guard.Resource{}, false
	}
	r := guard.Resource{
		ID: p.id(kind, scope, id), Name: x.Name.Text(maxName), State: state(x.State), RawState: x.RawState.Text(maxName),
		Created: x.Created.Time(), Changed: x.Changed.Time(), Ended: ended(x.Ended),
		Type: x.Type.Text(maxName), GPUModel: x.GPUModel.Text(maxName), Spot: x.Spot.Tri() == guard.Yes,
		StopSaves: effect(x.StopSaves), Source: x.Source.Text(maxID), ReleaseProtected: x.Protected.Tri(),
		UsedBy: names(x.UsedBy, maxUsers), UsesUntold: x.UsedBy != nil && x.UsedBy.Null(),
	}
	if r.RawState == "" {
		r.RawState = x.State.Text(maxName)
	}
	r.SizeGB, _ = x.SizeGB.Count(maxGB)
	if gpus, known := x.GPUs.Count(maxGPUs); kind == guard.Instance && known {
		r.GPUs, r.HasGPU = int(gpus), guard.TriOf(gpus > 0)
	}
	s := p.spec()
	if r.Tags, r.TagsUntold = tags(x.Tags); s != nil && !s.tags {
		r.TagsUntold = false
	}
	r.Rate, r.StoppedRate, r.Lump = rate(x.Price, r), rate(x.StoppedPrice, r), lump(x.Prepaid)
	if kind == guard.Instance && r.StopSaves == guard.StopUnknown && s != nil {
		r.StopSaves = s.truths.Stop
	}
	r.Bills = bills(r)
	p.relate(&r, x)
	var ends struct {
		At  providers.Field `json:"at"`
		Why providers.Field `json:"why"`
	}
	if x.PlatformEnds.Into(&ends) && !ends.At.Time().IsZero() {
		r.PlatformEnds = guard.PlatformEnd{At: ends.At.Time(), Why: ends.Why.Text(maxWord)}
	}
	return r, true
}

func (p *Provider) id(kind guard.Kind, scope, id string) guard.ResourceID {
	return guard.ResourceID{Account: p.name, Kind: kind, Scope: scope, ID: id}
}

// relate fills in what the thing hangs on, and what hangs on it.
func (p *Provider) relate(r *guard.Resource, x record) {
	scope := r.ID.Scope
	if id, ok := x.AttachedTo.ID(maxID); ok && r.ID.Kind != guard.Instance {
		r.Parent = p.id(guard.Instance, scope, id)
	}
	var attached []providers.Field
	x.Attached.Into(&attached)
	for _, f := range attached {
		var c struct {
			Kind providers.Field `json:"kind"`
			ID   providers.Field `json:"id"`
			Goes providers.Field `json:"goes_with_instance"`
		}
		if !f.Into(&c) {
			continue
		}
		id, ok := c.ID.ID(maxID)
		kind := guard.Kind(c.Kind.Text(maxWord))
		if ok && kind != guard.Instance && slices.Contains(guard.Kinds, kind) && len(r.Children) < maxUsers {
			r.Children = append(r.Children, guard.Child{ID: p.id(kind, scope, id), GoesWithInstance: c.Goes.Tri()})
		}
	}
}

// state is a word of the protocol; another is a state that is not known, and bills.
func state(f providers.Field) guard.State {
	switch s := guard.State(f.Text(maxWord)); s {
	case guard.StateProvisioning, guard.StateRunning, guard.StateStopping, guard.StateStopped, guard.StateReleasing, guard.StateGone:
		return s
	}
	return guard.StateUnknown
}

func ended(f providers.Field) guard.How {
	switch h := guard.How(f.Text(maxWord)); h {
	case guard.ByReclaim, guard.ByOutside, guard.ByPlatform:
		return h
	}
	return ""
}

// bills is whether the meter runs: always, but when gone or stopped for nothing.
func bills(r guard.Resource) guard.Tri {
	switch {
	case r.State == guard.StateGone:
		return guard.No
	case r.State != guard.StateStopped, r.StopSaves != guard.StopSavesCompute && r.StopSaves != guard.StopSavesAll:
		return guard.Yes
	case r.StopSaves == guard.StopSavesAll:
		return guard.No
	case !r.StoppedRate.Known():
		return guard.Unknown
	}
	return guard.TriOf(!r.StoppedRate.Free)
}

// tags reads tags; untold is that nothing was said of them, which is not that there are none.
func tags(f providers.Field) (out map[string]string, untold bool) {
	var in map[string]providers.Field
	if !f.Into(&in) {
		return nil, true
	}
	for k, v := range in {
		// guard's own tags decide whose a box is: they are never the ones dropped.
		if len(out) < maxTags || strings.HasPrefix(k, "guard:") {
			if out == nil {
				out = map[string]string{}
			}
			out[providers.Text(k, maxName)] = value(v)
		}
	}
	return out, false
}

// value is a tag's: a text, or what a number, true or false is written as. "guard:keep": true
// must not keep less than "true" would.
func value(f providers.Field) string {
	if f.Gauge().OK || f.Tri() != guard.Unknown {
		return providers.Text(string(f), maxText)
	}
	return f.Text(maxText)
}

// amount is a JSON number, or a text of digits: some languages have no exact number.
func amount(f providers.Field) providers.Field {
	var s string
	if len(f) > 0 && f[0] == '"' && f.Into(&s) && json.Valid([]byte(s)) {
		return providers.Field(s)
	}
	return f
}

func money(f, currency providers.Field) (guard.Money, bool) {
	return amount(f).Money(currency.Text(maxWord))
}

// rate reads a price; what is not one, or is for a number of GPUs or GB that is not known,
// is the unknown rate.
func rate(f providers.Field, r guard.Resource) guard.Rate {
	var in struct {
		Amount   providers.Field `json:"amount"`
		Currency providers.Field `json:"currency"`
		Per      providers.Field `json:"per"`
		For      providers.Field `json:"for"`
		Free     providers.Field `json:"free"`
	}
	if !f.Into(&in) {
		return guard.Rate{}
	}
	m, ok := money(in.Amount, in.Currency)
	per, known := periods[in.Per.Text(maxWord)]
	if !ok || !known {
		return guard.Rate{}
	}
	rate := guard.Rate{Amount: m, Per: per, Unit: "machine", Source: "api", Free: m.IsZero() && in.Free.Tri() == guard.Yes}
	switch of := in.For.Text(maxWord); {
	case of == "gpu" && r.GPUs > 0:
		rate = rate.PerGPU(r.GPUs)
	case of == "gb" && r.SizeGB > 0:
		rate = rate.PerGB(r.SizeGB)
	case of != "machine" && !in.For.Null():
		return guard.Rate{}
	}
	if !rate.Known() {
		return guard.Rate{}
	}
	return rate
}

var periods = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "month": guard.Month,
}

// lump reads what was paid ahead; what is not a time ahead that was paid is none.
func lump(f providers.Field) guard.Lump {
	var in struct {
		Amount   providers.Field `json:"amount"`
		Currency providers.Field `json:"currency"`
		From     providers.Field `json:"from"`
		Until    providers.Field `json:"until"`
		Renews   providers.Field `json:"renews"`
	}
	if !f.Into(&in) {
		return guard.Lump{}
	}
	l := guard.Lump{From: in.From.Time(), Until: in.Until.Time(), Renews: in.Renews.Tri(), Source: "api"}
	if l.From.IsZero() || !l.Until.IsZero() && l.Until.Before(l.From) {
		return guard.Lump{}
	}
	if m, ok := money(in.Amount, in.Currency); ok && !m.IsNegative() {
		l.Amount = m
	}
	return l
}
