package cli_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"guard"
	"guard/cmd/guard/cli"
	"guard/daemon/api"
	"guard/daemon/decide"
	"guard/daemon/doctor"
	"guard/daemon/meter"
	"guard/daemon/observe"
	"guard/daemon/report"
	"guard/daemon/wire"
	"guard/policy"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"guard": func() { os.Exit(cli.Main(os.Args[1:]...)) }})
}

// TestScripts runs the real command against the real API and the real loops over
// a ledger in memory and the fake cloud; the caller of the socket is called ana.
// Script commands: `pass DURATION` moves time on and runs the loops, `cloud
// reclaim|delete ID`, `mode observe|enforce`, `fault CALL STATUS` (or html), `trouble`
// leaves a blocked release, `hang` makes the daemon silent, `away` ends it and `back`
// starts it on the same socket, `metadata CLOUD ID` is a metadata service, `adopt ID` registers
// it as guard would, `node ID NODE` makes it a cluster with that node.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("GUARD_UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			d, err := newDaemon()
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "guard") // socket paths are short
			if err != nil {
				return err
			}
			addr, err := d.serve(filepath.Join(dir, "s"))
			if err != nil {
				return err
			}
			e.Defer(func() { d.stop(); os.RemoveAll(dir) })
			e.Setenv("GUARD_ADDR", addr)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("SOCKET", strings.TrimPrefix(addr, "unix:"))
			e.Values["daemon"] = d
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"pass":    command((*testDaemon).passCommand),
			"cloud":   command((*testDaemon).cloudCommand),
			"mode":    command((*testDaemon).modeCommand),
			"fault":   command((*testDaemon).faultCommand),
			"trouble": command((*testDaemon).troubleCommand),
			"hang":    command((*testDaemon).hangCommand),
			"away":    command((*testDaemon).awayCommand),
			"back":    command((*testDaemon).backCommand),
			"adopt":   command((*testDaemon).adoptCommand),
			"node":    command((*testDaemon).nodeCommand),
			"metadata": func(ts *testscript.TestScript, _ bool, args []string) {
				srv := httptest.NewServer(metadata(args[0], args[1]))
				ts.Defer(srv.Close)
				ts.Setenv("GUARD_METADATA_URL", srv.URL)
			},
		},
	})
}

func command(run func(*testDaemon, []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(run(ts.Value("daemon").(*testDaemon), args))
	}
}

// testDaemon is the API with loops that run once after every order.
type testDaemon struct {
	cloud  *fake.Cloud
	acct   *providers.Account
	ledger *store.Ledger
	loops  []func(context.Context, guard.Instant) (guard.Instant, error)
	api    http.Handler // as those meet it whom no connection vouches for
	srv    *http.Server
	socket string
	hung   chan struct{}

	mu     sync.Mutex
	at     guard.Instant
	pushed []guard.Sample // by agents
}

func newDaemon() (*testDaemon, error) {
	cloud, err := fake.NewCloud(fake.Lab())
	if err != nil {
		return nil, err
	}
	d := &testDaemon{cloud: cloud, acct: cloud.Account(), at: cloud.At(0), hung: make(chan struct{})}
	d.acct.Mode, d.acct.Sweep = guard.Enforce, time.Minute
	if d.ledger, err = store.Open(context.Background(), memory.New(), d.at); err != nil {
		return nil, err
	}
	account := func(name string) (*providers.Account, bool) { return d.acct, name == d.acct.Name }
	zone := time.FixedZone("Asia/Shanghai", 8*3600)
	rules := policy.DefaultRules()
	judge := decide.New(decide.Config{Ledger: d.ledger, Accounts: []*providers.Account{d.acct}, Rules: rules, Zone: zone})
	d.loops = append(d.loops,
		observe.New(observe.Config{Ledger: d.ledger, Account: d.acct}).Once,
		meter.New(meter.Config{Ledger: d.ledger, Account: account, Rules: rules}).Once,
		judge.Once)
	d.api = api.New(api.Options{
		Ledger: d.ledger, Account: account, AccountNames: func() []string { return []string{"lab"} }, Now: d.now, Kick: func(string) {},
		Rules: func() policy.Rules { return rules }, Location: func() *time.Location { return zone },
		Channels: func() []string { return []string{"log"} }, Why: judge.Why, Signals: api.Signals{Push: d.push},
		Health: func(guard.Instant) wire.Health {
			at := d.cloud.At(0).Wall
			return wire.Health{OK: true, Loops: []wire.Loop{{Name: "observe/lab", Last: &at}, {Name: "decide", Last: &at}}}
		}, Version: "test",
		Examine: func(ctx context.Context, at guard.Instant, s wire.Status) wire.Diagnosis {
			leased, err := doctor.Leased(ctx, d.ledger)
			if err != nil {
				panic(err)
			}
			return doctor.Examine(ctx, at, doctor.Patient{Accounts: []*providers.Account{d.acct}, Leased: leased, Status: &s})
		},
		Storage: func(context.Context) wire.Storage {
			begun := d.cloud.At(0).Wall
			return wire.Storage{Path: "/var/lib/guard/ledger.db", Schema: 2, Size: 3 << 20, Disk: 20 << 30, Free: 12 << 30, Folder: "/backup", Backups: 7, Newest: &begun}
		},
		Delivery: func(v *store.View) ([]wire.Channel, error) { return []wire.Channel{{Name: "log"}}, nil },
		Report: func(ctx context.Context, at guard.Instant, lang guard.Lang) (wire.Report, error) {
			c := report.Config{Ledger: d.ledger, Zone: zone, Loops: func() []report.Run { return nil }}
			digest, err := report.NewDigest(c, nil, nil).Gather(ctx, at, false)
			return report.Wire(digest, lang), err
		},
	})
	d.srv = &http.Server{Handler: d.settled(api.As(api.Caller{Name: "ana", Role: guard.Admin}, d.api))}
	return d, d.cycle()
}

func (d *testDaemon) now() guard.Instant {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// cycle runs every loop once.
func (d *testDaemon) cycle() error {
	at := d.now()
	for _, once := range d.loops {
		if _, err := once(guard.WithInstant(context.Background(), at), at); err != nil {
			return err
		}
	}
	return nil
}

// settled runs the loops after every order, as the scheduler's kicks would.
func (d *testDaemon) settled(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-d.hung:
			<-r.Context().Done()
			return
		default:
		}
		h.ServeHTTP(w, r)
		if r.Method == http.MethodPost {
			if err := d.cycle(); err != nil {
				panic(err)
			}
		}
	})
}

func (d *testDaemon) serve(socket string) (string, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return "", err
	}
	d.socket = socket
	go d.srv.Serve(l)
	return "unix:" + socket, nil
}

func (d *testDaemon) stop() { d.srv.Close() }

func (d *testDaemon) passCommand(args []string) error {
	by, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	for by > 0 { // in polls, as it would be
		step := min(by, time.Minute)
		by -= step
		d.mu.Lock()
		d.at = d.at.Add(step)
		d.mu.Unlock()
		d.cloud.Advance(d.now().Wall)
		if err := d.cycle(); err != nil {
			return err
		}
	}
	return nil
}

func (d *testDaemon) cloudCommand(args []string) error {
	e := fake.Event{ID: args[1]}
	switch args[0] {
	case "reclaim":
		e.Reclaim = &fake.Reclaim{}
	case "delete":
		e.Delete = true
	case "create":
		e.ID, e.Create = "", &fake.Resource{ID: args[1], Name: args[2], Rate: &fake.Rate{Amount: "20", Per: "hour"}}
	default:
		return fmt.Errorf("cloud %s?", args[0])
	}
	return d.cloud.Do(e)
}

func (d *testDaemon) modeCommand(args []string) error {
	d.acct.Mode = guard.Mode(args[0])
	return nil
}

func (d *testDaemon) faultCommand(args []string) error {
	reply := fake.Reply{HTML: true}
	if args[1] != "html" {
		reply = fake.Reply{}
		if _, err := fmt.Sscan(args[1], &reply.Status); err != nil {
			return err
		}
	}
	d.cloud.Fault(fake.Fault{Call: args[0], Reply: reply})
	return nil
}

func (d *testDaemon) troubleCommand([]string) error {
	at := d.now()
	return d.ledger.Update(context.Background(), func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "r", Target: d.cloud.ID(guard.Instance, "i-2"), State: guard.ReleaseBlocked, Reason: guard.BlockPermission,
			Action: guard.ActRelease, Cause: guard.CausePerson, By: "ana", Why: "ordered by ana", LastError: "403", BlockedAt: at.Wall})
	})
}

func (d *testDaemon) hangCommand([]string) error {
	close(d.hung)
	return nil
}

func (d *testDaemon) awayCommand([]string) error { return d.srv.Close() }

func (d *testDaemon) backCommand([]string) error {
	d.srv = &http.Server{Handler: d.srv.Handler}
	_, err := d.serve(d.socket)
	return err
}

func (d *testDaemon) adoptCommand(args []string) error {
	return d.ledger.Update(context.Background(), func(tx *store.Tx) error {
		id := d.cloud.ID(guard.Instance, args[0])
		o, _, err := tx.Observed.Get(id.Key())
		if err != nil {
			return err
		}
		at := d.now().Wall
		return tx.Leases.Put(guard.Lease{ID: "l-adopted", Resource: id, ResourceCreated: o.Resource.Created, Identity: o.Identity, Owner: "guard", Adopted: true,
			RegisteredAt: at, ExpiresAt: at.Add(2 * time.Hour), OnLimit: guard.ActRelease, Grace: time.Minute, Status: guard.LeaseActive, UpdatedAt: at, UpdatedBy: "guard"})
	})
}

func (d *testDaemon) nodeCommand(args []string) error {
	return d.ledger.Update(context.Background(), func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(d.cloud.ID(guard.Instance, args[0]).Key())
		if err != nil {
			return err
		}
		o.Resource.Nodes = append(o.Resource.Nodes, args[1])
		return tx.Observed.Put(o)
	})
}

// metadata is a cloud's metadata service, which answers its own questions only.
func metadata(cloud, id string) http.Handler {
	mux := http.NewServeMux()
	switch cloud {
	case "ec2":
		mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "" {
				fmt.Fprint(w, "secret")
			}
		})
		mux.HandleFunc("GET /latest/meta-data/instance-id", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-aws-ec2-metadata-token") != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, id)
		})
	case "google":
		mux.HandleFunc("GET /computeMetadata/v1/instance/id", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Metadata-Flavor") == "Google" {
				fmt.Fprintln(w, id)
			}
		})
	case "openstack":
		mux.HandleFunc("GET /openstack/latest/meta_data.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"uuid":%q}`, id) })
	case "portal": // a hotel's: everything is its page
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in</html>") })
	case "silent":
		mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	}
	return mux
}

func (d *testDaemon) releases(t *testing.T) []guard.Release {
	t.Helper()
	var out []guard.Release
	err := d.ledger.View(t.Context(), func(v *store.View) error {
		for r, err := range v.Releases.All("") {
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
