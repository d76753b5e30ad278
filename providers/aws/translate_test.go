package aws

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// one lists a single instance and returns it.
func one(t *testing.T, c *ec2Cloud, item string) guard.Resource {
	t.Helper()
	c.usual().on("DescribeInstances us-east-1", instancesReply("", item))
	r := scope(t, list(t, c.adapter(), providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: []string{"us-east-1"}}), "us-east-1")
	if r.Err != nil || len(r.Resources) != 1 {
		t.Fatal(r)
	}
	return r.Resources[0]
}

func reason(code, text string) string {
	s := "<reason>" + text + "</reason>"
	if code != "" {
		s += "<stateReason><code>" + code + "</code><message>" + code + ": some text</message></stateReason>"
	}
	return s
}

func TestStates(t *testing.T) {
	const by = "User initiated (2026-03-02 09:30:00 GMT)"
	at := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	launch := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		state, more string
		want        guard.State
		bills       guard.Tri
		changed     time.Time
		ended       guard.How
	}{
		"pending":                    {"pending", "", guard.StateProvisioning, guard.No, launch, ""},
		"running":                    {"running", "", guard.StateRunning, guard.Yes, launch, ""},
		"running after an old stop":  {"running", reason("", by), guard.StateRunning, guard.Yes, launch, ""},
		"stopping":                   {"stopping", reason("Client.UserInitiatedShutdown", by), guard.StateStopping, guard.No, at, guard.ByOutside},
		"hibernating bills":          {"stopping", reason("Client.UserInitiatedHibernate", by), guard.StateStopping, guard.Yes, at, guard.ByOutside},
		"stopped":                    {"stopped", reason("Client.UserInitiatedShutdown", by), guard.StateStopped, guard.No, at, guard.ByOutside},
		"shutting down":              {"shutting-down", reason("Client.UserInitiatedShutdown", by), guard.StateReleasing, guard.No, at, guard.ByOutside},
		"terminated":                 {"terminated", reason("Client.UserInitiatedShutdown", by), guard.StateGone, guard.No, at, guard.ByOutside},
		"shut down from inside":      {"terminated", reason("Client.InstanceInitiatedShutdown", ""), guard.StateGone, guard.No, time.Time{}, guard.ByOutside},
		"reclaimed":                  {"terminated", reason("Server.SpotInstanceTermination", "Server.SpotInstanceTermination"), guard.StateGone, guard.No, time.Time{}, guard.ByReclaim},
		"reclaimed by a stop":        {"stopped", reason("Server.SpotInstanceShutdown", "Server.SpotInstanceShutdown (2026-03-02 09:30:00 UTC)"), guard.StateStopped, guard.No, at, guard.ByReclaim},
		"only the transition reason": {"terminated", reason("", "Server.SpotInstanceTermination: Instance terminated due to capacity"), guard.StateGone, guard.No, time.Time{}, guard.ByReclaim},
		"the platform's own doing":   {"stopped", reason("Server.ScheduledStop", ""), guard.StateStopped, guard.No, time.Time{}, guard.ByPlatform},
		"nobody says":                {"terminated", "", guard.StateGone, guard.No, time.Time{}, ""},
		"a new word":                 {"levitating", "", guard.StateUnknown, guard.Unknown, time.Time{}, ""},
		"no word":                    {"", "", guard.StateUnknown, guard.Unknown, time.Time{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			item := strings.Replace(box("i-0aaaaaaaaaaaaaaaa", c.more), state(16, "running"), state(0, c.state), 1)
			r := one(t, newCloud(t), item)
			if r.State != c.want || r.Bills != c.bills || !r.Changed.Equal(c.changed) || r.Ended != c.ended || r.RawState != c.state {
				t.Errorf("got %s (%s), bills %s, since %v, by %q", r.State, r.RawState, r.Bills, r.Changed, r.Ended)
			}
		})
	}
	t.Run("no state at all", func(t *testing.T) {
		r := one(t, newCloud(t), "<instanceId>i-0aaaaaaaaaaaaaaaa</instanceId>")
		if r.State != guard.StateUnknown || r.Bills == guard.No || !r.Created.IsZero() || r.HasGPU != guard.Unknown {
			t.Errorf("%+v", r)
		}
	})
}

const (
	nic = `<networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId><attachment><deviceIndex>1</deviceIndex><attachTime>2026-01-01T00:00:00.000Z</attachTime></attachment></item>
<item><networkInterfaceId>eni-0</networkInterfaceId><attachment><deviceIndex>0</deviceIndex><networkCardIndex>0</networkCardIndex><attachTime>2026-02-11T16:55:30.000Z</attachTime></attachment></item></networkInterfaceSet>`
	disks = `<blockDeviceMapping>
<item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-0bbbbbbbbbbbbbbbb</volumeId><status>attached</status><attachTime>2026-02-11T16:55:31.000Z</attachTime><deleteOnTermination>true</deleteOnTermination></ebs></item>
<item><deviceName>/dev/sdb</deviceName><ebs><volumeId>vol-0aaaaaaaaaaaaaaaa</volumeId><status>attached</status><attachTime>2025-02-11T16:55:31.000Z</attachTime><deleteOnTermination>false</deleteOnTermination></ebs></item>
<item><deviceName>/dev/sdc</deviceName><ebs><volumeId>vol-0cccccccccccccccc</volumeId></ebs></item>
<item><deviceName>/dev/sdd</deviceName></item></blockDeviceMapping>`
)

// Stopping and starting renews LaunchTime; the instance is the same one.
func TestCreatedSurvivesARestart(t *testing.T) {
	born := time.Date(2026, 2, 11, 16, 55, 30, 0, time.UTC)
	for name, c := range map[string]struct {
		more  string
		state string
		want  time.Time
	}{
		"network interface and root volume":   {nic + disks, "running", born},
		"root volume exchanged":               {nic + strings.Replace(disks, "2026-02-11T16:55:31", "2026-02-28T00:00:00", 1), "running", born},
		"only the root volume":                {disks, "stopped", born.Add(time.Second)},
		"neither: the launch is all there is": {"", "running", time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)},
		"terminated: they are gone":           {"", "terminated", time.Time{}},
		"terminated: they are still told":     {nic, "terminated", born},
	} {
		t.Run(name, func(t *testing.T) {
			item := strings.Replace(box("i-0aaaaaaaaaaaaaaaa", c.more), state(16, "running"), state(0, c.state), 1)
			if r := one(t, newCloud(t), item); !r.Created.Equal(c.want) {
				t.Errorf("created %v, want %v", r.Created, c.want)
			}
		})
	}
}

func TestChildren(t *testing.T) {
	r := one(t, newCloud(t), box("i-0aaaaaaaaaaaaaaaa", disks))
	want := map[string]guard.Tri{"vol-0aaaaaaaaaaaaaaaa": guard.No, "vol-0bbbbbbbbbbbbbbbb": guard.Yes, "vol-0cccccccccccccccc": guard.Unknown}
	if len(r.Children) != len(want) {
		t.Fatalf("%+v", r.Children)
	}
	for i, c := range r.Children {
		if c.GoesWithInstance != want[c.ID.ID] || c.ID.Kind != guard.Volume || c.ID.Scope != "us-east-1" || c.ID.Account != "research" {
			t.Errorf("%+v", c)
		}
		if i > 0 && c.ID.ID < r.Children[i-1].ID.ID {
			t.Error("their order is EC2's: it would look like a change")
		}
	}
}

func TestSpot(t *testing.T) {
	const life = "<instanceLifecycle>spot</instanceLifecycle><spotInstanceRequestId>sir-1</spotInstanceRequestId>"
	request := func(typ string) answer {
		return reply("DescribeSpotInstanceRequests", "<spotInstanceRequestSet><item><spotInstanceRequestId>sir-1</spotInstanceRequestId><type>"+typ+"</type><state>active</state></item></spotInstanceRequestSet>")
	}
	for name, c := range map[string]struct {
		answer answer
		want   guard.StopEffect
	}{
		"one-time":           {request("one-time"), guard.StopUnsupported},
		"persistent":         {request("persistent"), guard.StopSavesCompute},
		"not readable":       {refuse(http403, "UnauthorizedOperation", "no"), guard.StopUnknown},
		"not there any more": {reply("DescribeSpotInstanceRequests", "<spotInstanceRequestSet/>"), guard.StopUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t).on("DescribeSpotInstanceRequests", c.answer)
			r := one(t, cloud, box("i-0aaaaaaaaaaaaaaaa", life))
			if !r.Spot || r.Parent != (guard.ResourceID{Account: "research", Kind: guard.SpotRequest, Scope: "us-east-1", ID: "sir-1"}) {
				t.Errorf("%+v", r)
			}
			if r.StopSaves != c.want {
				t.Errorf("stop saves %q, want %q", r.StopSaves, c.want)
			}
			if h, _ := r.Rate.Hourly(); h.String() != "0.40 USD" {
				t.Errorf("rate %v", r.Rate)
			}
		})
	}
}

const http403 = 403

// TestGroup: groups of one name in two regions are two.
func TestGroup(t *testing.T) {
	member := "<tagSet><item><key>aws:autoscaling:groupName</key><value>workers</value></item></tagSet>"
	if r := one(t, newCloud(t), box("i-0aaaaaaaaaaaaaaaa", member)); r.Group != "us-east-1/workers" {
		t.Errorf("group %q", r.Group)
	}
	if r := one(t, newCloud(t), box("i-0aaaaaaaaaaaaaaaa", "<tagSet><item><key>groupName</key><value>workers</value></item></tagSet>")); r.Group != "" {
		t.Errorf("group %q", r.Group)
	}
}

func TestWhatAStopSaves(t *testing.T) {
	r := one(t, newCloud(t), box("i-0aaaaaaaaaaaaaaaa"))
	if r.StopSaves != guard.StopSavesCompute {
		t.Errorf("EBS: %q", r.StopSaves)
	}
	if h, ok := r.StoppedRate.Hourly(); !ok || !h.IsZero() || h.Currency() != "USD" {
		t.Errorf("a stopped instance itself is free: %v", r.StoppedRate)
	}
	r = one(t, newCloud(t), strings.Replace(box("i-0aaaaaaaaaaaaaaaa"), "<rootDeviceType>ebs", "<rootDeviceType>instance-store", 1))
	if r.StopSaves != guard.StopUnsupported {
		t.Errorf("instance store: %q", r.StopSaves)
	}
}

// A capacity block is paid in advance: an hourly price would be a second one.
func TestCapacityBlockHasNoHourlyPrice(t *testing.T) {
	if r := one(t, newCloud(t), box("i-0aaaaaaaaaaaaaaaa", "<instanceLifecycle>capacity-block</instanceLifecycle>")); r.Rate.Known() || r.Spot {
		t.Errorf("%+v", r)
	}
}

func TestTagsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 3000)
	r := one(t, newCloud(t), box("i-0aaaaaaaaaaaaaaaa", "<tagSet><item><key>Name</key><value>train"+long+"</value></item><item><key>guard:keep</key><value>true</value></item><item><key>empty</key><value/></item></tagSet>"))
	if len([]rune(r.Name)) != mostText || r.Tags["guard:keep"] != "true" {
		t.Errorf("%q", r.Name)
	}
	if v, ok := r.Tags["empty"]; !ok || v != "" {
		t.Errorf("a tag without a value is a tag: %v", r.Tags)
	}
}

// Without a price book nobody tells what traffic costs, which is not that it is free: the
// list price is the most, and no part of a sum.
func TestTraffic(t *testing.T) {
	if got := one(t, newCloud(t), box("i-0aaaaaaaaaaaaaaaa", "")).Egress; got != (guard.EgressPrice{UpTo: guard.MustMoney("0.09 USD"), Source: Kind}) {
		t.Errorf("%+v", got)
	}
	for region, want := range map[string]string{"us-west-2": "0.09 USD", "eu-north-1": "0.09 USD", "ca-central-1": "0.09 USD", "us-gov-west-1": "0.16 USD",
		"af-south-1": "0.16 USD", "sa-east-1": "0.16 USD"} {
		if got := traffic(region); got.UpTo != guard.MustMoney(want) || got.PerGB.IsSet() || got.FreeGB > 0 {
			t.Errorf("%s: %+v", region, got)
		}
	}
	if got := traffic("cn-north-1"); got.IsZero() || got.UpTo.IsSet() {
		t.Errorf("in China its price is unknown, and has no bound: %+v", got)
	}
	c := newCloud(t)
	p := c.adapter("us-east-1")
	book, _, err := prices.Parse("prices.yaml", []byte(priceBook+"egress:\n  - {amount: \"0.05\", free_gb: 100}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p.book = book
	r := guard.Resource{ID: iid("i-0aaaaaaaaaaaaaaaa"), Type: "g5.xlarge"}
	p.price(&r, "")
	if r.Egress.PerGB != guard.MustMoney("0.05 USD") || r.Egress.FreeGB != 100 || r.Egress.UpTo.IsSet() {
		t.Errorf("what a person states goes first: %+v", r.Egress)
	}
}

func TestSelf(t *testing.T) {
	dir := t.TempDir()
	for content, want := range map[string]string{
		"i-0aaaaaaaaaaaaaaaa\n": "i-0aaaaaaaaaaaaaaaa",
		"Default string\n":      "",
		"":                      "",
	} {
		path := filepath.Join(dir, "tag")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := self(path); got != want {
			t.Errorf("%q: %q", content, got)
		}
	}
	if got := self(filepath.Join(dir, "missing")); got != "" {
		t.Errorf("%q", got)
	}
}
