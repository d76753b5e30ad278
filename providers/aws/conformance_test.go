package aws

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Harness{
		New: func(t *testing.T, scopes []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			cleanEnvironment(t)
			p, err := New(t.Context(), Options{Name: "conformance", Base: rt, Config: Config{
				Regions: scopes, AccessKeyID: guard.NewSecret("AKIAIOSFODNN7EXAMPLE"), SecretAccessKey: secret, SessionToken: secret,
			}})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Serve: func(_ *testing.T, w providertest.World) http.RoundTripper { return newEC2(w) },
		Classify: func(r *http.Request, body []byte) providertest.Op {
			form, _ := url.ParseQuery(string(body))
			op := providertest.Op{Call: calls[form.Get("Action")], Scope: regionOf(r)}
			if op.Call == providertest.List && form.Has("InstanceId.1") {
				op.Call = providertest.Get
			}
			switch {
			case form.Get("DryRun") == "true" && op.Call != providertest.List:
				op.Call = providertest.DryRun
			case op.Call == "":
				op.Call = providertest.Other
			}
			return op
		},
		Scopes:  []string{"eu-west-1", "us-east-1"},
		Odd:     odd(),
		Watched: watchedWorld,
	})
}

var calls = map[string]string{
	"GetCallerIdentity":         providertest.Identity,
	"DescribeInstances":         providertest.List,
	"TerminateInstances":        providertest.Release,
	"StopInstances":             providertest.Stop,
	"CreateTags":                providertest.Tag,
	"DescribeInstanceAttribute": providertest.Protection,
	"ModifyInstanceAttribute":   providertest.Unprotect,
	"GetMetricData":             providertest.Signals,
}

func regionOf(r *http.Request) string { return strings.Split(r.URL.Host, ".")[1] }

// odd are listings whose one instance makes no sense.
func odd() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, item := range map[string]string{
		"nothing but an ID": "<instanceId>i-00000000000000001</instanceId>",
		"empty elements":    "<instanceId>i-00000000000000001</instanceId><instanceState/><launchTime/><tagSet/><blockDeviceMapping><item/></blockDeviceMapping><placement/>",
		"text for a time":   box("i-00000000000000001", "<launchTime>yesterday</launchTime>"),
		"text for a number": "<instanceId>i-00000000000000001</instanceId><instanceState><code>many</code><name>running</name></instanceState>",
		"the year 9999":     strings.Replace(box("i-00000000000000001"), "2026-03-01", "9999-03-01", 1),
		"the year 1":        strings.Replace(box("i-00000000000000001"), "2026-03-01", "0001-01-01", 1),
		"an unknown state":  strings.Replace(box("i-00000000000000001"), state(16, "running"), state(7, "levitating"), 1),
		"no ID":             "<instanceType>g5.xlarge</instanceType>",
		"huge texts":        box("i-00000000000000001", "<tagSet><item><key>Name</key><value>"+strings.Repeat("x", 1<<20)+"</value></item></tagSet>"),
		"thousands of tags": box("i-00000000000000001", "<tagSet>"+strings.Repeat("<item><key>k</key><value>v</value></item>", 10_000)+"</tagSet>"),
		"an unknown type":   strings.Replace(box("i-00000000000000001"), "g5.xlarge", "\U0001F5A5.large", 1),
		"null in a string":  strings.Replace(box("i-00000000000000001"), "g5.xlarge", "null", 1),
	} {
		e := newEC2(providertest.World{Scopes: []string{"eu-west-1", "us-east-1"}})
		e.raw = item
		out[name] = e
	}
	return out
}

// ec2Account is a small EC2: it keeps state, and speaks as EC2 does.
type ec2Account struct {
	mu    sync.Mutex
	world providertest.World
	state map[string]string
	raw   string // in place of every listing

	detailed  bool // monitoring of all instances
	monitored *monitored
	groups    map[string]*scalingGroup
	// instead answers before the account does.
	instead func(action string, form url.Values) (answer, bool)
}

func newEC2(w providertest.World) *ec2Account {
	e := &ec2Account{world: w, state: map[string]string{}, monitored: &monitored{value: plain}}
	for i, t := range w.Instances {
		e.state[t.ID] = "running"
		if t.Stopped {
			e.state[t.ID] = "stopped"
		}
		// Tags are written to: the suite's own map stays as it is.
		tags := map[string]string{"Name": t.Name}
		for k, v := range t.Tags {
			tags[k] = v
		}
		e.world.Instances[i].Tags = tags
	}
	return e
}

func (e *ec2Account) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answer(form.Get("Action"), regionOf(req), form).response(req)
}

func (e *ec2Account) answer(action, region string, form url.Values) answer {
	if e.instead != nil {
		if a, ok := e.instead(action, form); ok {
			return a
		}
	}
	if form.Get("DryRun") == "true" {
		return refuse(http.StatusPreconditionFailed, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
	}
	switch action {
	case "GetCallerIdentity":
		return ok(`<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>` + e.world.Canary + `</Arn><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	case "DescribeRegions":
		var b strings.Builder
		for _, s := range e.world.Scopes {
			b.WriteString("<item><regionName>" + s + "</regionName><optInStatus>opt-in-not-required</optInStatus></item>")
		}
		return reply(action, "<regionInfo>"+b.String()+"</regionInfo>")
	case "DescribeInstanceTypes":
		return reply(action, typesReply)
	case "DescribeVolumes":
		return reply(action, "<volumeSet/>")
	case "DescribeInstances":
		return e.describe(region, form)
	case "GetMetricData", "ListMetrics":
		return e.monitored.answer(form)
	case "DescribeAutoScalingInstances", "TerminateInstanceInAutoScalingGroup":
		return e.scale(action, region, form)
	}
	return e.change(action, region, form)
}

func (e *ec2Account) describe(region string, form url.Values) answer {
	if e.raw != "" {
		return instancesReply("", e.raw)
	}
	var items []string
	if ids := numbered(form, "InstanceId"); len(ids) > 0 {
		var missing []string
		for _, id := range ids {
			if i := e.find(region, id); i >= 0 {
				items = append(items, e.item(i))
			} else {
				missing = append(missing, id)
			}
		}
		if len(missing) > 0 {
			return refuse(400, "InvalidInstanceID.NotFound", "The instance IDs '"+strings.Join(missing, ", ")+"' do not exist")
		}
		return instancesReply("", items...)
	}
	from, more := 0, 0
	if n, err := fmt.Sscanf(form.Get("NextToken"), "after-%d", &from); form.Get("NextToken") != "" && (n != 1 || err != nil) {
		return refuse(400, "InvalidNextToken", "The token is invalid")
	}
	for i, t := range e.world.Instances {
		if t.Scope != region || i < from {
			continue
		}
		if e.world.PageSize > 0 && len(items) == e.world.PageSize {
			more = i
			break
		}
		items = append(items, e.item(i))
	}
	token := ""
	if more > 0 {
		token = fmt.Sprintf("after-%d", more)
	}
	return instancesReply(token, items...)
}

func (e *ec2Account) change(action, region string, form url.Values) answer {
	id := form.Get("InstanceId.1") + form.Get("InstanceId") + form.Get("ResourceId.1")
	i := e.find(region, id)
	if i < 0 {
		return refuse(400, "InvalidInstanceID.NotFound", "The instance ID '"+id+"' does not exist")
	}
	t := &e.world.Instances[i]
	switch action {
	case "TerminateInstances":
		if t.Protected {
			return refuse(400, "OperationNotPermitted", "The instance '"+id+"' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.")
		}
		e.state[id] = "shutting-down"
		e.refill(i)
		return terminating(id)
	case "StopInstances":
		e.state[id] = "stopping"
		return reply(action, "<instancesSet><item><instanceId>"+id+"</instanceId></item></instancesSet>")
	case "CreateTags":
		t.Tags[form.Get("Tag.1.Key")] = form.Get("Tag.1.Value")
	case "DescribeInstanceAttribute":
		name := form.Get("Attribute")
		return attribute(name, fmt.Sprint(t.Protected && name == "disableApiTermination"))
	case "ModifyInstanceAttribute":
		t.Protected = form.Get("DisableApiTermination.Value") == "true"
	default:
		return refuse(400, "InvalidAction", "The action "+action+" is not valid for this web service.")
	}
	return reply(action, "<return>true</return>")
}

func (e *ec2Account) find(region, id string) int {
	return slices.IndexFunc(e.world.Instances, func(t providertest.Thing) bool { return t.Scope == region && t.ID == id })
}

func (e *ec2Account) item(i int) string {
	t := e.world.Instances[i]
	var tags strings.Builder
	for k, v := range t.Tags {
		tags.WriteString("<item><key>" + k + "</key><value>" + v + "</value></item>")
	}
	// Fields that nobody should read, each with the canary.
	var rest strings.Builder
	for _, f := range []string{"clientToken", "keyName", "reason", "privateDnsName", "sourceDestCheck9", "userData"} {
		if e.world.Canary != "" {
			rest.WriteString("<" + f + ">" + e.world.Canary + "</" + f + ">")
		}
	}
	if e.detailed {
		rest.WriteString("<monitoring><state>enabled</state></monitoring>")
	}
	item := strings.Replace(box(t.ID, "<tagSet>"+tags.String()+"</tagSet>", rest.String()), state(16, "running"), state(0, e.state[t.ID]), 1)
	return item
}

func numbered(form url.Values, name string) []string {
	var out []string
	for n := 1; form.Has(fmt.Sprintf("%s.%d", name, n)); n++ {
		out = append(out, form.Get(fmt.Sprintf("%s.%d", name, n)))
	}
	return out
}
