package compshare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/compshare/compsharetest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// withImages is a project with an instance and these images, whose records are changed.
func withImages(set map[string]map[string]any) *compsharetest.Cloud {
	c := cloud(thing("uhost-1"))
	c.Images = set
	for id := range set {
		c.Create(providertest.Thing{Kind: guard.Image, ID: id, Name: id})
	}
	return c
}

// action is what a request asks for, which it keeps.
func action(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct{ Action string }
	_ = json.Unmarshal(body, &in) // what is no request asks for nothing
	return in.Action
}

// TestWhatImagesCost: nothing within 30 GB, beyond that each by its size, and what cannot be
// told is not nothing.
func TestWhatImagesCost(t *testing.T) {
	gb := func(n int) map[string]any { return map[string]any{"Size": n << 10} }
	for name, c := range map[string]struct {
		set  map[string]map[string]any
		want map[string]string
	}{
		"free": {map[string]map[string]any{"a": gb(10), "b": gb(20)}, map[string]string{
			"a": "running, bills no, saves , 0.00 CNY per hour, stopped unknown", "b": "running, bills no, saves , 0.00 CNY per hour, stopped unknown"}},
		"beyond": {map[string]map[string]any{"a": gb(10), "far-b": gb(60)}, map[string]string{
			"a":     "running, bills yes, saves , 0.003333 CNY per hour (10 × 0.008 CNY per gb per day), stopped unknown",
			"far-b": "running, bills yes, saves , 0.02 CNY per hour (60 × 0.008 CNY per gb per day), stopped unknown"}},
		"one untold": {map[string]map[string]any{"a": gb(10), "b": {"Size": nil}, "c": {"Size": "12"}, "d": {"Size": -5}, "e": {"Size": 1e38}}, map[string]string{
			"a": "running, bills yes, saves , unknown, stopped unknown", "b": "running, bills yes, saves , unknown, stopped unknown",
			"c": "running, bills yes, saves , unknown, stopped unknown", "d": "running, bills yes, saves , unknown, stopped unknown", "e": "running, bills yes, saves , unknown, stopped unknown"}},
		"beyond with one untold": {map[string]map[string]any{"a": gb(40), "b": {"Size": nil}}, map[string]string{
			"a": "running, bills yes, saves , 0.013333 CNY per hour (40 × 0.008 CNY per gb per day), stopped unknown",
			"b": "running, bills yes, saves , unknown, stopped unknown"}},
	} {
		got := listed(at(t), t, on(t, withImages(c.set)), guard.Image)
		if len(got) != len(c.want) {
			t.Errorf("%s: %d images", name, len(got))
		}
		for id, want := range c.want {
			if s := tell(got[id]); s != want {
				t.Errorf("%s: %s is\n%s, want\n%s", name, id, s, want)
			}
		}
	}
}

// TestImages: of all regions, and each page; what was made from one uses it.
func TestImages(t *testing.T) {
	c := withImages(map[string]map[string]any{"a": nil, "b": nil, "c": nil, "far-d": nil, "far-pub": {"Visibility": 1}})
	c.PageSize = 2
	c.Instances["uhost-1"] = compsharetest.Instance{Set: map[string]any{"CompShareImageId": "b"}}
	p := on(t, c)
	got := listed(at(t), t, p, guard.Image)
	if len(got) != 5 || fmt.Sprint(got["b"].UsedBy) != "[uhost-1]" || got["a"].UsedBy != nil || got["a"].UsesUntold || got["a"].SizeGB != 100 || got["a"].Created.IsZero() {
		t.Errorf("%+v", got)
	}
	listed(later(t, placesFor-time.Minute), t, p, guard.Image)
	asked := func() int { return strings.Count(strings.Join(c.Calls(), " "), "DescribeCompShareSupportZone") }
	if asked() != 1 {
		t.Errorf("the regions were asked for %d times", asked())
	}
	if listed(later(t, placesFor), t, p, guard.Image); asked() != 2 {
		t.Errorf("%s later they were asked for %d times", placesFor, asked())
	}
	if err := p.Release(at(t), p.id(guard.Image, "far-pub"), providers.ReleaseOptions{}); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("a published one: %v", err)
	}
	for range 2 {
		if err := p.Release(at(t), p.id(guard.Image, "far-d"), providers.ReleaseOptions{}); err != nil {
			t.Error(err)
		}
	}
	if got := p.Get(at(t), p.id(guard.Image, "far-d"), p.id(guard.Image, "far-pub")); got[0].Verdict != guard.VerdictAbsent || got[1].Verdict != guard.VerdictFound {
		t.Errorf("%+v", got)
	}
}

// TestImagesThatAreNotAll: a region that fails, or zones that are none, never look like no image.
func TestImagesThatAreNotAll(t *testing.T) {
	regions := 0
	for name, answer := range map[string]struct {
		action string
		reply  map[string]any
		only   int // which call of that action; 0: each
		want   error
	}{
		"no zones":               {"DescribeCompShareSupportZone", map[string]any{"RetCode": 0, "ZoneInfo": []any{}}, 0, guard.ErrBadReply},
		"zones that are null":    {"DescribeCompShareSupportZone", map[string]any{"RetCode": 0, "ZoneInfo": nil}, 0, guard.ErrBadReply},
		"a zone without a name":  {"DescribeCompShareSupportZone", map[string]any{"RetCode": 0, "ZoneInfo": []any{map[string]any{"Region": "cn-wlcb"}}}, 0, guard.ErrBadReply},
		"zones without an end":   {"DescribeCompShareSupportZone", map[string]any{"RetCode": 0, "ZoneInfo": slices.Repeat([]any{map[string]any{"Zone": "cn-wlcb-01"}}, maxZones+1)}, 0, guard.ErrBadReply},
		"zones that are refused": {"DescribeCompShareSupportZone", map[string]any{"RetCode": 172}, 0, guard.ErrPermission},
		"the second region":      {"DescribeCompShareCustomImages", map[string]any{"RetCode": 8433}, 2, guard.ErrUnavailable},
		"no total":               {"DescribeCompShareCustomImages", map[string]any{"RetCode": 0, "ImageSet": []any{}}, 0, guard.ErrBadReply},
		"no set":                 {"DescribeCompShareCustomImages", map[string]any{"RetCode": 0, "TotalCount": 1}, 0, guard.ErrBadReply},
	} {
		f := &cloudtest.Faults{Next: withImages(map[string]map[string]any{"a": nil, "far-b": nil})}
		regions = 0
		f.Add(0, func(r *http.Request) bool {
			asked := action(r) == answer.action
			if asked {
				regions++
			}
			return asked && (answer.only == 0 || regions == answer.only)
		}, func(w http.ResponseWriter, _ *http.Request) { cloudtest.Reply(w, http.StatusOK, answer.reply) })
		p := on(t, f)
		got, err := p.images(at(t))
		if !errors.Is(err, answer.want) || (len(got) == 1) != strings.Contains(name, "second") {
			t.Errorf("%s: %d images, %v; want %v", name, len(got), err, answer.want)
		}
		regions = 0
		if l := p.Get(at(t), p.id(guard.Image, "gone"))[0]; l.Verdict != guard.VerdictUnknown {
			t.Errorf("%s: what is not in it is %s", name, l.Verdict)
		}
		regions = 0
		if err := p.Release(at(t), p.id(guard.Image, "gone"), providers.ReleaseOptions{}); err == nil {
			t.Errorf("%s: what is not in it is released", name)
		}
	}
	wait := &cloudtest.Faults{Next: withImages(map[string]map[string]any{"a": nil, "far-b": nil})}
	var asked []string
	wait.Add(0, func(r *http.Request) bool {
		asked = append(asked, action(r))
		return asked[len(asked)-1] == "DescribeCompShareCustomImages" && len(asked) == 2
	}, func(w http.ResponseWriter, _ *http.Request) { compsharetest.Code(w, 8433, "") })
	wait.Add(0, func(*http.Request) bool { return len(asked) == 3 }, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	if _, err := on(t, wait).images(at(t)); !errors.Is(err, guard.ErrThrottled) || len(asked) != 3 {
		t.Errorf("after a failed region and a throttled one: %v, asked %v", err, asked)
	}
	f := &cloudtest.Faults{Next: withImages(nil)}
	f.Add(0, func(r *http.Request) bool { return action(r) == "DescribeCompShareCustomImages" }, func(w http.ResponseWriter, _ *http.Request) {
		cloudtest.Reply(w, http.StatusOK, map[string]any{"RetCode": 0, "TotalCount": 1, "ImageSet": []any{map[string]any{"CompShareImageId": "a"}}})
	})
	if got, err := on(t, f).images(at(t)); err != nil || len(got) != 1 {
		t.Errorf("one that every region tells of: %+v, %v", got, err)
	}
	f = &cloudtest.Faults{Next: withImages(map[string]map[string]any{"a": nil})}
	f.Add(0, func(r *http.Request) bool { return action(r) == describe }, func(w http.ResponseWriter, _ *http.Request) { compsharetest.Code(w, 8433, "") })
	if got := listed(at(t), t, on(t, f), guard.Image)["a"]; !got.UsesUntold {
		t.Errorf("what uses it cannot be read: %+v", got)
	}
}
