package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"guard"
	"guard/configs"
	"guard/providers/signals/prometheus"
)

// anyEnv is an environment in which everything is set, addresses to some address.
func anyEnv(name string) (string, bool) {
	switch {
	case name == "GUARD_HEARTBEAT_URL":
		return "https://hc.example.com/secret", true
	case strings.HasSuffix(name, "_URL"):
		return "generic://example.com/secret", true
	}
	return "secret", true
}

// The shipped examples are right to the last key of each section.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../configs/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples:", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := configs.Load(text, file, sections, anyEnv); err != nil {
			t.Errorf("%s:\n%v", file, err)
		}
	}
}

// Every kind of source can be written in a file, and made of it.
func TestSources(t *testing.T) {
	kinds := func(of []string) []string { slices.Sort(of); return of }
	var written, made []string
	for kind := range sections.Sources {
		written = append(written, kind)
	}
	for kind := range sourceKinds {
		made = append(made, kind)
	}
	if !slices.Equal(kinds(written), kinds(made)) {
		t.Errorf("sections of %q, sources of %q", written, made)
	}

	load := func(source string) ([]string, error) {
		c, err := configs.Load([]byte("accounts: [{name: lab, provider: aws}]\nsignals: {sources: ["+source+"]}\n"), filepath.Join(t.TempDir(), "guard.yaml"), sections, anyEnv)
		if err != nil {
			return nil, err
		}
		all, err := sources(c)
		var names []string
		for _, s := range all {
			names = append(names, s.Name+" "+strings.Join(s.Accounts, ","))
		}
		return names, err
	}
	if got, err := load(`{name: prom, accounts: [lab], prometheus: {url: "http://127.0.0.1:9090"}}, {name: dcgm, scrape: {targets: [{url: "http://127.0.0.1:9400/metrics", resource: lab/i-1}]}}`); err != nil || !slices.Equal(got, []string{"prom lab", "dcgm "}) {
		t.Errorf("%q, %v", got, err)
	}
	for source, says := range map[string]string{
		`{name: box, ssh: {user: u, key: {file: id}, known_hosts: known, hosts: {lab/i-1: "10.0.0.5"}}}`: "signals source box: invalid: key: the file cannot be read",
		`{name: prom, prometheus: {url: "http://127.0.0.1:9090", ca: none.pem}}`:                         "signals source prom: invalid: ca: the file of certificates cannot be read",
	} {
		if _, err := load(source); !errors.Is(err, guard.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", source, err)
		}
	}
	_, err := load(`{name: prom, prometheus: {url: here, interval: 1s, queries: {gpu: x}, instance: {is: address}}}`)
	for _, key := range []string{"prometheus.url", "prometheus.interval", "prometheus.queries.gpu", "prometheus.instance.is"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("nothing is said of %s: %v", key, err)
		}
	}
	if got := prometheus.Defaults().Instance.Label; got != "Hostname" {
		t.Errorf("the label of dcgm-exporter is %s", got)
	}
}
