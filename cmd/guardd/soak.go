package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/simulate/soak"
)

// soakFlags are those of simulate that belong to --soak.
type soakFlags struct {
	last      time.Duration
	out       string
	keepGoing bool
}

func (s *soakFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&s.last, "soak", 0, "play generated weeks for that long, real time, such as 2m; takes no FILE")
	f.StringVar(&s.out, "out", ".", "with --soak: the folder for the scenario files of failures")
	f.BoolVar(&s.keepGoing, "keep-going", false, "with --soak: do not end at the first failure")
}

// check refuses flags and files that do not go together.
func (s *soakFlags) check(cmd *cobra.Command, files []string) error {
	set := cmd.Flags().Changed
	switch {
	case !set("soak"):
		for _, name := range []string{"out", "keep-going"} {
			if set(name) {
				return fmt.Errorf("--%s goes with --soak only", name)
			}
		}
		return cobra.MinimumNArgs(1)(cmd, files)
	case len(files) > 0:
		return fmt.Errorf("--soak plays weeks of its own and takes no FILE, and was given %q", files[0])
	case set("log"):
		return errors.New("--log does not go with --soak: play the scenario file of a failure with it")
	case s.last <= 0:
		return fmt.Errorf("--soak %s: write how long, such as --soak 2m", s.last)
	}
	if info, err := os.Stat(s.out); err != nil || !info.IsDir() {
		return fmt.Errorf("--out %s: there is no such folder", s.out)
	}
	return nil
}

// errBroken marks a soak in which a promise was broken.
var errBroken = errors.New("promises were broken")

func (s *soakFlags) run(ctx context.Context, out, errOut io.Writer, output string, seed int64) error {
	r, err := soak.Soak(ctx, soak.Options{Run: inStory(0), Check: soak.Check, Knobs: soak.Usual(), Duration: s.last, Seed: seed,
		Out: s.out, KeepGoing: s.keepGoing, Progress: errOut})
	if r == nil {
		return err
	}
	if output == "json" {
		err = errors.Join(err, r.JSON(out))
	} else {
		r.Table(out)
	}
	if err == nil && r.Violations > 0 {
		err = errBroken
	}
	return err
}
