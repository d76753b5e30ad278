package configs

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSignals(t *testing.T) {
	c := mustLoad(t, `
ledger: bolt:state/ledger.db
accounts:
  - {name: lab, provider: fake}
signals:
  keep: 14d
  file: other/samples.db
  sources:
    - {name: prom, accounts: [lab], prometheus: {url: "http://127.0.0.1:9090"}}
    - name: box
      ssh: {hosts: {lab/i-1: "10.0.0.1:22"}}
`)
	want := Signals{Keep: 14 * 24 * time.Hour, File: filepath.Join("other", "samples.db"), Sources: []Source{
		{Name: "prom", Kind: "prometheus", Accounts: []string{"lab"}, Section: probe{URL: "http://127.0.0.1:9090"}, Line: 9},
		{Name: "box", Kind: "ssh", Section: probe{Hosts: map[string]string{"lab/i-1": "10.0.0.1:22"}}, Line: 10},
	}}
	if diff := cmp.Diff(want, c.Signals, cmpopts.IgnoreUnexported(Source{})); diff != "" {
		t.Error(diff)
	}
	if got, want := c.Signals.Sources[1].In("known_hosts"), "known_hosts"; got != want {
		t.Errorf("a path beside the file: %s, want %s", got, want)
	}
	if got := c.Signals.Sources[1].In("/etc/known_hosts"); got != "/etc/known_hosts" {
		t.Errorf("an absolute path became %s", got)
	}

	c = mustLoad(t, "ledger: bolt:state/ledger.db\n")
	want = Signals{Keep: 30 * 24 * time.Hour, File: filepath.Join("state", "samples.db")}
	if diff := cmp.Diff(want, c.Signals, cmpopts.IgnoreUnexported(Source{})); diff != "" {
		t.Error(diff)
	}
}
