package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) ls() *cobra.Command {
	var f client.Filter
	var tags []string
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "What runs, whose it is, what it costs and when it ends",
		Long: `Ls shows every instance that lives, registered or not, every open lease, what
was registered and ended within the last day, and the disks, snapshots and
addresses with an open finding. --kind volume shows all volumes; --all shows
what is gone, too.`,
		Example: `  guard ls
  guard ls --account lab --owner ana
  guard ls -o json | jq '.[] | select(.owner == "")'`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if f.Tags, err = tagsOf("tag", tags); err != nil {
				return err
			}
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.List, error) { return c.List(ctx, f) })
			if err != nil {
				return err
			}
			if out.Items == nil {
				out.Items = []wire.Item{}
			}
			if p := out.Paused; p != nil {
				a.say("guard acts nowhere since " + clock(p.Since) + ", because " + p.Why + "; once that is right: guard resume")
			}
			if done, err := a.json(out.Items); done {
				return err
			}
			if len(out.Items) == 0 {
				a.say("guard knows of nothing that matches (guard status tells whether it can see the accounts)")
				return nil
			}
			var rows [][]string
			for _, it := range out.Items {
				rows = append(rows, row(out.Now, it))
			}
			a.table(lsColumns, rows)
			return nil
		},
	}
	cmd.Flags().StringVar(&f.Account, "account", "", "only of this account")
	cmd.Flags().StringVar(&f.Kind, "kind", "", "instance, volume, snapshot, image, address, filesystem")
	cmd.Flags().StringVar(&f.Owner, "owner", "", "only of this owner")
	cmd.Flags().StringArrayVar(&tags, "tag", nil, "only with this tag, KEY=VALUE; may be repeated")
	cmd.Flags().BoolVar(&f.All, "all", false, "what is gone, too")
	a.completeFlag(cmd, "account", a.accounts)
	a.completeFlag(cmd, "owner", a.owners)
	a.completeFlag(cmd, "kind", words("instance", "volume", "snapshot", "image", "address", "filesystem"))
	return cmd
}

var lsColumns = []column{
	{title: "id"},
	{title: "name", least: 8, drop: 7},
	{title: "owner", least: 6, drop: 3},
	{title: "purpose", least: 8, drop: 6},
	{title: "state", drop: 1},
	{title: "activity", drop: 9},
	{title: "per hour", drop: 5, right: true},
	{title: "spent", drop: 2, right: true},
	{title: "budget", drop: 8, right: true},
	{title: "ends"},
	{title: "findings", least: 10, drop: 4},
}

// perHour and costs are the price and the spend as a table has them.
func perHour(it wire.Item) string {
	switch {
	case it.State == "gone" || it.State == "released" || it.Billing == "no":
		return "-"
	case it.Rate != nil:
		return *it.Rate
	}
	return "unknown"
}

func costs(it wire.Item) string {
	switch {
	case it.Spend == nil:
		return "unknown"
	case it.SpendAtLeast:
		return "≥ " + *it.Spend
	}
	return *it.Spend
}

func row(now time.Time, it wire.Item) []string {
	budget := ""
	if it.Budget != nil {
		budget = *it.Budget
	}
	name := it.Name
	if name == it.ID {
		name = ""
	}
	owner := it.Owner
	if owner == "" {
		owner = "-"
	}
	return []string{it.Account + "/" + it.ID, name, owner, it.Purpose, it.State, does(now, it.Activity), perHour(it), costs(it), budget, ends(now, it), strings.Join(it.Findings, " ")}
}

// how an end came about, in a word or two.
func how(word string) string {
	switch word {
	case "release":
		return "released"
	case "reclaim":
		return "taken back"
	case "outside":
		return "ended outside guard"
	case "platform":
		return "ended by the provider"
	}
	return word
}

// ends says in a few words what will end it and when.
func ends(now time.Time, it wire.Item) string {
	switch {
	case it.EndedAt != nil:
		s := ahead(now, *it.EndedAt)
		if it.EndedHow != "" {
			s += ", " + how(it.EndedHow)
		}
		return s
	case it.Release == "blocked":
		return "BLOCKED: " + it.ReleaseReason
	case it.Release == "intended" || it.Release == "issued":
		return "being released"
	case it.Expect != nil && now.After(it.Expect.Until):
		return "has not come: " + ahead(now, it.Expect.Until)
	case it.Expect != nil:
		return "expected " + ahead(now, it.Expect.Until) + " at the latest"
	case it.Protected:
		return "protected"
	case it.HeldUntil != nil:
		return "held for " + span(it.HeldUntil.Sub(now))
	case it.PaidUntil != nil && it.DeadlineReason == "budget" && !it.Deadline.After(now):
		return "paid until " + soon(now, *it.PaidUntil)
	case it.Deadline != nil && vetoed(it, *it.Deadline) != nil:
		return "vetoed for " + span(vetoed(it, *it.Deadline).Until.Sub(now)) + " (" + it.DeadlineReason + ")"
	case it.Deadline != nil:
		s := ahead(now, *it.Deadline) + " (" + it.DeadlineReason + ")"
		if it.Mode == "observe" {
			s += " observed"
		}
		return s
	case it.Foreign:
		return "another guard's"
	case it.Self:
		return "guard runs here"
	case it.PaidUntil != nil:
		return "paid until " + soon(now, *it.PaidUntil)
	case it.Kind != "instance" && it.Instance != "":
		return "with " + it.Instance
	case it.Kind != "instance":
		return ""
	case it.Lease == "":
		return "not registered"
	}
	return "no limit"
}

// vetoed is the veto that outlasts the limit that comes first; nil where none does.
func vetoed(it wire.Item, deadline time.Time) *wire.Mute {
	rule := map[string]string{"expiry": "expired", "budget": "budget_exceeded"}[it.DeadlineReason]
	for _, m := range it.Mutes {
		if m.Kind == "veto" && m.Rule == rule && m.Until.After(deadline) {
			return &m
		}
	}
	return nil
}
