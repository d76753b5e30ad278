package fake

import (
	"strings"
	"testing"

	"guard"
	"guard/providers"
)

// TestProbeBeforeRelease is an account that may be listed and not ended: the probe
// tells so by name, and neither it nor the log knows of a release.
func TestProbeBeforeRelease(t *testing.T) {
	c := MustCloud(Lab())
	c.Fault(Fault{Call: CallRelease, Reply: Reply{Status: 403}})
	found := map[string]providers.Check{}
	for _, x := range c.Account().Prober.Probe(guard.WithInstant(t.Context(), c.At(0)), c.ID(guard.Instance, "i-2")) {
		found[x.Name] = x
	}
	for _, name := range []string{CallIdentity, CallList, CallStop, CallTag, "clock"} {
		if found[name].Outcome != providers.CheckOK {
			t.Errorf("%s: %+v", name, found[name])
		}
	}
	r := found[CallRelease]
	if r.Outcome != providers.CheckRefused || !r.Acts || !strings.Contains(r.Text, "may not release") || !strings.Contains(r.Do, "permission to release") {
		t.Errorf("release: %+v", r)
	}
	if n := len(c.CallsOf(CallProbe, "i-2")); n != 3 {
		t.Errorf("%d dry runs", n)
	}
	if n := len(c.CallsOf(CallRelease, "")) + len(c.CallsOf(CallStop, "")) + len(c.CallsOf(CallTag, "")); n != 0 || c.Truth("i-2") != TruthRunning || len(c.Tags("i-2")) != 0 {
		t.Errorf("%d real calls; it is %s with tags %v", n, c.Truth("i-2"), c.Tags("i-2"))
	}
}
