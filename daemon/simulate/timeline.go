package simulate

import (
	"strings"
	"time"

	"guard"
	"guard/configs"
	"guard/providers/fake"
)

type timelineEvent struct {
	node configs.Node
	told bool // what is wrong with it
	timelineKeys
}

type timelineKeys struct {
	At       when          `yaml:"at"`
	ID       word          `yaml:"id"`
	By       word          `yaml:"by"`
	Reclaim  *reclaimPart  `yaml:"reclaim"`
	State    word          `yaml:"state"`
	Rate     *ratePart     `yaml:"rate"`
	Delete   bool          `yaml:"delete"`
	Set      *changesPart  `yaml:"set"`
	Detach   bool          `yaml:"detach"`
	Attach   word          `yaml:"attach"`
	Create   *resourcePart `yaml:"create"`
	Identity word          `yaml:"identity"`
	TopUp    word          `yaml:"top_up"`

	Signals      *signalsPart `yaml:"signals"`
	SignalsFile  *tracePart   `yaml:"signals_file"`
	SampleOffset *step        `yaml:"sample_offset"`
	Pulse        *pulsePart   `yaml:"pulse"`
	Reboot       bool         `yaml:"reboot"`
	Charge       *chargePart  `yaml:"charge"`
}

// happenings are the keys of what may happen in a cloud.
var happenings = strings.Fields(`reclaim state rate delete set detach attach create identity top_up charge
	signals signals_file sample_offset pulse reboot`)

// ReadNode implements configs.NodeReader.
func (e *timelineEvent) ReadNode(n configs.Node) {
	e.node = n
	if e.told = !n.Decode(&e.timelineKeys); e.told {
		return
	}
	if !n.Has("at") {
		n.Problem("at is missing: say when it happens, such as at: 6h")
	}
	var what []string
	for _, k := range happenings {
		if n.Has(k) {
			what = append(what, k)
		}
	}
	switch {
	case len(what) != 1:
		n.Problem("write one thing that happens: %s", strings.Join(happenings, ", "))
	case what[0] != "create" && what[0] != "identity" && what[0] != "top_up" && what[0] != "charge" && e.ID == "":
		n.Problem("id is missing: say to what it happens")
	case e.By != "" && e.By != "outside" && e.By != "platform":
		n.At("by", "write outside or platform, not %q", clip(string(e.By)))
	}
}

func (e timelineEvent) event(start time.Time) fake.Event {
	out := fake.Event{At: e.At.from(start), ID: string(e.ID), By: guard.How(e.By), State: string(e.State), Rate: e.Rate.rate(),
		Delete: e.Delete, Detach: e.Detach, Attach: string(e.Attach), Identity: string(e.Identity), TopUp: string(e.TopUp), Reboot: e.Reboot}
	if s := e.Signals; s != nil {
		out.Signals = &s.told
	}
	if t := e.SignalsFile; t != nil {
		out.SignalsFile = &t.trace
	}
	if o := e.SampleOffset; o != nil {
		out.SampleOffset = &o.Duration
	}
	if ch := e.Charge; ch != nil {
		out.Charge = &fake.Charge{ID: string(ch.ID), Amount: string(ch.Amount), Covers: ch.Covers.Duration}
	}
	if p := e.Pulse; p != nil {
		out.Pulse = &p.pulse
	}
	if r := e.Reclaim; r != nil {
		out.Reclaim = &fake.Reclaim{Stop: r.stop, Lingers: r.lingers}
	}
	if e.Set != nil {
		out.Set = e.Set.changes(start)
	}
	if e.Create != nil {
		r := e.Create.resource(start)
		if !e.Create.Created.set {
			r.Created = out.At
		}
		out.Create = &r
	}
	return out
}

// chargePart is a line of the cloud's own bill.
type chargePart struct {
	ID     word `yaml:"id"`
	Amount word `yaml:"amount"`
	Covers span `yaml:"covers"`
}

// Check is called when all types are right; see configs.SectionOf.
func (c *chargePart) Check(report func(key, problem string)) {
	if c.ID == "" || c.Amount == "" || !c.Covers.set {
		report("", `write what it is for, how much and for how long: {id: i-1, amount: "31 CNY", covers: 1h}`)
	}
}

// reclaimPart is true, stop or {lingers: 63m}.
type reclaimPart struct {
	stop    bool
	lingers time.Duration
}

// ReadNode implements configs.NodeReader.
func (r *reclaimPart) ReadNode(n configs.Node) {
	if b, ok := n.Bool(); ok && b {
		return
	}
	if s, ok := n.Text(); ok {
		if r.stop = s == "stop"; !r.stop {
			n.Problem("write true, stop or {lingers: 63m}")
		}
		return
	}
	var keys struct {
		Lingers span `yaml:"lingers"`
	}
	n.Decode(&keys)
	r.lingers = keys.Lingers.Duration
}

type changesPart struct {
	Name             *word           `yaml:"name"`
	Tags             map[string]word `yaml:"tags"`
	Created          *when           `yaml:"created"`
	GPUs             *number         `yaml:"gpus"`
	GPUModel         *word           `yaml:"gpu_model"`
	SizeGB           *number         `yaml:"size_gb"`
	Spot             *bool           `yaml:"spot"`
	GoesWithInstance *bool           `yaml:"goes_with_instance"`
	Protected        *words          `yaml:"protected"`
	HideProtection   *bool           `yaml:"hide_protection"`
	UsedBy           *words          `yaml:"used_by"`
	Renews           *bool           `yaml:"renews"`
}

func (c changesPart) changes(start time.Time) *fake.Changes {
	out := &fake.Changes{Name: (*string)(c.Name), Tags: plainTags(c.Tags), GPUModel: (*string)(c.GPUModel), Spot: c.Spot,
		GoesWithInstance: c.GoesWithInstance, Protected: (*[]string)(c.Protected), HideProtection: c.HideProtection, UsedBy: (*[]string)(c.UsedBy), Renews: c.Renews}
	if c.Created != nil {
		at := c.Created.from(start)
		out.Created = &at
	}
	if c.GPUs != nil {
		out.GPUs = &c.GPUs.n
	}
	if c.SizeGB != nil {
		size := int64(c.SizeGB.n)
		out.SizeGB = &size
	}
	return out
}
