package aws

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

// scalingGroup is one that the small EC2 keeps at its size.
type scalingGroup struct {
	least, desired int
	lifecycle      map[string]string // of members that are not InService
}

// scale answers as Auto Scaling does.
func (e *ec2Account) scale(action, region string, form url.Values) answer {
	id := cmp.Or(form.Get("InstanceId"), form.Get("InstanceIds.member.1"))
	i := e.find(region, id)
	var g *scalingGroup
	if i >= 0 && e.state[id] != "terminated" {
		g = e.groups[e.world.Instances[i].Tags[groupTag]]
	}
	switch {
	case action == "DescribeAutoScalingInstances" && g == nil:
		return members("")
	case action == "DescribeAutoScalingInstances":
		return members(member(id, cmp.Or(g.lifecycle[id], "InService")))
	case g == nil:
		return refuseQuery(400, "ValidationError", "Instance Id not found - No managed instance found for instance ID: "+id)
	case form.Get("ShouldDecrementDesiredCapacity") == "true" && g.desired == g.least:
		return refuseQuery(400, "ValidationError", "Currently, desiredSize equals minSize (1). Terminating instance without replacement will violate group's min size constraint.")
	case form.Get("ShouldDecrementDesiredCapacity") == "true":
		g.desired--
	}
	e.state[id] = "shutting-down"
	e.refill(i)
	return leaving
}

// refill starts what the group of an instance lacks.
func (e *ec2Account) refill(of int) {
	t := e.world.Instances[of]
	g := e.groups[t.Tags[groupTag]]
	if g == nil {
		return
	}
	alive := 0
	for _, m := range e.world.Instances {
		if m.Tags[groupTag] == t.Tags[groupTag] && e.state[m.ID] == "running" && g.lifecycle[m.ID] == "" {
			alive++
		}
	}
	for ; alive < g.desired; alive++ {
		id := fmt.Sprintf("i-%017x", 0xabc000+len(e.world.Instances))
		e.world.Instances = append(e.world.Instances, providertest.Thing{ID: id, Scope: t.Scope, Tags: t.Tags})
		e.state[id] = "running"
	}
}

func queryReply(action, inside string) answer {
	return ok(fmt.Sprintf(`<%[1]sResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><%[1]sResult>%[2]s</%[1]sResult><ResponseMetadata><RequestId>req-2</RequestId></ResponseMetadata></%[1]sResponse>`, action, inside))
}

func members(items string) answer {
	return queryReply("DescribeAutoScalingInstances", "<AutoScalingInstances>"+items+"</AutoScalingInstances>")
}

func member(id, lifecycle string) string {
	return "<member><InstanceId>" + id + "</InstanceId><AutoScalingGroupName>llm</AutoScalingGroupName><LifecycleState>" + lifecycle + "</LifecycleState><ProtectedFromScaleIn>true</ProtectedFromScaleIn></member>"
}

var (
	leaving  = queryReply("TerminateInstanceInAutoScalingGroup", "<Activity><ActivityId>a-1</ActivityId><AutoScalingGroupName>llm</AutoScalingGroupName><StatusCode>InProgress</StatusCode></Activity>")
	unlocked = attribute("disableApiTermination", "false")
	inGroup  = providers.ReleaseOptions{Group: "us-east-1/llm"}
)

// refuseQuery is an error as Auto Scaling writes it.
func refuseQuery(status int, code, message string) answer {
	return answer{status: status, header: http.Header{"X-Amzn-Requestid": {"req-2"}}, body: `<ErrorResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><Error><Type>Sender</Type><Code>` +
		code + "</Code><Message>" + message + "</Message></Error><RequestId>req-2</RequestId></ErrorResponse>"}
}

// groupOfTwo is an account with a group of two.
func groupOfTwo(t *testing.T, least int) (*ec2Account, *Provider) {
	t.Helper()
	cleanEnvironment(t)
	var w providertest.World
	w.Scopes = []string{"us-east-1"}
	for _, id := range []string{idA, idB} {
		w.Instances = append(w.Instances, providertest.Thing{ID: id, Scope: "us-east-1", Tags: map[string]string{groupTag: "llm"}})
	}
	e := newEC2(w)
	e.groups = map[string]*scalingGroup{"llm": {least: least, desired: 2, lifecycle: map[string]string{}}}
	p, err := New(t.Context(), Options{Name: "research", Base: e, Config: Config{
		Regions: w.Scopes, AccessKeyID: guard.NewSecret(canaryKey), SecretAccessKey: guard.NewSecret(canarySecret)}})
	if err != nil {
		t.Fatal(err)
	}
	return e, p
}

// What a release of one of two leaves running.
func TestReleaseOfAMember(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*ec2Account)
		opt    providers.ReleaseOptions
		least  int
		err    error
		left   int
	}{
		"none comes in its place":         {opt: inGroup, left: 1},
		"one would, past the group":       {left: 2},
		"at the minimum size":             {opt: inGroup, least: 2, err: guard.ErrProtected, left: 2},
		"the group is gone":               {before: func(e *ec2Account) { delete(e.groups, "llm") }, opt: inGroup, left: 1},
		"detached":                        {before: func(e *ec2Account) { delete(e.world.Instances[0].Tags, groupTag) }, opt: inGroup, left: 1},
		"it leaves, and a hook holds it":  {before: lifecycle("Terminating:Wait"), opt: inGroup, least: 1, left: 1},
		"it leaves the warm pool":         {before: lifecycle("Warmed:Terminating:Retained"), opt: inGroup, least: 1, left: 1},
		"it is being detached":            {before: lifecycle("Detaching"), opt: inGroup, least: 1, left: 1},
		"in standby":                      {before: lifecycle("Standby"), opt: inGroup, least: 1, left: 1},
		"protected, which the group lets": {before: func(e *ec2Account) { e.world.Instances[0].Protected = true }, opt: inGroup, err: guard.ErrProtected, left: 2},
		"gone already":                    {before: func(e *ec2Account) { e.world.Instances[0].ID = "i-0cccccccccccccccc" }, opt: inGroup, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			e, p := groupOfTwo(t, c.least)
			list(t, p, instancesOnly)
			if c.before != nil {
				c.before(e)
			}
			err := p.Release(t.Context(), iid(idA), c.opt)
			if !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), "terminate research/"+idA) {
				t.Errorf("got %v", err)
			}
			left := 0
			for _, m := range e.world.Instances {
				if m.ID != "i-0cccccccccccccccc" && e.state[m.ID] == "running" {
					left++
				}
			}
			if left != c.left {
				t.Errorf("%d run, want %d", left, c.left)
			}
			if err := p.Release(t.Context(), iid(idA), c.opt); !errors.Is(err, c.err) {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

// lifecycle puts the first of two into a state that its group does not count.
func lifecycle(state string) func(*ec2Account) {
	return func(e *ec2Account) {
		e.groups["llm"].lifecycle[idA] = state
		e.groups["llm"].desired--
	}
}

func TestReleaseThatAGroupRefuses(t *testing.T) {
	const read, end = "DescribeAutoScalingInstances", "TerminateInstanceInAutoScalingGroup"
	for name, c := range map[string]struct {
		at     string
		answer answer
		kind   error
		open   bool // guard.ErrUncertain too
		says   string
	}{
		"it may not be read":        {read, refuseQuery(403, "AccessDenied", "not authorized"), guard.ErrPermission, false, "may not call autoscaling:DescribeAutoScalingInstances"},
		"the read is throttled":     {read, refuseQuery(400, "Throttling", "Rate exceeded"), guard.ErrThrottled, false, ""},
		"the read fails":            {read, refuseQuery(500, "InternalFailure", "no"), guard.ErrUnavailable, false, "Auto Scaling failed"},
		"the read says nothing":     {read, ok(""), guard.ErrBadReply, false, ""},
		"the lock is not told":      {"DescribeInstanceAttribute", reply("DescribeInstanceAttribute", "<instanceId>"+idA+"</instanceId>"), guard.ErrBadReply, false, ""},
		"the lock may not be read":  {"DescribeInstanceAttribute", notYours, guard.ErrPermission, false, "ec2:DescribeInstanceAttribute"},
		"locked":                    {"DescribeInstanceAttribute", attribute("disableApiTermination", "true"), guard.ErrProtected, false, "lift it in EC2"},
		"it may not be done":        {end, refuseQuery(403, "AccessDenied", "not authorized"), guard.ErrPermission, false, "may not call autoscaling:TerminateInstanceInAutoScalingGroup"},
		"throttled":                 {end, refuseQuery(400, "Throttling", "Rate exceeded"), guard.ErrThrottled, false, ""},
		"at the minimum size":       {end, refuseQuery(400, "ValidationError", "Currently, desiredSize equals minSize (2)."), guard.ErrProtected, false, "group us-east-1/llm does not give it up, as one at its minimum size or with a warm pool does not; lower the group's minimum size, or delete the group (ValidationError, request req-2)"},
		"the group is busy":         {end, refuseQuery(400, "ScalingActivityInProgress", "no"), guard.ErrConflict, false, "guard tries again"},
		"two at once":               {end, refuseQuery(500, "ResourceContention", "no"), guard.ErrConflict, false, ""},
		"a failure that tells all":  {end, refuseQuery(503, "ServiceUnavailable", "no"), guard.ErrUnavailable, false, ""},
		"a failure that may be one": {end, refuseQuery(500, "InternalFailure", "no"), guard.ErrUnavailable, true, ""},
		"the reply is lost":         {end, answer{err: syscall.ECONNRESET}, guard.ErrUncertain, true, ""},
		"a success of nothing":      {end, queryReply(end, ""), guard.ErrBadReply, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, p := onDemand(t)
			cloud.on(read, members(member(idA, "InService"))).on("DescribeInstanceAttribute", unlocked).on(end, leaving)
			cloud.on(c.at, c.answer)
			err := p.Release(t.Context(), iid(idA), inGroup)
			if !errors.Is(err, c.kind) || errors.Is(err, guard.ErrUncertain) != c.open || !strings.Contains(fmt.Sprint(err), c.says) || !strings.Contains(fmt.Sprint(err), "research/"+idA) {
				t.Errorf("got %v", err)
			}
			if _, wait := guard.RetryAfter(err); wait != (c.kind == guard.ErrThrottled) {
				t.Errorf("wait: %v", err)
			}
			if n, want := cloud.made(end), len(writes([]string{c.at})); n != want {
				t.Errorf("the write was sent %d times, want %d", n, want)
			}
			if cloud.made("TerminateInstances") != 0 {
				t.Errorf("it was ended past its group: %v", cloud.order())
			}
		})
	}
}

// Each region has groups of its own, and only the one instance is named.
func TestReleaseOfAMemberInItsRegion(t *testing.T) {
	c := newCloud(t).usual().on("DescribeInstances", instancesReply("", box(idA))).
		on("DescribeAutoScalingInstances eu-west-1", members(member(idA, "InService"))).
		on("DescribeInstanceAttribute eu-west-1", unlocked).on("TerminateInstanceInAutoScalingGroup eu-west-1", leaving)
	if err := c.adapter("us-east-1", "eu-west-1").Release(t.Context(), boxIn("eu-west-1", idA), inGroup); err != nil {
		t.Fatal(err)
	}
	f := c.last("TerminateInstanceInAutoScalingGroup")
	if f.Get("InstanceId") != idA || f.Get("ShouldDecrementDesiredCapacity") != "true" || f.Has("InstanceIds.member.1") {
		t.Errorf("sent %v", f)
	}
	if f := c.last("DescribeAutoScalingInstances"); f.Get("InstanceIds.member.1") != idA || f.Has("InstanceIds.member.2") {
		t.Errorf("asked %v", f)
	}
}

// A group terminates a member that is stopped, disks and all.
func TestAMemberIsNotStopped(t *testing.T) {
	for _, life := range []string{"", "<instanceLifecycle>spot</instanceLifecycle><spotInstanceRequestId>sir-1</spotInstanceRequestId>"} {
		c := newCloud(t).usual().on("DescribeSpotInstanceRequests", spotRequest("persistent", "active")).
			on("DescribeInstances", instancesReply("", box(idA, life, memberTag)))
		if r := scope(t, list(t, c.adapter("us-east-1"), instancesOnly), "us-east-1").Resources[0]; r.StopSaves != guard.StopUnsupported {
			t.Errorf("a stop saves %q", r.StopSaves)
		}
	}
}

const memberTag = "<tagSet><item><key>" + groupTag + "</key><value>llm</value></item></tagSet>"

func TestProbeOfGroups(t *testing.T) {
	const read, end = "autoscaling:DescribeAutoScalingInstances", "autoscaling:TerminateInstanceInAutoScalingGroup"
	c := probeCloud(t, box(idA, memberTag)).on("DescribeAutoScalingInstances us-east-1", members(member(idA, "InService")))
	got := probed(t, c)
	if got[read].Outcome != providers.CheckOK || got[end].Outcome != providers.CheckUntried || !got[end].Acts {
		t.Errorf("got %+v and %+v", got[read], got[end])
	}
	c.on("DescribeAutoScalingInstances us-east-1", refuseQuery(http.StatusForbidden, "AccessDenied", "no"))
	if x := probed(t, c)[read]; x.Outcome != providers.CheckRefused || !x.Acts || !strings.Contains(x.Do, "add "+read) {
		t.Errorf("got %+v", x)
	}
	got = probed(t, probeCloud(t, box(idA)))
	if _, asked := got[read]; asked {
		t.Error("asked about groups where there is none")
	}
}

func TestMotoGroup(t *testing.T) {
	moto, proxy, p := onMoto(t, "us-east-1")
	var ids []string
	moto.Do(t, &ids, "group", "us-east-1", "llm", "2")
	x := scope(t, list(t, p, instancesOnly), "us-east-1").Resources
	if len(x) != 2 || x[0].Group != "us-east-1/llm" {
		t.Fatalf("members %+v", x)
	}
	if err := p.Release(t.Context(), boxIn("us-east-1", ids[0]), providers.ReleaseOptions{Group: x[0].Group}); err != nil {
		t.Fatal(err)
	}
	var left []string
	if moto.Do(t, &left, "group_members", "us-east-1", "llm"); !slices.Equal(left, ids[1:]) {
		t.Errorf("the group has %v, want %v", left, ids[1:])
	}
	if l := p.Get(t.Context(), boxIn("us-east-1", ids[0]))[0]; l.Resource.State != guard.StateGone {
		t.Errorf("it is %+v", l)
	}
	// It is in no group any more: it is asked once more, and ended as any other.
	if err := p.Release(t.Context(), boxIn("us-east-1", ids[0]), providers.ReleaseOptions{Group: x[0].Group}); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if n := len(proxy.Calls("TerminateInstanceInAutoScalingGroup", "")); n != 1 {
		t.Errorf("%d calls", n)
	}
}
