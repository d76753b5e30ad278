package e2e

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon"
	"guard/daemon/notify/notifytest"
)

// region is where all of a cloud's boxes are.
const region = "us-east-1"

// dying is how long a box takes from the call that ends it until it is terminated.
const dying = 500 * time.Millisecond

// cloud is as much of EC2's query protocol as guard speaks about boxes without
// disks. It keeps what was asked of it and what is true.
type cloud struct {
	*loopback
	// ended is told of each call to end a box, before it has an effect, and
	// whether the box was alive then.
	ended func(id string, at time.Time, alive bool)

	mu    sync.Mutex
	order []string
	boxes map[string]*box
	calls map[string]int // to end a box, by its ID
}

type box struct {
	id      string
	created time.Time
	killed  time.Time // zero: alive
	tags    map[string]string
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{boxes: map[string]*box{}, calls: map[string]int{}, ended: func(string, time.Time, bool) {}}
	c.loopback = serve(t, c)
	return c
}

// run makes a box.
func (c *cloud) run() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := fmt.Sprintf("i-%017x", len(c.order)+1)
	c.order = append(c.order, id)
	c.boxes[id] = &box{id: id, created: time.Now().UTC().Truncate(time.Second), tags: map[string]string{}}
	return id
}

// alive reports whether nobody has ended the box.
func (c *cloud) alive(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boxes[id].killed.IsZero()
}

// asked is how often the cloud was told to end the box.
func (c *cloud) asked(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

// told is how often the cloud was told to end each box, where it was at all.
func (c *cloud) told() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

// ServeHTTP implements http.Handler.
func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "not a query", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	action := r.PostForm.Get("Action")
	body, known := c.answer(action, r.PostForm)
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	if !known {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>r</RequestID></Response>", body, action)
		return
	}
	fmt.Fprintf(w, "<%[1]sResponse><requestId>r</requestId>%[2]s</%[1]sResponse>", action, body)
}

// answer is the inside of a reply, or the code of a refusal.
func (c *cloud) answer(action string, form url.Values) (string, bool) {
	ids := listed(form, "InstanceId.")
	for _, id := range ids {
		if c.boxes[id] == nil {
			return "InvalidInstanceID.NotFound", false
		}
	}
	switch action {
	case "GetCallerIdentity":
		return "<GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult>", true
	case "DescribeRegions":
		return "<regionInfo><item><regionName>" + region + "</regionName><optInStatus>opt-in-not-required</optInStatus></item></regionInfo>", true
	case "DescribeInstanceTypes":
		return "<instanceTypeSet><item><instanceType>g5.xlarge</instanceType><gpuInfo><gpus><item><count>1</count><manufacturer>NVIDIA</manufacturer><name>A10G</name></item></gpus></gpuInfo></item></instanceTypeSet>", true
	case "DescribeVolumes":
		return "<volumeSet/>", true
	case "DescribeInstances":
		if len(ids) == 0 {
			ids = c.order
		}
		return c.describe(ids), true
	case "DescribeInstanceAttribute":
		name := form.Get("Attribute")
		return fmt.Sprintf("<instanceId>%s</instanceId><%[2]s><value>false</value></%[2]s>", form.Get("InstanceId"), name), true
	case "CreateTags":
		c.tag(form)
		return "<return>true</return>", true
	case "TerminateInstances":
		return c.end(ids), true
	case "GetMetricData":
		return noMetrics(form), true
	}
	return "InvalidAction", false
}

// noMetrics says of each metric that there are no numbers.
func noMetrics(form url.Values) string {
	var s strings.Builder
	for i := 1; form.Has(fmt.Sprintf("MetricDataQueries.member.%d.Id", i)); i++ {
		fmt.Fprintf(&s, "<member><Id>%s</Id><StatusCode>Complete</StatusCode></member>", form.Get(fmt.Sprintf("MetricDataQueries.member.%d.Id", i)))
	}
	return "<GetMetricDataResult><MetricDataResults>" + s.String() + "</MetricDataResults></GetMetricDataResult>"
}

func listed(form url.Values, prefix string) []string {
	var out []string
	for i := 1; form.Has(prefix + strconv.Itoa(i)); i++ {
		out = append(out, form.Get(prefix+strconv.Itoa(i)))
	}
	return out
}

func (c *cloud) describe(ids []string) string {
	var s strings.Builder
	s.WriteString("<reservationSet>")
	for _, id := range ids {
		b := c.boxes[id]
		fmt.Fprintf(&s, "<item><instancesSet><item><instanceId>%s</instanceId><instanceType>g5.xlarge</instanceType><instanceState><name>%s</name></instanceState><launchTime>%s</launchTime>",
			id, b.state(), b.created.Format(time.RFC3339))
		if b.killed.IsZero() {
			fmt.Fprintf(&s, "<networkInterfaceSet><item><attachment><deviceIndex>0</deviceIndex><networkCardIndex>0</networkCardIndex><attachTime>%s</attachTime></attachment></item></networkInterfaceSet>",
				b.created.Format(time.RFC3339))
		} else {
			fmt.Fprintf(&s, "<reason>User initiated (%s GMT)</reason><stateReason><code>Client.UserInitiatedShutdown</code></stateReason>", b.killed.Format(time.DateTime))
		}
		s.WriteString("<rootDeviceType>ebs</rootDeviceType><tagSet>")
		for k, v := range b.tags {
			fmt.Fprintf(&s, "<item><key>%s</key><value>%s</value></item>", k, v)
		}
		s.WriteString("</tagSet></item></instancesSet></item>")
	}
	s.WriteString("</reservationSet>")
	return s.String()
}

func (b *box) state() string {
	switch {
	case b.killed.IsZero():
		return "running"
	case time.Since(b.killed) < dying:
		return "shutting-down"
	}
	return "terminated"
}

func (c *cloud) tag(form url.Values) {
	for _, id := range listed(form, "ResourceId.") {
		for i := 1; form.Has(fmt.Sprintf("Tag.%d.Key", i)); i++ {
			c.boxes[id].tags[form.Get(fmt.Sprintf("Tag.%d.Key", i))] = form.Get(fmt.Sprintf("Tag.%d.Value", i))
		}
	}
}

func (c *cloud) end(ids []string) string {
	var s strings.Builder
	for _, id := range ids {
		b := c.boxes[id]
		at := time.Now().UTC()
		c.ended(id, at, b.killed.IsZero())
		c.calls[id]++
		if b.killed.IsZero() {
			b.killed = at
		}
		fmt.Fprintf(&s, "<item><instanceId>%s</instanceId><currentState><name>%s</name></currentState></item>", id, b.state())
	}
	return "<instancesSet>" + s.String() + "</instancesSet>"
}

// loopback is an HTTP server that knows which connections are open.
type loopback struct {
	URL string

	mu   sync.Mutex
	cond *sync.Cond
	open int
}

func serve(t *testing.T, h http.Handler) *loopback {
	l := &loopback{}
	l.cond = sync.NewCond(&l.mu)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch state {
		case http.StateNew:
			l.open++
		case http.StateClosed, http.StateHijacked:
			l.open--
			l.cond.Broadcast()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	l.URL = s.URL
	return l
}

// settle waits until everything is served that a dead process had sent: its
// connections are closed then.
func (l *loopback) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open > 0 {
		l.cond.Wait()
	}
}

// slackToken is the bot's; it opens nothing.
const slackToken = "xoxb-e2e"

// workspace is a Slack that the daemon reaches over a connection.
type workspace struct {
	*notifytest.Slack
	*loopback
}

func newWorkspace(t *testing.T) *workspace {
	s := notifytest.NewSlack(slackToken, "gpu")
	return &workspace{s, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(guard.WithInstant(r.Context(), now())))
	}))}
}

const loopbackConfiguration = `mode: %[1]s
ledger: bolt:%[2]s
listen: unix:%[3]s/guard.sock
accounts:
  - name: research
    provider: aws
    poll: 2s
    sweep: 10s
    prices: %[3]s/prices.yaml
    aws:
      endpoint: %[4]s
      regions: [` + region + `]
      access_key_id: {env: GUARD_TEST_KEY}
      secret_access_key: {env: GUARD_TEST_SECRET}
defaults: {grace: 1s}
rules:
  unregistered: {after: 1s}
notify:
  slack: {token: {env: GUARD_TEST_TOKEN}, channel: C0001, endpoint: %[5]s}
`

// watch configures a daemon for a cloud and a workspace.
func (g *guardd) watch(mode guard.Mode, ledger string, c *cloud, w *workspace) {
	g.t.Helper()
	g.write("prices.yaml", prices)
	g.write("guard.yaml", fmt.Sprintf(loopbackConfiguration, mode, ledger, g.dir, c.URL, w.loopback.URL))
}

func now() guard.Instant { return daemon.Now() }
