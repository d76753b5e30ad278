package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) show() *cobra.Command {
	return &cobra.Command{
		Use:               "show ACCOUNT/ID",
		Short:             "Everything about one resource",
		Example:           "  guard show research/i-0abc",
		Args:              usageArgs(oneID),
		ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Show, error) { return c.Show(ctx, args[0]) })
			if err != nil {
				return err
			}
			if done, err := a.json(out); done {
				return err
			}
			a.shown(out)
			return nil
		},
	}
}

func (a *app) shown(s wire.Show) {
	it := s.Item
	fmt.Fprintln(a.Out, clean(named(it)))
	f := fields{a, 10}
	f.put("what", what(it))
	state := it.State
	if it.RawState != "" && it.RawState != it.State && it.EndedAt == nil {
		state += " (the provider says " + it.RawState + ")"
	}
	switch {
	case it.Expect != nil:
		state += ", not seen yet"
	case it.Billing == "yes":
		state += ", bills"
	case it.Billing == "no":
		state += ", does not bill"
	default:
		state += ", not known whether it bills"
	}
	f.put("state", state)
	if it.EndedAt != nil {
		f.put("ended", moment(s.Now, *it.EndedAt)+prefixed(", ", how(it.EndedHow)))
	}
	f.put("activity", activity(s.Now, it.Activity)...)
	f.put("mode", mode(it))
	if s.ReadAt != nil {
		f.put("read", moment(s.Now, *s.ReadAt))
	}
	if it.Lease == "" && it.Kind == "instance" {
		f.put("lease", "nobody has registered it: guard register "+it.Account+"/"+it.ID+" --purpose … --ttl …")
	} else if it.Lease != "" {
		lease := it.Lease
		if it.Adopted {
			lease += ", made by guard because nobody had (guard register takes it over)"
		}
		f.put("lease", lease)
		f.put("purpose", it.Purpose)
		f.put("owner", it.Owner)
		if s.RegisteredAt != nil {
			f.put("registered", moment(s.Now, *s.RegisteredAt))
		}
	}
	if it.Expect != nil {
		a.expected(f, s.Now, it)
	} else {
		f.put("price", price(it))
		f.put("paid", paidAhead(s.Now, it))
		f.put("spent", spent(it))
		f.put("traffic", trafficLines(s.Traffic, it)...)
	}
	if it.Budget != nil && len(s.Limits) == 0 { // else it stands there
		f.put("budget", *it.Budget)
	}
	a.limits(f, s.Now, s.Limits, it.Budget)
	if it.PlatformEnds != nil {
		f.put("deleted", "by the provider, with its data, "+moment(s.Now, *it.PlatformEnds)+reason(it.PlatformWhy))
	}
	if it.Protected {
		f.put("protected", "guard does not touch it, whatever the limit: "+it.ProtectedWhy)
	}
	for _, h := range s.Holds {
		f.put("held", "until "+moment(s.Now, h.Until)+" by "+h.By+reason(h.Reason))
	}
	for _, m := range it.Mutes {
		label := map[string]string{"veto": "vetoed", "snooze": "snoozed", "ack": "seen to"}[m.Kind]
		f.put(label, strings.TrimSpace(prefixed("the rule ", m.Rule)+" until "+moment(s.Now, m.Until)+" by "+m.By+reason(m.Reason)))
	}
	f.put("timer", timer(s)...)
	f.put("erases", s.Erases...)
	f.put("survives", s.Survives...)
	f.put("tags", tagList(it.Tags))
	f.put("agent", agentLines(s)...)
	f.put("family", family(s.Family)...)
	if r := s.Release; r != nil {
		f.put("release", release(s, *r)...)
	}
	for _, x := range s.Findings {
		f.put("finding", x.Rule+" since "+moment(s.Now, x.Since)+": "+x.Title)
	}
	var log []string
	for _, e := range s.Log {
		log = append(log, clock(e.At)+" "+e.Who+" "+e.Verb+": "+e.Text)
	}
	f.put("log", log...)
}

// paidAhead is until when a thing is paid for; "" where it is not.
func paidAhead(now time.Time, it wire.Item) string {
	if it.PaidUntil == nil {
		return ""
	}
	text := "ahead, an unknown amount"
	if it.Paid != nil {
		text = "ahead, " + *it.Paid
	}
	text += ": cannot stop paying until " + moment(now, *it.PaidUntil)
	switch it.Renews {
	case "yes":
		text += ", and is paid again then"
	case "unknown":
		text += ", and may be paid again then"
	}
	return text
}

// family is what each member of a lease's family costs; nothing where there is
// but one.
func family(parts []wire.Part) []string {
	if len(parts) < 2 {
		return nil
	}
	var lines []string
	for _, p := range parts {
		line := p.ID + " (" + p.Kind + ", " + p.State + ")"
		if p.Rate != nil {
			line += ", " + *p.Rate + " per hour"
		} else {
			line += ", price unknown"
		}
		if p.Spend != nil {
			line += ", spent " + *p.Spend
		}
		lines = append(lines, line)
	}
	return lines
}

func release(s wire.Show, r wire.Release) []string {
	head := r.State
	if r.Action != "release" {
		head = "a " + r.Action + ", " + head
	}
	if r.Reason != "" {
		head += " (" + r.Reason + ")"
	}
	lines := []string{head + ", for " + r.Cause + ", by " + r.By + ": " + r.Why}
	if r.EndedAt == nil {
		lines = append(lines, "due "+moment(s.Now, r.Due))
	} else {
		lines = append(lines, "ended "+moment(s.Now, *r.EndedAt))
	}
	if r.Attempt > 0 {
		lines = append(lines, count(r.Attempt, "call", "calls")+" made")
	}
	if r.LastError != "" {
		lines = append(lines, "last error: "+r.LastError)
	}
	if r.Proof != "" {
		lines = append(lines, "proof: "+r.Proof)
	}
	if len(r.Spend) > 0 {
		lines = append(lines, "spent "+strings.Join(r.Spend, " and ")+prefixed(", for traffic ", strings.Join(r.Traffic, " and "))+prefixed(", unspent ", r.Unspent))
	}
	if len(r.Leftovers) > 0 {
		lines = append(lines, "still bills: "+strings.Join(r.Leftovers, ", "))
	}
	return lines
}

func what(it wire.Item) string {
	parts := []string{it.Kind}
	if it.Type != "" {
		parts = append(parts, it.Type)
	}
	switch {
	case it.GPUs > 0 && it.GPUModel != "":
		parts = append(parts, fmt.Sprintf("%d × %s", it.GPUs, it.GPUModel))
	case it.GPUs > 0:
		parts = append(parts, count(it.GPUs, "GPU", "GPUs"))
	}
	if it.Spot {
		parts = append(parts, "spot")
	}
	if it.Scope != "" {
		parts = append(parts, "in "+it.Scope)
	}
	if it.Instance != "" {
		parts = append(parts, "of "+it.Instance)
	}
	if it.Self {
		parts = append(parts, "guard itself runs on it")
	}
	if it.Foreign {
		parts = append(parts, "belongs to another guard")
	}
	return strings.Join(parts, ", ")
}

func mode(it wire.Item) string {
	if it.Mode == "observe" {
		return "observe: guard will not release anything in account " + it.Account
	}
	return it.Mode
}

func reason(s string) string { return prefixed(": ", s) }

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func tagList(tags map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, k+"="+tags[k])
	}
	return strings.Join(out, ", ")
}
