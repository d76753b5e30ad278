package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/fake"
)

// lines are the points of a diagnosis: SECTION STATE TEXT.
func lines(d wire.Diagnosis) string {
	var out []string
	for _, s := range d.Sections {
		for _, p := range s.Points {
			out = append(out, s.Name+" "+p.State+" "+p.Text)
		}
	}
	return strings.Join(out, "\n")
}

// worst is the worst state of a diagnosis.
func worst(d wire.Diagnosis) string {
	rank := map[string]int{wire.PointOK: 0, wire.PointNote: 0, wire.PointWarn: 1, wire.PointFail: 2}
	at := wire.PointOK
	for _, s := range d.Sections {
		for _, p := range s.Points {
			if r, known := rank[p.State]; !known || r > rank[at] {
				at = p.State
			}
		}
	}
	return at
}

// saying is a channel that answers a check.
type saying struct {
	text string
	err  error
}

func (saying) Name() string                            { return "slack" }
func (s saying) Check(context.Context) (string, error) { return s.text, s.err }

// quiet is one that cannot be asked.
type quiet struct{}

func (quiet) Name() string { return "log" }

func TestExamine(t *testing.T) {
	cloud := fake.MustCloud(fake.Lab())
	at := cloud.At(0)
	long := at.Wall.Add(-time.Hour)
	account := func(mode guard.Mode) []*providers.Account {
		a := cloud.Account()
		a.Mode = mode
		return []*providers.Account{a}
	}
	status := func(change func(*wire.Status)) *wire.Status {
		s := wire.Status{Now: at.Wall, Channels: []string{"log"}, Loops: []wire.Loop{{Name: "meter"}},
			Accounts: []wire.Account{{Name: "lab", Mode: "enforce", State: "ok", Polled: &long}},
			Storage:  &wire.Storage{Path: "/l.db", Schema: 2, Size: 5 << 20, Disk: 2 << 40, Free: 1 << 40, Folder: "/b", Backups: 2, Newest: &long}}
		if change != nil {
			change(&s)
		}
		return &s
	}
	for name, c := range map[string]struct {
		fault fake.Fault
		p     Patient
		worst string
		want  []string
		not   string
	}{
		"all is well": {p: Patient{Accounts: account(guard.Enforce), Channels: []Channel{quiet{}, saying{text: "#gpu as @guard"}}, Status: status(nil)}, worst: wire.PointOK, want: []string{
			"account lab ok identity, clock, list, tag, stop, release", "account lab ok mode enforce, read at 2026-03-06 09:00:00 UTC", "loops ok 1 loops run in time",
			"releases ok 0 open, none blocked", "ledger ok /l.db: schema 2, 5.0 MiB, 1.0 TiB of 2.0 TiB free", "ledger ok 2 backups in /b", "people ok slack: #gpu as @guard", "people note only guardd's log is told"}},
		"terminate is not allowed":     {fault: fake.Fault{Call: fake.CallRelease, Reply: fake.Reply{Status: 403}}, p: Patient{Accounts: account(guard.Enforce)}, worst: wire.PointFail, want: []string{"account lab fail release: these credentials may not release"}},
		"nor need it be in observe":    {fault: fake.Fault{Call: fake.CallRelease, Reply: fake.Reply{Status: 403}}, p: Patient{Accounts: account(guard.Observe)}, worst: wire.PointWarn, want: []string{"(needed once the account is in enforce)"}},
		"tags are needed all the same": {fault: fake.Fault{Call: fake.CallTag, Reply: fake.Reply{Status: 403}}, p: Patient{Accounts: account(guard.Observe)}, worst: wire.PointFail, want: []string{"account lab fail tag"}},
		"a provider that is away":      {fault: fake.Fault{Reply: fake.Reply{Unreachable: true}}, p: Patient{Accounts: account(guard.Enforce)}, worst: wire.PointWarn, want: []string{"account lab warn identity"}},
		"a loop stands": {p: Patient{Status: status(func(s *wire.Status) {
			s.Loops = []wire.Loop{{Name: "meter", Stale: true, Last: &long}, {Name: "notify", Error: "x"}}
		})}, worst: wire.PointFail,
			want: []string{"loops fail meter stands still since 2026-03-06 09:00:00 UTC", "loops warn notify fails: x"}},
		"no daemon": {p: Patient{Stopped: true, Status: status(func(s *wire.Status) { s.Loops = nil })}, worst: wire.PointOK, not: "loops"},
		"blind": {p: Patient{Accounts: account(guard.Enforce), Status: status(func(s *wire.Status) {
			s.Accounts[0].Blind, s.Accounts[0].State, s.Accounts[0].Error = []string{"zone-b instances", "zone-c volumes"}, "blind", "list them: status 401"
		})}, worst: wire.PointWarn, want: []string{"account lab note mode enforce, asked at", "account lab warn guard cannot list zone-b instances: list them: status 401", "account lab warn guard cannot list zone-c volumes"}},
		"its bill":        {p: Patient{Accounts: account(guard.Enforce), Status: status(func(s *wire.Status) { s.Accounts[0].BillError = "403" })}, worst: wire.PointWarn, want: []string{"account lab warn its bill cannot be read: 403"}},
		"somebody else's": {p: Patient{Accounts: account(guard.Enforce), Status: status(func(s *wire.Status) { s.Accounts[0].State, s.Accounts[0].Error = "mismatch", "belongs to acct-2" })}, worst: wire.PointFail, want: []string{"account lab fail belongs to acct-2"}},
		"removed":         {p: Patient{Status: status(func(s *wire.Status) { s.Accounts = append(s.Accounts, wire.Account{Name: "old", State: "removed"}) })}, worst: wire.PointFail, want: []string{"account old fail it is not configured any more"}},
		"paused and blocked": {p: Patient{Status: status(func(s *wire.Status) {
			s.Paused, s.Pressing = &wire.Pause{Since: long, Why: "it was restored"}, []string{"the release of lab/i-1 is blocked"}
		})}, worst: wire.PointFail, want: []string{"releases warn guard acts nowhere since 2026-03-06 09:00:00 UTC: it was restored", "releases fail the release of lab/i-1 is blocked"}},
		"the disk":    {p: Patient{Status: status(func(s *wire.Status) { s.Storage.Trouble = "it fills up" })}, worst: wire.PointWarn, want: []string{"ledger warn it fills up"}},
		"old backups": {p: Patient{Status: status(func(s *wire.Status) { s.Storage.Overdue = true })}, worst: wire.PointWarn, want: []string{"ledger warn the newest of 2 backups in /b is of 2026-03-06 09:00:00 UTC"}},
		"no backup":   {p: Patient{Status: status(func(s *wire.Status) { s.Storage.Overdue, s.Storage.Newest = true, nil })}, worst: wire.PointWarn, want: []string{"ledger warn there is no backup in /b"}},
		"no file":     {p: Patient{Status: status(func(s *wire.Status) { s.Storage.Error = "cut off" })}, worst: wire.PointFail, want: []string{"ledger fail /l.db: cut off"}},
		"Slack refuses": {p: Patient{Channels: []Channel{saying{err: errors.New("token_revoked")}}, Status: status(func(s *wire.Status) {
			s.Channels, s.Delivery = []string{"slack"}, []wire.Channel{{Name: "slack", Undelivered: 3, Overdue: true, Oldest: &long, Error: "token_revoked"}}
		})}, worst: wire.PointFail, want: []string{"people fail slack: token_revoked", "people fail 3 messages to slack wait, the oldest since 2026-03-06 09:00:00 UTC: token_revoked"}},
		"nobody is told": {p: Patient{Status: status(func(s *wire.Status) { s.Channels = nil })}, worst: wire.PointWarn, want: []string{"people warn nobody is told"}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud.ClearFaults()
			if c.fault.Reply.Status > 0 || c.fault.Reply.Unreachable {
				cloud.Fault(c.fault)
			}
			d := Examine(t.Context(), at, c.p)
			got := lines(d)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("it does not say %q:\n%s", want, got)
				}
			}
			if w := worst(d); w != c.worst || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("at worst %s, want %s:\n%s", w, c.worst, got)
			}
			for _, s := range d.Sections {
				for _, p := range s.Points {
					if (p.State == wire.PointWarn || p.State == wire.PointFail) && p.Do == "" {
						t.Errorf("%s: %q says nothing to do", s.Name, p.Text)
					}
				}
			}
		})
	}
	if n := len(cloud.CallsOf(fake.CallRelease, "")) + len(cloud.CallsOf(fake.CallStop, "")) + len(cloud.CallsOf(fake.CallTag, "")); n > 0 {
		t.Errorf("the doctor made %d calls that change something", n)
	}
}
