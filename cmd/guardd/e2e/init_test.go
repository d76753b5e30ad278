package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard/daemon/wire"
	"guard/providers/aws/mototest"
)

// TestFirstTenMinutes goes from a machine with keys and nothing else to a lease that
// is enforced: init, doctor, serve, enforce. It counts what the README promises.
func TestFirstTenMinutes(t *testing.T) {
	moto := mototest.Start(t)
	var ids []string
	moto.Do(t, &ids, "run", "us-east-1", "g5.xlarge", "2", "1")
	g := unpack(t)
	g.write("prices.yaml", prices)
	begin := time.Now()

	said := g.first(moto, "--account", "research", "--prices", filepath.Join(g.dir, "prices.yaml"), "--register", ids[0]+"=lora 70b,24h,90000USD")
	for _, want := range []string{ids[0], ids[1], "3600.00 USD", "registered research/" + ids[0],
		"OBSERVE: guard will not release anything; `guard enforce ACCOUNT` when you trust it"} {
		if !strings.Contains(said, want) {
			t.Errorf("init does not say %q:\n%s", want, said)
		}
	}
	config, err := os.ReadFile(filepath.Join(g.dir, "guard.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Count(config, []byte("\n"))
	if lines > 12 {
		t.Errorf("guard.yaml has %d lines:\n%s", lines, config)
	}

	g.start()
	g.seen(ids[0])
	var asked wire.Diagnosis
	g.until("the doctor finds all well", func() bool { return g.json(&asked, "doctor") })
	if s := g.show(ids[0]); s.Item.Mode != "observe" || s.Item.Purpose != "lora 70b" || len(s.Limits) == 0 || s.Limits[0].Does != "nothing" {
		t.Errorf("in observe: %+v, %+v", s.Item, s.Limits)
	}
	g.guard("enforce", "research")
	s := g.show(ids[0])
	if s.Item.Mode != "enforce" || len(s.Limits) == 0 || s.Limits[0].Does != "release" {
		t.Errorf("the lease is not enforced: %+v, %+v", s.Item, s.Limits)
	}
	took := time.Since(begin)
	if took > 10*time.Minute {
		t.Errorf("it took %s", took)
	}
	t.Logf("from keys to an enforced lease: %s, %d lines of guard.yaml", took.Round(100*time.Millisecond), lines)
}

// first runs guardd init in the directory, which must succeed.
func (g *guardd) first(moto *mototest.Server, args ...string) string {
	g.t.Helper()
	line := append([]string{"init", "--yes", "--out", filepath.Join(g.dir, "guard.yaml"), "--ledger", filepath.Join(g.dir, "ledger.db"),
		"--socket", filepath.Join(g.dir, "guard.sock")}, args...)
	cmd := exec.Command(filepath.Join(g.bin, "guardd"), line...)
	cmd.Env = append(mototest.Environment(g.t), "AWS_ENDPOINT_URL="+moto.URL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("guardd init: %v\n%s", err, out)
	}
	return string(out)
}
