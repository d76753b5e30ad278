package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/configs"
	"guard/providers/fake"
)

// accountKeys are the keys of an account; they are those of fake.Script.
type accountKeys struct {
	configs.AccountKeys
	Provider     word            `yaml:"provider"`
	Identity     word            `yaml:"identity"`
	IdentityKind word            `yaml:"identity_kind"`
	Self         word            `yaml:"self"`
	Currency     word            `yaml:"currency"`
	StopEffect   word            `yaml:"stop_effect"`
	Billing      billingPart     `yaml:"billing"`
	Lag          lagPart         `yaml:"lag"`
	ReleaseTakes span            `yaml:"release_takes"`
	PageSize     number          `yaml:"page_size"`
	Scopes       words           `yaml:"scopes"`
	Resources    []resourcePart  `yaml:"resources"`
	Timeline     []timelineEvent `yaml:"timeline"`
	Faults       []cloudFault    `yaml:"faults"`
	Egress       *trafficPart    `yaml:"egress"`
	Ingress      *trafficPart    `yaml:"ingress"`
	Timer        timerPart       `yaml:"timer"`
	Balance      word            `yaml:"balance"`
	AtZero       word            `yaml:"at_zero"`
	StoppedEnds  span            `yaml:"stopped_ends"`
	Bill         span            `yaml:"bill"`
}

// timerPart is how the cloud keeps timers of its own.
type timerPart string

// ReadNode implements configs.NodeReader.
func (t *timerPart) ReadNode(n configs.Node) {
	word, _ := n.Text()
	how, ok := map[string]timerPart{"true": fake.TimerKept, "false": "", "ignored": fake.TimerIgnored}[word]
	if !ok {
		n.Problem("%q is neither true nor ignored (accepted, and stored nowhere)", clip(word))
	}
	*t = how
}

type billingPart struct {
	Granularity span `yaml:"granularity"`
	Minimum     span `yaml:"minimum"`
}

type lagPart struct {
	Appears    span `yaml:"appears"`
	Disappears span `yaml:"disappears"`
	State      span `yaml:"state"`
}

type ratePart struct {
	Amount   word `yaml:"amount"`
	Per      word `yaml:"per"`
	PerGPU   bool `yaml:"per_gpu"`
	Currency word `yaml:"currency"`
}

// Check is called when all types are right; see configs.SectionOf.
func (r *ratePart) Check(report func(key, problem string)) {
	if r.Amount == "" {
		report("", `amount is missing: write {amount: "2.40", per: hour}`)
	}
	if r.Per == "" {
		report("", "per is missing: hour, month, gb_month or second")
	}
}

func (r *ratePart) rate() *fake.Rate {
	if r == nil {
		return nil
	}
	return &fake.Rate{Amount: string(r.Amount), Per: string(r.Per), PerGPU: r.PerGPU, Currency: string(r.Currency)}
}

// trafficPart is what traffic in one direction costs.
type trafficPart struct {
	Amount word   `yaml:"amount"`
	UpTo   word   `yaml:"upto"`
	Per    word   `yaml:"per"`
	FreeGB number `yaml:"free_gb"`
}

// Check is called when all types are right; see configs.SectionOf.
func (t *trafficPart) Check(report func(key, problem string)) {
	if t.Amount == "" {
		report("", `amount is missing: write {amount: "0.09", per: gb}, or amount: unknown`)
	}
	if t.Per == "" {
		report("", "per is missing: gb")
	}
}

func (t *trafficPart) traffic() *fake.Traffic {
	if t == nil {
		return nil
	}
	return &fake.Traffic{Amount: string(t.Amount), UpTo: string(t.UpTo), Per: string(t.Per), FreeGB: int64(t.FreeGB.n)}
}

type relaunchPart struct {
	By     word   `yaml:"by"`
	Parent word   `yaml:"parent"`
	After  span   `yaml:"after"`
	IDs    words  `yaml:"ids"`
	Times  number `yaml:"times"`
}

// lumpPart is what a thing is paid ahead with.
type lumpPart struct {
	Amount word `yaml:"amount"`
	Covers span `yaml:"covers"`
	Renews bool `yaml:"renews"`
}

// Check is called when all types are right; see configs.SectionOf.
func (l *lumpPart) Check(report func(key, problem string)) {
	if l.Amount == "" {
		report("", `amount is missing: write {amount: "3000", covers: 30d, renews: true}`)
	}
	if !l.Covers.set {
		report("", "covers is missing: say how long it is paid for, such as covers: 30d")
	}
}

func (l *lumpPart) lump() *fake.Lump {
	if l == nil {
		return nil
	}
	return &fake.Lump{Amount: string(l.Amount), Covers: l.Covers.Duration, Renews: l.Renews}
}

// mostAlike bounds count: a story is not a load test.
const mostAlike = 20_000

type resourcePart struct {
	node configs.Node
	resourceKeys
}

type resourceKeys struct {
	ID               word            `yaml:"id"`
	Kind             word            `yaml:"kind"`
	Scope            word            `yaml:"scope"`
	Identity         word            `yaml:"identity"`
	Name             word            `yaml:"name"`
	Created          when            `yaml:"created"`
	State            word            `yaml:"state"`
	Type             word            `yaml:"type"`
	GPUs             number          `yaml:"gpus"`
	GPUModel         word            `yaml:"gpu_model"`
	Count            number          `yaml:"count"`
	Rate             *ratePart       `yaml:"rate"`
	ListRate         *ratePart       `yaml:"list_rate"`
	StoppedRate      *ratePart       `yaml:"stopped_rate"`
	Spot             bool            `yaml:"spot"`
	Relaunch         *relaunchPart   `yaml:"relaunch"`
	Tags             map[string]word `yaml:"tags"`
	Attached         words           `yaml:"attached"`
	Protected        words           `yaml:"protected"`
	HideProtection   bool            `yaml:"hide_protection"`
	SizeGB           number          `yaml:"size_gb"`
	GoesWithInstance bool            `yaml:"goes_with_instance"`
	Source           word            `yaml:"source"`
	UsedBy           words           `yaml:"used_by"`
	Lump             *lumpPart       `yaml:"lump"`
	Egress           *trafficPart    `yaml:"egress"`
	Ingress          *trafficPart    `yaml:"ingress"`
}

// ReadNode implements configs.NodeReader.
func (r *resourcePart) ReadNode(n configs.Node) {
	r.node = n
	switch {
	case !n.Decode(&r.resourceKeys):
	case r.ID == "":
		n.Problem("id is missing")
	case r.Count.set && (r.Count.n < 1 || r.Count.n > mostAlike):
		n.At("count", "write how many are alike, from 1 to %d", mostAlike)
		r.Count.n = 1
	}
}

func (r resourcePart) resource(start time.Time) fake.Resource {
	out := fake.Resource{
		ID: string(r.ID), Kind: guard.Kind(r.Kind), Scope: string(r.Scope), Identity: string(r.Identity), Name: string(r.Name),
		Created: r.Created.from(start), State: string(r.State), Type: string(r.Type), GPUs: r.GPUs.n, GPUModel: string(r.GPUModel),
		Count: r.Count.n, Rate: r.Rate.rate(), ListRate: r.ListRate.rate(), StoppedRate: r.StoppedRate.rate(),
		Egress: r.Egress.traffic(), Ingress: r.Ingress.traffic(), Spot: r.Spot,
		Tags: plainTags(r.Tags), Attached: r.Attached, GoesWithInstance: r.GoesWithInstance, Protected: r.Protected,
		Lump: r.Lump.lump(), HideProtection: r.HideProtection, SizeGB: int64(r.SizeGB.n), Source: string(r.Source), UsedBy: r.UsedBy,
	}
	if !r.Created.set {
		out.Created = 0
	}
	if r.GPUs.set && r.GPUs.n == 0 {
		out.GPUs = fake.NoGPU
	}
	if l := r.Relaunch; l != nil {
		out.Relaunch = &fake.Relaunch{By: string(l.By), Parent: string(l.Parent), After: l.After.Duration, IDs: l.IDs, Times: l.Times.n}
	}
	return out
}

func plainTags(in map[string]word) map[string]string {
	if in == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range in {
		out[k] = string(v)
	}
	return out
}

type cloudFault struct {
	node configs.Node
	told bool // what is wrong with it
	cloudFaultKeys
}

type cloudFaultKeys struct {
	Call  word       `yaml:"call"`
	ID    word       `yaml:"id"`
	Scope word       `yaml:"scope"`
	From  when       `yaml:"from"`
	For   span       `yaml:"for"`
	Times number     `yaml:"times"`
	Reply cloudReply `yaml:"reply"`
}

var (
	cloudCalls = []string{fake.CallAny, fake.CallList, fake.CallGet, fake.CallIdentity, fake.CallStop, fake.CallRelease,
		fake.CallDelete, fake.CallProtection, fake.CallUnprotect, fake.CallTag, fake.CallSignals, fake.CallArm, fake.CallArmed, fake.CallBalance, fake.CallCharges}
	laterCalls = []string{"snapshot"}
)

// callName reports what is wrong with the name of a provider's call.
func callName(n configs.Node, key, call string) bool {
	switch {
	case contains(laterCalls, call):
		n.At(key, "calls of %s are not supported yet", call)
	case !contains(cloudCalls, call):
		n.At(key, "%q is not a call: write %s", clip(call), strings.Join(cloudCalls, ", "))
	default:
		return true
	}
	return false
}

// ReadNode implements configs.NodeReader.
func (f *cloudFault) ReadNode(n configs.Node) {
	f.node = n
	if !n.Decode(&f.cloudFaultKeys) {
		return
	}
	if f.Call != "" {
		f.told = !callName(n, "call", string(f.Call))
	}
	if !n.Has("reply") {
		n.Problem("reply is missing: write reply: unreachable, or reply: {status: 503}")
	}
}

func (f cloudFault) fault(start time.Time) fake.Fault {
	return fake.Fault{Call: string(f.Call), ID: string(f.ID), Scope: string(f.Scope), From: f.From.from(start), For: f.For.Duration,
		Times: f.Times.n, Reply: f.Reply.reply}
}

// cloudReply is one word, or a group of keys.
type cloudReply struct{ reply fake.Reply }

// ReadNode implements configs.NodeReader.
func (r *cloudReply) ReadNode(n configs.Node) {
	if s, ok := n.Text(); ok {
		switch s {
		case "accepted_ignored":
			r.reply.AcceptedIgnored = true
		case "done_but_times_out":
			r.reply.DoneButTimesOut = true
		case "times_out":
			r.reply.TimesOut = true
		case "empty":
			r.reply.Empty = true
		case "unreachable":
			r.reply.Unreachable = true
		case "html":
			r.reply.HTML = true
		default:
			n.Unknown(s, []string{"accepted_ignored", "done_but_times_out", "times_out", "empty", "unreachable", "html"})
		}
		return
	}
	var keys struct {
		Status     number       `yaml:"status"`
		Body       word         `yaml:"body"`
		RetryAfter word         `yaml:"retry_after"`
		DropPage   number       `yaml:"drop_page"`
		NullFields words        `yaml:"null_fields"`
		SetFields  configs.Node `yaml:"set_fields"`
	}
	if !n.Decode(&keys) {
		return
	}
	r.reply = fake.Reply{Status: keys.Status.n, Body: string(keys.Body), RetryAfter: string(keys.RetryAfter), DropPage: keys.DropPage.n, NullFields: keys.NullFields}
	if !keys.SetFields.IsZero() {
		r.reply.SetFields = map[string]any{}
		for _, f := range keys.SetFields.Fields() {
			r.reply.SetFields[f.Key] = f.Value.Any()
		}
	}
	if r.reply.Status != 0 && (r.reply.Status < 200 || r.reply.Status > 599) {
		n.At("status", "an HTTP status is from 200 to 599")
	}
}

// readAccounts decodes the accounts, in the order of the file.
func readAccounts(n configs.Node, start time.Time) []*account {
	var out []*account
	for _, f := range n.Fields() {
		a := &account{name: f.Key, node: f.Value}
		out = append(out, a)
		f.Value.Decode(&a.accountKeys)
		if a.Provider != "fake" && f.Value.Read() {
			f.Value.Problem("provider: the clouds of a story are fake: write provider: fake")
		}
		a.script = a.build(start)
		// The fake cloud says itself what makes no sense together.
		if _, err := fake.NewCloud(a.script); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				a.blame(strings.TrimPrefix(line, guard.ErrInvalid.Error()+": "))
			}
		}
	}
	return out
}

// blame reports what the fake cloud found at the line of the thing it names.
func (a *account) blame(text string) {
	at, told := a.node, false
	for _, r := range a.Resources {
		if named := fmt.Sprintf("resource %q", string(r.ID)); strings.Contains(text, named) {
			at, text = r.node, strings.TrimPrefix(text, "fake "+named+": ")
			break
		}
	}
	for i, e := range a.Timeline {
		if strings.Contains(text, fmt.Sprintf("event %d (", i+1)) {
			at, told = e.node, e.told
		}
	}
	for i, f := range a.Faults {
		if strings.Contains(text, fmt.Sprintf(": fault %d: ", i+1)) {
			at, told = f.node, f.told
		}
	}
	if _, rest, ok := strings.Cut(text, "fake account "+a.name+": "); ok {
		text = rest
	}
	if !at.Read() || told {
		return // it follows from what is told already
	}
	if key, rest, ok := strings.Cut(text, ": "); ok && at.Has(key) {
		at.At(key, "%s", rest)
		return
	}
	at.Problem("%s", text)
}

func (a *account) build(start time.Time) fake.Script {
	s := fake.Script{
		Account: a.name, Start: start, Identity: string(a.Identity), IdentityKind: string(a.IdentityKind), Self: string(a.Self),
		Currency: string(a.Currency), StopEffect: guard.StopEffect(a.StopEffect),
		Billing: fake.Billing{Granularity: a.Billing.Granularity.Duration, Minimum: a.Billing.Minimum.Duration},
		Lag:     fake.Lag{Appears: a.Lag.Appears.Duration, Disappears: a.Lag.Disappears.Duration, State: a.Lag.State.Duration},
		Egress:  a.Egress.traffic(), Ingress: a.Ingress.traffic(), ReleaseTakes: a.ReleaseTakes.or(0), Timer: string(a.Timer),
		PageSize: a.PageSize.n, Scopes: a.Scopes, Balance: string(a.Balance), AtZero: guard.AtZero(a.AtZero), StoppedEnds: a.StoppedEnds.Duration, Bill: a.Bill.Duration,
	}
	if a.ReleaseTakes.set && a.ReleaseTakes.Duration == 0 {
		s.ReleaseTakes = fake.AtOnce
	}
	for _, r := range a.Resources {
		s.Resources = append(s.Resources, r.resource(start))
	}
	slices.SortStableFunc(a.Timeline, func(x, y timelineEvent) int { return cmp.Compare(x.At.from(start), y.At.from(start)) })
	for _, e := range a.Timeline {
		s.Timeline = append(s.Timeline, e.event(start))
	}
	for _, f := range a.Faults {
		s.Faults = append(s.Faults, f.fault(start))
	}
	return s
}
