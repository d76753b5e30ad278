package guard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "guard"

// pkg is what `go list -json` says of a package, as far as walls go.
type pkg struct {
	ImportPath   string
	Doc          string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string // of the package itself, without its tests
}

// tests are the direct imports of the tests alone.
func (p pkg) tests() []string { return slices.Concat(p.TestImports, p.XTestImports) }

// TestFloors keeps the walls of the house: imports point down only, floor 3
// never sideways, siblings do not know each other, and some packages stay free
// of what they must not carry.
func TestFloors(t *testing.T) {
	for _, broken := range walls(listPackages(t)) {
		t.Error(broken)
	}
}

// TestFolders keeps the top of the house to its six folders.
func TestFolders(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	for _, n := range strayFolders(names) {
		t.Errorf("folder %s: the top level has cmd, daemon, providers, policy, store and configs only", n)
	}
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list found %d packages", len(pkgs))
	}
	return pkgs
}

// floor says where a package of ours stands; false for one without a place.
func floor(importPath string) (int, bool) {
	rel, ours := inside(importPath)
	if !ours {
		return 0, false
	}
	n := strings.Count(rel, "/")
	top, _, _ := strings.Cut(rel, "/")
	switch rel {
	case ".":
		return 0, true
	case "policy", "policy/say", "policy/spend", "policy/activity", "policy/egress", "policy/release", "policy/presence",
		"providers", "providers/prices", "store",
		// What nvidia-smi, rocm-smi and Linux tell, read for the sources and for the agent.
		"providers/signals/nvidiasmi", "providers/signals/rocmsmi", "providers/signals/machine":
		return 1, true
	case "configs", "daemon/wire", "daemon/notify/notifytest":
		return 2, true
	case "daemon/observe", "daemon/signals", "daemon/keep", "daemon/meter", "daemon/decide", "daemon/release", "daemon/notify",
		"daemon/people", "daemon/report", "daemon/api", "daemon/client", "daemon/doctor", "daemon/web", "daemon/agent", "daemon/job":
		return 3, true
	case "daemon":
		return 4, true
	case "daemon/simulate", "daemon/simulate/soak", "daemon/bench", "cmd/guard", "cmd/guard/cli", "cmd/guardd", "cmd/guardd/e2e":
		return 5, true
	}
	switch {
	case top == "providers" && n == 1 && rel != "providers/signals", strings.HasPrefix(rel, "providers/signals/") && n == 2,
		top == "store" && n == 1,
		// An adapter's test kit, such as a real server to try it against.
		top == "providers" && n == 2 && strings.HasSuffix(rel, "test"):
		return 2, true
	case strings.HasPrefix(rel, "daemon/notify/") && n == 2:
		return 3, true
	}
	return 0, false
}

// inside is the path below the module, "." for its root.
func inside(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// siblings of floor 1 share the nouns and nothing else.
func sibling(importPath string) string {
	rel, _ := inside(importPath)
	top, _, _ := strings.Cut(rel, "/")
	return top
}

// walls returns what is wrong with the packages, a line each.
func walls(pkgs []pkg) []string {
	var broken []string
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	graph := map[string]pkg{}
	for _, p := range pkgs {
		graph[p.ImportPath] = p
	}
	for _, p := range pkgs {
		if p.Doc == "" {
			say("%s has no doc comment", p.ImportPath)
		}
		if word := vague(p.ImportPath); word != "" {
			say("%s: a package called %s says nothing of what is in it", p.ImportPath, word)
		}
		at, ok := floor(p.ImportPath)
		if !ok {
			say("%s stands on no floor: give it one in floors_test.go and say why in the design", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if why := crosses(p.ImportPath, at, imp, false); why != "" {
				say("%s imports %s: %s", p.ImportPath, imp, why)
			}
		}
		for _, imp := range p.tests() {
			if why := crosses(p.ImportPath, at, imp, true); why != "" {
				say("the tests of %s import %s: %s", p.ImportPath, imp, why)
			}
		}
		rel, _ := inside(p.ImportPath)
		if rel == "policy" || strings.HasPrefix(rel, "policy/") {
			for _, imp := range p.Imports {
				if top, _, _ := strings.Cut(imp, "/"); top == "net" || top == "os" || top == "log" {
					say("%s imports %s: judgement is pure", p.ImportPath, imp)
				}
			}
		}
		if rel == "cmd/guard" || rel == "cmd/guard/cli" {
			for _, dep := range p.Deps {
				if heavy(dep) || dep == "go.etcd.io/bbolt" {
					say("%s depends on %s: the CLI is dropped on GPU boxes and stays small", p.ImportPath, dep)
				}
			}
		}
		if rel == "daemon" || strings.HasPrefix(rel, "daemon/") {
			for _, dep := range reach(graph, p) {
				if heavy(dep) {
					say("%s or its tests depend on %s: cmd/guardd hands the adapters in", p.ImportPath, dep)
				}
			}
		}
	}
	return broken
}

// crosses is why an import breaks a wall; "" where it does not.
func crosses(from string, at int, imp string, test bool) string {
	if from == imp {
		return "" // an external test of the package itself
	}
	rel, ours := inside(imp)
	if !ours {
		return ""
	}
	to, ok := floor(imp)
	switch {
	case !ok:
		return "it stands on no floor"
	case to > at:
		return fmt.Sprintf("points up, from floor %d to %d", at, to)
	case at == 1 && to == 1 && sibling(from) != sibling(imp):
		return "policy, providers and store do not know each other"
	case to < at:
		return ""
	case at == 2 && !(test && sibling(from) == sibling(imp)) && !strings.HasSuffix(rel, "test"):
		return "sideways on floor 2; only conformance suites, and tests within one family, are shared there"
	case at == 3:
		return "sideways on floor 3; the daemon introduces packages to each other"
	}
	return ""
}

// heavy reports a cloud SDK.
func heavy(importPath string) bool {
	return slices.ContainsFunc([]string{
		"github.com/aws/", "cloud.google.com/", "google.golang.org/api", "github.com/Azure/",
		"github.com/aliyun/", "github.com/tencentcloud/", "github.com/digitalocean/", "github.com/hetznercloud/",
	}, func(prefix string) bool { return strings.HasPrefix(importPath, prefix) })
}

// reach is all that a package and its tests import, through our own packages.
func reach(graph map[string]pkg, p pkg) []string {
	seen := map[string]bool{}
	var visit func(imports []string)
	visit = func(imports []string) {
		for _, imp := range imports {
			if seen[imp] {
				continue
			}
			seen[imp] = true
			visit(graph[imp].Imports)
		}
	}
	visit(slices.Concat(p.Imports, p.tests()))
	return slices.Sorted(maps.Keys(seen))
}

func vague(importPath string) string {
	word := path.Base(importPath)
	for _, w := range []string{"util", "common", "types", "manager", "helper"} {
		if word == w || word == w+"s" {
			return word
		}
	}
	return ""
}

func strayFolders(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.Contains([]string{"cmd", "daemon", "providers", "policy", "store", "configs", ".ci", ".git"}, n)
	})
}

// TestWallsStand plants a breach in each wall and sees that it is told, and
// that what the design allows is not.
func TestWallsStand(t *testing.T) {
	const doc = "Package x is here."
	for _, c := range []struct {
		name string
		pkgs []pkg
		want string // "" for sound walls
	}{
		{"down", []pkg{{ImportPath: "guard/daemon/decide", Doc: doc, Imports: []string{"guard", "guard/policy", "guard/store", "time"}}}, ""},
		{"up", []pkg{{ImportPath: "guard/store", Doc: doc, Imports: []string{"guard/store/bolt"}}}, "points up, from floor 1 to 2"},
		{"up from the nouns", []pkg{{ImportPath: "guard", Doc: doc, Imports: []string{"guard/policy"}}}, "points up"},
		{"up in a test", []pkg{{ImportPath: "guard/store", Doc: doc, XTestImports: []string{"guard/daemon"}}}, "the tests of guard/store import guard/daemon: points up"},
		{"itself in a test", []pkg{{ImportPath: "guard/store", Doc: doc, XTestImports: []string{"guard/store"}}}, ""},
		{"siblings", []pkg{{ImportPath: "guard/policy", Doc: doc, Imports: []string{"guard/store"}}}, "do not know each other"},
		{"siblings in a test", []pkg{{ImportPath: "guard/providers", Doc: doc, TestImports: []string{"guard/policy/spend"}}}, "do not know each other"},
		{"within policy", []pkg{{ImportPath: "guard/policy", Doc: doc, Imports: []string{"guard/policy/spend"}}}, ""},
		{"sideways on 2", []pkg{{ImportPath: "guard/providers/aws", Doc: doc, Imports: []string{"guard/providers/fake"}}}, "sideways on floor 2"},
		{"another family's", []pkg{{ImportPath: "guard/providers/aws", Doc: doc, TestImports: []string{"guard/store/memory"}}}, "sideways on floor 2"},
		{"a suite", []pkg{{ImportPath: "guard/providers/aws", Doc: doc, TestImports: []string{"guard/providers/providertest"}}}, ""},
		{"sideways on 3", []pkg{{ImportPath: "guard/daemon/decide", Doc: doc, Imports: []string{"guard/daemon/release"}}}, "sideways on floor 3"},
		{"sideways on 3 in a test", []pkg{{ImportPath: "guard/daemon/notify/slack", Doc: doc, XTestImports: []string{"guard/daemon/notify"}}}, "sideways on floor 3"},
		{"channel and suite", []pkg{{ImportPath: "guard/daemon/notify/slack", Doc: doc, TestImports: []string{"guard/daemon/notify/notifytest"}}}, ""},
		{"no floor", []pkg{{ImportPath: "guard/billing", Doc: doc}}, "stands on no floor"},
		{"no floor below a known one", []pkg{{ImportPath: "guard/providers/aws/internal", Doc: doc}}, "stands on no floor"},
		{"imports one without a floor", []pkg{{ImportPath: "guard/daemon", Doc: doc, Imports: []string{"guard/daemon/x"}}}, "it stands on no floor"},
		{"no doc comment", []pkg{{ImportPath: "guard/store"}}, "no doc comment"},
		{"a vague name", []pkg{{ImportPath: "guard/store/utils", Doc: doc}}, "says nothing"},
		{"policy and the network", []pkg{{ImportPath: "guard/policy/spend", Doc: doc, Imports: []string{"net/http"}}}, "judgement is pure"},
		{"policy and the log", []pkg{{ImportPath: "guard/policy", Doc: doc, Imports: []string{"log/slog"}}}, "judgement is pure"},
		{"policy's tests may read files", []pkg{{ImportPath: "guard/policy", Doc: doc, TestImports: []string{"os"}}}, ""},
		{"a heavy CLI", []pkg{{ImportPath: "guard/cmd/guard", Doc: doc, Deps: []string{"github.com/aws/aws-sdk-go-v2/aws"}}}, "stays small"},
		{"bbolt in the CLI", []pkg{{ImportPath: "guard/cmd/guard/cli", Doc: doc, Deps: []string{"go.etcd.io/bbolt"}}}, "stays small"},
		{"an SDK in a daemon's test", []pkg{
			{ImportPath: "guard/daemon", Doc: doc, TestImports: []string{"guard/providers/aws"}},
			{ImportPath: "guard/providers/aws", Doc: doc, Imports: []string{"github.com/aws/aws-sdk-go-v2/aws"}},
		}, "cmd/guardd hands the adapters in"},
		{"an SDK in guardd", []pkg{
			{ImportPath: "guard/cmd/guardd", Doc: doc, Imports: []string{"guard/providers/aws"}},
			{ImportPath: "guard/providers/aws", Doc: doc, Imports: []string{"github.com/aws/aws-sdk-go-v2/aws"}},
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(walls(c.pkgs), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := strayFolders([]string{"cmd", "pkg", ".git", "internal"}); !slices.Equal(got, []string{"pkg", "internal"}) {
		t.Errorf("stray folders: %q", got)
	}
}
