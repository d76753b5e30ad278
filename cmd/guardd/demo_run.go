package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"guard"
	"guard/cmd/guard/cli"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/notify"
	notifylog "guard/daemon/notify/log"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/bolt"
)

func demoCommand() *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use: "demo", Short: "Play a story of a minute: no account, no key, no server", Args: usage(cobra.NoArgs),
		Long: fmt.Sprintf(`Run the real daemon against a fake cloud, with time sped up %d times, and play a
story: a forgotten box is warned about and released under its cap, a spot
reclaim leaves a disk behind, an unregistered box is found. Messages appear as
they would in Slack. Afterwards the daemon goes on, for you to try guard on.`, demoSpeed),
		Example: "  guardd demo\n  guardd demo --once",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout(), once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "end with the story; exit 0 if all went as told")
	return cmd
}

func demo(ctx context.Context, out io.Writer, once bool) (err error) {
	dir, err := os.MkdirTemp("", "guard-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clock := demoClock{start: time.Now(), base: daemon.Now()}
	cloud, err := fake.NewCloud(demoCloud(clock.base.Wall))
	if err != nil {
		return err
	}
	c, err := configs.Load([]byte(demoConfig), "demo.yaml", map[string]configs.SectionDecoder{"fake": configs.SectionOf(struct{}{})}, os.LookupEnv)
	if err != nil {
		return err
	}
	backend, err := bolt.Open(ctx, filepath.Join(dir, "ledger.db"), bolt.Options{})
	if err != nil {
		return err
	}
	ledger, err := store.Open(ctx, backend, clock.now())
	if err != nil {
		return errors.Join(err, backend.Close())
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	socket := filepath.Join(dir, "guard.sock")
	listener, err := daemon.ListenUnix(ctx, socket)
	if err != nil {
		return err
	}
	defer listener.Close()

	colour := false
	if f, ok := out.(*os.File); ok {
		colour = term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
	}
	log := slog.New(slog.DiscardHandler) // the story is told by the messages
	d, err := daemon.New(ctx, daemon.Options{
		Ledger: ledger, Config: c, Backup: backend.BackupTo,
		Factories: map[string]daemon.Factory{"fake": func(context.Context, configs.Account) (providers.Provider, error) { return cloud.Provider(), nil }},
		Channels: func(c *configs.Config) ([]notify.Channel, error) {
			return []notify.Channel{notifylog.NewPretty(out, "terminal", c.TimeZone, colour)}, nil
		},
		Now: clock.now, Wait: clock.wait, Log: log, Version: version(),
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- runDaemon(ctx, d, listener, log) }()
	err = play(ctx, out, clock, ledger, "unix:"+socket, once)
	if err == nil && !once {
		<-ctx.Done()
	}
	if !once && errors.Is(err, context.Canceled) {
		err = nil // whoever watched has seen enough
	}
	stop()
	return errors.Join(err, <-served)
}

// play tells the story and looks whether it ended as told.
func play(ctx context.Context, out io.Writer, clock demoClock, ledger *store.Ledger, addr string, once bool) error {
	fmt.Fprintf(out, "guard on a fake cloud. One minute here is a second of yours; the story takes %s.\n", (demoEnd / demoSpeed).Round(time.Second))
	run := func(args ...string) error {
		fmt.Fprintf(out, "\n$ guard %s\n", quoteArgs(args))
		w := cli.IO{Out: out, Err: out, Width: 80}
		if status := cli.Run(ctx, w, append([]string{"--addr", addr}, args...)...); status != 0 {
			return fmt.Errorf("the story broke: guard %s ended with status %d", args[0], status)
		}
		return nil
	}
	for _, s := range demoSteps {
		if err := clock.until(ctx, s.at); err != nil {
			return err
		}
		clock.stamp(out, s.at, s.say)
		if len(s.args) > 0 {
			if err := run(s.args...); err != nil {
				return err
			}
		}
	}
	if err := clock.until(ctx, demoEnd); err != nil {
		return err
	}
	clock.stamp(out, demoEnd, "The end of the story.")
	for _, args := range [][]string{{"ls"}, {"show", "lab/trainer"}} {
		if err := run(args...); err != nil {
			return err
		}
	}
	if err := asTold(ctx, ledger); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nAll went as told: lab/trainer was released under its cap, the disk that the")
	fmt.Fprintln(out, "spot box left behind and the box that nobody registered were found.")
	if !once {
		fmt.Fprintf(out, "\nThe daemon goes on. In another terminal:\n\n")
		for _, args := range []string{"ls", "why lab/stray", `register lab/stray --purpose "try vllm" --ttl 2h`, "findings", "release lab/stray", "log"} {
			fmt.Fprintf(out, "  go run ./cmd/guard --addr %s %s\n", addr, args)
		}
		fmt.Fprintln(out, "\nCtrl-C ends it.")
	}
	return nil
}

func quoteArgs(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if strings.ContainsAny(a, " \t") {
			a = `"` + a + `"`
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

// asTold is nil if the story ended as it should.
func asTold(ctx context.Context, ledger *store.Ledger) error {
	return ledger.View(ctx, func(v *store.View) error {
		var problems []error
		var released bool
		for r, err := range v.EndedReleases.All("") {
			if err != nil {
				return err
			}
			if r.Target.String() != "lab/trainer" {
				problems = append(problems, fmt.Errorf("%s was %s", r.Target, r.State))
				continue
			}
			released = r.State == guard.ReleaseDone
			if r.Receipt == nil || len(r.Receipt.Spend) != 1 {
				problems = append(problems, fmt.Errorf("the release of %s has no receipt of what was spent", r.Target))
			} else if over, err := r.Receipt.Spend[0].Cmp(r.Receipt.Budget); err != nil || over > 0 {
				problems = append(problems, fmt.Errorf("%s spent %s of %s", r.Target, r.Receipt.Spend[0], r.Receipt.Budget))
			}
		}
		if !released {
			problems = append(problems, errors.New("lab/trainer was not released"))
		}
		for _, f := range []guard.Finding{{Rule: guard.RuleOrphanVolume, Subject: "lab/spot-data"}, {Rule: guard.RuleUnregistered, Subject: "lab/stray"}} {
			if _, ok, err := v.Findings.Get(f.Key()); err != nil || !ok {
				problems = append(problems, errors.Join(fmt.Errorf("%s was not found for %s", f.Rule, f.Subject), err))
			}
		}
		if len(problems) > 0 {
			return fmt.Errorf("the story did not go as told: %w", errors.Join(problems...))
		}
		return nil
	})
}
