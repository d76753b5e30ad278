package aws

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

const leaseTag = "<tagSet><item><key>guard:lease</key><value>l-1</value></item></tagSet>"

var (
	dryRunOK = refuse(http.StatusPreconditionFailed, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
	notYours = refuse(http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation.")
	stsReply = ok(`<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
)

// probed is what a probe finds, by its name; at is half a minute after what the
// cloud's clock says.
func probed(t *testing.T, c *ec2Cloud, on ...guard.ResourceID) map[string]providers.Check {
	t.Helper()
	at := guard.Instant{Wall: time.Date(2026, 3, 6, 10, 0, 20, 0, time.UTC)}
	out := map[string]providers.Check{}
	for _, x := range c.adapter("us-east-1", "eu-west-1").Probe(guard.WithInstant(t.Context(), at), on...) {
		out[x.Name] = x
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.calls {
		// The one rule of a probe: what is not a read is a dry run.
		if !strings.HasPrefix(m.action, "Describe") && m.action != "GetCallerIdentity" && m.action != "GetMetricData" && m.form.Get("DryRun") != "true" {
			t.Errorf("a probe has really called %s: %v", m.action, m.form)
		}
	}
	return out
}

func probeCloud(t *testing.T, items ...string) *ec2Cloud {
	return newCloud(t).usual().on("GetCallerIdentity", stsReply).on("DryRun", dryRunOK).
		on("DescribeInstances us-east-1", instancesReply("", items...)).on("DescribeInstances eu-west-1", instancesReply(""))
}

func TestProbe(t *testing.T) {
	spot := box(idB, "<instanceLifecycle>spot</instanceLifecycle><spotInstanceRequestId>sir-1</spotInstanceRequestId>")
	requests := reply("DescribeSpotInstanceRequests", "<spotInstanceRequestSet/>")
	stale := guard.ResourceID{Account: "research", Kind: guard.Instance, Scope: "us-east-1", ID: "i-0123456789abcdef9"}
	for name, c := range map[string]struct {
		cloud *ec2Cloud
		on    []guard.ResourceID
		want  string // NAME=OUTCOME and a part of its text, a line each
	}{
		"all is allowed": {probeCloud(t, box(idA, leaseTag)), nil, `
			sts:GetCallerIdentity=ok of account 123456789012
			clock=ok agrees
			ec2:DescribeRegions=ok
			ec2:DescribeInstances=ok 1 instances in 2 regions
			ec2:DescribeVolumes=ok
			ec2:DescribeInstanceTypes=ok
			ec2:DescribeSpotInstanceRequests=ok
			cloudwatch:GetMetricData=ok
			ec2:DescribeInstanceAttribute=ok
			ec2:CreateTags=ok
			ec2:StopInstances=ok
			ec2:TerminateInstances=ok tried by dry run on research/` + idA},
		"list ok, terminate not permitted": {probeCloud(t, box(idA, leaseTag)).on("DryRun TerminateInstances", notYours), []guard.ResourceID{iid(idA)}, `
			ec2:DescribeInstances=ok
			ec2:StopInstances=ok
			ec2:TerminateInstances=refused these credentials may not call ec2:TerminateInstances`},
		"no metrics": {probeCloud(t, box(idA, leaseTag)).on("GetMetricData", refuse(403, "AccessDenied", "no")), nil, `
			ec2:DescribeInstances=ok
			cloudwatch:GetMetricData=refused these credentials may not call cloudwatch:GetMetricData`},
		"a policy that asks for the tag": {probeCloud(t, box(idA)).on("DryRun TerminateInstances", notYours), nil, `
			ec2:TerminateInstances=unknown which does not carry guard's tag yet`},
		"tagged ones first": {probeCloud(t, box(idA), box(idB, leaseTag)), nil, `
			ec2:TerminateInstances=ok ` + idB},
		"nothing to try it on": {probeCloud(t), nil, `
			ec2:StopInstances=untried not tried: no instance
			ec2:TerminateInstances=untried not tried: no instance`},
		"gone in between": {probeCloud(t).on("DryRun TerminateInstances", refuse(400, "InvalidInstanceID.NotFound", "no")), []guard.ResourceID{stale}, `
			ec2:TerminateInstances=untried does not know research/` + stale.ID},
		"the next one, where the first is gone": {probeCloud(t, box(idA, leaseTag), box(idB)).on("DryRun TerminateInstances", refuse(400, "InvalidInstanceID.NotFound", "no"), dryRunOK), nil, `
			ec2:TerminateInstances=ok ` + idB},
		"protected": {probeCloud(t, box(idA, leaseTag)).on("DryRun TerminateInstances", refuse(400, "OperationNotPermitted", "protected")), nil, `
			ec2:TerminateInstances=unknown is protected at EC2`},
		"an endpoint that does not know dry runs": {probeCloud(t, box(idA, leaseTag)).on("DryRun DescribeInstances", instancesReply("", box(idA))), nil, `
			ec2:CreateTags=unknown not tried: this endpoint answers a dry run as if it were none
			ec2:TerminateInstances=unknown not tried: this endpoint answers a dry run as if it were none`},
		"an endpoint that knows some": {probeCloud(t, box(idA, leaseTag)).on("DryRun StopInstances", reply("StopInstances", "<instancesSet/>")), nil, `
			ec2:StopInstances=unknown a dry run was answered as if it were none`},
		"nothing may be seen": {probeCloud(t).on("DescribeInstances us-east-1", notYours).on("DescribeInstances eu-west-1", notYours).on("DryRun DescribeRegions", notYours), nil, `
			ec2:DescribeRegions=refused
			ec2:DescribeInstances=refused not in 2 of 2 regions (eu-west-1, us-east-1)`},
		"one region is shut": {probeCloud(t, box(idA, leaseTag)).on("DescribeInstances eu-west-1", notYours), nil, `
			ec2:DescribeInstances=refused not in 1 of 2 regions (eu-west-1)
			ec2:TerminateInstances=ok`},
		"a spot request": {probeCloud(t, spot).on("DescribeSpotInstanceRequests", requests).on("DryRun CancelSpotInstanceRequests", notYours), nil, `
			ec2:CancelSpotInstanceRequests=unknown`},
		"nobody's keys": {probeCloud(t).on("GetCallerIdentity", refuse(403, "InvalidClientTokenId", "The security token "+canaryToken+" is invalid")), nil, `
			sts:GetCallerIdentity=refused may not call sts:GetCallerIdentity
			clock=ok`},
	} {
		t.Run(name, func(t *testing.T) {
			got := probed(t, c.cloud, c.on...)
			for line := range strings.SplitSeq(strings.TrimSpace(c.want), "\n") {
				key, want, _ := strings.Cut(strings.TrimSpace(line), "=")
				outcome, text, _ := strings.Cut(want, " ")
				if x := got[key]; string(x.Outcome) != outcome || !strings.Contains(x.Text, text) || x.Outcome != providers.CheckOK && x.Outcome != providers.CheckUntried && x.Do == "" {
					t.Errorf("%s: %+v, want %s", key, x, want)
				}
			}
			if text := fmt.Sprint(got); strings.Contains(text, canaryToken) || strings.Contains(text, canaryKey) {
				t.Errorf("a secret is told: %s", text)
			}
		})
	}
	if c := probeCloud(t, box(idA)).on("DryRun DescribeInstances", instancesReply("")); probed(t, c) == nil || c.made("TerminateInstances")+c.made("StopInstances")+c.made("CreateTags") > 0 {
		t.Error("a write was sent to an endpoint that does not know dry runs")
	}
	if c := probeCloud(t).on("GetCallerIdentity", refuse(403, "SignatureDoesNotMatch", "no")); len(probed(t, c)) != 2 || len(c.order()) != 1 {
		t.Errorf("after a refused identity it went on: %v", c.order())
	}
}

func TestMotoProbe(t *testing.T) {
	moto, proxy, p := onMoto(t, "us-east-1", "eu-west-1")
	var ids []string
	moto.Do(t, &ids, "run", "us-east-1", "g5.xlarge")
	for _, c := range p.Probe(t.Context(), boxIn("us-east-1", ids[0])) {
		if c.Outcome != providers.CheckOK {
			t.Errorf("%+v", c)
		}
	}
	var state string
	if moto.Do(t, &state, "state", "us-east-1", ids[0]); state != "running" || len(proxy.Calls("TerminateInstances", ids[0])) != 1 {
		t.Errorf("after a probe it is %s", state)
	}
}
