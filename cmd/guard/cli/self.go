package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

const (
	// selfFor bounds the search for what machine this is.
	selfFor = 2 * time.Second
	// metadataEnv replaces the address of the cloud's metadata service.
	metadataEnv = "GUARD_METADATA_URL"
	// metadataURL is where most clouds have it, on a link-local address.
	metadataURL = "http://169.254.169.254"
	// mostMetadata bounds one answer of it.
	mostMetadata = 4 << 10
)

// clue is something that may say which machine this is.
type clue struct {
	id   string
	from string // where it was found
}

// whereabouts is the ACCOUNT/ID of the machine that this runs on: what the cloud
// says of it, looked up among what guardd knows. naming is what a person writes before an
// ACCOUNT/ID to say it themselves.
func (a *app) whereabouts(cmd *cobra.Command, naming string) (string, error) {
	clues := a.clues(cmd.Context())
	if len(clues) == 0 {
		return "", fmt.Errorf("this machine says nothing of which instance it is: no metadata service answers, and the environment names none. Name it: %s ACCOUNT/ID (guard ls shows them)", naming)
	}
	list, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.List, error) {
		return c.List(ctx, client.Filter{Kind: "instance"})
	})
	if err != nil {
		for _, c := range clues {
			a.say(fmt.Sprintf("this machine is %s, by %s; which account that is in only guardd knows. To do without, name it: %s ACCOUNT/%s", c.id, c.from, naming, c.id))
		}
		return "", err
	}
	var found, by []string
	for _, it := range list.Items {
		i := slices.IndexFunc(clues, func(c clue) bool { return c.id == it.ID || slices.Contains(it.Nodes, c.id) })
		if it.EndedAt == nil && it.Expect == nil && i >= 0 {
			found, by = append(found, it.Account+"/"+it.ID), append(by, clues[i].from)
		}
	}
	switch {
	case len(found) == 1:
		a.say(fmt.Sprintf("this machine is %s, by %s", found[0], by[0]))
		return found[0], nil
	case len(found) > 1:
		return "", usagef("this machine could be %s: name the one that it is", strings.Join(found, " or "))
	}
	var ids []string
	for _, c := range clues {
		ids = append(ids, c.id+" (by "+c.from+")")
	}
	return "", fmt.Errorf("this machine is %s, and guard knows of no such instance. One that was just made may take a minute to show; or its account is not configured. In an account of provider manual it is known once somebody names it: %s ACCOUNT/ID", strings.Join(ids, ", or "), naming)
}

// clues are what there is, each ID once, the surest first.
func (a *app) clues(ctx context.Context) []clue {
	var out []clue
	add := func(id, from string) {
		if id = strings.TrimSpace(id); bare(id) && !slices.ContainsFunc(out, func(c clue) bool { return c.id == id }) {
			out = append(out, clue{id, from})
		}
	}
	look := func(env func(string) string, whose string) {
		for _, v := range boxEnv {
			add(strings.TrimPrefix(env(v.name), v.prefix), v.name+whose)
		}
		if d, c := env(deploymentEnv), env(containerEnv); bare(d) && bare(c) {
			out = append(out, clue{"deployment/" + d + "/" + c, deploymentEnv + whose})
		}
	}
	look(a.Env, "")
	if a.Machine != nil {
		env := a.machineEnv()
		look(func(name string) string { return env[name] }, " of the first process")
		for _, f := range boxFiles {
			b, _ := a.Machine(f)
			add(string(b), f)
		}
	}
	for _, c := range a.metadata(ctx) {
		add(c.id, c.from)
	}
	return out
}

// bare reports what can be an ID, and no page or path.
func bare(id string) bool {
	return id != "" && len(id) <= 128 && clean(id) == id && !strings.ContainsAny(id, " /<")
}

// boxEnv are the variables in which a cloud tells a container which one it is, by their
// documentation and by what people's own scripts read (2026).
var boxEnv = []struct{ name, prefix string }{
	{"RUNPOD_POD_ID", ""},
	{"CONTAINER_ID", ""},          // Vast: the instance's number
	{"VAST_CONTAINERLABEL", "C."}, // Vast: C.NUMBER
	{containerEnv, ""},
}

// What AutoDL tells a container: its own ID, and its deployment's where it is of one.
const (
	containerEnv  = "AutoDLContainerUUID"
	deploymentEnv = "AutoDLDeploymentUUID"
)

// boxFiles hold nothing but the instance's ID, where they are: cloud-init's, and the
// asset tag that EC2 puts into the firmware's tables.
var boxFiles = []string{"/var/lib/cloud/data/instance-id", "/sys/class/dmi/id/board_asset_tag"}

// machineEnv is the environment of the first process: a login over SSH has none of
// what the cloud gave the container.
func (a *app) machineEnv() map[string]string {
	b, _ := a.Machine("/proc/1/environ")
	env := map[string]string{}
	for kv := range bytes.SplitSeq(b, []byte{0}) {
		if k, v, ok := strings.Cut(string(kv), "="); ok {
			env[k] = v
		}
	}
	return env
}

// machineFile reads a small file of this machine.
func machineFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 64<<10))
}

// service is how one cloud's metadata service tells the instance's ID.
type service struct {
	cloud       string
	path        string
	header      string // what it wants to see, "Name: value"
	tokenPath   string // where a token is to be had first, and …
	tokenWant   string // … the header of that request
	tokenHeader string // the header that shows it
	field       string // of a JSON answer; "": the answer is the ID
}

var services = []service{
	{cloud: "EC2", path: "/latest/meta-data/instance-id", tokenPath: "/latest/api/token",
		tokenWant: "X-aws-ec2-metadata-token-ttl-seconds: 60", tokenHeader: "X-aws-ec2-metadata-token"},
	{cloud: "Google Cloud", path: "/computeMetadata/v1/instance/id", header: "Metadata-Flavor: Google"},
	{cloud: "Azure", path: "/metadata/instance/compute/vmId?api-version=2021-02-01&format=text", header: "Metadata: true"},
	{cloud: "Oracle Cloud", path: "/opc/v2/instance/id", header: "Authorization: Bearer Oracle"},
	{cloud: "DigitalOcean", path: "/metadata/v1/id"},
	{cloud: "Hetzner", path: "/hetzner/v1/metadata/instance-id"},
	{cloud: "OpenStack", path: "/openstack/latest/meta_data.json", field: "uuid"},
}

// metadata asks all services at once: only the right one answers, and a machine that
// has none must not be waited for long.
func (a *app) metadata(ctx context.Context) []clue {
	base := a.Env(metadataEnv)
	if base == "" {
		if a.Machine == nil {
			return nil
		}
		base = metadataURL
	}
	ctx, cancel := context.WithTimeout(ctx, selfFor-200*time.Millisecond)
	defer cancel()
	h := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}, // a proxy would answer for another machine
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	found := make([]clue, len(services))
	var wg sync.WaitGroup
	for i, s := range services {
		wg.Go(func() {
			if id, err := s.ask(ctx, h, strings.TrimSuffix(base, "/")); err == nil {
				found[i] = clue{id, s.cloud + "'s metadata service"}
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(found, func(c clue) bool { return c.id == "" })
}

func (s service) ask(ctx context.Context, h *http.Client, base string) (string, error) {
	want := []string{s.header}
	if s.tokenPath != "" {
		token, err := fetch(ctx, h, http.MethodPut, base+s.tokenPath, s.tokenWant)
		if err != nil {
			return "", err
		}
		want = append(want, s.tokenHeader+": "+token)
	}
	text, err := fetch(ctx, h, http.MethodGet, base+s.path, want...)
	if err != nil || s.field == "" {
		return text, err
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return "", err
	}
	id, _ := fields[s.field].(string)
	return id, nil
}

// fetch is one request to a metadata service. Headers are "Name: value".
func fetch(ctx context.Context, h *http.Client, method, url string, headers ...string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", err
	}
	for _, line := range headers {
		if name, value, ok := strings.Cut(line, ": "); ok {
			req.Header.Set(name, value)
		}
	}
	resp, err := h.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostMetadata))
	return strings.TrimSpace(string(b)), err
}
