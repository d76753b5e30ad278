package aws

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
)

var leftoversOnly = providers.Query{Kinds: []guard.Kind{guard.Snapshot, guard.Image, guard.Address}}

func idIn(kind guard.Kind, id string) guard.ResourceID {
	return guard.ResourceID{Account: "research", Kind: kind, Scope: "us-east-1", ID: id}
}

// of is the results of a kind.
func of(t *testing.T, inv providers.Inventory, kind guard.Kind) map[string]guard.Resource {
	t.Helper()
	out := map[string]guard.Resource{}
	for _, r := range inv.Results {
		if r.Kind != kind {
			continue
		}
		if r.Err != nil {
			t.Fatalf("%s: %v", kind, r.Err)
		}
		for _, x := range r.Resources {
			out[x.ID.ID] = x
		}
	}
	return out
}

// The whole life of what outlives an instance, on a server that is not ours.
func TestMotoLeftovers(t *testing.T) {
	moto, proxy, p := onMoto(t, "us-east-1")
	ctx := t.Context()
	var ids []string
	moto.Do(t, &ids, "run", "us-east-1", "m5.large")
	var disk, loose, unused, used string
	moto.Do(t, &disk, "data_volume", "us-east-1", ids[0], "100")
	moto.Do(t, &loose, "snapshot", "us-east-1", disk)
	var made struct {
		Image     string
		Snapshots []string
	}
	moto.Do(t, &made, "image", "us-east-1", ids[0])
	moto.Do(t, &unused, "address", "us-east-1")
	moto.Do(t, &used, "address", "us-east-1", ids[0])
	if len(made.Snapshots) == 0 {
		t.Fatal("the image has no snapshot")
	}
	backing := made.Snapshots[0]

	list(t, p, instancesOnly)
	inv := list(t, p, leftoversOnly)
	snapshots, images, addresses := of(t, inv, guard.Snapshot), of(t, inv, guard.Image), of(t, inv, guard.Address)
	if s := snapshots[loose]; s.Source != disk || s.SizeGB != 100 || len(s.UsedBy) != 0 || s.UsesUntold || s.Created.IsZero() || s.Bills != guard.Yes {
		t.Errorf("a snapshot: %+v", s)
	}
	if s := snapshots[backing]; !slices.Equal(s.UsedBy, []string{made.Image}) {
		t.Errorf("a snapshot behind an image: %+v", s)
	}
	if i := images[made.Image]; len(i.UsedBy) != 0 || i.UsesUntold || len(i.Children) == 0 || i.Children[0].ID != idIn(guard.Snapshot, backing) || i.Bills != guard.No || i.Created.IsZero() {
		t.Errorf("an image: %+v", i)
	}
	if a := addresses[unused]; !a.Parent.IsZero() || len(a.UsedBy) != 0 || a.Type == "" {
		t.Errorf("an address: %+v", a)
	}
	if a := addresses[used]; a.Parent != boxIn("us-east-1", ids[0]) {
		t.Errorf("an address on an instance: %+v", a)
	}
	if n := len(proxy.Calls("DescribeImages", "")); n != 1 {
		t.Errorf("the images were read %d times for one listing", n)
	}

	var template string
	moto.Do(t, &template, "template", "us-east-1", made.Image)
	ls := p.Get(ctx, idIn(guard.Snapshot, backing), idIn(guard.Image, made.Image), idIn(guard.Address, unused), idIn(guard.Snapshot, "snap-0123456789abcdef0"), idIn(guard.Image, "ami-0123456789abcdef0"))
	if verdicts(ls) != "found found found absent absent" {
		t.Errorf("%+v", ls)
	}
	if !slices.Equal(ls[1].Resource.UsedBy, []string{template}) || !slices.Equal(ls[0].Resource.UsedBy, []string{made.Image}) {
		t.Errorf("what needs them: %v, %v", ls[1].Resource.UsedBy, ls[0].Resource.UsedBy)
	}
	if err := p.Release(ctx, idIn(guard.Volume, disk), none); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("a volume that is attached: %v", err)
	}
	if err := p.Release(ctx, idIn(guard.Snapshot, backing), none); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("a snapshot behind an image: %v", err)
	}
	for _, id := range []guard.ResourceID{idIn(guard.Image, made.Image), idIn(guard.Snapshot, backing), idIn(guard.Snapshot, loose), idIn(guard.Address, unused)} {
		for range 2 { // the second time it is gone already
			if err := p.Release(ctx, id, none); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		if l := p.Get(ctx, id)[0]; l.Verdict != guard.VerdictAbsent {
			t.Errorf("%s is deleted: %+v", id, l)
		}
	}
}

// Where images may not be read, nobody knows what needs a snapshot, and that is said.
func TestUsesThatMayNotBeRead(t *testing.T) {
	c := newCloud(t).
		on("DescribeRegions", ok(`<DescribeRegionsResponse><regionInfo><item><regionName>us-east-1</regionName></item></regionInfo></DescribeRegionsResponse>`)).
		on("DescribeImages", refuse(403, "UnauthorizedOperation", "no")).
		on("DescribeSnapshots", ok(`<DescribeSnapshotsResponse><snapshotSet><item><snapshotId>snap-0123456789abcdef0</snapshotId><volumeId>vol-ffffffff</volumeId><status>completed</status></item></snapshotSet></DescribeSnapshotsResponse>`))
	inv := list(t, c.adapter(), providers.Query{Kinds: []guard.Kind{guard.Snapshot}})
	s := of(t, inv, guard.Snapshot)["snap-0123456789abcdef0"]
	if !s.UsesUntold || s.Source != "" {
		t.Errorf("%+v", s)
	}
}

// recorded is a reply of EC2's as another project recorded it.
func recorded(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "aws_placebo", name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the recorded replies are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &struct{ Data any }{into}); err != nil {
		t.Fatal(err)
	}
}

// Three snapshots whose volumes are gone, and an image that needs one of them.
func TestRecordedImageNeedsItsSnapshot(t *testing.T) {
	var images struct{ Images []types.Image }
	var snapshots struct {
		Snapshots []struct {
			SnapshotId, VolumeId string
			VolumeSize           int32
		}
	}
	recorded(t, "test_ebs_ami_snapshot_filter/ec2.DescribeImages_1.json", &images)
	recorded(t, "test_ebs_ami_snapshot_filter/ec2.DescribeSnapshots_1.json", &snapshots)
	u := uses{images: images.Images, behind: map[string][]string{}, of: map[string][]string{}}
	u.backing()
	p := newCloud(t).adapter()
	needed := map[string][]string{}
	for _, s := range snapshots.Snapshots {
		r := p.snapshot("us-east-1", types.Snapshot{SnapshotId: &s.SnapshotId, VolumeId: &s.VolumeId, VolumeSize: &s.VolumeSize}, u)
		needed[r.ID.ID] = r.UsedBy
	}
	if len(needed) != 3 || !slices.Equal(needed["snap-4090d8aa"], []string{"ami-0bec971c"}) {
		t.Errorf("%v", needed)
	}
	for id, by := range needed {
		if id != "snap-4090d8aa" && len(by) != 0 {
			t.Errorf("%s is needed by %v", id, by)
		}
	}
	if i := p.image("us-east-1", images.Images[0], u); !i.Created.Equal(time.Date(2016, 9, 23, 14, 33, 38, 0, time.UTC)) || len(i.Children) != 1 {
		t.Errorf("%+v", i)
	}
}
