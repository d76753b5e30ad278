package bench

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/fake"
)

// Fleet is what is generated. The same fleet and seed give the same things.
type Fleet struct {
	Instances int    // at least one an account
	Volumes   int    // most are attached to instances
	Snapshots int    // of the volumes
	Accounts  int    // all things are dealt out to them evenly
	Seed      uint64 // of all that is random
	// Traffic: a monitor tells of every instance each minute, its byte counters too.
	Traffic bool
}

// PageSize is how many entries the cloud puts on a page.
const PageSize = 100

var (
	scopes = []string{"east", "west", "north"}
	begin  = fake.DefaultStart
	// expire is when the first lease ends, after begin. Ten end each second from
	// then on.
	expire = 7 * time.Hour
)

const perSecond = 10

// unleased is which part of the instances nobody registered: one in so many.
const unleased = 50

// size is a kind of instance on offer.
type size struct {
	name   string
	gpus   int
	model  string
	hourly string
	dollar int64 // the hourly price, rounded up
}

var sizes = []size{
	{"gpu.h100.8", 8, "H100", "31.464", 32},
	{"gpu.h100.1", 1, "H100", "3.933", 4},
	{"gpu.a100.8", 8, "A100", "21.9576", 22},
	{"gpu.a100.1", 1, "A100", "2.7447", 3},
	{"gpu.l40s.4", 4, "L40S", "4.5", 5},
	{"gpu.l4.1", 1, "L4", "0.8048", 1},
}

var (
	teams    = []string{"nlp", "vision", "infra", "speech", "robotics"}
	people   = []string{"ana", "bo", "chen", "dara", "eli", "fatima", "goran", "hana"}
	purposes = []string{"lora 70b", "eval sweep", "pretraining ablation", "inference canary", "data preparation", "notebook"}
)

// share is how much of n the i-th of k gets.
func share(n, i, k int) int { return n*(i+1)/k - n*i/k }

func accountName(i int) string { return fmt.Sprintf("lab-%02d", i+1) }

// account makes the cloud of one account, and what was registered in it.
func (f Fleet) account(i int) (s fake.Script, leases []guard.Lease) {
	rnd := rand.New(rand.NewPCG(f.Seed, uint64(i))) //nolint:gosec // a fleet is not a secret
	s = fake.Script{Account: accountName(i), Start: begin, Scopes: scopes, PageSize: PageSize,
		Billing: fake.Billing{Granularity: time.Second, Minimum: time.Minute}}
	instances := make([]fake.Resource, share(f.Instances, i, f.Accounts))
	for n := range instances {
		z := sizes[rnd.IntN(len(sizes))]
		team := teams[rnd.IntN(len(teams))]
		instances[n] = fake.Resource{ID: fmt.Sprintf("i-%016x", rnd.Uint64()), Scope: scopes[n%len(scopes)],
			Name: fmt.Sprintf("%s-%04d", team, n), Type: z.name, GPUs: z.gpus, GPUModel: z.model, Spot: rnd.IntN(5) == 0,
			Created: -time.Duration(1+rnd.IntN(72*3600)) * time.Second,
			Rate:    &fake.Rate{Amount: z.hourly, Per: "hour"},
			Tags:    map[string]string{"team": team, "env": []string{"dev", "prod"}[rnd.IntN(2)], "project": fmt.Sprintf("p-%03d", rnd.IntN(200)), "managed-by": "terraform"}}
		if (f.Instances*i/f.Accounts+n)%unleased != unleased-1 {
			lease := f.lease(s.Account, instances[n], rnd)
			maps.Copy(instances[n].Tags, tagsOf(lease))
			leases = append(leases, lease)
		}
	}
	if f.Traffic {
		s.Egress = &fake.Traffic{Amount: "0.09", Per: "gb"}
		for n, r := range instances {
			s.Timeline = append(s.Timeline, f.works(r, n))
		}
	}
	volumes := make([]fake.Resource, share(f.Volumes, i, f.Accounts))
	for n := range volumes {
		host := n % len(instances)
		volumes[n] = fake.Resource{ID: fmt.Sprintf("vol-%016x", rnd.Uint64()), Kind: guard.Volume, Scope: instances[host].Scope,
			SizeGB: 100 * int64(1+rnd.IntN(20)), Created: instances[host].Created, Rate: &fake.Rate{Amount: "0.08", Per: "gb_month"},
			GoesWithInstance: n < len(instances), Tags: map[string]string{"team": instances[host].Tags["team"]}}
		if n%8 != 7 { // the rest hangs on nothing
			instances[host].Attached = append(instances[host].Attached, volumes[n].ID)
		}
	}
	s.Resources = slices.Concat(instances, volumes)
	for n := range share(f.Snapshots, i, f.Accounts) {
		snap := fake.Resource{ID: fmt.Sprintf("snap-%016x", rnd.Uint64()), Kind: guard.Snapshot, Scope: scopes[n%len(scopes)],
			SizeGB: 100, Created: -time.Duration(1+rnd.IntN(30*24)) * time.Hour, Rate: &fake.Rate{Amount: "0.05", Per: "gb_month"}}
		if len(volumes) > 0 {
			v := volumes[n%len(volumes)]
			snap.Source, snap.Scope, snap.SizeGB, snap.Tags = v.ID, v.Scope, v.SizeGB, v.Tags
		}
		s.Resources = append(s.Resources, snap)
	}
	return s, leases
}

// lease is what a person registered of an instance. Its cap, where it has one, is
// far enough not to be met.
func (f Fleet) lease(account string, r fake.Resource, rnd *rand.Rand) guard.Lease {
	owner := people[rnd.IntN(len(people))]
	l := guard.Lease{
		ID: "l-" + strings.TrimPrefix(r.ID, "i-"), Resource: guard.ResourceID{Account: account, Kind: guard.Instance, Scope: r.Scope, ID: r.ID},
		ResourceCreated: begin.Add(r.Created), Identity: "acct-" + account, Purpose: purposes[rnd.IntN(len(purposes))], Owner: owner,
		RegisteredAt: begin, ExpiresAt: begin.Add(expire), OnLimit: guard.ActRelease, Grace: 10 * time.Minute, Status: guard.LeaseActive,
		UpdatedAt: begin, UpdatedBy: owner, Tags: map[string]string{"ticket": fmt.Sprintf("ML-%d", rnd.IntN(5000))},
	}
	if rnd.IntN(10) > 0 {
		hours := int64((24*time.Hour - r.Created) / time.Hour)
		for _, z := range sizes {
			if z.name == r.Type {
				l.Budget = guard.MustMoney(fmt.Sprintf("%d USD", 4*(z.dollar+1)*hours))
			}
		}
	}
	return l
}

// works is a monitor that begins to tell of an instance: most of them send next to
// nothing, one in ten some megabytes a second.
func (f Fleet) works(r fake.Resource, n int) fake.Event {
	sends := 2_000
	if n%10 == 9 {
		sends = 4_000_000
	}
	of := map[string]fake.Reading{}
	for name, v := range map[string]int{"gpu_util": 90, "gpu_power_w": 500, "gpu_mem_mib": 60_000, "cpu_cores": 8, "processes": 2, "sessions": 0,
		"disk_bytes_s": 1_000_000, "rx_bytes_s": 20_000, "tx_bytes_s": sends} {
		of[name] = fake.Every(float64(v))
	}
	return fake.Event{ID: r.ID, Signals: &fake.Signals{Of: of}}
}

// tagsOf are the tags that guard has put on what a lease claims, but for its
// deployment's, which the fleet cannot know.
func tagsOf(l guard.Lease) map[string]string {
	return map[string]string{guard.TagLease: l.ID, guard.TagPurpose: l.Purpose, guard.TagExpires: l.ExpiresAt.UTC().Format(time.RFC3339)}
}

// written is the lease's own record of those tags, as observe leaves it once they
// are there. Were it another, the fleet would not be quiet, which is checked.
func written(l guard.Lease, deployment string) string {
	tags := tagsOf(l)
	tags[guard.TagDeployment] = deployment
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		b.WriteString(k + "=" + tags[k] + "\n")
	}
	return b.String()
}
