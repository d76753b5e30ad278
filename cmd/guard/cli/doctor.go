package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that guard stands on, and say what to do",
		Long: `Doctor has guardd look, now, at what its credentials allow (ending a machine by
dry run), its clock, its loops, its ledger and backups, its channels, and what
waits for a person. Nothing is changed and nothing is posted. Each line is ok,
note, warn or FAIL, with what to do below it.

It exits with 0 where all is well and with 1 where something is not. Where no
guardd runs, guardd doctor --config FILE looks at as much as it can.`,
		Example: "  guard doctor\n  guard doctor -o json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := ask(a, cmd, "guardd asks providers and channels", func(ctx context.Context, c *client.Client) (wire.Diagnosis, error) { return c.Doctor(ctx) })
			if err != nil {
				return err
			}
			return a.diagnosed(d)
		},
	}
}

// Diagnosed prints a diagnosis as guard doctor does, and returns the exit status.
func Diagnosed(w IO, d wire.Diagnosis, output string) int {
	return tell(w, nil, (&app{IO: w, output: output}).diagnosed(d))
}

// diagnosed prints section by section; what is wrong is an error that has been told.
func (a *app) diagnosed(d wire.Diagnosis) error {
	wrong := map[string]int{}
	for _, s := range d.Sections {
		for _, p := range s.Points {
			wrong[p.State]++
		}
	}
	var needs error
	if wrong[wire.PointOK]+wrong[wire.PointNote] < sum(wrong) {
		needs = errSilent
	}
	if done, err := a.json(d); done {
		if err != nil {
			return err
		}
		return needs
	}
	switch fails, warns := wrong[wire.PointFail], wrong[wire.PointWarn]; {
	case needs == nil:
		fmt.Fprintln(a.Out, "all is well")
	case fails == 0:
		fmt.Fprintln(a.Out, "guard works; "+count(warns, "thing", "things")+" to look at")
	case warns == 0:
		fmt.Fprintln(a.Out, count(fails, "thing is", "things are")+" wrong")
	default:
		fmt.Fprintln(a.Out, count(fails, "thing is", "things are")+" wrong, and "+count(warns, "thing", "things")+" to look at")
	}
	f := fields{a, 4}
	for _, s := range d.Sections {
		fmt.Fprintln(a.Out, clean(s.Name))
		for _, p := range s.Points {
			state := p.State
			if state == wire.PointFail {
				state = "FAIL"
			}
			f.put(clean(state), p.Text)
			if p.Do != "" && p.State != wire.PointOK {
				f.put("", "→ "+p.Do)
			}
		}
	}
	return needs
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
