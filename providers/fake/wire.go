package fake

import (
	"maps"
	"time"

	"guard"
)

// What the API sends. The names of a resource's fields are those of a scenario
// file, which null_fields and set_fields speak of.
type (
	wireResource struct {
		ID               string            `json:"id"`
		Kind             guard.Kind        `json:"kind"`
		Scope            string            `json:"scope"`
		Name             string            `json:"name"`
		Created          string            `json:"created"`
		State            string            `json:"state"`
		Changed          string            `json:"changed"`
		Ended            string            `json:"ended,omitempty"`
		Type             string            `json:"type,omitempty"`
		GPUs             *int              `json:"gpus,omitempty"`
		GPUModel         string            `json:"gpu_model,omitempty"`
		Spot             bool              `json:"spot,omitempty"`
		Rate             *wireRate         `json:"rate,omitempty"`
		ListRate         *wireRate         `json:"list_rate,omitempty"`
		StoppedRate      *wireRate         `json:"stopped_rate,omitempty"`
		StopEffect       guard.StopEffect  `json:"stop_effect,omitempty"`
		Egress           *wireTraffic      `json:"egress,omitempty"`
		Ingress          *wireTraffic      `json:"ingress,omitempty"`
		Tags             map[string]string `json:"tags"`
		SizeGB           *int64            `json:"size_gb,omitempty"`
		Parent           *wireRef          `json:"parent,omitempty"`
		Attached         []wireRef         `json:"attached,omitempty"`
		GoesWithInstance *bool             `json:"goes_with_instance,omitempty"`
		Source           string            `json:"source,omitempty"`
		UsedBy           []string          `json:"used_by,omitempty"`
		Protected        *[]string         `json:"protected,omitempty"` // absent: ask for it
		PlatformEnds     *wireEnd          `json:"platform_ends,omitempty"`
		Lump             *wireLump         `json:"lump,omitempty"`
	}
	wireRate struct {
		Amount   string `json:"amount"`
		Per      string `json:"per"`
		PerGPU   bool   `json:"per_gpu,omitempty"`
		Currency string `json:"currency,omitempty"`
		Free     bool   `json:"free,omitempty"`
	}
	wireRef struct {
		Kind             guard.Kind `json:"kind"`
		ID               string     `json:"id"`
		Scope            string     `json:"scope,omitempty"`
		GoesWithInstance *bool      `json:"goes_with_instance,omitempty"`
	}
	wireLookup struct {
		Kind     guard.Kind `json:"kind"`
		ID       string     `json:"id"`
		Absent   bool       `json:"absent,omitempty"`
		Error    *wireError `json:"error,omitempty"`
		Resource any        `json:"resource"`
	}
	wireError struct {
		Status     int    `json:"status"`
		Body       string `json:"body,omitempty"`
		RetryAfter string `json:"retry_after,omitempty"`
	}
)

// groupTag tells, as clouds do, which group an instance belongs to.
const groupTag = "fake:group"

// visible reports whether the API knows of a thing now.
func (c *Cloud) visible(t *thing) bool {
	if t.spec.Identity != c.identity || c.now.Before(t.created.Add(c.script.Lag.Appears)) || c.superseded(t) {
		return false
	}
	s := t.stateAt(c.now)
	return s.word != stateGone || c.now.Before(c.vanishes(t, s))
}

// vanishes is when what ended leaves the lists: its terminal state stays for as long as
// it lingers, from when it shows.
func (c *Cloud) vanishes(t *thing, end state) time.Time {
	if t.lingers <= 0 {
		return end.at
	}
	return end.at.Add(c.script.Lag.State + t.lingers)
}

// report is a thing as the API tells it now.
func (c *Cloud) report(t *thing) wireResource {
	s := t.stateAt(c.now.Add(-c.script.Lag.State))
	w := wireResource{
		ID: t.spec.ID, Kind: t.spec.Kind, Scope: t.spec.Scope, Name: t.spec.Name,
		Created: stamp(t.reported), State: s.word, Changed: stamp(s.at), Ended: s.ended,
		Type: t.spec.Type, GPUModel: t.spec.GPUModel, Spot: t.spec.Spot,
		Rate: c.quote(t.spec.Rate), ListRate: c.quote(t.spec.ListRate),
		Tags: maps.Clone(t.spec.Tags), Source: t.spec.Source, UsedBy: c.users(t),
	}
	out, in := c.traffic(t)
	w.PlatformEnds, w.Lump = c.platformEnds(t, s), t.prepaid(c.now)
	if w.Lump != nil && w.Rate == nil {
		w.Rate = &wireRate{Amount: "0", Per: "hour", Currency: t.currency, Free: true}
	}
	w.Egress, w.Ingress = out.quote(t.currency), in.quote(t.currency)
	if w.Tags == nil {
		w.Tags = map[string]string{}
	}
	if !t.spec.HideProtection {
		p := append([]string{}, t.spec.Protected...)
		w.Protected = &p
	}
	if t.spec.Kind != guard.Instance {
		size, goes := t.spec.SizeGB, t.spec.GoesWithInstance
		w.SizeGB, w.GoesWithInstance = &size, &goes
		if t.spec.Kind == guard.Image {
			w.Attached = c.behindImage(t)
		}
		if t.host != nil {
			w.Parent = &wireRef{Kind: t.host.spec.Kind, ID: t.host.spec.ID, Scope: t.host.spec.Scope}
		}
		return w
	}
	gpus := t.spec.GPUs
	w.GPUs, w.StopEffect = &gpus, c.script.StopEffect
	w.StoppedRate = c.quote(t.spec.StoppedRate)
	if w.StoppedRate == nil {
		switch w.StopEffect {
		case guard.StopSavesCompute, guard.StopSavesAll:
			w.StoppedRate = &wireRate{Amount: "0", Per: "hour", Currency: t.currency, Free: true}
		default:
			w.StoppedRate = w.Rate
		}
	}
	for _, child := range t.attached {
		goes := child.spec.GoesWithInstance
		w.Attached = append(w.Attached, wireRef{child.spec.Kind, child.spec.ID, child.spec.Scope, &goes})
	}
	if t.chain == nil {
		return w
	}
	switch l := t.chain.relaunch; {
	case l.By == "spot_request" && l.Parent != "":
		w.Parent = &wireRef{Kind: guard.SpotRequest, ID: l.Parent, Scope: t.spec.Scope}
	case l.By == "group" && l.Parent != "":
		w.Tags[groupTag] = l.Parent
	}
	return w
}

func (c *Cloud) quote(r *Rate) *wireRate {
	if r == nil {
		return nil
	}
	w := &wireRate{Amount: r.Amount, Per: r.Per, PerGPU: r.PerGPU, Currency: r.Currency}
	if w.Currency == "" {
		w.Currency = c.script.Currency
	}
	return w
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
