package aws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"guard"
	"guard/providers"
)

var none providers.ReleaseOptions

func terminating(id string) answer {
	return reply("TerminateInstances", "<instancesSet><item><instanceId>"+id+"</instanceId><currentState><code>32</code><name>shutting-down</name></currentState><previousState><code>16</code><name>running</name></previousState></item></instancesSet>")
}

func writes(order []string) []string {
	return slices.DeleteFunc(order, func(a string) bool { return strings.HasPrefix(a, "Describe") })
}

// onDemand is a cloud with one on-demand instance that the adapter has listed.
func onDemand(t *testing.T) (*ec2Cloud, *Provider) {
	c := newCloud(t).usual().on("DescribeInstances", instancesReply("", box(idA)))
	p := c.adapter("us-east-1")
	list(t, p, instancesOnly)
	return c, p
}

func TestRelease(t *testing.T) {
	c, p := onDemand(t)
	c.on("TerminateInstances", terminating(idA))
	if err := p.Release(t.Context(), iid(idA), none); err != nil {
		t.Fatal(err)
	}
	if f := c.last("TerminateInstances"); f.Get("InstanceId.1") != idA || f.Has("InstanceId.2") {
		t.Errorf("one ID a call, got %v", f)
	}
	if got := writes(c.order()); !slices.Equal(got, []string{"TerminateInstances"}) {
		t.Errorf("calls %v", got)
	}
}

// A restart forgets what is on demand; the instance is read first then.
func TestReleaseAfterARestart(t *testing.T) {
	c := newCloud(t).usual().on("DescribeInstances", instancesReply("", box(idA))).on("TerminateInstances", terminating(idA))
	if err := c.adapter().Release(t.Context(), iid(idA), none); err != nil {
		t.Fatal(err)
	}
	if got := c.order(); got[0] != "DescribeInstances" || got[len(got)-1] != "TerminateInstances" {
		t.Errorf("calls %v", got)
	}
}

func TestReleaseThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		kind   error
		open   bool // guard.ErrUncertain too
	}{
		"protected":            {refuse(400, "OperationNotPermitted", "The instance '"+idA+"' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again."), guard.ErrProtected, false},
		"not allowed":          {refuse(403, "UnauthorizedOperation", "Encoded authorization failure message: abc"), guard.ErrPermission, false},
		"bad keys":             {refuse(401, "AuthFailure", "no"), guard.ErrPermission, false},
		"throttled":            {refuse(503, "RequestLimitExceeded", "no"), guard.ErrThrottled, false},
		"gone already":         {refuse(400, "InvalidInstanceID.NotFound", "The instance ID '"+idA+"' does not exist"), nil, false},
		"wrong state":          {refuse(400, "IncorrectInstanceState", "no"), guard.ErrConflict, false},
		"an internal error":    {refuse(500, "InternalError", "no"), guard.ErrUnavailable, true},
		"unavailable":          {refuse(503, "Unavailable", "no"), guard.ErrUnavailable, false},
		"a gateway's page":     {answer{status: 502, body: "<html>bad gateway</html>"}, guard.ErrUnavailable, true},
		"an empty success":     {ok(""), guard.ErrBadReply, true},
		"a success of nothing": {reply("TerminateInstances", "<instancesSet/>"), guard.ErrBadReply, true},
		"the reply is lost":    {answer{err: syscall.ECONNRESET}, guard.ErrUncertain, true},
		"nobody listens":       {answer{err: syscall.ECONNREFUSED}, guard.ErrUnavailable, false},
		"a bare 404":           {answer{status: 404}, guard.ErrBadReply, true},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, p := onDemand(t)
			cloud.on("TerminateInstances", c.answer)
			err := p.Release(t.Context(), iid(idA), none)
			if !errors.Is(err, c.kind) || errors.Is(err, guard.ErrUncertain) != c.open {
				t.Errorf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "terminate research/"+idA) {
				t.Errorf("no verb and subject in %q", err)
			}
			if n := cloud.made("TerminateInstances"); n != 1 {
				t.Errorf("a write was sent %d times", n)
			}
			if _, wait := guard.RetryAfter(err); wait != (c.kind == guard.ErrThrottled) {
				t.Errorf("wait: %v", err)
			}
		})
	}
}

func TestReleaseOfWhatCannotBe(t *testing.T) {
	c := newCloud(t)
	p := c.adapter()
	elsewhere, nowhere := iid(idA), iid(idA)
	elsewhere.Account = "other"
	nowhere.Scope = ""
	for name, id := range map[string]guard.ResourceID{"a name": iid("trainer"), "another account's": elsewhere, "no region": nowhere} {
		if err := p.Release(t.Context(), id, none); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Release(ctx, iid(idA), none); !errors.Is(err, context.Canceled) || errors.Is(err, guard.ErrUncertain) {
		t.Errorf("cancelled before: %v", err)
	}
	if len(c.calls) != 0 {
		t.Errorf("calls: %v", c.order())
	}
}

func TestReleaseVolume(t *testing.T) {
	const id = "vol-0aaaaaaaaaaaaaaaa"
	for name, c := range map[string]struct {
		answer answer
		kind   error
	}{
		"deleted":      {reply("DeleteVolume", "<return>true</return>"), nil},
		"gone already": {refuse(400, "InvalidVolume.NotFound", "The volume '"+id+"' does not exist."), nil},
		"still in use": {refuse(400, "VolumeInUse", "Volume "+id+" is currently attached to "+idA), guard.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t).on("DeleteVolume", c.answer)
			if err := cloud.adapter().Release(t.Context(), vid(id), none); !errors.Is(err, c.kind) {
				t.Errorf("got %v", err)
			}
			if f := cloud.last("DeleteVolume"); f.Get("VolumeId") != id {
				t.Errorf("deleted %v", f)
			}
		})
	}
}

func spotRequest(typ, state string) answer {
	return reply("DescribeSpotInstanceRequests", "<spotInstanceRequestSet><item><spotInstanceRequestId>sir-1</spotInstanceRequestId><type>"+typ+"</type><state>"+state+"</state><instanceId>"+idA+"</instanceId></item></spotInstanceRequestSet>")
}

// A persistent request would launch the machine again: it goes first.
func TestReleaseOfSpot(t *testing.T) {
	const life = "<instanceLifecycle>spot</instanceLifecycle>"
	const from = "<spotInstanceRequestId>sir-1</spotInstanceRequestId>"
	cancelled := reply("CancelSpotInstanceRequests", "<spotInstanceRequestSet><item><spotInstanceRequestId>sir-1</spotInstanceRequestId><state>cancelled</state></item></spotInstanceRequestSet>")
	empty := reply("DescribeSpotInstanceRequests", "<spotInstanceRequestSet/>")
	for name, c := range map[string]struct {
		item    string
		request answer
		cancel  answer
		err     error
		writes  string
	}{
		"persistent":                 {box(idA, life, from), spotRequest("persistent", "active"), cancelled, nil, "CancelSpotInstanceRequests TerminateInstances"},
		"persistent, cancelled":      {box(idA, life, from), spotRequest("persistent", "cancelled"), cancelled, nil, "TerminateInstances"},
		"one-time":                   {box(idA, life, from), spotRequest("one-time", "active"), cancelled, nil, "TerminateInstances"},
		"forgotten":                  {box(idA, life, from), refuse(400, "InvalidSpotInstanceRequestID.NotFound", "no"), cancelled, nil, "TerminateInstances"},
		"not readable":               {box(idA, life, from), refuse(403, "UnauthorizedOperation", "no"), cancelled, guard.ErrPermission, ""},
		"left out":                   {box(idA, life, from), empty, cancelled, guard.ErrBadReply, ""},
		"cancel refused":             {box(idA, life, from), spotRequest("persistent", "active"), refuse(403, "UnauthorizedOperation", "no"), guard.ErrPermission, "CancelSpotInstanceRequests"},
		"cancel lost":                {box(idA, life, from), spotRequest("persistent", "active"), answer{err: syscall.ECONNRESET}, guard.ErrUncertain, "CancelSpotInstanceRequests"},
		"request not on instance":    {box(idA, life), spotRequest("persistent", "active"), cancelled, nil, "CancelSpotInstanceRequests TerminateInstances"},
		"no request names it at all": {box(idA, life), empty, cancelled, nil, "TerminateInstances"},
	} {
		for _, seen := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				cloud := newCloud(t).usual().on("DescribeInstances", instancesReply("", c.item)).
					on("DescribeSpotInstanceRequests", c.request).on("CancelSpotInstanceRequests", c.cancel).
					on("TerminateInstances", terminating(idA))
				p := cloud.adapter("us-east-1")
				if seen {
					list(t, p, instancesOnly)
				}
				if err := p.Release(t.Context(), iid(idA), none); !errors.Is(err, c.err) {
					t.Errorf("got %v", err)
				}
				if got := strings.Join(writes(cloud.order()), " "); got != c.writes {
					t.Errorf("wrote %q, want %q", got, c.writes)
				}
			})
		}
	}
}

// Not knowing whether something would bring it back is no reason to try.
func TestReleaseOfWhatCannotBeRead(t *testing.T) {
	c := newCloud(t).usual().on("DescribeInstances", refuse(500, "InternalError", "no"))
	if err := c.adapter().Release(t.Context(), iid(idA), none); !errors.Is(err, guard.ErrUnavailable) || errors.Is(err, guard.ErrUncertain) {
		t.Errorf("got %v", err)
	}
	if w := writes(c.order()); len(w) != 0 {
		t.Errorf("wrote %v", w)
	}
	c.on("DescribeInstances", refuse(400, "InvalidInstanceID.NotFound", "The instance ID '"+idA+"' does not exist"))
	if err := c.adapter().Release(t.Context(), iid(idA), none); err != nil {
		t.Errorf("gone already: %v", err)
	}
}

func TestStop(t *testing.T) {
	stopping := reply("StopInstances", "<instancesSet><item><instanceId>"+idA+"</instanceId><currentState><code>64</code><name>stopping</name></currentState></item></instancesSet>")
	for name, c := range map[string]struct {
		answer answer
		kind   error
	}{
		"accepted":       {stopping, nil},
		"spot":           {refuse(400, "UnsupportedOperation", "You can't stop the Spot Instance because it is associated with a one-time Spot Instance request."), guard.ErrUnsupported},
		"stop-protected": {refuse(400, "OperationNotPermitted", "no"), guard.ErrProtected},
		"not there":      {refuse(400, "InvalidInstanceID.NotFound", "no"), guard.ErrNotFound},
		"of nothing":     {reply("StopInstances", "<instancesSet/>"), guard.ErrUncertain},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t).on("StopInstances", c.answer)
			if err := cloud.adapter().Stop(t.Context(), iid(idA)); !errors.Is(err, c.kind) {
				t.Errorf("got %v", err)
			}
			if f := cloud.last("StopInstances"); f.Get("InstanceId.1") != idA || f.Has("Force") || f.Has("Hibernate") {
				t.Errorf("%v", f)
			}
		})
	}
	if err := newCloud(t).adapter().Stop(t.Context(), vid("vol-0aaaaaaaaaaaaaaaa")); !errors.Is(err, guard.ErrUnsupported) {
		t.Errorf("a volume: %v", err)
	}
}
