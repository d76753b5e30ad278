package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"guard"
	"guard/cmd/guard/cli"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/doctor"
	"guard/daemon/notify"
	"guard/daemon/wire"
	"guard/policy/say"
)

func notifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify", Short: "The channels that people are told in", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(notifyTestCommand())
	return cmd
}

func notifyTestCommand() *cobra.Command {
	var file, output string
	cmd := &cobra.Command{
		Use: "test [CHANNEL]", Short: "Post a test message in each channel, and say what came of it",
		Long: `Post one test message in each channel of the configuration, or in the one that is
named, in the channel's language, and say what came of it and what to do. Slack is
called slack; another service has its name under notify.urls, or url:1, url:2, … in
the order of the file. guardd need not run, and the ledger is not touched.

Exit status:
  0  every channel took it
  1  one did not, or there is none
  2  the configuration cannot be used`,
		Example: "  guardd notify test --config /etc/guard/guard.yaml\n  guardd notify test url:1 -o json",
		Args: usage(func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("one channel, not %d", len(args))
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "table" && output != "json" {
				return usageError{fmt.Errorf("-o %s: write -o table or -o json", output)}
			}
			c, err := load(file)
			if err != nil {
				return err
			}
			told, err := toldIn(c, args)
			if err != nil {
				return err
			}
			w := cli.OS()
			w.Out, w.Err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			var d wire.Diagnosis
			patiently(w.Err, "posting", func() { d = testChannels(cmd.Context(), daemon.Now(), told) })
			if cmd.Context().Err() != nil {
				return errors.New("interrupted")
			}
			if status := cli.Diagnosed(w, d, output); status != cli.ExitOK {
				return errUnwell
			}
			return nil
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

// toldIn are the channels of a configuration but the log, or the one that is named.
func toldIn(c *configs.Config, named []string) ([]notify.Channel, error) {
	all, err := channels(newLog(io.Discard))(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFile, err)
	}
	all = slices.DeleteFunc(all, func(ch notify.Channel) bool { return ch.Name() == "log" })
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no channel is configured: only guardd's log is told. Write notify.slack or notify.urls", guard.ErrNotFound)
	}
	if len(named) == 0 {
		return all, nil
	}
	var names []string
	for _, ch := range all {
		if ch.Name() == named[0] {
			return []notify.Channel{ch}, nil
		}
		names = append(names, ch.Name())
	}
	return nil, usageError{fmt.Errorf("no channel is called %q: there are %s", named[0], strings.Join(names, ", "))}
}

// testChannels posts a message in each, all at once, and tells what came of it.
func testChannels(ctx context.Context, at guard.Instant, all []notify.Channel) wire.Diagnosis {
	d := wire.Diagnosis{Now: at.Wall, Sections: make([]wire.Section, len(all))}
	var wg sync.WaitGroup
	for i, ch := range all {
		wg.Go(func() { d.Sections[i] = testChannel(guard.WithInstant(ctx, at), at, ch) })
	}
	wg.Wait()
	return d
}

func testChannel(ctx context.Context, at guard.Instant, ch notify.Channel) wire.Section {
	out := wire.Section{Name: ch.Name()}
	if p, ok := ch.(interface{ Place() string }); ok {
		out.Name += ", " + p.Place()
	}
	lang := guard.English
	if l, ok := ch.(interface{ Lang() guard.Lang }); ok {
		lang = l.Lang()
	}
	_, err := ch.Post(ctx, guard.Message{
		ID: fmt.Sprintf("%s|test|%d", ch.Name(), at.Wall.UnixNano()), Channel: ch.Name(), Lang: lang, CreatedAt: at.Wall,
		Title: say.In(lang, "guard can reach you here"),
		Lines: []string{say.In(lang, "This is a test: somebody ran guardd notify test."), say.In(lang, "What guard has to say comes here. There is nothing to do.")},
	}, "")
	if err == nil {
		out.Points = []wire.Point{doctor.Of(wire.PointOK, "", "it took a test message: look whether it is there")}
		return out
	}
	out.Points = []wire.Point{doctor.Of(wire.PointFail, remedy(err), "%v", err)}
	return out
}

// remedy is what to do about a channel that did not take a message.
func remedy(err error) string {
	switch {
	case errors.Is(err, guard.ErrThrottled):
		return "wait, and try again"
	case errors.Is(err, guard.ErrUncertain):
		return "look whether the message is there; then try again"
	case errors.Is(err, guard.ErrUnavailable):
		return "check this machine's network, its proxy, and the host in the address"
	case errors.Is(err, guard.ErrPermission), errors.Is(err, guard.ErrNotFound):
		return "mend what it says under notify: in the configuration, or at the service"
	}
	return "do what it says, then try again"
}
