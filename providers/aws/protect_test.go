package aws

import (
	"errors"
	"strings"
	"testing"

	"guard"
	"guard/providers"
)

func attribute(name, value string) answer {
	return reply("DescribeInstanceAttribute", "<instanceId>"+idA+"</instanceId><"+name+"><value>"+value+"</value></"+name+">")
}

func TestProtection(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer
		want    providers.Protection
		err     error
	}{
		"both":              {[]answer{attribute("disableApiTermination", "true"), attribute("disableApiStop", "true")}, providers.Protection{Release: guard.Yes, Stop: guard.Yes}, nil},
		"neither":           {[]answer{attribute("disableApiTermination", "false"), attribute("disableApiStop", "false")}, providers.Protection{Release: guard.No, Stop: guard.No}, nil},
		"no stop attribute": {[]answer{attribute("disableApiTermination", "true"), refuse(400, "InvalidParameterValue", "no")}, providers.Protection{Release: guard.Yes}, nil},
		"not told":          {[]answer{reply("DescribeInstanceAttribute", "<instanceId>"+idA+"</instanceId>")}, providers.Protection{}, nil},
		"not allowed":       {[]answer{refuse(403, "UnauthorizedOperation", "no")}, providers.Protection{}, guard.ErrPermission},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newCloud(t).on("DescribeInstanceAttribute", c.answers...).adapter().Protection(t.Context(), iid(idA))
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestUnprotect(t *testing.T) {
	c := newCloud(t).on("ModifyInstanceAttribute", reply("ModifyInstanceAttribute", "<return>true</return>"))
	if err := c.adapter().Unprotect(t.Context(), iid(idA)); err != nil {
		t.Fatal(err)
	}
	if f := c.last("ModifyInstanceAttribute"); f.Get("InstanceId") != idA || f.Get("DisableApiTermination.Value") != "false" {
		t.Errorf("%v", f)
	}
}

func TestTag(t *testing.T) {
	c := newCloud(t).on("CreateTags", reply("CreateTags", "<return>true</return>"))
	p := c.adapter()
	err := p.Tag(t.Context(), iid(idA), map[string]string{guard.TagPurpose: strings.Repeat("为", 300), guard.TagLease: "L1"})
	if err != nil {
		t.Fatal(err)
	}
	f := c.last("CreateTags")
	if f.Get("ResourceId.1") != idA || f.Get("Tag.1.Key") != guard.TagLease || f.Get("Tag.1.Value") != "L1" {
		t.Errorf("%v", f)
	}
	if got := len([]rune(f.Get("Tag.2.Value"))); got != mostTagValue {
		t.Errorf("a value of %d characters", got)
	}
	for _, k := range []string{"", "aws:owner", strings.Repeat("k", 129)} {
		if err := p.Tag(t.Context(), iid(idA), map[string]string{k: "v"}); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%q: %v", k, err)
		}
	}
	if err := p.Tag(t.Context(), iid(idA), nil); err != nil || c.made("CreateTags") != 1 {
		t.Errorf("no tags: %v, %d calls", err, c.made("CreateTags"))
	}
}
