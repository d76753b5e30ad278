package configs

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"guard"
	"guard/policy"
	"guard/policy/activity"
)

var update = flag.Bool("update", false, "write what is found into the golden cases")

// cloud is an adapter's section of the shapes that adapters have.
type cloud struct {
	Profile  string        `yaml:"profile"`
	Regions  []string      `yaml:"regions"`
	Endpoint string        `yaml:"endpoint"`
	Key      guard.Secret  `yaml:"key"`
	Wait     time.Duration `yaml:"wait"`
	Retries  int           `yaml:"retries"`
}

// Check refuses two things that exclude each other, and a section without key.
func (c *cloud) Check(report func(key, problem string)) {
	if c.Profile != "" && c.Endpoint != "" {
		report("endpoint", "cannot stand beside profile")
	}
	if c.Retries < 0 {
		report("", "retries are below nothing")
	}
}

// probe is a source's section of the shapes that sources have.
type probe struct {
	URL   string            `yaml:"url"`
	Hosts map[string]string `yaml:"hosts"`
}

// Resources names the hosts.
func (p probe) Resources() map[string]string {
	out := map[string]string{}
	for id := range p.Hosts {
		out["hosts."+id] = id
	}
	return out
}

var built = &Decoders{Providers: map[string]SectionDecoder{
	"aws":  SectionOf(cloud{Regions: []string{"all"}}),
	"fake": SectionOf(struct{}{}),
}, Sources: map[string]SectionDecoder{
	"prometheus": SectionOf(probe{}),
	"ssh":        SectionOf(probe{}),
}, Address: func(address guard.Secret) error {
	if !strings.HasPrefix(address.Reveal(), "feishu:") && !strings.HasPrefix(address.Reveal(), "generic+http:") {
		return fmt.Errorf("%w: its scheme names no service", guard.ErrInvalid)
	}
	return nil
}}

// TestMain sets a zone that no test expects: the machine's own must not decide
// what a schedule means.
func TestMain(m *testing.M) {
	time.Local = time.FixedZone("machine", -3*3600-1800)
	os.Exit(m.Run())
}

const canary = "canary-4f9a8811d0"

func env(name string) (string, bool) {
	v, ok := map[string]string{
		"SLACK_BOT_TOKEN": "xoxb-" + canary,
		"SLACK_APP_TOKEN": "xapp-" + canary,
		"FEISHU_URL":      "feishu://open.feishu.cn/open-apis/bot/v2/hook/" + canary,
		"OTHER_URL":       "https://open.feishu.cn/open-apis/bot/v2/hook/" + canary,
		"HEARTBEAT_URL":   "https://hc.example.com/" + canary,
		"PLAIN_URL":       "http://hc.example.com/" + canary,
		"EMPTY":           "",
		"TWO_LINES":       canary + "\n" + canary,
	}[name]
	return v, ok
}

func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	return Load([]byte(text), "guard.yaml", built, env)
}

func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestGolden loads guard.yaml of each case, with the other files beside it, and
// compares the problems, or the notes where there are none.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden cases:", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			var text, want []byte
			for _, f := range ar.Files {
				switch f.Name {
				case "guard.yaml":
					text = f.Data
				case "want":
					want = f.Data
					continue
				}
				if err := os.MkdirAll(filepath.Dir(f.Name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := "loads\n"
			switch c, err := load(t, string(text)); {
			case err != nil:
				got = err.Error() + "\n"
			case len(c.Notes) > 0:
				got += Problems(c.Notes).Error() + "\n"
			}
			if *update {
				for i, f := range ar.Files {
					if f.Name == "want" {
						ar.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(path, txtar.Format(ar), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", ar.Comment, diff)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"", "\n# nothing\n", "---\n", "rules:\nnotify:\naccounts:\n"} {
		c := mustLoad(t, text)
		if c.Mode != guard.Observe || c.Ledger != (Ledger{"bolt", "/var/lib/guard/ledger.db"}) ||
			c.Listen.Unix != "/run/guard/guard.sock" || c.TimeZone != time.UTC || c.Notify.Slack != nil {
			t.Errorf("%q: %+v", text, c)
		}
		if diff := cmp.Diff(policy.DefaultRules(), c.Rules); diff != "" {
			t.Errorf("%q: rules (-default +got):\n%s", text, diff)
		}
	}
	a, ok := mustLoad(t, "mode: enforce\naccounts: [{name: a, provider: aws}]").Account("a")
	if !ok || a.Mode != guard.Enforce || !a.MayRelease.GPU || a.MayRelease.Tags != nil || a.Line != 2 {
		t.Errorf("%+v", a)
	}
	poll, _ := a.Poll.Interval()
	sweep, _ := a.Sweep.Interval()
	if poll != time.Minute || sweep != 30*time.Minute {
		t.Errorf("poll %v, sweep %v", poll, sweep)
	}
	if s, ok := a.Section.(cloud); !ok || !slices.Equal(s.Regions, []string{"all"}) {
		t.Errorf("section %#v: defaults of the adapter are lost", a.Section)
	}
}

// TestDefaultsStayUnderACeiling: a default that nobody wrote follows the ceiling.
func TestDefaultsStayUnderACeiling(t *testing.T) {
	c := mustLoad(t, "ceilings: {ttl: 4h}")
	if c.Rules.Defaults.TTL != 4*time.Hour || c.Rules.Ceilings.TTL != 4*time.Hour {
		t.Errorf("defaults %+v under %+v", c.Rules.Defaults, c.Rules.Ceilings)
	}
}

func TestEverythingSet(t *testing.T) {
	c := mustLoad(t, `
mode: observe
ledger: bolt:ledger.db
listen: unix:/tmp/g.sock
time_zone: Asia/Shanghai
accounts:
  - name: research
    provider: aws
    mode: enforce
    may_release: {gpu: false, tags: {team: nlp}}
    poll: 90s
    sweep: "0 */6 * * *"
    aws: {profile: guard, regions: [us-east-1, eu-west-1], key: {env: SLACK_BOT_TOKEN}, wait: 1m30s, retries: 3}
  - {name: 研究, provider: fake}
protect: {tags: {keep: "yes"}}
defaults: {ttl: 2d, on_limit: stop, grace: 20m}
rules:
  unregistered: {off: true, warn: 1w, act: 2w, then: alert, adopt: {ttl: 2h}, match: {owner: [ana, b*], account: research}}
  expiry: {warn: [15m, 3h, 1h], remind: 1d, match: {tags: {team: nlp}}}
  budget: {warn: [95%, 50%], egress_at_most: true}
  orphan_volume: {warn: 2h, grace: 12h, remind: never, match: {kind: volume}}
  orphan_snapshot: {act: 10d, grace: 48h, then: release}
  stopped_billing: {act: 3d, then: release, remind: 3d}
  provisioning_long: {warn: 20m, act: 1h}
  price_changed: {over: 150%}
  egress_spike: {hour: 3USD, day: 80 CNY, remind: 12h}
  balance_low: {warn: 12h, remind: never, match: {account: [research]}}
  provider_reclaim: {warn: 3d, match: {kind: volume}}
  renews_soon: {warn: 4d, remind: 24h}
  charge_mismatch: {over: 5%}
  idle_empty: {warn: 20m, act: 40m, grace: 5m, match: {tags: {team: nlp}}}
  idle_resident: {tiers: [alert, {after: 45m, then: stop}]}
  idle_blind: {tiers: [stop]}
  parked: {warn: 90m, then: stop}
  hung: {off: true}
busy: {gpu: 0.5%, cpu_cores: 2, net: 1.5MiB/s, disk: 300 kB/s, boot_grace: 6h, coverage: 90%}
ceilings: {ttl: 7d, budget: [10000CNY, 1500 USD]}
limits: {unforeseen_per_hour: 0, unforeseen_percent: 100, forced_unprotect: true}
release: {verify: 90s}
notify:
  slack: {token: {env: SLACK_BOT_TOKEN}, channel: "#gpu", endpoint: "http://127.0.0.1:9/api/"}
`)
	want := policy.Rules{
		Per: map[guard.Rule]policy.Per{
			guard.RuleUnregistered:    {Off: true, Match: policy.Match{Owner: []string{"ana", "b*"}, Account: []string{"research"}}},
			guard.RuleExpired:         {Remind: 24 * time.Hour, Match: policy.Match{Tags: map[string]string{"team": "nlp"}}},
			guard.RuleIdleEmpty:       {Grace: 5 * time.Minute, Match: policy.Match{Tags: map[string]string{"team": "nlp"}}},
			guard.RuleHung:            {Off: true},
			guard.RuleEgressSpike:     {Remind: 12 * time.Hour},
			guard.RuleUnderused:       {Remind: 24 * time.Hour},
			guard.RuleBalanceLow:      {Match: policy.Match{Account: []string{"research"}}},
			guard.RuleRenewsSoon:      {Remind: 24 * time.Hour},
			guard.RuleProviderReclaim: {Match: policy.Match{Kind: []guard.Kind{guard.Volume}}},
			guard.RuleOrphanVolume:    {Grace: 12 * time.Hour, Match: policy.Match{Kind: []guard.Kind{guard.Volume}}},

			guard.RuleStoppedBilling:   {Remind: 3 * 24 * time.Hour},
			guard.RuleOrphanSnapshot:   {Remind: 7 * 24 * time.Hour, Grace: 48 * time.Hour},
			guard.RuleOrphanImage:      {Remind: 7 * 24 * time.Hour, Grace: 72 * time.Hour},
			guard.RuleOrphanAddress:    {Remind: 7 * 24 * time.Hour, Grace: 24 * time.Hour},
			guard.RuleOrphanFilesystem: {Remind: 7 * 24 * time.Hour, Grace: 72 * time.Hour},
		},
		Unregistered: policy.Unregistered{After: 7 * 24 * time.Hour, Act: 14 * 24 * time.Hour, Then: guard.ActAlert,
			Adopt: &policy.Adopt{TTL: 2 * time.Hour, OnLimit: guard.ActAlert}},
		Expiry:           policy.Expiry{Warn: []time.Duration{3 * time.Hour, time.Hour, 15 * time.Minute}},
		Budget:           policy.Budget{Warn: []int{50, 95}, EgressAtMost: true},
		EgressSpike:      policy.EgressSpike{Hour: guard.MustMoney("3 USD"), Day: guard.MustMoney("80 CNY"), Then: guard.ActAlert},
		BalanceLow:       policy.BalanceLow{Warn: 12 * time.Hour},
		ProviderReclaim:  policy.ProviderReclaim{Warn: 3 * 24 * time.Hour},
		RenewsSoon:       policy.RenewsSoon{Warn: 4 * 24 * time.Hour},
		ChargeMismatch:   policy.ChargeMismatch{Over: 5},
		StoppedBilling:   policy.StoppedBilling{Warn: 24 * time.Hour, Act: 72 * time.Hour, Then: guard.ActRelease},
		ProvisioningLong: policy.ProvisioningLong{After: 20 * time.Minute, Act: time.Hour},
		Orphans: map[guard.Kind]policy.Orphan{
			guard.Volume:     {After: 2 * time.Hour, Then: guard.ActAlert},
			guard.Snapshot:   {After: 24 * time.Hour, Act: 10 * 24 * time.Hour, Then: guard.ActRelease},
			guard.Image:      {After: 24 * time.Hour, Then: guard.ActAlert},
			guard.Address:    {After: time.Hour, Then: guard.ActAlert},
			guard.Filesystem: {After: 24 * time.Hour, Then: guard.ActAlert},
		},
		PriceChanged: policy.PriceChanged{Over: 150},
		IdleEmpty:    policy.Judgement{Warn: 20 * time.Minute, Act: 40 * time.Minute, Then: guard.ActStop},
		IdleResident: policy.Judgement{Warn: time.Hour, Act: 105 * time.Minute, Then: guard.ActStop},
		IdleBlind:    policy.Judgement{Warn: 3 * time.Hour, Act: 3 * time.Hour, Then: guard.ActStop},
		Parked:       policy.Judgement{Warn: 90 * time.Minute, Then: guard.ActStop},
		Hung:         policy.Judgement{Warn: 40 * time.Minute, Then: guard.ActAlert},
		Underused:    policy.Judgement{Warn: 6 * time.Hour, Then: guard.ActAlert},
		Busy:         activity.Busy{GPU: 0.5, CPUCores: 2, Net: 1.5 * (1 << 20), Disk: 300e3, Boot: 6 * time.Hour, Coverage: 0.9},
		Protect:      policy.Protect{Tags: map[string]string{"keep": "yes"}},
		Limits:       policy.Limits{UnforeseenPercent: 100, ForcedUnprotect: true},
		Ceilings:     policy.Ceilings{TTL: 7 * 24 * time.Hour, Budget: []guard.Money{guard.MustMoney("10000 CNY"), guard.MustMoney("1500 USD")}},
		Verify:       90 * time.Second,
		Defaults:     policy.Defaults{TTL: 48 * time.Hour, OnLimit: guard.ActStop, Grace: 20 * time.Minute},
	}
	if diff := cmp.Diff(want, c.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if c.TimeZone.String() != "Asia/Shanghai" || c.Listen.Unix != "/tmp/g.sock" || c.Ledger.Path != "ledger.db" {
		t.Errorf("%+v", c)
	}
	if c.Notify.Slack == nil || c.Notify.Slack.Token.Reveal() != "xoxb-"+canary || c.Notify.Slack.Channel != "#gpu" || c.Notify.Slack.Endpoint != "http://127.0.0.1:9/api/" {
		t.Errorf("slack %+v", c.Notify.Slack)
	}
	a := c.Accounts[0]
	if a.Mode != guard.Enforce || a.MayRelease.GPU || a.MayRelease.Tags["team"] != "nlp" || a.Poll.String() != "90s" {
		t.Errorf("%+v", a)
	}
	if c.Accounts[1].Mode != guard.Observe {
		t.Error("the mode of one account became that of another")
	}
	// Midnight in Shanghai is 16:00 UTC.
	if got := a.Sweep.Next(time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)); !got.Equal(time.Date(2026, 3, 1, 16, 0, 0, 0, time.UTC)) {
		t.Errorf("sweep in time_zone: next is %v", got)
	}
	s := a.Section.(cloud)
	if s.Profile != "guard" || len(s.Regions) != 2 || s.Key.Reveal() != "xoxb-"+canary || s.Wait != 90*time.Second || s.Retries != 3 {
		t.Errorf("section %+v", s)
	}
}

// TestReference holds the whole documented surface: what is built loads, and
// the rest is refused by name.
func TestReference(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "guard.example.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the reference configuration is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	book := "volumes:\n  - {type: gp3, rate: {amount: \"0.08\", per: gb_month, currency: USD}}\n"
	if err := os.Mkdir(filepath.Join(dir, "prices"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prices", "aws.yaml"), []byte(book), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Load(text, filepath.Join(dir, "guard.yaml"), built, func(name string) (string, bool) {
		if name == "GUARD_HEARTBEAT_URL" {
			return env("HEARTBEAT_URL")
		}
		return env(name)
	})
	var ps Problems
	if !errors.As(err, &ps) || !errors.Is(err, guard.ErrInvalid) {
		t.Fatalf("error %T %v", err, err)
	}
	lines := strings.Split(string(text), "\n")
	var got []string
	for _, p := range ps {
		path, what, _ := strings.Cut(p.Text, ": ")
		if !strings.Contains(what, "not supported yet") {
			t.Errorf("unexpected: %s", p)
		}
		key := path[strings.LastIndex(path, ".")+1:]
		if p.Line < 1 || p.Line > len(lines) || !strings.Contains(lines[p.Line-1], key+":") {
			t.Errorf("%s: no key %s stands in that line", p, key)
		}
		got = append(got, path)
	}
	want := []string{"accounts[1].provider"}
	for _, r := range strings.Fields(`off_hours custom`) {
		want = append(want, "rules."+r)
	}
	want = append(want, "budgets")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused keys (-want +got):\n%s", diff)
	}
}

// anything is a section whose own keys are tried where its decoder is.
type anything struct{}

// ReadNode implements NodeReader.
func (*anything) ReadNode(Node) {}

var shipped = &Decoders{
	Providers: map[string]SectionDecoder{"autodl": SectionOf(anything{}), "aws": SectionOf(anything{}), "compshare": SectionOf(anything{}), "exec": SectionOf(anything{}), "digitalocean": SectionOf(anything{}), "lambda": SectionOf(anything{}), "manual": SectionOf(anything{}), "runpod": SectionOf(anything{}), "vast": SectionOf(anything{})},
	Sources: map[string]SectionDecoder{
		"prometheus": SectionOf(anything{}), "scrape": SectionOf(anything{}), "ssh": SectionOf(anything{}),
	},
}

func TestExamplesLoad(t *testing.T) {
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples:", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Load(text, file, shipped, func(name string) (string, bool) {
			if v, ok := env(name); ok {
				return v, true
			}
			return "https://example.com/secret", true
		})
		if err != nil {
			t.Errorf("%s:\n%v", file, err)
			continue
		}
		if len(c.Accounts) == 0 || c.Accounts[0].Mode != guard.Observe {
			t.Errorf("%s: an example begins with an account in mode observe", file)
		}
	}
}

// TestTooLarge: what is no configuration is not parsed.
func TestTooLarge(t *testing.T) {
	if _, err := load(t, strings.Repeat("# x\n", maxFile)); err == nil || !strings.Contains(err.Error(), "larger than 256 KiB") {
		t.Error(err)
	}
}
