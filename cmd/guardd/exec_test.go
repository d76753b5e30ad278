package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/client"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/exec"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// rack is the cloud that the example plug-in speaks to.
type rack struct{ *cloudtest.Cloud }

func (c rack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, one := strings.CutPrefix(r.URL.Path, "/machines/")
	if r.Header.Get("Authorization") != "Bearer "+providertest.Secret {
		cloudtest.Reply(w, http.StatusForbidden, map[string]string{"error": "who are you"})
		return
	}
	tell := func(x cloudtest.Thing) map[string]any {
		word := map[guard.State]string{guard.StateRunning: "on", guard.StateReleasing: "ending"}[x.State]
		return map[string]any{"id": x.ID, "name": x.Name, "status": word, "created": x.Created, "gpus": x.GPUs, "gpu": "H100", "price": "1.50"}
	}
	var err error
	switch {
	case r.URL.Path == "/account":
		cloudtest.Reply(w, http.StatusOK, map[string]string{"id": "lab-7"})
		return
	case r.URL.Path == "/machines":
		out := []map[string]any{}
		for _, x := range c.List(guard.Instance, "") {
			out = append(out, tell(x))
		}
		cloudtest.Reply(w, http.StatusOK, map[string]any{"machines": out})
		return
	case one && r.Method == http.MethodDelete:
		err = c.Release(guard.Instance, id)
	default:
		var x cloudtest.Thing
		if x, err = c.Get(guard.Instance, id); err == nil {
			cloudtest.Reply(w, http.StatusOK, tell(x))
			return
		}
	}
	if err != nil {
		cloudtest.Reply(w, http.StatusNotFound, map[string]string{"error": "no such machine"})
		return
	}
	cloudtest.Reply(w, http.StatusAccepted, struct{}{})
}

// plug has a story told of an account of the exec adapter and a real program.
func (s *story) plug(account string) {
	s.t.Helper()
	all := &exec.Programs{}
	s.t.Cleanup(all.Close)
	s.tell("", "name: rack, provider: exec, "+account, factory(func(_ context.Context, a configs.Account, section exec.Config) (providers.Provider, error) {
		section.Timeout /= 10
		return exec.New(exec.Options{Name: a.Name, Config: section, Programs: all})
	}))
}

// TestExamplePlugin: the shipped example, as it is, has a machine watched, counted and
// released at the end of its lease, with proof.
func TestExamplePlugin(t *testing.T) {
	python, err := osexec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here to run the example with")
	}
	example, err := filepath.Abs("../../configs/examples/plugin.py")
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t)
	c := s.cloud(&cloudtest.Cloud{Lags: cloudtest.Lags{End: time.Minute}})
	c.Create(providertest.Thing{ID: "m-1", Name: "train", GPUs: 2})
	c.Create(providertest.Thing{ID: "m-2", Name: "other", GPUs: 2})
	server := httptest.NewServer(rack{c})
	defer server.Close()
	s.plug(fmt.Sprintf("exec: {command: [%q, %q, %q], env: {CLOUD_TOKEN: {env: RACK_TOKEN}}}", python, example, server.URL))
	s.register(wire.RegisterRequest{ID: "rack/m-1", TTL: "1h59m"})
	s.until(3 * time.Hour)
	s.is("rack/m-1", "released, bills no, spent 6.05 CNY")
	if x, err := c.Get(guard.Instance, "m-2"); err != nil || x.State != guard.StateRunning {
		t.Errorf("its neighbour is %s, %v", x.State, err)
	}
}

// TestBrokenPlugins: whatever a program does, guard status says it in clear words within
// one poll, and what was leased there is neither released nor taken for gone.
func TestBrokenPlugins(t *testing.T) {
	const good = `#!/bin/sh
while read line; do
  id=$(echo "$line" | sed 's/.*"id":\([0-9]*\),"call".*/\1/')
  [ -e "$1" ] && { BROKEN; }
  case "$line" in
  *'"call":"hello"'*) r='{"calls":["identity","list","get","release"]}' ;;
  *'"call":"identity"'*) r='{"id":"lab-7","strong":true}' ;;
  *'"call":"list"'*) r='{"complete":true,"resources":[{"id":"m-1","state":"running","gpus":1,"price":{"amount":"2","currency":"USD","per":"hour"}}]}' ;;
  *'"call":"get"'*) r='{"resource":{"id":"m-1","state":"running","gpus":1,"price":{"amount":"2","currency":"USD","per":"hour"}}}' ;;
  esac
  echo '{"v":1,"id":'$id',"result":'$r'}'
done
`
	for name, tt := range map[string]struct{ broken, want string }{
		"hangs":             {"sleep 600", "no answer within 3s"},
		"prints garbage":    {"echo Traceback; continue", "no reply in JSON"},
		"prints a gigabyte": {"yes aaaaaaaaaaaaaaaaaaaaaaaa | tr -d '\\n'", "longer than 16 MiB"},
		"forks":             {"sleep 600 & exit 0", "something that it started held its output open"},
		"exits":             {"exit 7", "ended without an answer (exit status 7)"},
		"a revoked key":     {`echo '{"v":1,"id":'$id',"error":{"kind":"permission"}}'; continue`, "permission denied"},
		"an empty answer":   {`echo '{"v":1,"id":'$id',"result":{}}'; continue`, "unexpected reply"},
		"another version":   {`echo '{"v":9,"id":'$id',"result":{}}'; continue`, "version 9 of the protocol, and guard speaks version 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, sign := filepath.Join(dir, "plugin.sh"), filepath.Join(dir, "broken")
			if err := os.WriteFile(file, []byte(strings.Replace(good, "BROKEN", tt.broken, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			timeout := "100s"
			if strings.Contains(tt.broken, "sleep") {
				timeout = "30s" // a tenth is what the program has here
			}
			// Beside the others a file cannot be relied on to be executed as soon as it is
			// written: whatever they start has it open for a moment.
			account := fmt.Sprintf("poll: 10m, exec: {command: [/bin/sh, %q, %q], timeout: %s}", file, sign, timeout)
			told := func(s *story) {
				t.Helper()
				status, err := s.client.Status(context.Background())
				if err != nil || !strings.Contains(strings.Join(status.Attention, "\n"), tt.want) {
					t.Errorf("%q, %v; want %q", status.Attention, err, tt.want)
				}
			}
			s := begin(t)
			s.plug(account)
			s.register(wire.RegisterRequest{ID: "rack/m-1", TTL: "1h"})
			s.until(12 * time.Minute)
			if err := os.WriteFile(sign, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			fresh := begin(t)
			fresh.plug(account)
			told(fresh)
			s.until(22 * time.Minute) // one poll
			status, err := s.client.Status(context.Background())
			if err != nil || len(status.Accounts) != 1 || status.Accounts[0].State != "unreachable" || !strings.Contains(status.Accounts[0].Error, tt.want) {
				t.Errorf("after one poll %+v, %v; want %q", status.Accounts, err, tt.want)
			}
			s.until(45 * time.Minute) // it lasts
			told(s)
			s.until(65 * time.Minute) // past its end
			show, err := s.client.Show(context.Background(), "rack/m-1")
			if err != nil || show.Item.EndedAt != nil || show.Item.Billing != "yes" {
				t.Errorf("%+v, %v", show.Item, err)
			}
		})
	}
}

// TestServeExec: guardd itself, on a socket, gives a program its secrets from where the
// configuration says, and tells in its status what it does wrong, while it goes on.
func TestServeExec(t *testing.T) {
	dir := short(t)
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	plugin := write("plugin.sh", `#!/bin/sh
while read line; do
  id=$(echo "$line" | sed 's/.*"id":\([0-9]*\),"call".*/\1/')
  [ -e "$1" ] && exit 7
  case "$line" in
  *'"call":"hello"'*) r='{"calls":["identity","list"]}' ;;
  *'"call":"identity"'*) r='{"id":"of-'$KEY'"}' ;;
  *) r='{"complete":true,"resources":[]}' ;;
  esac
  echo '{"v":1,"id":'$id',"result":'$r'}'
done
`, 0o700)
	key, sign := write("key", "k1\n", 0o600), filepath.Join(dir, "broken")
	file := write("guard.yaml", fmt.Sprintf(`
ledger: bolt:%s/ledger.db
listen: unix:%s/s
accounts:
  - {name: rack, provider: exec, poll: 1s, exec: {command: [%q, %q], env: {KEY: {file: %q}}}}
`, dir, dir, plugin, sign, key), 0o600)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, io.Discard, file) }()
	c := dial(t, client.Options{Addr: "unix:" + dir + "/s"})
	until := func(what string, ok func(wire.Status) bool) {
		t.Helper()
		for range 6000 {
			if s, err := c.Status(t.Context()); err == nil && ok(s) {
				return
			}
			select {
			case err := <-served:
				t.Fatal("guardd ended: ", err)
			case <-time.After(20 * time.Millisecond):
			}
		}
		t.Fatalf("%s was not told", what)
	}
	until("whose account it is", func(s wire.Status) bool { return len(s.Accounts) == 1 && s.Accounts[0].Identity == "of-k1" })
	write("broken", "", 0o600)
	until("what is wrong", func(s wire.Status) bool {
		return strings.Contains(strings.Join(s.Attention, "\n"), "ended without an answer (exit status 7)")
	})
	if err := os.Remove(sign); err != nil {
		t.Fatal(err)
	}
	until("that it is right again", func(s wire.Status) bool { return len(s.Attention) == 0 && s.Accounts[0].State == "ok" })
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
