package digitaloceantest

import (
	"fmt"
	"net/http"
	"time"

	"guard"
)

// Invoice is the bill of one month. One that has Updated is the preview, of which there is
// one at most.
type Invoice struct {
	ID, Period, Updated string
	Items               []map[string]any
}

// Item is a line of an invoice, with the ID of what it is for.
func Item(product, id string, amount guard.Money, from, to time.Time) map[string]any {
	out := map[string]any{
		"product": product, "resource_id": id, "resource_uuid": id, "group_description": "", "description": "of " + id, "amount": amount.Rat().FloatString(2),
		"duration": fmt.Sprint(to.Sub(from).Hours()), "duration_unit": "Hours", "start_time": from.Format(time.RFC3339), "end_time": to.Format(time.RFC3339), "project_name": "web",
	}
	if id == "" {
		delete(out, "resource_id")
		delete(out, "resource_uuid")
	}
	return out
}

// billed is the preview of a month with a world's charges in it.
func billed(charges []guard.Charge, canary string) []Invoice {
	x := Invoice{ID: "1afe95e6-0958-4eb0-8d9a-9c5060d3ef03", Period: "2026-03", Updated: "2026-03-10T06:31:50Z"}
	for _, c := range charges {
		item := Item("Droplets", c.Resource.ID, c.Amount, c.From, c.To)
		item["description"] = canary
		x.Items = append(x.Items, item)
	}
	return []Invoice{x}
}

func (x Invoice) record() map[string]any {
	out := map[string]any{"invoice_uuid": x.ID, "invoice_id": "12345678", "amount": "12.34", "invoice_period": x.Period}
	if x.Updated != "" {
		out["updated_at"] = x.Updated
	}
	return out
}

func (c *Cloud) listInvoices(w http.ResponseWriter, r *http.Request) {
	out, preview := []map[string]any{}, map[string]any(nil)
	for _, x := range c.Invoices {
		if x.Updated != "" {
			preview = x.record()
		} else {
			out = append(out, x.record())
		}
	}
	c.pageWith(w, r, "invoices", out, map[string]any{"invoice_preview": preview})
}

func (c *Cloud) getInvoice(w http.ResponseWriter, r *http.Request) {
	for _, x := range c.Invoices {
		if x.ID == r.PathValue("id") {
			c.page(w, r, "invoice_items", append([]map[string]any{}, x.Items...))
			return
		}
	}
	refuse(w, guard.ErrNotFound)
}
