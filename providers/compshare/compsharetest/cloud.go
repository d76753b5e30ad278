// Package compsharetest plays CompShare's API in memory, for tests: instances boot, are
// stopped, kept for a while and terminated, their data disks stay, and prices are told only of
// what is asked for by ID. It answers in the shapes of the API's pages of 2026.
package compsharetest

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // it is what the API signs with
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// Cloud is one project, an [http.Handler]. Instances are its things of the kind instance,
// data disks those of the kind volume, and its own images those of the kind image. Its fields are set before it is used; Change changes
// them later.
type Cloud struct {
	*cloudtest.Cloud

	PublicKey, PrivateKey string // that are let in
	Canary                string // is put wherever a reply may hold a secret
	// PageSize is the most entries of a page, whatever is asked for; 0: 100.
	PageSize int
	// Instances is what is special of instances, by ID.
	Instances map[string]Instance
	// Images replace fields of the records of images, whatever they should be, by ID.
	Images map[string]map[string]any
	// Locked are instances on which another operation goes on.
	Locked map[string]bool

	mu    sync.Mutex
	calls []string
}

// Instance is what is special of an instance. The zero value is Postpay, and has no disk that
// costs anything.
type Instance struct {
	Charge  string // ChargeType; default Postpay
	Spot    bool
	Expires time.Time
	Renews  string // AutoRenew
	Boot    string // the price of its system disk
	Image   string // the price of its image
	Util    []int  // of each GPU; nil: nothing is told of its work
	// Set replaces fields of the record, whatever they should be; Monitor those of its
	// entry in the monitoring.
	Set, Monitor map[string]any
}

// Keys of the conformance suite's account.
const PublicKey = "public-key-of-tests"

// Project is the default one, and the one whose things these are.
const Project = "org-tests"

// Zone is where everything is but an image whose ID begins with Far: that is in FarZone.
const (
	Zone    = "cn-wlcb-01"
	Far     = "far-"
	FarZone = "cn-sh2-02"
)

// Of plays a world of the conformance suite.
func Of(w providertest.World) *Cloud {
	c := &Cloud{Cloud: cloudtest.Of(w), PublicKey: PublicKey, PrivateKey: providertest.Secret, Canary: w.Canary, PageSize: w.PageSize,
		Instances: map[string]Instance{}, Locked: map[string]bool{}}
	c.StopFirst = true
	return c
}

// Change changes the project between two calls.
func (c *Cloud) Change(f func(*Cloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// Calls are the actions called so far.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// request is what a call may have.
type request struct {
	Action, Region, Zone, UHostId, UDiskId, CompShareImageId string //nolint:revive // the API's names

	UHostIds      []string
	Offset, Limit int
	ReleaseUDisk  bool
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var raw json.RawMessage
	var in request
	if !cloudtest.Read(r, &raw) || json.Unmarshal(raw, &in) != nil {
		Code(w, 160, "Missing Action")
		return
	}
	c.calls = append(c.calls, in.Action)
	if code, message := c.unsigned(raw); code != 0 {
		Code(w, code, message)
		return
	}
	do := map[string]func(http.ResponseWriter, request){
		"GetProjectList": c.projects, "DescribeCompShareInstance": c.describe, "StopCompShareInstance": c.stop,
		"TerminateCompShareInstance": c.terminate, "GetCompShareInstanceMonitor": c.monitor,
		"DescribeCompshareDisk": c.disks, "DeleteCompshareDisk": c.deleteDisk, "DescribeCompShareSupportZone": c.zones,
		"DescribeCompShareCustomImages": c.images, "TerminateCompShareCustomImage": c.deleteImage,
	}[in.Action]
	if do == nil {
		Code(w, 161, "Action ["+in.Action+"] not exist")
		return
	}
	do(w, in)
}

// unsigned is the refusal of a request that is not signed as the API wants it; 0 for none.
func (c *Cloud) unsigned(raw json.RawMessage) (int, string) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var all map[string]any
	if dec.Decode(&all) != nil || all["PublicKey"] != c.PublicKey {
		return 172, "User Not Exists"
	}
	signed := all["Signature"]
	delete(all, "Signature")
	text := ""
	for _, k := range slices.Sorted(maps.Keys(all)) {
		text += k
		list, ok := all[k].([]any)
		if !ok {
			list = []any{all[k]}
		}
		for _, v := range list {
			text += fmt.Sprint(v)
		}
	}
	sum := sha1.Sum([]byte(text + c.PrivateKey)) //nolint:gosec // as above
	if signed != hex.EncodeToString(sum[:]) {
		return 171, "Signature VerifyAC Error"
	}
	return 0, ""
}

// Code writes a refusal in the API's form, with the status 200.
func Code(w http.ResponseWriter, code int, message string) {
	cloudtest.Reply(w, http.StatusOK, map[string]any{"RetCode": code, "Message": message})
}

func success(w http.ResponseWriter, in request, more map[string]any) {
	out := map[string]any{"Action": in.Action + "Response", "RetCode": 0}
	maps.Copy(out, more)
	cloudtest.Reply(w, http.StatusOK, out)
}

// refuse writes the refusal for an error of the things; false for none. Of its codes the pages
// have none.
func refuse(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, guard.ErrNotFound):
		Code(w, 8039, "resource not exist")
	case errors.Is(err, guard.ErrConflict):
		Code(w, 8090, "state is not right")
	default:
		Code(w, 8433, "service error")
	}
	return true
}

func (c *Cloud) projects(w http.ResponseWriter, in request) {
	success(w, in, map[string]any{"ProjectSet": []any{
		map[string]any{"ProjectId": Project, "ProjectName": "Default", "IsDefault": true},
		map[string]any{"ProjectId": "org-other", "ProjectName": "Other", "IsDefault": false},
	}})
}

// describe tells of prices only where instances are named.
func (c *Cloud) describe(w http.ResponseWriter, in request) {
	all := []any{}
	for _, t := range c.List(guard.Instance, "") {
		if t.State != guard.StateGone && (in.UHostIds == nil || slices.Contains(in.UHostIds, t.ID)) {
			all = append(all, c.record(t, in.UHostIds != nil))
		}
	}
	size := min(cmp.Or(in.Limit, 20), 100)
	if in.UHostIds == nil {
		size = min(size, cmp.Or(c.PageSize, 100))
	}
	entries, _ := cloudtest.Page(all, in.Offset, size)
	success(w, in, map[string]any{"TotalCount": len(all), "UHostSet": entries})
}

// placed refuses a call that does not say where its instance is, or while another operation
// goes on there.
func (c *Cloud) placed(w http.ResponseWriter, in request, id string) bool {
	switch {
	case in.Region == "" || in.Zone != Zone || !strings.HasPrefix(in.Zone, in.Region):
		Code(w, 230, "Params [Zone] not available")
	case c.Locked[id]:
		Code(w, 8500, "InstanceOperationInProgress")
	default:
		return true
	}
	return false
}

func (c *Cloud) stop(w http.ResponseWriter, in request) {
	if !c.placed(w, in, in.UHostId) {
		return
	}
	if c.Instances[in.UHostId].Spot {
		Code(w, 8091, "spot instance can not be stopped")
		return
	}
	if !refuse(w, c.Stop(in.UHostId)) {
		success(w, in, map[string]any{"UHostId": in.UHostId})
	}
}

func (c *Cloud) terminate(w http.ResponseWriter, in request) {
	if !c.placed(w, in, in.UHostId) {
		return
	}
	first := c.StopFirst
	c.StopFirst = first && !c.Instances[in.UHostId].Spot
	err := c.Release(guard.Instance, in.UHostId)
	c.StopFirst = first
	if refuse(w, err) {
		return
	}
	for _, v := range c.List(guard.Volume, "") {
		if v.AttachedTo != in.UHostId {
			continue
		}
		err = errors.Join(err, c.Edit(guard.Volume, v.ID, func(t *providertest.Thing) { t.AttachedTo = "" }))
		if in.ReleaseUDisk {
			err = errors.Join(err, c.Release(guard.Volume, v.ID))
		}
	}
	if !refuse(w, err) {
		success(w, in, map[string]any{"UHostId": in.UHostId, "InRecycle": "Yes"})
	}
}

// VolumeGB is the size of every data disk.
const VolumeGB = 100

func (c *Cloud) disks(w http.ResponseWriter, in request) {
	all := []any{}
	for _, t := range c.List(guard.Volume, "") {
		if t.State != guard.StateGone {
			all = append(all, map[string]any{"ResourceId": t.ID, "Name": t.Name, "Configuration": fmt.Sprintf("%dGB", VolumeGB), "DiskType": "SSDDataDisk",
				"Status": "Available", "Zone": Zone, "MountInstance": t.AttachedTo, "ChargeType": "Postpay", "ExpiredTime": 0})
		}
	}
	success(w, in, map[string]any{"DiskSet": all, "TotalCount": len(all)})
}

// deleteDisk is idempotent.
func (c *Cloud) deleteDisk(w http.ResponseWriter, in request) {
	if !c.placed(w, in, in.UDiskId) {
		return
	}
	if err := c.Release(guard.Volume, in.UDiskId); errors.Is(err, guard.ErrNotFound) || !refuse(w, err) {
		success(w, in, map[string]any{"UDiskId": in.UDiskId})
	}
}

func (c *Cloud) zones(w http.ResponseWriter, in request) {
	if in.Region == "" {
		Code(w, 230, "Params [Region] not available")
		return
	}
	zone := func(name string) any {
		return map[string]any{"Region": name[:strings.LastIndexByte(name, '-')], "Zone": name, "Describe": name}
	}
	success(w, in, map[string]any{"ZoneInfo": []any{zone(Zone), zone("cn-wlcb-02"), zone(FarZone)}})
}

// ImageMB is the size of every image.
const ImageMB = 100 << 10

// zoneOf is where an image is.
func zoneOf(id string) string {
	if strings.HasPrefix(id, Far) {
		return FarZone
	}
	return Zone
}

// images tells of those of one region.
func (c *Cloud) images(w http.ResponseWriter, in request) {
	all := []any{}
	for _, t := range c.List(guard.Image, "") {
		if in.Region != "" && strings.HasPrefix(zoneOf(t.ID), in.Region) && t.State != guard.StateGone {
			image := map[string]any{"CompShareImageId": t.ID, "Name": t.Name, "ImageType": "Custom", "Status": "Available", "Size": ImageMB, "Visibility": 0,
				"CreateTime": t.Created.Unix(), "Readme": c.Canary}
			maps.Copy(image, c.Images[t.ID])
			all = append(all, image)
		}
	}
	entries, _ := cloudtest.Page(all, in.Offset, min(cmp.Or(in.Limit, 20), cmp.Or(c.PageSize, 100)))
	success(w, in, map[string]any{"TotalCount": len(all), "ImageSet": entries})
}

func (c *Cloud) deleteImage(w http.ResponseWriter, in request) {
	if zone := zoneOf(in.CompShareImageId); in.Zone != zone || !strings.HasPrefix(zone, in.Region) {
		Code(w, 230, "Params [Zone] not available")
		return
	}
	if !refuse(w, c.Release(guard.Image, in.CompShareImageId)) {
		success(w, in, nil)
	}
}
