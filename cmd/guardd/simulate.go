package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"guard/cmd/guard/cli"
	"guard/daemon/client"
	"guard/daemon/simulate"
)

func simulateCommand() *cobra.Command {
	var output string
	var seed int64
	var verbose bool
	var weeks soakFlags
	cmd := &cobra.Command{
		Use: "simulate FILE... | --soak DURATION", Short: "Play scenario files and check what they expect", Args: usage(weeks.check),
		Long: `Play each scenario file: the real daemon on virtual time, against a fake cloud
and a fake Slack. Nothing outside this process is called. Try your own
guard.yaml against a story before you trust it with a kill switch: name it as
config_file in the scenario. configs/scenarios has examples.

With --soak it plays weeks that nobody wrote: random fleets, people, faults,
crashes and clocks, one after the other from --seed on. A checker that knows the
fake cloud's truth looks for wrong releases, missed limits, false holds, wrong
spend, lost and repeated messages. A failure is made small, and written as a
scenario file.

Exit status:
  0  all that the files expect holds
  1  something does not; each is printed with what happened instead
  2  a file is wrong; every mistake is printed with its line`,
		Example: `  guardd simulate configs/scenarios/*.yaml
  guardd simulate -o json story.yaml | jq -c 'select(.event == "message_sent")'
  guardd simulate --soak 2m --seed 7
  guardd simulate --soak 1h --keep-going --out /tmp -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "table" && output != "json" {
				return usageError{fmt.Errorf("-o %s: write -o table or -o json", output)}
			}
			if weeks.last > 0 {
				return weeks.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), output, seed)
			}
			o := simulate.Options{Run: inStory(0), Seed: seed}
			if verbose {
				o.Log = newLog(cmd.ErrOrStderr())
				slog.SetDefault(o.Log)
			}
			return simulateFiles(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args, output, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "table", "table, or json: one object a line")
	f.Int64Var(&seed, "seed", 1, "fixes what is random; with --soak, the first week")
	f.BoolVar(&verbose, "log", false, "print the daemon's log on stderr")
	weeks.add(cmd)
	return cmd
}

// errNotAsExpected marks stories whose expectations do not hold.
var errNotAsExpected = errors.New("not all went as the files expect")

func simulateFiles(ctx context.Context, out, errOut io.Writer, files []string, output string, o simulate.Options) error {
	var stories []*simulate.Story
	var wrong []error
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		s, err := simulate.Parse(data, file, sections)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		stories = append(stories, s)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w:\n%w", errScenario, errors.Join(wrong...))
	}
	failed := false
	for i, s := range stories {
		r, err := s.Run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", s.File, err)
		}
		failed = failed || len(r.Failures) > 0
		if output == "json" {
			if err := r.JSON(out); err != nil {
				return err
			}
			r.Told(errOut, s.File)
			continue
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		r.Table(out, s)
	}
	if failed {
		return errNotAsExpected
	}
	return nil
}

// errScenario marks a scenario file that cannot be used.
var errScenario = scenarioError{}

// inStory runs the command lines of a story in this process, with tables of so
// many columns; 0: as many as they need.
func inStory(width int) func(context.Context, simulate.Command) int {
	return func(ctx context.Context, c simulate.Command) int {
		if len(c.Args) > 0 && c.Args[0] == "guardd" {
			return run(ctx, c.Out, c.Err, c.Args[1:]...)
		}
		w := cli.IO{Out: c.Out, Err: c.Err, Width: width, Dial: func(addr string) (*client.Client, error) {
			// A story's daemon answers on this goroutine: a slow machine is not a dead daemon.
			return client.New(client.Options{Addr: addr, Transport: c.Transport, Timeout: time.Hour})
		}}
		return cli.Run(ctx, w, c.Args[1:]...)
	}
}

// scenarioError is a file that cannot be used, in its own words.
type scenarioError struct{}

// Error is the sentence.
func (scenarioError) Error() string { return "the scenario cannot be used" }

// Is makes it a wrong file, as a wrong configuration is.
func (scenarioError) Is(target error) bool { return target == errFile }
