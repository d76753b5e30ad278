package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"guard"
	"guard/cmd/guard/cli"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/client"
	"guard/daemon/doctor"
	"guard/daemon/wire"
)

// errUnwell marks a diagnosis that has been printed and is not a good one.
var errUnwell = errors.New("something needs a person")

func doctorCommand() *cobra.Command {
	var file, output string
	var deep bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at everything that guard stands on, and say what to do", Args: usage(cobra.NoArgs),
		Long: `Look at the configuration, at what each account's credentials allow (ending a
machine by dry run), the clock, the ledger and its backups, the socket, the
channels, and what waits for a person. A running guardd is asked over its socket;
where none runs, the ledger is read from its file. Nothing is changed and nothing
is posted. Each line is ok, note, warn or FAIL, with what to do below it.

Exit status:
  0  all is well
  1  something is not
  2  the configuration cannot be used`,
		Example: "  guardd doctor --config /etc/guard/guard.yaml\n  guardd doctor --deep -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usageError{fmt.Errorf("-o %s: write -o table or -o json", output)}
			}
			w := cli.OS()
			w.Out, w.Err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			var d wire.Diagnosis
			var err error
			patiently(w.Err, "asking providers and channels", func() { d, err = diagnose(cmd.Context(), file, deep) })
			if cmd.Context().Err() != nil {
				return errors.New("interrupted")
			}
			if status := cli.Diagnosed(w, d, output); err == nil && status != cli.ExitOK {
				return errUnwell
			}
			return err
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&deep, "deep", false, "prove every page of the ledger's file, where no guardd has it open")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

// diagnose looks at everything. The error is errFile where the configuration cannot be
// used: then nothing but it was looked at.
func diagnose(ctx context.Context, file string, deep bool) (wire.Diagnosis, error) {
	at := daemon.Now()
	c, section, wrong := configured(file)
	out := wire.Diagnosis{Now: at.Wall, Sections: []wire.Section{section}}
	if c == nil {
		return out, wrong
	}
	d, err := asked(ctx, c)
	if err == nil {
		if wrong != nil {
			out.Sections[0].Points = []wire.Point{doctor.Of(wire.PointNote, "", "%s names secrets that only guardd's own environment has; it runs with them", file)}
		}
		return wire.Diagnosis{Now: d.Now, Sections: append(append(out.Sections, wire.Section{Name: "guardd", Points: []wire.Point{
			doctor.Of(wire.PointOK, "", "it runs, and answers at %s", c.Listen.Unix)}}), d.Sections...)}, nil
	}
	if wrong != nil {
		return out, wrong
	}
	out.Sections = append(out.Sections, wire.Section{Name: "guardd", Points: []wire.Point{absent(c, err)}})
	still, err := stopped(ctx, at, c, deep)
	out.Sections = append(out.Sections, still.Sections...)
	return out, err
}

// configured is the configuration and what is wrong with it. Where nothing is wrong but
// variables that are not set here, there is a configuration to find guardd by.
func configured(file string) (*configs.Config, wire.Section, error) {
	out := wire.Section{Name: "configuration"}
	c, err := load(file)
	if err == nil {
		out.Points = append(out.Points, doctor.Of(wire.PointOK, "", "%s: %s", file, many(len(c.Accounts), "account", "accounts")))
		for _, n := range c.Notes {
			out.Points = append(out.Points, doctor.Of(wire.PointNote, "", "%s", n.Error()))
		}
		return c, out, nil
	}
	var problems configs.Problems
	if !errors.As(err, &problems) {
		out.Points = append(out.Points, doctor.Of(wire.PointFail, "guardd init writes one; --config names another", "%s", strings.TrimPrefix(err.Error(), errFile.Error()+": ")))
		return nil, out, err
	}
	for _, p := range problems {
		out.Points = append(out.Points, doctor.Of(wire.PointFail, "mend the line; guardd check looks again", "%s", p.Error()))
	}
	wrong := fmt.Errorf("%w: %s", errFile, many(len(problems), "mistake", "mistakes"))
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, out, wrong
	}
	unchecked := &configs.Decoders{Providers: sections.Providers, Sources: sections.Sources} // of an address that is not set here nothing is known
	c, err = configs.Load(data, file, unchecked, func(name string) (string, bool) {
		if v, ok := os.LookupEnv(name); ok {
			return v, true
		}
		return "https://not.set.here", true
	})
	if err != nil {
		return nil, out, wrong
	}
	return c, out, wrong
}

// asked is what a running guardd says.
func asked(ctx context.Context, c *configs.Config) (wire.Diagnosis, error) {
	cl, err := client.New(client.Options{Addr: "unix:" + c.Listen.Unix})
	if err != nil {
		return wire.Diagnosis{}, err
	}
	return cl.Doctor(ctx)
}

// absent is why no guardd answers.
func absent(c *configs.Config, err error) wire.Point {
	dir := filepath.Dir(c.Listen.Unix)
	var refused *wire.Error
	switch {
	case errors.As(err, &refused):
		return doctor.Of(wire.PointFail, "run this as the user that guardd runs as, or as root", "guardd at %s does not answer this: %s", c.Listen.Unix, refused.Message)
	case errors.Is(err, fs.ErrPermission):
		return doctor.Of(wire.PointFail, "run this as the user that guardd runs as, or as root", "this user may not open %s", c.Listen.Unix)
	}
	if st, statErr := os.Stat(dir); statErr != nil || !st.IsDir() {
		return doctor.Of(wire.PointFail, "create it (systemd: RuntimeDirectory=guard), or set listen: to another path", "no guardd runs, and none could: %s is no directory", dir)
	}
	var nobody *client.UnreachableError
	if errors.As(err, &nobody) && !errors.Is(err, fs.ErrNotExist) {
		return doctor.Of(wire.PointFail, "systemctl status guardd", "%s", nobody.Text)
	}
	return doctor.Of(wire.PointFail, "systemctl start guardd, or guardd serve --config "+shell(c.File), "no guardd runs: there is no socket %s", c.Listen.Unix)
}

// stopped looks at what can be looked at while no guardd runs.
func stopped(ctx context.Context, at guard.Instant, c *configs.Config, deep bool) (wire.Diagnosis, error) {
	p := doctor.Patient{Stopped: true}
	var own []wire.Section
	for _, ca := range c.Accounts {
		a, err := adapterOf(ctx, ca)
		if err != nil {
			own = append(own, wire.Section{Name: "account " + ca.Name, Points: []wire.Point{doctor.Of(wire.PointFail, "do what it says", "%v", err)}})
			continue
		}
		p.Accounts = append(p.Accounts, a)
	}
	all, err := channels(newLog(os.Stderr))(c)
	if err != nil {
		own = append(own, wire.Section{Name: "people", Points: []wire.Point{doctor.Of(wire.PointFail, "mend notify: in the configuration", "%v", err)}})
	}
	for _, ch := range all {
		p.Channels = append(p.Channels, ch)
	}
	buttons, err := clicks(newLog(os.Stderr))(c)
	if err != nil {
		own = append(own, wire.Section{Name: "people", Points: []wire.Point{doctor.Of(wire.PointFail, "mend notify: in the configuration", "%v", err)}})
	} else if buttons != nil {
		p.Channels = append(p.Channels, buttons)
	}
	ledger := readLedger(ctx, at, c, deep, &p)
	d := doctor.Examine(ctx, at, p)
	d.Sections = append(own, d.Sections...)
	for i, s := range d.Sections {
		if s.Name == ledger.Name { // what its records say of its file comes after its own word
			d.Sections[i].Points = append(ledger.Points, s.Points...)
			return d, nil
		}
	}
	d.Sections = append(d.Sections, ledger)
	return d, nil
}
