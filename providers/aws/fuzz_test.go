package aws

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

// odds is an adapter one of whose calls is answered with the same bytes each time.
// Other reads are answered as usual.
func odds(t *testing.T, action string, with answer) *Provider {
	c := newCloud(t).usual().on("DescribeSpotInstanceRequests", refuse(503, "Unavailable", "")).on(action, with)
	p := c.adapter()
	p.spot[idA] = "" // known, so that the terminate call itself is made
	return p
}

// element is XML as plainly as it can be read.
type element struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	Inner   []element `xml:",any"`
}

func (e element) all(path ...string) []element {
	out := []element{e}
	for _, name := range path {
		var next []element
		for _, x := range out {
			for _, y := range x.Inner {
				if y.XMLName.Local == name {
					next = append(next, y)
				}
			}
		}
		out = next
	}
	return out
}

// document is the body as XML; false where it is none.
func document(body []byte) (element, bool) {
	var e element
	err := xml.NewDecoder(bytes.NewReader(body)).Decode(&e)
	return e, err == nil
}

var listings = map[string]struct {
	id   guard.ResourceID
	path []string // of the things in the answer
}{
	"DescribeInstances": {iid(idA), []string{"reservationSet", "item", "instancesSet", "item"}},
	"DescribeVolumes":   {vid("vol-0aaaaaaaaaaaaaaaa"), []string{"volumeSet", "item"}},
}

// FuzzReply: whatever stands in for EC2's or STS' answer to one call, a listing is
// complete only if it is that call's answer and each of its entries was
// understood; a thing is absent only by EC2's own code; an identity has twelve
// digits; a release or a stop is accepted by name; and no error shows what was
// signed with.
func FuzzReply(f *testing.F) {
	for i, action := range actions {
		for _, body := range []string{
			reply(action, "").body, reply("DescribeTags", "<tagSet/>").body, reply(action, "<reservationSet/><volumeSet/>").body,
			reply(action, "<reservationSet><item/></reservationSet><volumeSet><item/></volumeSet>").body,
			"", "<html>" + canarySecret, `{"Message":"` + canaryToken + `"}`, "<" + action + "Response>", "<" + action + "Response><nextToken>" + canaryToken,
		} {
			f.Add(byte(i), 200, []byte(body))
		}
		for _, a := range []answer{
			refuse(400, "InvalidInstanceID.NotFound", "The instance ID '"+idA+"' does not exist"), refuse(400, "InvalidInstanceID.NotFound", canaryToken),
			refuse(403, "UnauthorizedOperation", "not with "+canarySecret), refuse(503, "RequestLimitExceeded", "slow down, come back in 99999999999 hours"),
			refuse(500, "InternalError", ""), refuse(400, "OperationNotPermitted", "disableApiTermination"), refuse(404, canaryToken, canaryKey), {status: 404, body: "nothing here"},
		} {
			f.Add(byte(i), a.status, []byte(a.body))
		}
	}
	for _, item := range []string{
		box(idA), box(idA, "<instanceLifecycle>spot</instanceLifecycle><spotInstanceRequestId>sir-1</spotInstanceRequestId>"), strings.Replace(box(idA), "running", "levitating", 1),
		"<instanceType>g5.xlarge</instanceType>", box(idA, "<launchTime>9999-99-99</launchTime>"), box(idA, "<blockDeviceMapping><item><ebs><volumeId/></ebs></item></blockDeviceMapping>"),
	} {
		f.Add(byte(0), 200, []byte(instancesReply("", item).body))
		f.Add(byte(0), 200, []byte(instancesReply("more", item).body))
	}
	for _, size := range []string{"500", "-1", "99999999999999999999", "many"} {
		f.Add(byte(1), 200, []byte(reply("DescribeVolumes", "<volumeSet><item><volumeId>vol-0aaaaaaaaaaaaaaaa</volumeId><volumeType>gp3</volumeType><status>in-use</status><size>"+size+"</size></item></volumeSet>").body))
	}
	f.Add(byte(2), 200, []byte(`<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`))
	f.Add(byte(2), 200, []byte(`<GetCallerIdentityResponse><GetCallerIdentityResult><Account>`+canaryToken+`</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`))
	f.Add(byte(3), 200, []byte(terminating(idA).body))
	f.Add(byte(5), 200, []byte(attribute("disableApiTermination", "perhaps").body))
	f.Fuzz(func(t *testing.T, which byte, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		action := actions[int(which)%len(actions)]
		a := &asked{T: t, action: action, status: status, body: body, p: odds(t, action, answer{status: status, body: string(body)})}
		root, whole := document(body)
		if whole && status < 300 && root.XMLName.Local == action+"Response" {
			a.reply = root
		}
		switch action {
		case "DescribeInstances", "DescribeVolumes":
			a.list()
			a.get()
		case "GetCallerIdentity":
			who, err := a.p.Identity(t.Context())
			a.check(err, a.told() && accountNumber.MatchString(who.ID), who)
		case "TerminateInstances":
			a.check(a.p.Release(t.Context(), iid(idA), none), a.names(idA) || a.refused(".NotFound"), "accepted")
		case "StopInstances":
			a.check(a.p.Stop(t.Context(), iid(idA)), a.names(idA), "accepted")
		case "DescribeInstanceAttribute":
			got, err := a.p.Protection(t.Context(), iid(idA))
			a.check(err, a.told() || got == providers.Protection{}, got)
		case "DescribeRegions":
			inv, err := a.p.List(t.Context(), providers.Query{Kinds: []guard.Kind{guard.Volume}})
			a.check(err, a.told() && len(inv.Results) > 0, inv)
		}
	})
}

// asked is one adapter whose one call is answered oddly.
type asked struct {
	*testing.T
	p      *Provider
	action string
	status int
	body   []byte
	reply  element // where it is one to this call
}

func (a *asked) told() bool           { return a.reply.XMLName.Local != "" }
func (a *asked) names(id string) bool { return a.told() && bytes.Contains(a.body, []byte(id)) }
func (a *asked) refused(code string) bool {
	return a.status >= 300 && bytes.Contains(a.body, []byte(code))
}

// check is that a success is one, and that an error has a kind, a bounded wait and
// nothing in it that was signed with.
func (a *asked) check(err error, ok bool, what any) {
	a.Helper()
	if err == nil {
		if !ok {
			a.Errorf("%s: status %d and %q are %+v", a.action, a.status, a.body, what)
		}
		return
	}
	if !slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) }) {
		a.Errorf("no kind: %v", err)
	}
	if d, ok := guard.RetryAfter(err); ok && d > time.Hour {
		a.Errorf("waits %s", d)
	}
	text := fmt.Sprintf("%v|%+v|%q", err, err, err)
	for _, secret := range []string{canaryKey, canarySecret, canaryToken} {
		if strings.Contains(text, secret) {
			a.Errorf("leaks: %s", text)
		}
	}
}

// list is that a complete listing has its list, and as much of it as was told.
func (a *asked) list() {
	want := listings[a.action]
	whole := a.told() && len(a.reply.all(want.path[0])) > 0
	inv, err := a.p.List(a.Context(), providers.Query{Kinds: []guard.Kind{want.id.Kind}, Scopes: []string{"us-east-1"}})
	a.check(err, len(inv.Results) == 1, inv)
	things := a.reply.all(want.path...)
	for _, part := range a.reply.all(want.path[:len(want.path)-2]...) { // a reservation, or the answer itself
		whole = whole && len(part.all(want.path[len(want.path)-2])) > 0
	}
	for _, res := range inv.Results {
		n := len(res.Resources)
		a.check(res.Err, whole && n <= len(things) && (n > 0) == (len(things) > 0), n)
		for _, r := range res.Resources {
			a.sound(r)
		}
	}
}

// get is that what is absent was called so, and what was found is the one.
func (a *asked) get() {
	id := listings[a.action].id
	l := a.p.Get(a.Context(), id)[0]
	switch l.Verdict {
	case guard.VerdictAbsent:
		a.check(nil, a.refused(".NotFound"), "absence")
	case guard.VerdictFound:
		a.check(nil, a.names(id.ID) && l.Resource.ID.Key() == id.Key(), l)
		a.sound(l.Resource)
	default:
		a.check(l.Err, false, "unknown without a word")
	}
}

// sound checks what the ledger is going to count with.
func (a *asked) sound(r guard.Resource) {
	a.Helper()
	switch {
	case r.ID.ID == "" || r.ID.Account != "research" || r.ID.Scope != "us-east-1":
		a.Errorf("ID %+v", r.ID)
	case r.GPUs < 0 || r.SizeGB < 0:
		a.Errorf("%d GPUs, %d GB", r.GPUs, r.SizeGB)
	case r.State == guard.StateUnknown && r.Bills == guard.No, r.State == "":
		a.Errorf("state %q (%q) bills: %s", r.State, r.RawState, r.Bills)
	case !r.Created.IsZero() && (r.Created.Year() < 2000 || r.Created.Year() > 2200):
		a.Errorf("created %s", r.Created)
	}
	for _, rate := range []guard.Rate{r.Rate, r.StoppedRate} {
		if h, ok := rate.Hourly(); rate != (guard.Rate{}) && (!ok || h.Currency() == "" || h.IsNegative() || h.IsZero() && !rate.Free) {
			a.Errorf("rate %+v", rate)
		}
	}
}

// actions are those that are answered oddly.
var actions = []string{"DescribeInstances", "DescribeVolumes", "GetCallerIdentity", "TerminateInstances", "StopInstances", "DescribeInstanceAttribute", "DescribeRegions"}

// FuzzSelf: what the machine says it is, is the ID of an instance or nothing.
func FuzzSelf(f *testing.F) {
	for _, s := range []string{"i-0123456789abcdef0\n", "i-01234567", "Amazon EC2", "", "i-0123456789ABCDEF0", "i-0123456789abcdef0 i-0123456789abcdef1", "\x00"} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "board_asset_tag")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if id := self(path); id != "" && (!instanceID.MatchString(id) || strings.TrimSpace(string(b)) != id) {
			t.Errorf("%q is %q", b, id)
		}
	})
}
