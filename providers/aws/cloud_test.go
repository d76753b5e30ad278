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
	"guard/providers/prices"
)

const (
	canaryKey    = "AKIACANARYCANARY0001"
	canarySecret = "canary/Secret+Key/0123456789abcdefABCDEF"
	canaryToken  = "canary-session-token-0123456789"
)

// ec2Cloud answers the EC2 query protocol from fixtures: XML as EC2 sends it, one
// answer for each call in turn, the last one again for all further calls.
type ec2Cloud struct {
	t       *testing.T
	mu      sync.Mutex
	answers map[string][]answer // by "Action" or "Action region"
	calls   []call
}

type answer struct {
	status int
	body   string
	header http.Header
	err    error
}

type call struct {
	action, region string
	form           url.Values
}

func newCloud(t *testing.T) *ec2Cloud {
	return &ec2Cloud{t: t, answers: map[string][]answer{}}
}

// on sets the answers to an action, in one region ("DescribeInstances eu-west-1")
// or in all, or to its dry run ("DryRun StopInstances", "DryRun" for any).
func (c *ec2Cloud) on(what string, as ...answer) *ec2Cloud {
	c.answers[what] = as
	return c
}

func ok(body string) answer { return answer{status: http.StatusOK, body: body} }

// refuse is an error as EC2 writes it.
func refuse(status int, code, message string) answer {
	return answer{status: status, body: fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>req-1</RequestID></Response>`, code, message)}
}

func (c *ec2Cloud) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	host := strings.Split(req.URL.Host, ".")
	made := call{form.Get("Action"), host[1], form}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, made)
	names := []string{made.action + " " + made.region, made.action}
	if form.Get("DryRun") == "true" {
		names = append([]string{"DryRun " + made.action, "DryRun"}, names...)
	}
	for _, what := range names {
		as := c.answers[what]
		if len(as) == 0 {
			continue
		}
		if len(as) > 1 {
			c.answers[what] = as[1:]
		}
		return as[0].response(req)
	}
	c.t.Errorf("nobody expected %s in %s: %v", made.action, made.region, form)
	return refuse(http.StatusBadRequest, "InvalidAction", "no fixture").response(req)
}

func (a answer) response(req *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{"Content-Type": {"text/xml;charset=UTF-8"}, "Date": {"Fri, 06 Mar 2026 10:00:00 GMT"}}
	for k, v := range a.header {
		h[k] = v
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: req,
	}, nil
}

// made counts the calls of an action, in all regions or in one.
func (c *ec2Cloud) made(action string, region ...string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, m := range c.calls {
		if m.action == action && (len(region) == 0 || slices.Contains(region, m.region)) {
			n++
		}
	}
	return n
}

// order is the actions in the order they came.
func (c *ec2Cloud) order() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, m := range c.calls {
		out = append(out, m.action)
	}
	return out
}

func (c *ec2Cloud) last(action string) url.Values {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range slices.Backward(c.calls) {
		if m.action == action {
			return m.form
		}
	}
	c.t.Fatalf("no call of %s", action)
	return nil
}

const priceBook = `
currency: USD
instances:
  - {type: p4d.24xlarge, scope: us-east-1, rate: {amount: "32.7726", per: hour}}
  - {type: g5.xlarge, rate: {amount: "1.006", per: hour, per_gpu: true}}
  - {type: g5.xlarge, spot: true, rate: {amount: "0.40", per: hour}}
volumes:
  - {type: gp3, rate: {amount: "0.08", per: gb_month}}
`

// cleanEnvironment keeps the machine's own AWS set-up out of a test.
func cleanEnvironment(t *testing.T) {
	t.Helper()
	for _, v := range []string{"AWS_CA_BUNDLE", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_EC2"} {
		t.Setenv(v, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
}

// adapter is a Provider over the cloud; regions empty means all.
func (c *ec2Cloud) adapter(regions ...string) *Provider {
	c.t.Helper()
	cleanEnvironment(c.t)
	book, _, err := prices.Parse("prices.yaml", []byte(priceBook))
	if err != nil {
		c.t.Fatal(err)
	}
	p, err := New(c.t.Context(), Options{
		Name: "research", Book: book, Base: c,
		Config: Config{
			Regions: regions, AccessKeyID: guard.NewSecret(canaryKey),
			SecretAccessKey: guard.NewSecret(canarySecret), SessionToken: guard.NewSecret(canaryToken),
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func iid(id string) guard.ResourceID {
	return guard.ResourceID{Account: "research", Kind: guard.Instance, Scope: "us-east-1", ID: id}
}

func vid(id string) guard.ResourceID {
	return guard.ResourceID{Account: "research", Kind: guard.Volume, Scope: "us-east-1", ID: id}
}

// reply wraps the inside of an EC2 reply.
func reply(action, inside string) answer {
	return ok(fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<%[1]sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>req-0</requestId>%[2]s</%[1]sResponse>`, action, inside))
}

// instancesReply is a page of DescribeInstances with the given instances, each
// in a reservation of its own.
func instancesReply(token string, items ...string) answer {
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "<item><reservationId>r-0123456789abcdef0</reservationId><ownerId>123456789012</ownerId><groupSet/><instancesSet><item>%s</item></instancesSet></item>", it)
	}
	return reply("DescribeInstances", "<reservationSet>"+b.String()+"</reservationSet>"+next(token))
}

func next(token string) string {
	if token == "" {
		return ""
	}
	return "<nextToken>" + token + "</nextToken>"
}

// box is a running on-demand g5.xlarge; more goes into its item.
func box(id string, more ...string) string {
	return "<instanceId>" + id + "</instanceId>" + state(16, "running") +
		"<instanceType>g5.xlarge</instanceType><launchTime>2026-03-01T08:00:00.000Z</launchTime>" +
		"<rootDeviceType>ebs</rootDeviceType><rootDeviceName>/dev/xvda</rootDeviceName>" + strings.Join(more, "")
}

func state(code int, name string) string {
	return fmt.Sprintf("<instanceState><code>%d</code><name>%s</name></instanceState>", code, name)
}

const (
	regionsReply = `<regionInfo>
<item><regionName>us-east-1</regionName><regionEndpoint>ec2.us-east-1.amazonaws.com</regionEndpoint><optInStatus>opt-in-not-required</optInStatus></item>
<item><regionName>eu-west-1</regionName><regionEndpoint>ec2.eu-west-1.amazonaws.com</regionEndpoint><optInStatus>opted-in</optInStatus></item>
<item><regionName>me-south-1</regionName><regionEndpoint>ec2.me-south-1.amazonaws.com</regionEndpoint><optInStatus>not-opted-in</optInStatus></item>
</regionInfo>`
	typesReply = `<instanceTypeSet>
<item><instanceType>g5.xlarge</instanceType><vCpuInfo><defaultVCpus>4</defaultVCpus></vCpuInfo><gpuInfo><gpus><item><name>A10G</name><manufacturer>NVIDIA</manufacturer><count>1</count><memoryInfo><sizeInMiB>24576</sizeInMiB></memoryInfo></item></gpus><totalGpuMemoryInMiB>24576</totalGpuMemoryInMiB></gpuInfo></item>
<item><instanceType>p4d.24xlarge</instanceType><gpuInfo><gpus><item><name>A100</name><manufacturer>NVIDIA</manufacturer><count>8</count></item></gpus></gpuInfo></item>
<item><instanceType>m5.large</instanceType></item>
</instanceTypeSet>`
)

// usual answers what most tests do not care for.
func (c *ec2Cloud) usual() *ec2Cloud {
	return c.on("DescribeRegions", reply("DescribeRegions", regionsReply)).
		on("DescribeInstanceTypes", reply("DescribeInstanceTypes", typesReply)).
		on("DescribeInstances", instancesReply("")).
		on("DescribeVolumes", reply("DescribeVolumes", "<volumeSet/>")).
		on("GetMetricData", ok(`<GetMetricDataResponse><GetMetricDataResult><MetricDataResults/></GetMetricDataResult></GetMetricDataResponse>`))
}
