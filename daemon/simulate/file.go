package simulate

import (
	"time"

	"guard/configs"
	"guard/providers/fake"
)

// file is a scenario file as it is written. A field of type configs.Later is a
// key of the page whose feature is not built yet.
type file struct {
	Scenario   word              `yaml:"scenario"`
	Start      when              `yaml:"start"`
	For        span              `yaml:"for"`
	Poll       span              `yaml:"poll"`
	Sweep      span              `yaml:"sweep"`
	ConfigFile word              `yaml:"config_file"`
	Config     configs.Node      `yaml:"config"`
	Accounts   configs.Node      `yaml:"accounts"`
	People     map[string]person `yaml:"people"`
	Commands   []command         `yaml:"commands"`
	Daemon     []daemonEvent     `yaml:"daemon"`
	Channels   channelsPart      `yaml:"channels"`
	Expect     configs.Node      `yaml:"expect"`
}

type person struct {
	Name word `yaml:"name"`
	Role word `yaml:"role"`
}

type command struct {
	node configs.Node
	commandKeys
	args []string // of Run, the program first
	at   time.Duration
}

type commandKeys struct {
	At        when     `yaml:"at"`
	Say       word     `yaml:"say"` // told to whoever watches
	User      word     `yaml:"user"`
	Run       word     `yaml:"run"`
	Slack     *gesture `yaml:"slack"`
	Prints    words    `yaml:"prints"`
	NotPrints words    `yaml:"not_prints"`
	Fails     refusal  `yaml:"fails"`
	MayFail   bool     `yaml:"may_fail"`
}

// ReadNode implements configs.NodeReader.
func (c *command) ReadNode(n configs.Node) {
	c.node = n
	if !n.Decode(&c.commandKeys) {
		return
	}
	if !n.Has("at") {
		n.Problem("at is missing: say when, such as at: 1m")
	}
	if c.Slack != nil {
		if c.Run != "" || n.Has("user") {
			n.Problem("slack says who does what there: run and user do not go with it")
		}
		return
	}
	if c.Run == "" {
		for _, key := range []string{"user", "prints", "not_prints", "fails", "may_fail"} {
			if n.Has(key) || c.Say == "" {
				n.Problem("run is missing: write a command line, such as run: guard ls, or slack: {click: extend, about: lab/i-1, user: U1}")
				return
			}
		}
		return
	}
	var err error
	if c.args, err = splitWords(string(c.Run)); err != nil {
		n.At("run", "%v", err)
		return
	}
	checkProgram(n, "run", c.args)
}

// checkProgram refuses what cannot be run inside a story.
func checkProgram(n configs.Node, key string, args []string) {
	switch {
	case len(args) == 0:
		n.At(key, "write a command line, such as guard ls")
	case args[0] == "guard":
	case args[0] != "guardd":
		n.At(key, "%q is not a program of this house: write guard or guardd", clip(args[0]))
	case len(args) < 2 || args[1] != "check" && args[1] != "version" && args[1] != "--help":
		n.At(key, "of guardd only check and version can be run inside a story; others are not supported yet")
	}
}

type daemonEvent struct {
	node configs.Node
	daemonKeys
	at   time.Duration
	back time.Duration
	from time.Duration // of a restore: when the ledger was as it is put back
}

type daemonKeys struct {
	At        when    `yaml:"at"`
	Crash     bool    `yaml:"crash"`
	CrashAt   word    `yaml:"crash_at"`
	ID        word    `yaml:"id"`
	BackAfter span    `yaml:"back_after"`
	ClockJump step    `yaml:"clock_jump"`
	Suspend   span    `yaml:"suspend"`
	Reload    *reload `yaml:"reload"`
	Start     bool    `yaml:"start"`
	Restore   when    `yaml:"restore"`
	Fails     refusal `yaml:"fails"`
	MayFail   bool    `yaml:"may_fail"`
}

type reload struct {
	Config     configs.Node `yaml:"config"`
	ConfigFile word         `yaml:"config_file"`
	Accept     number       `yaml:"accept"` // as guard reload --accept
	Fails      refusal      `yaml:"fails"`
}

// crashPoints are the states of a release after which a crash can be told.
var crashPoints = []string{"planned", "noticed", "intended", "issued", "blocked", "released", "withdrawn"}

// ReadNode implements configs.NodeReader.
func (e *daemonEvent) ReadNode(n configs.Node) {
	e.node = n
	if !n.Decode(&e.daemonKeys) {
		return
	}
	var what []string
	for _, k := range []string{"crash", "crash_at", "clock_jump", "suspend", "reload", "start", "restore"} {
		if n.Has(k) {
			what = append(what, k)
		}
	}
	if len(what) != 1 {
		n.Problem("write one thing that happens: crash, crash_at, clock_jump, suspend, reload, start or restore")
		return
	}
	only := func(key string, of ...string) {
		if n.Has(key) && !contains(of, what[0]) {
			n.At(key, "does not go with %s", what[0])
		}
	}
	only("id", "crash_at")
	only("back_after", "crash", "crash_at")
	only("fails", "reload", "start")
	only("may_fail", "reload")
	if what[0] == "crash_at" {
		if !contains(crashPoints, string(e.CrashAt)) {
			n.At("crash_at", "write intended or issued (or another state of a release), not %q", clip(string(e.CrashAt)))
		}
		return
	}
	if !n.Has("at") {
		n.Problem("at is missing: say when, such as at: 2h")
	}
	if e.Reload != nil && e.Fails.set && !e.Reload.Fails.set {
		e.Reload.Fails = e.Fails
	}
}

type channelsPart struct {
	Slack slackPart     `yaml:"slack"`
	Log   configs.Later `yaml:"log"`
}

type slackPart struct {
	Faults []slackFault `yaml:"faults"`
}

type slackFault struct {
	From  when       `yaml:"from"`
	For   span       `yaml:"for"`
	Times number     `yaml:"times"`
	Reply slackReply `yaml:"reply"`
}

// slackReply is how a faulty post is answered.
type slackReply struct {
	slackReplyKeys
	timesOut, refused bool
	stored            bool
}

type slackReplyKeys struct {
	OK         *bool  `yaml:"ok"`
	Error      word   `yaml:"error"`
	Stored     bool   `yaml:"stored"`
	Status     number `yaml:"status"`
	RetryAfter number `yaml:"retry_after"`
	Body       word   `yaml:"body"`
}

// ReadNode implements configs.NodeReader.
func (r *slackReply) ReadNode(n configs.Node) {
	if s, ok := n.Text(); ok {
		switch s {
		case "delivered_but_times_out":
			r.timesOut, r.stored = true, true
		case "times_out":
			r.timesOut = true
		case "unreachable":
			r.refused = true
		default:
			n.Unknown(s, []string{"delivered_but_times_out", "times_out", "unreachable"})
		}
		return
	}
	if !n.Decode(&r.slackReplyKeys) {
		return
	}
	r.stored = r.Stored
	if (r.Error != "") == r.Status.set {
		n.Problem("write {status: 429} or {ok: false, error: channel_not_found}")
	}
}

// account is one account of the story.
type account struct {
	name string
	node configs.Node
	accountKeys
	script fake.Script
}

func contains[T comparable](list []T, x T) bool {
	for _, l := range list {
		if l == x {
			return true
		}
	}
	return false
}
