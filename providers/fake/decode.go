package fake

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// field is one value of a reply before anybody believes in its type: one odd
// field must not cost the record, nor one odd record the page.
type field []byte

// UnmarshalJSON keeps the value as it came.
func (f *field) UnmarshalJSON(b []byte) error {
	*f = append((*f)[:0], b...)
	return nil
}

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
	if len(b) == 0 || json.Unmarshal(b, &rec) != nil {
		return guard.Resource{}, false
	}
	scope := rec.Scope.text(maxName)
	id, ok := p.id(rec.Kind, rec.ID, scope)
	if !ok {
		return guard.Resource{}, false
	}
	r := guard.Resource{
		ID: id, Name: rec.Name.text(maxName),
		RawState: rec.State.text(maxName), Created: rec.Created.time(), Changed: rec.Changed.time(),
		Type: rec.Type.text(maxName), GPUModel: rec.GPUModel.text(maxName),
		Spot: rec.Spot.tri() == guard.Yes, Tags: rec.Tags.tags(), TagsUntold: rec.Tags.null(),
		Source: rec.Source.text(maxID), UsedBy: rec.UsedBy.texts(maxID), UsesUntold: rec.UsedBy != nil && rec.UsedBy.null(),
	}
	r.Group = r.Tags[groupTag]
	r.State = stateOf(r.RawState)
	switch rec.Ended.text(maxName) {
	case endedUser: // somebody with the account's keys; guard knows its own releases
		r.Ended = guard.ByOutside
	case endedReclaim:
		r.Ended = guard.ByReclaim
	case endedPlatform:
		r.Ended = guard.ByPlatform
	}
	r.SizeGB, _ = rec.SizeGB.count(maxGB)
	gpus, known := rec.GPUs.count(maxGPUs)
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
		r.StopSaves = effectOf(rec.StopEffect.text(maxName))
	}
	r.Egress = traffic(rec.Egress, rec.Ingress, currency)
	r.Bills = bills(r)
	r.PlatformEnds, r.Lump = rec.PlatformEnds.ends(), rec.Lump.lump(currency)
	p.relations(&r, rec)
	return r, true
}

// id reads a reference; an ID that is too long is not one, for a shortened ID
// would name another thing.
func (p *Provider) id(kind, id field, scope string) (guard.ResourceID, bool) {
	k, name := guard.Kind(kind.text(maxName)), id.text(maxID+1)
	switch k {
	case guard.Instance, guard.Volume, guard.Snapshot, guard.Image, guard.Address, guard.Filesystem, guard.SpotRequest:
	default:
		return guard.ResourceID{}, false
	}
	if name == "" || len([]rune(name)) > maxID {
		return guard.ResourceID{}, false
	}
	return guard.ResourceID{Account: p.cfg.Account, Kind: k, Scope: scope, ID: name}, true
}

func (p *Provider) relations(r *guard.Resource, rec record) {
	var parent struct{ Kind, ID, Scope field }
	if len(rec.Parent) > 0 && json.Unmarshal(rec.Parent, &parent) == nil {
		r.Parent, _ = p.id(parent.Kind, parent.ID, parent.Scope.text(maxName))
	}
	var attached []struct {
		Kind, ID, Scope field
		Goes            field `json:"goes_with_instance"`
	}
	if len(rec.Attached) == 0 || json.Unmarshal(rec.Attached, &attached) != nil {
		return
	}
	for _, a := range attached {
		if id, ok := p.id(a.Kind, a.ID, a.Scope.text(maxName)); ok {
			r.Children = append(r.Children, guard.Child{ID: id, GoesWithInstance: a.Goes.tri()})
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

func (f field) null() bool { return len(f) == 0 || bytes.Equal(f, []byte("null")) }

// plain is a string in which nothing is escaped, as most are.
func (f field) plain() (string, bool) {
	n := len(f) - 1
	if n < 1 || f[0] != '"' || f[n] != '"' || bytes.ContainsAny(f[1:n], `"\`) || !utf8.Valid(f) {
		return "", false
	}
	return string(f[1:n]), true
}

// text is a string, or a number as a string; "" for anything else.
func (f field) text(most int) string {
	if f.null() {
		return ""
	}
	if s, ok := f.plain(); ok {
		return providers.Text(s, most)
	}
	var s string
	if json.Unmarshal(f, &s) == nil {
		return providers.Text(s, most)
	}
	if f[0] == '-' || f[0] >= '0' && f[0] <= '9' {
		return providers.Text(string(f), most)
	}
	return ""
}

func (f field) texts(most int) []string {
	var list []field
	if f.null() || json.Unmarshal(f, &list) != nil {
		return nil
	}
	var out []string
	for _, x := range list {
		if s := x.text(most); s != "" && len(out) < maxTags {
			out = append(out, s)
		}
	}
	return out
}

// tri is a yes or no, as JSON or as a word.
func (f field) tri() guard.Tri {
	switch strings.Trim(string(f), `"`) {
	case "true":
		return guard.Yes
	case "false":
		return guard.No
	}
	return guard.Unknown
}

// time is an RFC 3339 time or seconds since 1970, in this century; else zero.
func (f field) time() time.Time {
	s := f.text(64)
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		sec, err := strconv.ParseFloat(s, 64)
		if err != nil || !(sec > 0 && sec < 1e11) {
			return time.Time{}
		}
		at = time.UnixMicro(int64(sec * 1e6))
	}
	at = at.UTC()
	if y := at.Year(); y < 2000 || y > 2100 {
		return time.Time{}
	}
	return at
}

// count is a whole number from 0 to most; false where it is not.
func (f field) count(most int64) (int64, bool) {
	s := strings.TrimSuffix(f.text(32), ".0")
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, false
	}
	return n, true
}

func (f field) tags() map[string]string {
	var in map[string]field
	if f.null() || string(f) == "{}" || json.Unmarshal(f, &in) != nil || len(in) == 0 {
		return nil
	}
	out := map[string]string{}
	for k, v := range in {
		// guard's own tags decide whose a box is: they are never the ones dropped.
		if len(out) < maxTags || strings.HasPrefix(k, "guard:") {
			out[providers.Text(k, maxName)] = v.text(maxValue)
		}
	}
	return out
}

// protection is what "protected" says; unknown where it says nothing.
func (f field) protection() (release, stop guard.Tri) {
	var list []string
	if f.null() || json.Unmarshal(f, &list) != nil {
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
	if f.null() || json.Unmarshal(f, &in) != nil || in.Per.text(16) != "gb" {
		return amount, upTo, 0, false
	}
	if c := in.Currency.text(8); c != "" {
		currency = c
	}
	sum := func(f field) guard.Money {
		m, err := guard.NewMoney(f.text(64), currency)
		if err != nil || m.IsNegative() {
			return guard.Money{}
		}
		return m
	}
	if amount = sum(in.Amount); !amount.IsSet() {
		upTo = sum(in.UpTo)
	}
	freeGB, _ = in.FreeGB.count(maxGB)
	return amount, upTo, freeGB, in.Amount.null()
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
	if f.null() || json.Unmarshal(f, &in) != nil {
		return guard.Rate{}
	}
	if c := in.Currency.text(8); c != "" {
		currency = c
	}
	amount, err := guard.NewMoney(in.Amount.text(64), currency)
	if err != nil {
		return guard.Rate{}
	}
	rate := guard.Rate{Amount: amount, Unit: "machine", Source: "api", Free: in.Free.tri() == guard.Yes && amount.IsZero()}
	per := in.Per.text(16)
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
	perGPU := in.PerGPU.tri()
	switch {
	case per == "gb_month" && r.SizeGB > 0:
		rate = rate.PerGB(r.SizeGB)
	case perGPU == guard.Yes && r.GPUs > 0:
		rate = rate.PerGPU(r.GPUs)
	case per == "gb_month", perGPU == guard.Yes, perGPU == guard.Unknown && !in.PerGPU.null():
		return guard.Rate{}
	}
	if !rate.Known() {
		return guard.Rate{}
	}
	return rate
}
