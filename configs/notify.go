package configs

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"guard"
)

// Notify is where people read what guard says, and when.
type Notify struct {
	// Slack is nil where no Slack channel is configured.
	Slack *Slack
	// URLs are other services, in the order of the file.
	URLs []URLChannel
	// Digest is when the daily digest is told, in Config.TimeZone; zero: never.
	Digest Schedule
	// Quiet holds back what can wait; the zero value holds back nothing.
	Quiet Quiet
	// Escalation is how long a blocked release or an exceeded budget that nobody has
	// acknowledged waits for each next circle of people: the channel, the admins, the
	// fall-back channel. Empty: nothing is escalated.
	Escalation []time.Duration
	// Heartbeat is nil where none is sent.
	Heartbeat *Heartbeat
}

// Slack is the Slack channel.
type Slack struct {
	Token   guard.Secret // a bot token
	Channel string       // a name such as #gpu-cost, or a channel ID
	// AppToken is what Socket Mode wants, for buttons; not set: there are none.
	AppToken guard.Secret
	// Users may do by a click what an operator may, Admins what an admin may.
	Users, Admins []SlackUser
	Lang          guard.Lang
	// Endpoint replaces Slack's own address, for tests; "" otherwise.
	Endpoint string
}

// SlackUser is a person in Slack.
type SlackUser struct {
	ID string // U0123ABCD
	// Name is the person's name as an owner of leases; "" where it is not told.
	Name string
}

// URLChannel is a service that takes messages at an address.
type URLChannel struct {
	// Name is the channel's: as configured, or else url:N, counted from 1.
	Name string
	URL  guard.Secret // it carries the service's token
	Lang guard.Lang
	// Fallback: it is told only what the channels before it could not be told.
	Fallback bool
}

// Quiet is the hours of a day in which people are told only what cannot wait: from From,
// for Length, in a zone. On days of which the zone's clock skips or repeats an hour they
// begin and end by the clock on the wall.
type Quiet struct {
	From   time.Duration // after midnight
	Until  time.Duration // after midnight, the next day where it is not after From
	Zone   *time.Location
	Always []time.Weekday // days that are quiet all day
}

// Heartbeat tells an outside watcher that guard lives.
type Heartbeat struct {
	URL   guard.Secret
	Every time.Duration
}

const (
	defaultHeartbeat = 5 * time.Minute
	leastHeartbeat   = 30 * time.Second
	mostHeartbeat    = 24 * time.Hour
	// mostDigest is how far apart digests may be: a month and its longest.
	mostDigest  = 31 * 24 * time.Hour
	leastDigest = time.Hour
	// Escalation is over in a day, or nobody reads it.
	leastEscalation = time.Minute
	mostEscalation  = 24 * time.Hour
	circles         = 3
)

type (
	notifyFile struct {
		Slack     *slackFile      `yaml:"slack"`
		URLs      []urlFile       `yaml:"urls"`
		Digest    plain           `yaml:"digest"`
		Heartbeat *heartbeatFile  `yaml:"heartbeat"`
		Quiet     *quietFile      `yaml:"quiet"`
		Escalate  []time.Duration `yaml:"escalate"`
	}

	slackFile struct {
		Token    guard.Secret `yaml:"token"`
		Channel  string       `yaml:"channel"`
		Endpoint string       `yaml:"endpoint"`
		AppToken guard.Secret `yaml:"app_token"`
		Users    []slackUser  `yaml:"users"`
		Admins   []slackUser  `yaml:"admins"`
		Language lang         `yaml:"language"`
	}

	quietFile struct {
		From     clock     `yaml:"from"`
		Until    clock     `yaml:"until"`
		TimeZone zone      `yaml:"time_zone"`
		Days     []weekday `yaml:"days"`
	}

	heartbeatFile struct {
		URL   guard.Secret  `yaml:"url"`
		Every time.Duration `yaml:"every"`
	}
)

// slackUser is U0123ABCD, or {id: U0123ABCD, name: ana}.
type slackUser SlackUser

// ReadNode implements NodeReader.
func (u *slackUser) ReadNode(n Node) {
	var in struct {
		ID   string `yaml:"id"`
		Name string `yaml:"name"`
	}
	if text, ok := n.Text(); ok {
		in.ID = text
	} else if !n.Decode(&in) {
		return
	}
	if !slackID.MatchString(in.ID) {
		n.Problem("%s is no member ID of Slack: write one such as U0123ABCD, or {id: U0123ABCD, name: ana} (Slack shows it in a profile, under \"Copy member ID\")", shown(in.ID))
		return
	}
	*u = slackUser(in)
}

// slackID is how Slack names members (docs.slack.dev: U…, of other workspaces W…).
var slackID = regexp.MustCompile(`^[UW][A-Z0-9]{0,20}$`)

// urlFile is an address as a secret, or a group of keys with one.
type urlFile struct {
	URL  guard.Secret
	Bare bool // the address itself stands in the file
	urlKeys
}

type urlKeys struct {
	Name     string `yaml:"name"`
	Language lang   `yaml:"language"`
	Fallback bool   `yaml:"fallback"`
}

// ReadNode implements NodeReader.
func (u *urlFile) ReadNode(n Node) {
	if text, ok := n.Text(); ok {
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) || !strings.Contains(text, ":") {
			n.Problem("not an address: write it as {env: NAME} or {file: PATH}, for it carries the service's token")
			return
		}
		u.URL, u.Bare = guard.NewSecret(text), true
		return
	}
	if !n.IsGroup() {
		n.Problem("is %s: write {env: NAME}, or {url: {env: NAME}, name: ops}", n.Shape())
		return
	}
	secret := func(f Field) bool { return f.Key == "env" || f.Key == "file" }
	if fields := n.Fields(); len(fields) == 1 && secret(fields[0]) {
		n.Decode(&u.URL)
		return
	}
	var in struct {
		URL guard.Secret `yaml:"url"`
		urlKeys
	}
	switch {
	case !n.Has("url"):
		n.Problem("url is missing: write {url: {env: NAME}, name: ops}")
	case n.Decode(&in):
		u.URL, u.urlKeys = in.URL, in.urlKeys
	}
}

// lang is en or zh.
type lang guard.Lang

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *lang) UnmarshalText(b []byte) error {
	if v := guard.Lang(b); slices.Contains(guard.Langs, v) {
		*l = lang(v)
		return nil
	}
	return fmt.Errorf("%s is no language that guard speaks: write en or zh", shown(string(b)))
}

// clock is a time of day, 22:00.
type clock time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *clock) UnmarshalText(b []byte) error {
	t, err := time.Parse("15:04", string(b))
	if err != nil {
		return fmt.Errorf("%s is no time of day: write it as \"22:00\"", shown(string(b)))
	}
	*c = clock(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute)
	return nil
}

// weekday is SUN to SAT.
type weekday time.Weekday

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *weekday) UnmarshalText(b []byte) error {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(string(b), d.String()[:3]) {
			*w = weekday(d)
			return nil
		}
	}
	return fmt.Errorf("%s is no day: write SUN, MON, TUE, WED, THU, FRI or SAT", shown(string(b)))
}

// notify checks where people read.
func (d *decoder) notify(in notifyFile, built *Decoders, c *Config) Notify {
	out := Notify{Slack: d.slack(in.Slack), Escalation: in.Escalate}
	for i, u := range in.URLs {
		path := fmt.Sprintf("notify.urls[%d]", i)
		x, ok := d.urlChannel(path, i, u, out.URLs, c)
		if !ok {
			continue
		}
		out.URLs = append(out.URLs, x)
		if err := built.address(x.URL); err != nil && !d.rehearse {
			d.at(path, "%s", strings.TrimPrefix(err.Error(), guard.ErrInvalid.Error()+": "))
		}
	}
	if len(out.URLs) > 0 && out.Slack == nil && !d.rehearse && !slices.ContainsFunc(out.URLs, func(u URLChannel) bool { return !u.Fallback }) {
		d.at("notify.urls", "all of them are a fallback: there is no channel for them to stand in for")
	}
	if in.Digest != "" {
		s, err := parseSchedule(string(in.Digest), c.TimeZone, leastDigest, mostDigest)
		if err != nil {
			d.at("notify.digest", "%v", err)
		}
		out.Digest = s
	}
	for i, x := range in.Escalate {
		at := fmt.Sprintf("notify.escalate[%d]", i)
		d.between(at, x, leastEscalation, mostEscalation)
		if i > 0 && x <= in.Escalate[i-1] {
			d.at(at, "each circle is told later than the one before it: all count from the first message")
		}
	}
	if len(in.Escalate) > circles {
		d.at("notify.escalate", "there are %d circles: the channel, the admins, the fall-back channel", circles)
	}
	out.Quiet = d.quiet(in.Quiet, c)
	if h := in.Heartbeat; h != nil && !d.unread["notify.heartbeat"] {
		if !d.has("notify.heartbeat.url") {
			d.at("notify.heartbeat", "url is missing: write url: {env: GUARD_HEARTBEAT_URL}")
		} else if why := badEndpoint(h.URL.Reveal()); why != "" && d.read("notify.heartbeat.url") && !d.rehearse {
			d.at("notify.heartbeat.url", "%s", why)
		}
		if h.Every == 0 {
			h.Every = defaultHeartbeat
		}
		out.Heartbeat = &Heartbeat{URL: h.URL, Every: d.between("notify.heartbeat.every", h.Every, leastHeartbeat, mostHeartbeat)}
	}
	return out
}

func (d *decoder) quiet(in *quietFile, c *Config) Quiet {
	const path = "notify.quiet"
	if in == nil || d.unread[path] {
		return Quiet{}
	}
	out := Quiet{From: time.Duration(in.From), Until: time.Duration(in.Until), Zone: in.TimeZone.Location}
	for _, day := range in.Days {
		out.Always = append(out.Always, time.Weekday(day))
	}
	if out.Zone == nil {
		out.Zone = c.TimeZone
	}
	switch {
	case !d.has(path+".from") || !d.has(path+".until"):
		d.at(path, "write from and until, such as {from: \"22:00\", until: \"08:00\"}")
	case in.From == in.Until && d.read(path):
		d.at(path, "from and until are the same: that is no hour of the day, or all of them")
	}
	return out
}

func (d *decoder) urlChannel(path string, i int, in urlFile, before []URLChannel, c *Config) (URLChannel, bool) {
	if d.unread[path] || !in.URL.IsSet() {
		return URLChannel{}, false
	}
	out := URLChannel{Name: in.Name, URL: in.URL, Lang: guard.Lang(in.Language), Fallback: in.Fallback}
	if out.Name == "" {
		out.Name = fmt.Sprintf("url:%d", i+1)
	}
	switch {
	case in.Name != "" && !channelName.MatchString(in.Name):
		d.at(path+".name", "%s is no name for a channel: write letters, digits, - and _, such as feishu-ops", shown(in.Name))
	case in.Name == "slack" || in.Name == "log" || slices.ContainsFunc(before, func(o URLChannel) bool { return o.Name == out.Name }):
		d.at(path+".name", "there is a channel %s already", out.Name)
	}
	if in.Bare {
		c.Notes = append(c.Notes, Problem{d.file, d.line(path), path + ": the address stands in the file itself; where it carries a token, write it as {env: NAME} or {file: PATH}"})
	}
	return out, true
}

var channelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

func (d *decoder) slack(in *slackFile) *Slack {
	const path = "notify.slack"
	if in == nil || d.unread[path] {
		return nil
	}
	// A story's Slack is there, whatever is configured of it.
	if !d.has(path+".token") && !d.rehearse {
		d.at(path, "token is missing: write token: {env: SLACK_BOT_TOKEN}")
	}
	switch c := in.Channel; {
	case c == "" && d.read(path+".channel") && !d.rehearse:
		d.at(path, "channel is missing: write channel: \"#gpu-cost\"")
	case strings.ContainsFunc(c, unicode.IsSpace):
		d.at(path+".channel", "a channel has no spaces in its name")
	}
	if in.Endpoint != "" {
		if why := badEndpoint(in.Endpoint); why != "" {
			d.at(path+".endpoint", "%s", why)
		}
	}
	out := &Slack{Token: in.Token, Channel: in.Channel, AppToken: in.AppToken, Lang: guard.Lang(in.Language), Endpoint: in.Endpoint}
	named := map[string]string{} // who a name is, by ID
	people := func(key string, list []slackUser) (out []SlackUser) {
		for i, u := range list {
			if other, ok := named[u.Name]; ok && u.Name != "" && other != u.ID {
				d.at(fmt.Sprintf("%s.%s[%d]", path, key, i), "%s is the name of %s already", u.Name, other)
			}
			named[u.Name] = u.ID
			if u.ID != "" && !slices.Contains(out, SlackUser(u)) {
				out = append(out, SlackUser(u))
			}
		}
		return out
	}
	out.Users, out.Admins = people("users", in.Users), people("admins", in.Admins)
	return out
}

// badEndpoint is why a token must not be sent there; "" where it may. Plain HTTP
// is for a test server on this machine only. The address is not repeated: it may
// hold a password.
func badEndpoint(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "":
		return "not an address: write https://HOST/PATH"
	case u.User != nil:
		return "an address cannot carry a user or a password"
	case u.Scheme == "https":
		return ""
	case u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()):
		return ""
	}
	return "write https:// (http:// is for this machine only), for the token goes there"
}
