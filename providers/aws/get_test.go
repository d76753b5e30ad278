package aws

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"guard"
)

const (
	idA = "i-0aaaaaaaaaaaaaaaa"
	idB = "i-0bbbbbbbbbbbbbbbb"
	idC = "i-0cccccccccccccccc"
)

func verdicts(ls []guard.Lookup) string {
	var out []string
	for _, l := range ls {
		out = append(out, string(l.Verdict))
	}
	return strings.Join(out, " ")
}

func TestGet(t *testing.T) {
	terminated := strings.Replace(box(idB), state(16, "running"), state(48, "terminated"), 1)
	c := newCloud(t).usual().on("DescribeInstances", instancesReply("", box(idA), terminated))
	ls := c.adapter().Get(t.Context(), iid(idB), iid(idA))
	if verdicts(ls) != "found found" || ls[0].ID != iid(idB) || ls[1].Resource.ID.ID != idA {
		t.Fatal(ls)
	}
	if ls[0].Resource.State != guard.StateGone {
		t.Errorf("a tombstone is %s", ls[0].Resource.State)
	}
	if c.made("DescribeInstances") != 1 || c.made("DescribeRegions") != 0 {
		t.Errorf("calls: %v", c.order())
	}
}

func TestGetOneOfThreeMissing(t *testing.T) {
	for name, story := range map[string]struct{ message, want string }{
		"named":     {"The instance ID '" + idB + "' does not exist", "found absent found"},
		"not named": {"Some instances do not exist", "found absent found"},
		"odd names": {"The instance ID 'i-0123456789abcdef0' does not exist", "found unknown found"}, // of another one
	} {
		message := story.message
		t.Run(name, func(t *testing.T) {
			c := newCloud(t).usual()
			p := c.adapter()
			c.on("DescribeInstances", refuse(400, "InvalidInstanceID.NotFound", message), instancesReply("", box(idA), box(idC)))
			if name != "named" { // asked for in halves: A, then B and C, then B, C
				c.on("DescribeInstances",
					refuse(400, "InvalidInstanceID.NotFound", message),
					instancesReply("", box(idA)),
					refuse(400, "InvalidInstanceID.NotFound", message),
					refuse(400, "InvalidInstanceID.NotFound", message),
					instancesReply("", box(idC)))
			}
			ls := p.Get(t.Context(), iid(idA), iid(idB), iid(idC))
			if verdicts(ls) != story.want {
				t.Errorf("%v after %v", ls, c.order())
			}
			for _, l := range ls {
				if unknown := l.Verdict == guard.VerdictUnknown; unknown != errors.Is(l.Err, guard.ErrBadReply) || unknown != (l.Err != nil) {
					t.Errorf("%v", l)
				}
			}
		})
	}
}

func TestGetThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		kind   error
	}{
		"throttled":      {refuse(503, "RequestLimitExceeded", "no"), guard.ErrThrottled},
		"not allowed":    {refuse(403, "UnauthorizedOperation", "no"), guard.ErrPermission},
		"malformed":      {refuse(400, "InvalidInstanceID.Malformed", `Invalid id: "`+idA+`"`), guard.ErrInvalid},
		"a 404":          {answer{status: 404, body: "not found"}, guard.ErrBadReply},
		"HTML":           {ok("<html>hi</html>"), guard.ErrBadReply},
		"another's":      {refuse(400, "InvalidInstanceID.NotFound", "The instance ID '"+idB+"' does not exist"), guard.ErrBadReply},
		"left out":       {instancesReply(""), guard.ErrBadReply},
		"something else": {instancesReply("", box(idB)), guard.ErrBadReply},
		"no connection":  {answer{err: errors.New("boom")}, guard.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			l := newCloud(t).usual().on("DescribeInstances", c.answer).adapter().Get(t.Context(), iid(idA))[0]
			if l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, c.kind) || l.ID != iid(idA) {
				t.Errorf("got %+v", l)
			}
			if errors.Is(l.Err, guard.ErrUncertain) {
				t.Errorf("a read leaves nothing uncertain: %v", l.Err)
			}
		})
	}
}

// What EC2 would refuse together with its whole batch is not sent at all.
func TestGetOfWhatIsNoID(t *testing.T) {
	c := newCloud(t).usual().on("DescribeInstances", instancesReply("", box(idA)))
	other := iid(idB)
	other.Account = "somebody-else"
	ls := c.adapter().Get(t.Context(), iid("i-0AAA"), iid(idA), iid(""), vid(idA), guard.ResourceID{Account: "research", Kind: guard.Snapshot, ID: "snap-1"}, other, idIn(guard.Filesystem, "fs-1"))
	if verdicts(ls) != "unknown found unknown unknown unknown unknown unknown" {
		t.Fatal(ls)
	}
	for i, want := range []error{guard.ErrInvalid, nil, guard.ErrInvalid, guard.ErrInvalid, guard.ErrInvalid, guard.ErrInvalid, guard.ErrUnsupported} {
		if !errors.Is(ls[i].Err, want) {
			t.Errorf("%d: %v", i, ls[i].Err)
		}
	}
	if f := c.last("DescribeInstances"); f.Get("InstanceId.1") != idA || f.Has("InstanceId.2") {
		t.Errorf("asked for %v", f)
	}
}

// Without a scope an ID is absent only when every region says so.
func TestGetWithoutAScope(t *testing.T) {
	missing := refuse(400, "InvalidInstanceID.NotFound", "The instance ID '"+idA+"' does not exist")
	anywhere := iid(idA)
	anywhere.Scope = ""
	for name, c := range map[string]struct {
		us, eu, regions answer
		want            guard.Verdict
	}{
		"in one region":          {missing, instancesReply("", box(idA)), reply("DescribeRegions", regionsReply), guard.VerdictFound},
		"in none":                {missing, missing, reply("DescribeRegions", regionsReply), guard.VerdictAbsent},
		"one region fails":       {missing, refuse(500, "InternalError", "no"), reply("DescribeRegions", regionsReply), guard.VerdictUnknown},
		"found while one fails":  {refuse(500, "InternalError", "no"), instancesReply("", box(idA)), reply("DescribeRegions", regionsReply), guard.VerdictFound},
		"regions are not listed": {missing, missing, refuse(http.StatusForbidden, "UnauthorizedOperation", "no"), guard.VerdictUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t).usual().on("DescribeRegions", c.regions).
				on("DescribeInstances us-east-1", c.us).on("DescribeInstances eu-west-1", c.eu)
			l := cloud.adapter().Get(t.Context(), anywhere)[0]
			if l.Verdict != c.want || l.ID != anywhere {
				t.Errorf("got %+v", l)
			}
			if l.Verdict == guard.VerdictFound && l.Resource.ID.Scope != "eu-west-1" {
				t.Errorf("found in %q", l.Resource.ID.Scope)
			}
		})
	}
}

func TestGetVolumes(t *testing.T) {
	const a, b = "vol-0aaaaaaaaaaaaaaaa", "vol-0bbbbbbbbbbbbbbbb"
	c := newCloud(t).usual().on("DescribeVolumes",
		refuse(400, "InvalidVolume.NotFound", "The volume '"+a+"' does not exist."),
		reply("DescribeVolumes", "<volumeSet><item><volumeId>"+b+"</volumeId><size>8</size><status>available</status><volumeType>gp3</volumeType></item></volumeSet>"))
	if ls := c.adapter().Get(t.Context(), vid(a), vid(b)); verdicts(ls) != "absent found" || ls[1].Resource.SizeGB != 8 {
		t.Errorf("%+v", ls)
	}
}
