package simulate

import (
	"context"
	"strings"
	"time"

	"guard"
	"guard/daemon/client"
)

// resource judges the cloud's own truth.
func (r *runner) resource(e *expectation) verdict {
	account, id, _ := guard.ParseID(string(e.Resource))
	truth := r.clouds[account].Truth(id)
	if truth == "" {
		return badf("the cloud has never had one")
	}
	if len(e.is) > 0 && !contains(e.is, truth) || contains(e.not, truth) {
		return badf("at %s it is %s", offsetText(r.now), truth)
	}
	return ""
}

// spend judges what guard says that something has cost.
func (r *runner) spend(ctx context.Context, e *expectation) verdict {
	c, err := client.New(client.Options{Transport: r.transport(admin), Timeout: time.Hour})
	if err != nil {
		return badf("%v", err)
	}
	show, err := c.Show(ctx, string(e.Spend))
	r.drain()
	if err != nil {
		return badf("at %s guard does not tell: %v", offsetText(r.now), err)
	}
	it := show.Item
	unknown := it.Spend == nil || it.SpendAtLeast
	said := "nothing is known"
	if it.Spend != nil {
		said = *it.Spend
		if it.SpendAtLeast {
			said = "at least " + said
		}
	}
	switch {
	case e.Unknown && unknown, e.OrUnknown && unknown:
		return ""
	case e.Unknown:
		return badf("at %s it is known: %s", offsetText(r.now), said)
	case it.Spend == nil || it.SpendAtLeast:
		return badf("at %s it is not known: %s", offsetText(r.now), said)
	}
	for _, text := range append([]string{*it.Spend}, it.OtherSpend...) {
		m, err := guard.ParseMoney(strings.ReplaceAll(text, " ", ""))
		if err != nil || m.Currency() != e.low.Currency() {
			continue
		}
		low, _ := m.Cmp(e.low)
		high, _ := m.Cmp(e.high)
		if low < 0 || high > 0 {
			return badf("at %s it is %s", offsetText(r.now), m)
		}
		return ""
	}
	return badf("at %s it is %s, in another currency", offsetText(r.now), said)
}

// exit runs a command and judges its exit status.
func (r *runner) exit(ctx context.Context, e *expectation) verdict {
	status, out, errOut := r.run(ctx, string(e.User), e.args)
	if contains(e.exitIs, status) {
		return ""
	}
	return badf("at %s it is %d:\n%s", offsetText(r.now), status, indent(out+"\n"+errOut))
}
