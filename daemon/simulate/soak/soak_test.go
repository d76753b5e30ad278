package soak

import (
	"bytes"
	"os"
	"strconv"
	"testing"
	"time"
)

// TestSoak plays weeks of fixed seeds; what they break is a failure. By default it
// takes about a minute and a half on two cores. GUARD_SOAK=10m plays that long.
func TestSoak(t *testing.T) {
	o := Options{Run: commandTree, Check: Check, Knobs: Short(), Seed: 1, Weeks: 24, KeepGoing: true, Out: t.TempDir()}
	if testing.Short() {
		o.Weeks = 2
	}
	if env := os.Getenv("GUARD_SOAK"); env != "" {
		d, err := time.ParseDuration(env)
		if err != nil {
			t.Fatal(err)
		}
		o.Duration, o.Weeks, o.Knobs = d, 0, Usual()
	}
	if env := os.Getenv("GUARD_SOAK_SEED"); env != "" {
		seed, err := strconv.ParseInt(env, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		o.Seed = seed
	}
	if dir := os.Getenv("GUARD_SOAK_OUT"); dir != "" {
		o.Out = dir
	}
	r, err := Soak(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	r.Table(&b)
	if len(r.Failures) > 0 {
		t.Error(b.String())
	} else {
		t.Log(b.String())
	}
}
