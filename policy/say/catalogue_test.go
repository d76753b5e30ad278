package say

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"guard"
)

// handed are the files in which a format is chosen among constants before it is said: that
// each has a Chinese form is tested where they are.
var handed = map[string]bool{
	"daemon/notify/slack/card.go": true, "daemon/notify/slack/button.go": true, "policy/away.go": true,
}

// TestCatalogue: what is said in a language is a constant, or a word by itself; its Chinese
// form takes the same arguments, and the catalogue has nothing that nobody says.
func TestCatalogue(t *testing.T) {
	src := read(t, "../..")
	for f, at := range src.said {
		other, ok := chinese[f]
		if !ok {
			t.Errorf("%s: %q has no Chinese form", at, f)
		} else if a, b := verbs(t, f), verbs(t, other); !slices.Equal(a, b) {
			t.Errorf("%s: %q takes %v, and its Chinese form %q %v", at, f, a, other, b)
		}
	}
	for _, at := range src.variable {
		t.Errorf("%s: what is said is no constant", at)
	}
	for _, part := range chineseParts {
		for f, other := range part {
			if chinese[f] != other {
				t.Errorf("%q is %q in one part, and %q in another", f, other, chinese[f])
			}
			if src.said[f] == "" && !src.literals[f] && !ofTable(src, f) {
				t.Errorf("nobody says %q", f)
			}
		}
	}
}

// TestOwnerIsOneWord: whose a thing is has one word, wherever it stands.
func TestOwnerIsOneWord(t *testing.T) {
	asks := regexp.MustCompile(`(?i)(^|[^-])\bowner\b|^whose\b`)
	n := 0
	for english, other := range chinese {
		if !asks.MatchString(english) {
			continue
		}
		if n++; !strings.Contains(other, "负责人") {
			t.Errorf("%q is %q", english, other)
		}
	}
	if n < 3 {
		t.Errorf("only %d texts name an owner: the search is blind", n)
	}
}

// ofTable reports a word that is said by a name: a rule's, a day's, a month's.
func ofTable(src sources, word string) bool {
	_, day := time.Parse("Mon", word)
	_, month := time.Parse("Jan", word)
	return day == nil || month == nil || src.literals[strings.ReplaceAll(word, " ", "_")]
}

// TestKept: a phrase that was kept in English is recognised, with what is in it.
func TestKept(t *testing.T) {
	for english, other := range kept[guard.Chinese] {
		if a, b := verbs(t, english), verbs(t, other); !slices.Equal(a, b) {
			t.Errorf("%q takes %v, and %q %v", english, a, other, b)
		}
		args := make([]any, 9)
		for i := range args {
			args[i] = "x" + strconv.Itoa(i)
		}
		fill := func(format string) string {
			format = verb.ReplaceAllStringFunc(format, func(v string) string {
				if m := verb.FindStringSubmatch(v); m[2] != "%" && m[1] != "" {
					return "%[" + m[1] + "]v"
				} else if m[2] != "%" {
					return "%v"
				}
				return v
			})
			return strings.Split(fmt.Sprintf(format, args...), "%!(EXTRA")[0]
		}
		if strings.ContainsAny(strings.Join(verbs(t, english), ""), "dfgq") {
			continue // its arguments are numbers
		}
		if got, want := Kept(guard.Chinese, fill(english)), fill(other); got != want {
			t.Errorf("%q is kept, and told as %q instead of %q", fill(english), got, want)
		}
	}
	for english, want := range map[string]string{
		"its cap of 20.00 USD is reached (2026-03-06T10:00:00Z)":                     "达到预算上限 20.00 USD（2026-03-06T10:00:00Z）",
		"its ceiling of 2d12h is reached (2026-03-06T10:00:00Z)":                     "达到管理员上限 2 天 12 小时（2026-03-06T10:00:00Z）",
		"it works again: gpu 97 % at 2026-03-06T10:00:00Z":                           "已恢复工作：GPU 97 %，2026-03-06T10:00:00Z",
		"it cannot be read: dial tcp: no route to host":                              "无法读取：dial tcp: no route to host",
		"12.0 MB/s in, cpu 3.0 cores":                                                "入流量 12.0 MB/s、CPU 3.0 核",
		"the provider said no":                                                       "the provider said no",
		"":                                                                           "",
		"low confidence: one instant each 5m misses what is between":                 "可信度低：每 5 分钟一次瞬时读数，会漏掉其间的活动",
		"guard never touches it: another guard (deployment abc) keeps it":            "guard 从不操作该资源：由另一个 guard（部署 abc）管理",
		"3 of 8 GPUs unused since 2026-03-06T10:00:00Z":                              "自 2026-03-06T10:00:00Z 起共 8 张 GPU，3 张未使用",
		"the rule expired is vetoed until 2026-03-06T10:00:00Z by ana: night's work": "规则 expired 已被 ana 否决至 2026-03-06T10:00:00Z：night's work",
	} {
		if got := Kept(guard.Chinese, english); got != want {
			t.Errorf("%q is told as %q, want %q", english, got, want)
		}
		if got := Kept(guard.English, english); got != english {
			t.Errorf("%q is told in English as %q", english, got)
		}
	}
}

// verbs are the verbs of a format, by the argument that each takes.
func verbs(t *testing.T, format string) []string {
	t.Helper()
	var out []string
	n := 0
	for _, m := range regexp.MustCompile(`%([-+# 0]*[\d.]*)(?:\[(\d+)\])?([a-zA-Z%])`).FindAllStringSubmatch(format, -1) {
		if m[3] == "%" {
			out = append(out, "%%")
			continue
		}
		n++
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		out = append(out, fmt.Sprintf("%d:%s%s", n, m[1], m[3]))
	}
	slices.Sort(out)
	return out
}

// sources is what the module says.
type sources struct {
	said     map[string]string // where each constant is said
	literals map[string]bool   // all strings of the module outside of this package
	variable []string          // where something is said that is no constant
}

// read finds all that is said by In, or by what hands its format on to it.
func read(t *testing.T, root string) sources {
	t.Helper()
	src := sources{said: map[string]string{}, literals: map[string]bool{}}
	packages := map[string][]*ast.File{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return cmpSkip(err)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == filepath.Join(root, "policy/say") {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		packages[dir] = append(packages[dir], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range packages {
		p := speaker{set: set, root: root, constants: map[string]string{}, formats: map[string]int{}, src: &src}
		for _, f := range files {
			p.file = f
			ast.Inspect(f, p.learn)
		}
		for _, f := range files {
			p.file = f
			ast.Inspect(f, p.hear)
		}
	}
	if len(src.said) < 300 {
		t.Fatalf("only %d texts are found: the search is blind", len(src.said))
	}
	return src
}

func cmpSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// speaker is one package.
type speaker struct {
	set       *token.FileSet
	root      string
	constants map[string]string // of the package that are strings
	file      *ast.File         // that is looked at
	formats   map[string]int    // functions that hand a format on, and which argument it is
	src       *sources
}

// learn notes constants, literals and the functions that hand a format on.
func (p *speaker) learn(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		if s, ok := p.constant(n); ok {
			p.src.literals[s] = true
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) {
				if s, ok := p.constant(n.Values[i]); ok {
					p.constants[name.Name] = s
				}
			}
		}
	case *ast.FuncDecl:
		name := n.Name.Name
		if n.Recv != nil {
			name = "." + name
		}
		p.handsOn(name, n.Type, n.Body)
	case *ast.AssignStmt:
		for i, right := range n.Rhs {
			if f, ok := right.(*ast.FuncLit); ok && i < len(n.Lhs) {
				if name, ok := n.Lhs[i].(*ast.Ident); ok {
					p.handsOn(p.local(name.Name), f.Type, f.Body)
				}
			}
		}
	}
	return true
}

// local is the name of what is known in the file only.
func (p *speaker) local(name string) string {
	return p.set.Position(p.file.Pos()).Filename + " " + name
}

// handsOn notes a function that gives a parameter of its own to In as the format.
func (p *speaker) handsOn(name string, of *ast.FuncType, body *ast.BlockStmt) {
	if body == nil {
		return
	}
	at, params := 0, map[string]int{}
	for _, field := range of.Params.List {
		for _, param := range field.Names {
			params[param.Name] = at
			at++
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && says(call) {
			if format, ok := call.Args[1].(*ast.Ident); ok {
				if i, ok := params[format.Name]; ok {
					p.formats[name] = i
				}
			}
		}
		return true
	})
}

// says reports a call of In.
func says(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "In" || len(call.Args) < 2 {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name == "say"
}

// hear notes what is said.
func (p *speaker) hear(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return true
	}
	at := -1
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if i, ok := p.formats["."+f.Sel.Name]; ok {
			at = i
		}
	case *ast.Ident:
		if i, ok := p.formats[p.local(f.Name)]; ok {
			at = i
		} else if i, ok := p.formats[f.Name]; ok {
			at = i
		}
	}
	if says(call) {
		at = 1
		if format, ok := call.Args[1].(*ast.Ident); ok && slices.Contains([]string{"format"}, format.Name) {
			return true // it is handed on
		}
	}
	if at < 0 || at >= len(call.Args) {
		return true
	}
	where := p.set.Position(call.Pos())
	path, err := filepath.Rel(p.root, where.Filename)
	if err != nil {
		path = where.Filename
	}
	place := fmt.Sprintf("%s:%d", filepath.ToSlash(path), where.Line)
	s, ok := p.constant(call.Args[at])
	switch {
	case ok:
		p.src.said[s] = place
	case len(call.Args) > at+1 && !handed[filepath.ToSlash(path)]:
		p.src.variable = append(p.src.variable, place)
	}
	return true
}

// constant is the value of a string that does not change.
func (p *speaker) constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.Ident:
		s, ok := p.constants[e.Name]
		return s, ok
	case *ast.BinaryExpr:
		a, okA := p.constant(e.X)
		b, okB := p.constant(e.Y)
		return a + b, okA && okB && e.Op == token.ADD
	case *ast.ParenExpr:
		return p.constant(e.X)
	}
	return "", false
}

// BenchmarkKept is a phrase in a phrase, and a text that is none.
func BenchmarkKept(b *testing.B) {
	for b.Loop() {
		Kept(guard.Chinese, "guard never touches it: another guard (deployment abc) keeps it")
		Kept(guard.Chinese, "UnauthorizedOperation: you are not allowed to do this, ask your admin")
	}
}
