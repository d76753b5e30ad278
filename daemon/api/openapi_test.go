package api_test

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
)

// description is what a test needs of the OpenAPI document.
type description struct {
	Paths map[string]map[string]struct {
		OperationID string                `json:"operationId"`
		Role        guard.Role            `json:"x-guard-role"`
		Security    []map[string][]string `json:"security"`
		Responses   map[string]struct {
			Content map[string]struct{ Schema map[string]any }
		} `json:"responses"`
		RequestBody *struct{} `json:"requestBody"`
		Parameters  []struct {
			Name     string
			Required bool
		} `json:"parameters"`
	} `json:"paths"`
	Components struct {
		SecuritySchemes map[string]struct{ Type, Scheme string } `json:"securitySchemes"`
	} `json:"components"`
}

func (b *bench) description() description {
	b.Helper()
	status, body := b.ask(api.Caller{Name: "ana", Role: guard.Viewer}, http.MethodGet, "/v1/openapi.json", "")
	if status != http.StatusOK {
		b.Fatalf("%d: %s", status, body)
	}
	var out description
	if err := json.Unmarshal(body, &out); err != nil {
		b.Fatal(err)
	}
	return out
}

// ask sends a request as a caller; one without a name is nobody that the connection
// vouches for.
func (b *bench) ask(c api.Caller, method, path, body string) (int, []byte) {
	b.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h := b.h
	if c.Name != "" {
		h = api.As(c, h)
	}
	h.ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}

// TestDescription: each operation of the OpenAPI document answers, with a status
// that the document has, to nobody who is not known and not below the role that it
// names; and there is no route beside it.
func TestDescription(t *testing.T) {
	b := leased(t)
	accept := func(context.Context, guard.Instant, api.Caller, int) (wire.ModeAnswer, error) {
		return wire.ModeAnswer{Done: true}, nil
	}
	b.o.Modes = api.Modes{Resume: accept, Reload: accept, Switch: func(context.Context, guard.Instant, api.Caller, string, guard.Mode, int) (wire.ModeAnswer, error) {
		return wire.ModeAnswer{Done: true}, nil
	}}
	b.h = api.New(b.o)
	doc := b.description()
	if s := doc.Components.SecuritySchemes["token"]; s.Type != "http" || s.Scheme != "bearer" {
		t.Errorf("security scheme %+v", s)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			method = strings.ToUpper(method)
			if len(op.Security) != 1 || op.Security[0]["token"] == nil || !op.Role.Covers(guard.Viewer) {
				t.Errorf("%s %s: security %v, role %q", method, path, op.Security, op.Role)
			}
			target, body := path, ""
			for _, p := range op.Parameters {
				if p.Name == "id" && p.Required {
					target += "?id=lab/i-1"
				}
			}
			if op.RequestBody != nil {
				body = "{}"
			}
			told := func(who api.Caller) int {
				status, answer := b.ask(who, method, target, body)
				r, ok := op.Responses[strconv.Itoa(status)]
				if ref := r.Content["application/json"].Schema["$ref"]; status >= 400 && ok && path != "/v1/healthz" && ref != "#/components/schemas/Error" {
					t.Errorf("%s %s: the body of %d is described as %v", method, path, status, ref)
				}
				if !ok {
					t.Errorf("%s %s answers %d to %q, which the document has not: %s", method, target, status, who.Role, answer)
				}
				return status
			}
			if status := told(api.Caller{}); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
				t.Errorf("%s %s answers %d to a stranger", method, path, status)
			}
			// A request without a field that must be there is invalid to everybody; what
			// else it is shows that the route works.
			if status := told(api.Caller{Name: "root", Role: guard.Admin}); status == http.StatusForbidden || status == http.StatusUnauthorized || status >= 500 && status != http.StatusNotImplemented {
				t.Errorf("%s %s answers %d to an admin", method, path, status)
			}
		}
	}
	if n := len(doc.Paths); n < 18 {
		t.Errorf("%d paths", n)
	}
}

// TestNoOtherRoutes: a route that is registered past the description would be in
// neither the document nor under the roles.
func TestNoOtherRoutes(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "mux" || x.Name == "huma" && sel.Sel.Name == "Register") {
					found = append(found, x.Name+"."+sel.Sel.Name)
				}
			}
			return true
		})
	}
	// The page for what is not there; post, get and healthz.
	if want := "mux.HandleFunc huma.Register"; !strings.Contains(strings.Join(found, " "), want[:14]) || len(found) != 4 {
		t.Errorf("routes are registered by %v", found)
	}
}
