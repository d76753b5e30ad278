package soak

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers/fake"
)

// YAML is the week as a scenario file. The same week gives the same bytes.
func (w Week) YAML() []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("scenario: soak seed %d", w.Seed)
	line("start: %s", w.Start.Format(time.RFC3339))
	line("for: %s", spanText(w.Length))
	if w.Poll > 0 {
		line("poll: %s", spanText(w.Poll))
	}
	if w.Sweep > 0 {
		line("sweep: %s", spanText(w.Sweep))
	}
	if c := w.config(); c != "{}" {
		line("config: %s", c)
	}
	line("accounts:")
	for _, a := range w.Accounts {
		a.yaml(line)
	}
	if slices.ContainsFunc(w.Orders, func(o Order) bool { return o.User != "" }) {
		line("people: {U1: {name: ana, role: operator}, U2: {name: bo, role: operator}}")
	}
	items := func(head string, all []string) {
		if len(all) == 0 {
			return
		}
		line("%s", head)
		for _, i := range all {
			line("%s- %s", strings.Repeat(" ", len(head)-len(strings.TrimLeft(head, " "))+2), i)
		}
	}
	items("commands:", texts(w.Orders, Order.yaml))
	items("daemon:", w.daemon())
	if len(w.Slack) > 0 {
		line("channels:")
		line("  slack:")
		items("    faults:", texts(w.Slack, SlackFault.yaml))
	}
	return b.Bytes()
}

func texts[T any](list []T, text func(T) string) []string {
	var out []string
	for _, x := range list {
		out = append(out, text(x))
	}
	return out
}

// config is guard.yaml's keys, on one line.
func (w Week) config(more ...string) string {
	f, rules, limits := &flow{}, &flow{}, &flow{}
	if w.Grace > 0 {
		f.put("defaults", "{grace: "+spanText(w.Grace)+"}")
	}
	if len(w.Warn) > 0 {
		rules.put("expiry", "{warn: ["+strings.Join(texts(w.Warn, spanText), ", ")+"]}")
	}
	if a := w.Adopt; a != nil {
		rules.put("unregistered", "{adopt: {ttl: "+spanText(a.TTL)+", on_limit: "+string(a.OnLimit)+"}}")
	}
	w.rulesOf(rules)
	if w.Low > 0 {
		rules.put("balance_low", "{warn: "+spanText(w.Low)+"}")
	}
	if r := rules.String(); r != "{}" {
		f.put("rules", r)
	}
	ceilings := &flow{}
	ceilings.span("ttl", w.Life)
	if len(w.Money) > 0 {
		ceilings.put("budget", "["+strings.Join(texts(w.Money, unspaced), ", ")+"]")
	}
	if c := ceilings.String(); c != "{}" {
		f.put("ceilings", c)
	}
	limits.num("unforeseen_percent", int64(w.SurprisePercent))
	limits.num("unforeseen_per_hour", int64(w.SurpriseHour))
	if l := limits.String(); l != "{}" {
		f.put("limits", l)
	}
	if q := w.Quiet; q != nil {
		f.put("notify", fmt.Sprintf("{quiet: {from: %q, until: %q, time_zone: UTC}}", clockText(q.From), clockText(q.Until)))
	}
	for _, m := range more {
		f.put("accounts", m)
	}
	return f.String()
}

// clockText is a time of day, 22:00.
func clockText(d time.Duration) string { return time.Time{}.Add(d).Format("15:04") }

// daemon is what happens to guard. A reload names every account, for one that a
// list leaves out is not watched.
func (w Week) daemon() []string {
	modes := map[string]guard.Mode{}
	for _, a := range w.Accounts {
		modes[a.Script.Account] = cmp.Or(a.Mode, guard.Observe)
	}
	hits := slices.Clone(w.Hits)
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(a.At, b.At) })
	var out []string
	for _, h := range hits {
		f := &flow{}
		if h.CrashAt == "" || h.At > 0 {
			f.put("at", spanText(h.At))
		}
		switch {
		case h.Crash:
			f.put("crash", "true")
		case h.CrashAt != "":
			f.put("crash_at", string(h.CrashAt))
			f.text("id", h.ID)
		case h.Step != 0:
			f.put("clock_jump", spanText(h.Step))
		case h.Suspend > 0:
			f.put("suspend", spanText(h.Suspend))
		case h.Reload != nil:
			modes[h.Reload.Account] = h.Reload.Mode
			var accounts []string
			for _, a := range w.Accounts {
				name := a.Script.Account
				accounts = append(accounts, fmt.Sprintf("{name: %s, provider: fake, mode: %s}", quoted(name), modes[name]))
			}
			f.put("reload", "{config: "+w.config("["+strings.Join(accounts, ", ")+"]")+"}")
			f.put("may_fail", "true")
		}
		f.span("back_after", h.Back)
		out = append(out, f.String())
	}
	return out
}

func (o Order) yaml() string {
	f := &flow{}
	f.put("at", spanText(o.At))
	f.text("user", o.User)
	f.text("run", o.Line())
	f.put("may_fail", "true")
	return f.String()
}

// Line is the order as a command line.
func (o Order) Line() string {
	words := []string{"guard", string(o.Verb), o.ID}
	span := func(flag string, d time.Duration) {
		if d != 0 {
			words = append(words, flag, spanText(d))
		}
	}
	money := func(plus string) {
		if o.Budget.IsSet() {
			words = append(words, "--budget", plus+unspaced(o.Budget))
		}
	}
	switch o.Verb {
	case Register:
		words = append(words, "--purpose", "soak")
		span("--ttl", o.TTL)
		money("")
		span("--grace", o.Grace)
		if o.NoGPU {
			words = append(words, "--no-gpu-ok")
		}
	case Extend:
		span("--by", o.By)
		money("+")
	case Veto:
		words = append(words, string(o.Rule))
		span("--for", o.By)
	case Hold, Snooze:
		span("--for", o.By)
	case Protect, Release, Unhold, Unprotect:
	}
	return strings.Join(words, " ")
}

// unspaced is an amount as one word.
func unspaced(m guard.Money) string { return strings.ReplaceAll(m.String(), " ", "") }

func (s SlackFault) yaml() string {
	f, reply := &flow{}, &flow{}
	f.span("from", s.From)
	f.span("for", s.For)
	f.num("times", int64(s.Times))
	switch {
	case s.TimesOut:
		f.put("reply", "delivered_but_times_out")
		return f.String()
	case s.Error != "":
		reply.put("ok", "false")
		reply.text("error", s.Error)
	default:
		reply.num("status", int64(s.Status))
	}
	reply.num("retry_after", int64(s.RetryAfter))
	reply.flag("stored", s.Stored)
	f.put("reply", reply.String())
	return f.String()
}

func (a Account) yaml(line func(string, ...any)) {
	s := a.Script
	line("  %s:", quoted(s.Account))
	put := func(key, value string) {
		if value != "" && value != "{}" {
			line("    %s: %s", key, value)
		}
	}
	put("provider", "fake")
	put("mode", string(a.Mode))
	put("identity", orQuoted(s.Identity))
	put("identity_kind", orQuoted(s.IdentityKind))
	put("self", orQuoted(s.Self))
	put("currency", orQuoted(s.Currency))
	put("stop_effect", string(s.StopEffect))
	put("balance", orQuoted(s.Balance))
	put("at_zero", string(s.AtZero))
	if s.Bill > 0 {
		put("bill", spanText(s.Bill))
	}
	put("egress", trafficYAML(s.Egress))
	put("ingress", trafficYAML(s.Ingress))
	billing, lag := &flow{}, &flow{}
	billing.span("granularity", s.Billing.Granularity)
	billing.span("minimum", s.Billing.Minimum)
	put("billing", billing.String())
	lag.span("appears", s.Lag.Appears)
	lag.span("disappears", s.Lag.Disappears)
	lag.span("state", s.Lag.State)
	put("lag", lag.String())
	switch {
	case s.ReleaseTakes == fake.AtOnce:
		put("release_takes", "0s")
	case s.ReleaseTakes > 0:
		put("release_takes", spanText(s.ReleaseTakes))
	}
	if s.PageSize > 0 {
		put("page_size", strconv.Itoa(s.PageSize))
	}
	if len(s.Scopes) > 0 {
		put("scopes", yamlValue(s.Scopes))
	}
	items := func(key string, all []string) {
		if len(all) > 0 {
			line("    %s:", key)
		}
		for _, i := range all {
			line("      - %s", i)
		}
	}
	items("resources", texts(s.Resources, resourceYAML))
	items("timeline", texts(s.Timeline, eventYAML))
	items("faults", texts(s.Faults, faultYAML))
}

func orQuoted(s string) string {
	if s == "" {
		return ""
	}
	return quoted(s)
}

func resourceYAML(r fake.Resource) string {
	f := &flow{}
	f.text("id", r.ID)
	f.text("kind", string(r.Kind))
	f.text("scope", r.Scope)
	f.text("identity", r.Identity)
	f.text("name", r.Name)
	f.span("created", r.Created)
	f.text("state", r.State)
	f.text("type", r.Type)
	if r.GPUs == fake.NoGPU {
		f.put("gpus", "0")
	} else {
		f.num("gpus", int64(r.GPUs))
	}
	f.text("gpu_model", r.GPUModel)
	f.num("count", int64(r.Count))
	f.put("rate", rateYAML(r.Rate))
	f.put("list_rate", rateYAML(r.ListRate))
	f.put("stopped_rate", rateYAML(r.StoppedRate))
	f.put("lump", lumpYAML(r.Lump))
	f.flag("spot", r.Spot)
	if l := r.Relaunch; l != nil {
		x := &flow{}
		x.text("by", l.By)
		x.text("parent", l.Parent)
		x.span("after", l.After)
		x.list("ids", l.IDs)
		x.num("times", int64(l.Times))
		f.put("relaunch", x.String())
	}
	f.tags("tags", r.Tags)
	f.list("attached", r.Attached)
	f.flag("goes_with_instance", r.GoesWithInstance)
	f.list("protected", r.Protected)
	f.flag("hide_protection", r.HideProtection)
	f.num("size_gb", r.SizeGB)
	f.text("source", r.Source)
	f.list("used_by", r.UsedBy)
	return f.String()
}

func rateYAML(r *fake.Rate) string {
	if r == nil {
		return ""
	}
	f := &flow{}
	f.put("amount", strconv.Quote(r.Amount))
	f.put("per", r.Per)
	f.flag("per_gpu", r.PerGPU)
	f.text("currency", r.Currency)
	return f.String()
}

func eventYAML(e fake.Event) string {
	f := &flow{}
	f.put("at", spanText(e.At))
	f.text("id", e.ID)
	f.text("by", string(e.By))
	f.text("state", e.State)
	f.put("rate", rateYAML(e.Rate))
	f.flag("delete", e.Delete)
	f.flag("detach", e.Detach)
	f.text("attach", e.Attach)
	f.text("identity", e.Identity)
	f.text("top_up", e.TopUp)
	f.put("charge", chargeYAML(e.Charge))
	f.put("signals", signalsYAML(e.Signals))
	f.put("pulse", pulseYAML(e.Pulse))
	f.flag("reboot", e.Reboot)
	switch r := e.Reclaim; {
	case r == nil:
	case r.Stop:
		f.put("reclaim", "stop")
	case r.Lingers > 0:
		f.put("reclaim", "{lingers: "+spanText(r.Lingers)+"}")
	default:
		f.put("reclaim", "true")
	}
	if e.Set != nil {
		f.put("set", changesYAML(*e.Set))
	}
	if e.Create != nil {
		f.put("create", resourceYAML(*e.Create))
	}
	return f.String()
}

func changesYAML(c fake.Changes) string {
	f := &flow{}
	text := func(key string, s *string) {
		if s != nil {
			f.put(key, strconv.Quote(*s))
		}
	}
	number := func(key string, n *int64) {
		if n != nil {
			f.put(key, strconv.FormatInt(*n, 10))
		}
	}
	flag := func(key string, b *bool) {
		if b != nil {
			f.put(key, strconv.FormatBool(*b))
		}
	}
	list := func(key string, l *[]string) {
		if l != nil {
			f.put(key, yamlValue(*l))
		}
	}
	text("name", c.Name)
	if c.Tags != nil {
		f.put("tags", yamlValue(c.Tags))
	}
	if c.Created != nil {
		f.put("created", spanText(*c.Created))
	}
	if c.GPUs != nil {
		n := int64(*c.GPUs)
		number("gpus", &n)
	}
	text("gpu_model", c.GPUModel)
	number("size_gb", c.SizeGB)
	flag("spot", c.Spot)
	flag("goes_with_instance", c.GoesWithInstance)
	list("protected", c.Protected)
	flag("hide_protection", c.HideProtection)
	list("used_by", c.UsedBy)
	flag("renews", c.Renews)
	return f.String()
}

func faultYAML(x fake.Fault) string {
	f := &flow{}
	f.text("call", x.Call)
	f.text("id", x.ID)
	f.text("scope", x.Scope)
	f.span("from", x.From)
	f.span("for", x.For)
	f.num("times", int64(x.Times))
	f.put("reply", replyYAML(x.Reply))
	return f.String()
}

func replyYAML(r fake.Reply) string {
	for _, word := range []struct {
		is   bool
		word string
	}{
		{r.AcceptedIgnored, "accepted_ignored"}, {r.DoneButTimesOut, "done_but_times_out"}, {r.TimesOut, "times_out"},
		{r.Empty, "empty"}, {r.Unreachable, "unreachable"}, {r.HTML, "html"},
	} {
		if word.is {
			return word.word
		}
	}
	f := &flow{}
	f.num("status", int64(r.Status))
	f.text("retry_after", r.RetryAfter)
	f.text("body", r.Body)
	f.num("drop_page", int64(r.DropPage))
	f.list("null_fields", r.NullFields)
	if r.SetFields != nil {
		f.put("set_fields", yamlValue(r.SetFields))
	}
	return f.String()
}
