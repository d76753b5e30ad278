//go:build !linux

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

var errNotLinux = errors.New("this is for GPU boxes, which run Linux")

func (a *app) agent() *cobra.Command {
	return &cobra.Command{Use: "agent", Short: "Tell guardd how hard this box works (on Linux)", Example: "  guard agent", DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return errNotLinux }}
}

func (a *app) run() *cobra.Command {
	return &cobra.Command{Use: "run", Short: "Run a job on this box (on Linux)", Example: "  guard run -- python train.py", DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return errNotLinux }}
}
