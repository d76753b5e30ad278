package soak

import (
	"fmt"
	"math/big"
	"time"

	"guard"
	"guard/providers/fake"
)

// stranger is the deployment of another guard.
const stranger = "feedfacefeedfacefeedfacefeedface"

// account draws an account and what stands in it when the week begins.
func (d *drawer) account(name string) {
	a := Account{Mode: guard.Enforce}
	if d.chance("observe", d.k.Observe) {
		a.Mode = guard.Observe
	}
	s := &a.Script
	s.Account = name
	s.Currency = pick(d.dice, "currency", "USD", "CNY", "EUR", "JPY")
	if d.chance("weak identity", 15) {
		s.IdentityKind = "weak"
	}
	s.StopEffect = pick(d.dice, "stop effect", "", "", guard.StopSavesNothing, guard.StopSavesAll, guard.StopUnsupported)
	s.Billing = fake.Billing{
		Granularity: pick(d.dice, "granularity", 0, 0, time.Minute, time.Hour),
		Minimum:     pick(d.dice, "minimum", 0, time.Minute, 10*time.Minute, time.Hour),
	}
	s.Lag = fake.Lag{
		Appears:    pick(d.dice, "appears", 0, 30*time.Second, 3*time.Minute),
		Disappears: pick(d.dice, "disappears", 5*time.Minute, 0, time.Minute, time.Hour),
		State:      pick(d.dice, "state lag", 0, 20*time.Second, 2*time.Minute),
	}
	s.ReleaseTakes = pick(d.dice, "release takes", 0, fake.AtOnce, 45*time.Second, 5*time.Minute, 20*time.Minute)
	s.PageSize = pick(d.dice, "page size", 0, 1, 2, 3, 10)
	s.Scopes = [][]string{nil, {"zone-a", "zone-b"}, {"zone-a", "zone-b", "zone-c"}}[d.n("scopes", 0, 2)]
	for i := range d.n("boxes", d.k.Boxes.Least, d.k.Boxes.Most) {
		created := -d.span("created before", 0, 36*time.Hour, 7*time.Minute)
		s.Resources = append(s.Resources, d.fleet(s, fmt.Sprintf("i-%d", i+1), created)...)
	}
	if d.chance("one ID twice", 5) && len(s.Resources) > 0 {
		twin := fake.Resource{ID: s.Resources[0].ID, Identity: "acct-stranger", Rate: &fake.Rate{Amount: "3", Per: "hour"}}
		if len(s.Scopes) > 0 {
			twin.Scope = s.Scopes[0]
		}
		s.Resources = append(s.Resources, twin)
	}
	if d.chance("loose disk", 20) {
		s.Resources = append(s.Resources, d.child(s, guard.Volume, "v-0", "", -time.Hour))
	}
	d.w.Accounts = append(d.w.Accounts, a)
}

// fleet draws a box and what hangs on it.
func (d *drawer) fleet(s *fake.Script, id string, created time.Duration) []fake.Resource {
	r := fake.Resource{ID: id, Created: created, Scope: d.scope(s)}
	r.Name = pick(d.dice, "name", "", "trainer", "eval", "<!channel> @here *URGENT* _now_", "i-1", "名前 \u202eolleh", `quo"te: {x}, #y`)
	r.GPUs = pick(d.dice, "gpus", 0, 8, 2, 4)
	if d.chance("no gpu", 10) {
		r.GPUs = fake.NoGPU
	}
	r.GPUModel = pick(d.dice, "model", "", "H100", "A100")
	r.State = pick(d.dice, "state", "", "", "", "", "", "", "", "provisioning", "hibernating", "stopped")
	if r.State == "stopped" && !saves(*s) {
		r.State = ""
	}
	r.Rate = d.rate(max(r.GPUs, 1))
	switch {
	case d.chance("price not told", 8):
		r.Rate = nil
	case d.chance("another list price", 8):
		r.ListRate = &fake.Rate{Amount: "9.99", Per: "hour"}
	case d.chance("another currency", 4):
		r.Rate.Currency = "GBP"
	}
	if d.chance("stopped rate", 10) && r.Rate != nil {
		r.StoppedRate = &fake.Rate{Amount: "0.05", Per: "hour", Currency: r.Rate.Currency}
	}
	r.Spot = d.chance("spot", 25)
	if d.chance("protected", 10) {
		r.Protected = []string{"release"}
		r.HideProtection = d.chance("hidden protection", 50)
	}
	switch d.n("tags", 0, 19) {
	case 17:
		r.Tags = map[string]string{"team": "nlp"}
	case 18:
		r.Tags = map[string]string{guard.TagDeployment: stranger}
	case 19:
		r.Tags = map[string]string{"guard:keep": "true"}
	}
	out := []fake.Resource{}
	for i := range d.n("children", 0, 2) {
		kind := pick(d.dice, "child", guard.Volume, guard.Volume, guard.Address)
		c := d.child(s, kind, fmt.Sprintf("%c-%s-%d", kind[0], id, i+1), r.Scope, created)
		r.Attached = append(r.Attached, c.ID)
		out = append(out, c)
		if kind == guard.Volume && d.chance("snapshot", 15) {
			out = append(out, fake.Resource{ID: "s-" + c.ID, Kind: guard.Snapshot, Scope: r.Scope, Created: created, SizeGB: 80, Source: c.ID,
				Rate: &fake.Rate{Amount: "0.05", Per: "gb_month"}})
		}
	}
	d.boxes = append(d.boxes, rented{s.Account, id, max(created, 0), hourly(r, s.Currency), r.GPUs >= 0})
	return append([]fake.Resource{r}, out...)
}

// saves reports whether a stop saves money in the account. Where it does not, the
// fake's meter begins a new unit at a stop all the same, which no cloud does: such
// stops are not drawn.
func saves(s fake.Script) bool {
	return s.StopEffect != guard.StopSavesNothing && s.StopEffect != guard.StopUnsupported
}

func (d *drawer) child(s *fake.Script, kind guard.Kind, id, scope string, created time.Duration) fake.Resource {
	c := fake.Resource{ID: id, Kind: kind, Scope: scope, Created: created, GoesWithInstance: d.chance("goes with it", 40)}
	if kind == guard.Address {
		c.Rate = &fake.Rate{Amount: "0.005", Per: "hour"}
		return c
	}
	c.SizeGB = int64(pick(d.dice, "size", 100, 20, 2000))
	c.Rate = &fake.Rate{Amount: pick(d.dice, "disk price", "0.08", "0.35", "2"), Per: "gb_month"}
	if d.chance("disk price not told", 5) {
		c.Rate = nil
	}
	if c.Scope == "" {
		c.Scope = d.scope(s)
	}
	return c
}

func (d *drawer) scope(s *fake.Script) string {
	if len(s.Scopes) == 0 {
		return ""
	}
	return pick(d.dice, "scope", s.Scopes...)
}

// rate draws what a box costs.
func (d *drawer) rate(gpus int) *fake.Rate {
	cents := pick(d.dice, "price", 200, 100, 1999, 41, 333, 24000)
	r := &fake.Rate{Per: "hour", PerGPU: gpus > 1 && d.chance("per gpu", 50)}
	switch d.n("per", 0, 9) {
	case 8:
		r.Per, cents = "month", cents*730
	case 9:
		r.Per = "second"
		r.Amount = pick(d.dice, "price a second", "0.001", "0.000277", "0.0123")
		return r
	}
	r.Amount = fmt.Sprintf("%d.%02d", cents/100, cents%100)
	return r
}

// hourly is what a box costs an hour, unset where that is not told.
func hourly(r fake.Resource, currency string) guard.Money {
	rate := r.Rate
	if rate == nil {
		return guard.Money{}
	}
	x, ok := new(big.Rat).SetString(rate.Amount)
	if !ok {
		return guard.Money{}
	}
	switch rate.Per {
	case "month":
		x.Quo(x, big.NewRat(int64(guard.Month/time.Hour), 1))
	case "second":
		x.Mul(x, big.NewRat(3600, 1))
	}
	if rate.PerGPU {
		x.Mul(x, big.NewRat(int64(max(r.GPUs, 1)), 1))
	}
	if rate.Currency != "" {
		currency = rate.Currency
	}
	m, err := guard.MoneyFromRat(x, currency)
	if err != nil {
		return guard.Money{}
	}
	return m
}
