package api_test

import (
	"net/http"
	"testing"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
)

func TestReport(t *testing.T) {
	b := newBench(t)
	for path, want := range map[string]string{"/report": "told in ", "/report?lang=en": "told in en", "/report?lang=zh": "told in zh"} {
		if r := good[wire.Report](b, "ana", http.MethodGet, path, nil); r.Title != want {
			t.Errorf("%s: %+v", path, r)
		}
	}
	b.bad("ana", http.MethodGet, "/report?lang=fr", nil, http.StatusBadRequest, "invalid", `"fr"`, "en or zh")
	// It tells of everything, so whoever has a token of one box does not read it.
	if status, body := b.ask(api.Caller{Name: "box", Role: guard.Admin, Scope: "lab/i-1"}, http.MethodGet, "/v1/report", ""); status != http.StatusForbidden {
		t.Errorf("%d: %s", status, body)
	}
}
