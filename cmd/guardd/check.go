package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func checkCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "check", Short: "Check a configuration file, all mistakes at once", Args: usage(cobra.NoArgs),
		Long: `Read a configuration file, with the secrets and price books that it names, and
print every mistake in it with its line. No provider is called.`,
		Example: "  guardd check --config guard.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(file)
			if err != nil {
				return err
			}
			for _, n := range c.Notes {
				fmt.Fprintln(cmd.ErrOrStderr(), n.Error())
			}
			out := cmd.OutOrStdout()
			accounts := "1 account"
			if n := len(c.Accounts); n != 1 {
				accounts = fmt.Sprintf("%d accounts", n)
			}
			fmt.Fprintf(out, "%s is right: %s\n", file, accounts)
			for _, a := range c.Accounts {
				fmt.Fprintf(out, "  %-20s %-8s %s\n", a.Name, a.Provider, a.Mode)
			}
			return nil
		},
	}
	configFlag(cmd, &file)
	return cmd
}
