package daemon

import (
	"context"

	"guard"
	"guard/configs"
	"guard/daemon/notify"
	"guard/daemon/report"
	"guard/daemon/wire"
)

// reports are the loops that tell what no single event does.
func (d *Daemon) reports(g *generation) []Loop {
	n := g.config.Notify
	c := report.Config{Ledger: d.o.Ledger, Accounts: g.accounts, Audience: g.audience(), Zone: g.config.TimeZone, Rules: g.config.Rules,
		Loops: d.runs, Doubt: func() bool { return d.time.Belief().Doubt }, Kick: d.sched.Kick, Log: d.o.Log}
	g.digest = report.NewDigest(c, n.Digest.NextDaily, func() report.Alive { return report.Alive{Version: d.o.Version, Started: d.started} })
	loops := []Loop{report.NewAway(c)}
	if !n.Digest.IsZero() {
		loops = append(loops, g.digest)
	}
	if len(n.Escalation) > 0 {
		loops = append(loops, report.NewEscalate(c, report.Escalation{After: n.Escalation, Admins: admins(n), Fallback: g.fallbacks()}))
	}
	if h := n.Heartbeat; h != nil && d.o.Beat != nil {
		loops = append(loops, report.NewHeartbeat(c, h.Every, d.o.Beat(h.URL)))
	}
	return loops
}

// admins are the admins by their names, or as their channel knows them.
func admins(n configs.Notify) []string {
	var out []string
	if n.Slack == nil {
		return nil
	}
	for _, u := range n.Slack.Admins {
		if u.Name == "" {
			u.Name = u.ID
		}
		out = append(out, u.Name)
	}
	return out
}

// fallbacks are who reads what the other channels could not be told, or nobody there has
// acknowledged.
func (g *generation) fallbacks() []guard.Audience {
	var out []guard.Audience
	for _, c := range g.channels {
		if notify.IsFallback(c) {
			out = append(out, notify.AudienceOf(c))
		}
	}
	return out
}

// runs tells how the loops run, to those that rest on it.
func (d *Daemon) runs() []report.Run {
	at := d.now()
	var out []report.Run
	for _, s := range d.sched.Status() {
		out = append(out, report.Run{Loop: s.Name, Last: s.Last, Running: s.Running, Failed: s.Error != "", Stale: s.stale(at), Runs: s.Runs})
	}
	return out
}

// report is the digest of the configuration in force, as of now.
func (d *Daemon) report(ctx context.Context, at guard.Instant, lang guard.Lang) (wire.Report, error) {
	digest, err := d.gen.Load().digest.Gather(ctx, at, true)
	if err != nil {
		return wire.Report{}, err
	}
	return report.Wire(digest, lang), nil
}
