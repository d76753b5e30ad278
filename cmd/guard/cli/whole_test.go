package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard/cmd/guard/cli"
	"guard/daemon/client"
	"guard/daemon/wire"
)

// TestBareID: an ID alone is the one instance that has it, of whichever account; of two it
// is neither; a disk, and what ended long ago, is told of as what it is.
func TestBareID(t *testing.T) {
	ended := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	items := []wire.Item{{Account: "pods", ID: "x1"}, {Account: "lab", ID: "i-1"}, {Account: "pods", ID: "i-2"}, {Account: "lab", ID: "i-2"}, {Account: "pods", ID: "i-1", EndedAt: &ended},
		{Account: "pods", ID: "old", EndedAt: &ended}, {Account: "pods", ID: "v-1", Kind: "volume"}}
	for i := range items {
		items[i].Kind = cmp.Or(items[i].Kind, "instance")
	}
	for id, want := range map[string]string{
		"x1": "pods/x1", "i-1": "lab/i-1",
		"i-2": "i-2 could be pods/i-2 or lab/i-2: name the one that you mean",
		"v-1": "pods/v-1 is of kind volume. Name the instance",
		"old": "pods/old is gone since 2026-03-01 00:00:00 UTC",
		"i-3": "guard knows of no instance i-3. One that was just made is found as ACCOUNT/i-3",
	} {
		registered := ""
		reply := func(w http.ResponseWriter, v any) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(v); err != nil {
				t.Error(err)
			}
		}
		daemon := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost:
				var in wire.RegisterRequest
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
					t.Error(err)
				}
				registered = in.ID
				reply(w, wire.Registered{Outcome: "created", Item: wire.Item{Account: "a", ID: "b"}})
			case strings.HasSuffix(r.URL.Path, "/status"):
				reply(w, wire.Status{Accounts: []wire.Account{{Name: "pods"}, {Name: "lab"}}})
			default:
				reply(w, wire.List{Items: slices.DeleteFunc(slices.Clone(items), func(it wire.Item) bool {
					return r.FormValue("kind") != "" && it.Kind != r.FormValue("kind")
				})})
			}
		})
		var out, errs bytes.Buffer
		w := cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 80, Dial: func(string) (*client.Client, error) {
			return client.New(client.Options{Transport: client.InProcess(daemon)})
		}}
		status := cli.Run(t.Context(), w, "register", id, "--ttl", "1h")
		switch {
		case strings.Contains(want, " "):
			if status != cli.ExitUsage || registered != "" || !strings.Contains(errs.String(), want) {
				t.Errorf("%s: status %d, registered %q, %s", id, status, registered, errs.String())
			}
		case status != 0 || registered != want:
			t.Errorf("%s: status %d, registered %q, want %q; %s", id, status, registered, want, errs.String())
		}
	}
}
