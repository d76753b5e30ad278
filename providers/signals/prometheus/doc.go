// Package prometheus reads samples from a Prometheus server, and from exporters
// themselves: NVIDIA's dcgm-exporter for the GPUs, node-exporter for the rest.
//
// GPUs are gauges, read at one moment of each interval; beside it stands the highest
// reading in the interval, so that a burst between two moments is not lost. Rates of the
// processors and disks are averages. Network interfaces are counters, kept one by one
// (see [machine.NIC] for those left out), and so is what their rates are made of.
//
// What ended in the interval before a moment, because an exporter or its machine is
// away, gives no sample: nothing stale is told. Not a number is not known.
package prometheus

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"guard"
)

// Kind and ScrapeKind are the keys of the sources' sections in a configuration.
const (
	Kind       = "prometheus"
	ScrapeKind = "scrape"
)

// Access is how to reach a server and who asks. All of it may be empty.
type Access struct {
	// Token is a bearer token; User and Password are for basic authentication.
	Token    guard.Secret `yaml:"token"`
	User     string       `yaml:"user"`
	Password guard.Secret `yaml:"password"`
	// CA is the path of a file of PEM certificates to trust in place of the system's.
	CA string `yaml:"ca"`
}

// Config is the section of a Prometheus server. Decode it over Defaults.
type Config struct {
	// URL is the server's: what stands before /api/v1.
	URL string `yaml:"url"`
	Access
	// Queries replace or, where empty, drop those that are asked by default (see
	// [Queries]). $interval and $rate stand for the interval and twice the interval.
	Queries  map[string]string `yaml:"queries"`
	Instance Instance          `yaml:"instance"`
	// Interval is how far apart samples are.
	Interval time.Duration `yaml:"interval"`
}

// Instance says which series are of which instance.
type Instance struct {
	// Label names it in the series of GPUs, NodeLabel in those of the machine. A port
	// behind the value is passed over.
	Label     string `yaml:"label"`
	NodeLabel string `yaml:"node_label"`
	// Is what the labels hold: id, name, or tag:KEY.
	Is string `yaml:"is"`
}

// Defaults are the labels that dcgm-exporter and Prometheus itself write.
func Defaults() Config {
	return Config{Instance: Instance{Label: "Hostname", NodeLabel: "instance", Is: "name"}, Interval: time.Minute}
}

// ScrapeConfig is the section of exporters that are read directly.
type ScrapeConfig struct {
	Targets []Target `yaml:"targets"`
	Access
}

// Target is one exporter of one instance; an instance may have several.
type Target struct {
	URL      string `yaml:"url"`
	Resource string `yaml:"resource"` // ACCOUNT/ID
}

// The bounds of an interval.
const (
	leastInterval = 15 * time.Second
	mostInterval  = time.Hour
)

var (
	labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	urlForm   = "write a URL such as http://prometheus:9090, without user, password or query"
)

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if !isURL(c.URL) {
		report("url", urlForm)
	}
	c.Access.check(report)
	for key := range c.Queries {
		if _, ok := metrics[metric(key)]; !ok {
			report("queries."+key, "there is no such query: known are "+strings.Join(Keys(), ", "))
		}
	}
	for key, label := range map[string]string{"label": c.Instance.Label, "node_label": c.Instance.NodeLabel} {
		if !labelName.MatchString(label) {
			report("instance."+key, "write the name of a label, such as Hostname")
		}
	}
	if key, ok := strings.CutPrefix(c.Instance.Is, "tag:"); c.Instance.Is != "id" && c.Instance.Is != "name" && (!ok || key == "") {
		report("instance.is", "write id, name, or tag:KEY")
	}
	if c.Interval < leastInterval || c.Interval > mostInterval || c.Interval%time.Second != 0 {
		report("interval", fmt.Sprintf("write whole seconds from %s to %s", leastInterval, mostInterval))
	}
}

// Check reports what cannot be right in the section.
func (c *ScrapeConfig) Check(report func(key, problem string)) {
	c.Access.check(report)
	if len(c.Targets) == 0 {
		report("targets", "there are none: list {url, resource}")
	}
	for i, t := range c.Targets {
		if key := fmt.Sprintf("targets[%d]", i); !isURL(t.URL) {
			report(key+".url", "write a URL such as http://10.0.0.5:9400/metrics, without user, password or query")
		} else if slices.Contains(c.Targets[:i], t) {
			report(key, "stands twice")
		}
	}
}

// Resources are the instances that the section names.
func (c ScrapeConfig) Resources() map[string]string {
	out := map[string]string{}
	for i, t := range c.Targets {
		out[fmt.Sprintf("targets[%d].resource", i)] = t.Resource
	}
	return out
}

func (a Access) check(report func(key, problem string)) {
	switch {
	case a.Token.IsSet() && (a.User != "" || a.Password.IsSet()):
		report("token", "token and user are two ways to say who asks: keep one")
	case a.Password.IsSet() && a.User == "":
		report("password", "whose password? add user")
	}
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
