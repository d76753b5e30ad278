package autodl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// refusedFor is how long an account that may have no deployments is not asked again.
const refusedFor = 6 * time.Hour

// hasNone reports whether the account was told not long ago that deployments are not for it.
// They want a verified company: one without can have none.
func (p *Provider) hasNone(ctx context.Context) bool {
	now := providers.Clock(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.refused.IsZero() && now.Sub(p.refused).Abs() < refusedFor
}

func (p *Provider) noDeployments(ctx context.Context) {
	now := providers.Clock(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = now
}

// deploymentPrefix stands before a container's deployment and its own ID.
const deploymentPrefix = "deployment/"

func containerID(deployment, container string) string {
	return deploymentPrefix + deployment + "/" + container
}

// containerOf takes a container's ID apart; false for what is none.
func containerOf(id string) (deployment, container string, ok bool) {
	id, ok = strings.CutPrefix(id, deploymentPrefix)
	if !ok {
		return "", "", false
	}
	deployment, container, _ = strings.Cut(id, "/")
	return deployment, container, true
}

// deployment is what is read of an elastic deployment.
type deployment struct {
	ID       providers.Field `json:"uuid"`
	Name     providers.Field `json:"name"`
	Starting providers.Field `json:"starting_num"`
	Running  providers.Field `json:"running_num"`
}

func (x deployment) key() (string, bool) { return x.ID.ID(maxID) }

// idle reports whether a deployment says that it has no containers.
func (x deployment) idle() bool {
	starting, ok1 := x.Starting.Count(maxPages * pageSize)
	running, ok2 := x.Running.Count(maxPages * pageSize)
	return ok1 && ok2 && starting+running == 0
}

// container is what is read of one of its containers. Its `info` has a password.
type container struct {
	ID      providers.Field `json:"uuid"`
	Status  providers.Field `json:"status"`
	GPU     providers.Field `json:"gpu_name"`
	GPUs    providers.Field `json:"gpu_num"`
	Price   providers.Field `json:"price"`
	Created providers.Field `json:"created_at"`
	Started providers.Field `json:"started_at"`
	Stopped providers.Field `json:"stopped_at"`
}

func (x container) key() (string, bool) { return x.ID.ID(maxID) }

// errNone: deployments are not for this account.
var errNone = errors.New("no deployments")

// containers reads those of all deployments that have any. It is errNone where the account is
// told, in these very words, that the list is not for it, and was never given one.
func (p *Provider) containers(ctx context.Context) ([]guard.Resource, error) {
	deployments, err := list[deployment](ctx, p, nil, deploymentsPath)
	p.mu.Lock()
	p.company = p.company || err == nil || len(deployments) > 0
	none := errors.Is(err, errNoRight) && !p.company
	p.mu.Unlock()
	if none {
		return nil, errNone
	}
	err = always(err)
	var out []guard.Resource
	for _, d := range deployments {
		if d.idle() || providers.EndsAll(err) {
			continue
		}
		id, _ := d.key()
		all, failed := list[container](ctx, p, map[string]any{"deployment_uuid": id, "released": false}, containersPath)
		for _, x := range all {
			out = append(out, p.container(id, d.Name.Text(maxName), x))
		}
		err = cmp.Or(err, always(failed))
	}
	return out, err
}

// container makes an instance of one of a deployment's. One that is shut down has ended: it
// bills no more, and another takes its place.
func (p *Provider) container(deployment, name string, x container) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(Deployments, containerID(deployment, id)), Name: name, State: stateOf(x.Status), RawState: x.Status.Text(maxWord),
		Created: nullTime(x.Created), GPUModel: x.GPU.Text(maxName), HasGPU: guard.Unknown,
		Bills: guard.Yes, StopSaves: guard.StopUnsupported, Group: deployment, ReleaseProtected: guard.No,
	}
	r.Type = r.GPUModel
	if r.Created.IsZero() {
		r.Created = nullTime(x.Started)
	}
	if n, ok := x.GPUs.Count(maxGPUs); ok {
		r.GPUs, r.HasGPU = int(n), guard.TriOf(n > 0)
	}
	r.Rate = thousandth(x.Price)
	if rate, ok := p.book.Instance(prices.Want{Type: r.Type, Scope: Deployments, GPUs: r.GPUs}); ok {
		r.Rate = rate
	}
	if r.State == guard.StateStopped {
		r.State, r.Bills, r.Changed = guard.StateGone, guard.No, nullTime(x.Stopped)
	}
	return r
}

// readContainer looks for a container among those of its deployment that are there, and where
// it is not, among those that are gone.
func (p *Provider) readContainer(ctx context.Context, deployment, id string) (guard.Resource, error) {
	if deployment == "" || id == "" || strings.Contains(id, "/") {
		return guard.Resource{}, fmt.Errorf("%w: a container is deployment/DEPLOYMENT/CONTAINER", guard.ErrInvalid)
	}
	for _, released := range []bool{false, true} {
		all, err := list[container](ctx, p, map[string]any{"deployment_uuid": deployment, "container_uuid": id, "released": released}, containersPath)
		for _, x := range all {
			if got, _ := x.key(); got != id {
				continue
			}
			r := p.container(deployment, "", x)
			if released {
				r.State, r.Bills = guard.StateGone, guard.No
			}
			return r, nil
		}
		if err != nil {
			return guard.Resource{}, err
		}
	}
	return guard.Resource{}, fmt.Errorf("%w: the deployment never had it", guard.ErrNotFound)
}

// endContainer stops a container, and takes it out of what its deployment keeps up, so that
// none comes in its place. A deployment that keeps up none heeds only the first (pages).
func (p *Provider) endContainer(ctx context.Context, deployment, id string) error {
	x, err := p.readContainer(ctx, deployment, id)
	if err != nil {
		return err
	}
	if x.State == guard.StateGone || x.State == guard.StateStopping {
		return nil // once more would take another one out
	}
	err = p.order(ctx, http.MethodPut, map[string]any{"deployment_container_uuid": id, "decrease_one_replica_num": true}, endPath)
	if errors.Is(err, errNoRight) {
		return fmt.Errorf("%w; only a verified company has deployments", err)
	}
	return err
}
