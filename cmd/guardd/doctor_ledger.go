package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/api"
	"guard/daemon/client"
	"guard/daemon/doctor"
	"guard/daemon/wire"
	"guard/policy"
	"guard/providers"
	"guard/store"
	"guard/store/bolt"
)

// adapterOf is a configured account, ready for use outside the daemon.
func adapterOf(ctx context.Context, ca configs.Account) (*providers.Account, error) {
	p, err := factories[ca.Provider](ctx, ca)
	if err != nil {
		return nil, err
	}
	a := providers.NewAccount(ca.Name, ca.Provider, p)
	a.Mode, a.MayRelease = ca.Mode, ca.MayRelease
	return a, nil
}

// storage tells of the ledger's file and of the backups that guard makes of it.
func storage(b *bolt.Backend, backups configs.Backup) func(context.Context) wire.Storage {
	return func(ctx context.Context) wire.Storage {
		out := wire.Storage{Path: b.Path()}
		var is store.Description
		err := b.View(ctx, func(r store.Reader) (err error) {
			is, _, err = store.Describe(r)
			return err
		})
		var st bolt.Stats
		if err == nil {
			st, err = b.Stats(ctx)
		}
		if err != nil {
			out.Error = err.Error()
			return out
		}
		out.Schema, out.Size, out.Max, out.Disk, out.Free = is.Schema, st.Size, st.Max, st.Disk, st.Free
		if trouble := st.Trouble(); trouble != nil {
			out.Trouble = trouble.Error()
		}
		if backups.Off {
			return out
		}
		out.Folder = backups.Dir
		copies, err := bolt.Backups(ctx, backups.Dir, is.Deployment)
		if err != nil && !errors.Is(err, guard.ErrNotFound) { // none was made yet
			out.Error = err.Error()
			return out
		}
		since := is.Created
		if out.Backups = len(copies); out.Backups > 0 {
			since, out.Newest = copies[0].At, &copies[0].At
		}
		next := backups.Schedule.Next(since)
		out.Overdue = daemon.Now().Wall.After(backups.Schedule.Next(next)) // one may have been missed
		return out
	}
}

// readLedger reads what the file of a stopped guardd says into the patient, changes
// nothing in it, and returns what is wrong with the file itself.
func readLedger(ctx context.Context, at guard.Instant, c *configs.Config, deep bool, p *doctor.Patient) wire.Section {
	out := wire.Section{Name: "ledger"}
	add := func(state, do, format string, args ...any) wire.Section {
		out.Points = append(out.Points, doctor.Of(state, do, format, args...))
		return out
	}
	path := c.Ledger.Path
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if st, err := os.Stat(filepath.Dir(path)); err != nil || !st.IsDir() {
			return add(wire.PointFail, "create it for the user that guardd runs as (systemd: StateDirectory=guard)", "there is no directory %s to keep the ledger in", filepath.Dir(path))
		}
		return add(wire.PointNote, "", "there is no ledger at %s yet; the first start makes it", path)
	}
	if deep {
		if err := bolt.Verify(ctx, path); err != nil && !errors.Is(err, guard.ErrLocked) {
			return add(wire.PointFail, "guardd restore puts a backup back", "%v", err)
		}
	}
	backend, err := bolt.Open(ctx, path, bolt.Options{})
	if err != nil {
		return add(wire.PointFail, "do what it says", "%v", err)
	}
	if deep {
		add(wire.PointOK, "", "every page of it is whole")
	}
	var is store.Description
	var said bool
	err = backend.View(ctx, func(r store.Reader) error {
		is, said, err = store.Describe(r)
		return err
	})
	switch {
	case err != nil:
		add(wire.PointFail, "guardd restore puts a backup back", "%v", err)
	case !said:
		add(wire.PointNote, "", "%s is empty; the first start fills it", path)
	case is.Schema > store.Schema():
		add(wire.PointFail, "start the newer guardd, or restore a backup from before", "%s has schema %d and this guardd knows up to %d", path, is.Schema, store.Schema())
	case is.From != 0:
		add(wire.PointWarn, "start guardd: it goes on where that was cut off", "an upgrade of %s from schema %d to %d has not ended", path, is.From, is.Schema)
	case is.Schema < store.Schema():
		add(wire.PointNote, "", "%s has schema %d; the next start upgrades it to %d and keeps a copy", path, is.Schema, store.Schema())
	default:
		ledger, err := store.Open(ctx, backend, at)
		if err != nil {
			add(wire.PointFail, "guardd restore puts a backup back", "%v", err)
			break
		}
		if err := asWritten(ctx, at, c, ledger, storage(backend, c.Backup), p); err != nil {
			add(wire.PointFail, "guardd restore puts a backup back", "%v", err)
		}
		if deep {
			if err := ledger.Check(ctx); err != nil {
				add(wire.PointFail, "guardd restore puts a backup back", "its records do not fit together: %v", err)
			}
		}
		if err := ledger.Close(); err != nil {
			add(wire.PointWarn, "", "%v", err)
		}
		return out
	}
	if err := backend.Close(); err != nil {
		add(wire.PointWarn, "", "%v", err)
	}
	return out
}

// asWritten fills in what the ledger says, through the API's own eyes.
func asWritten(ctx context.Context, at guard.Instant, c *configs.Config, ledger *store.Ledger, storage func(context.Context) wire.Storage, p *doctor.Patient) error {
	var names []string
	for _, a := range c.Accounts {
		names = append(names, a.Name)
	}
	told := []string{"log"}
	if c.Notify.Slack != nil {
		told = append(told, "slack")
	}
	for _, u := range c.Notify.URLs {
		told = append(told, u.Name)
	}
	handler := api.New(api.Options{
		Ledger: ledger, Storage: storage, Log: slog.New(slog.DiscardHandler), Version: version(),
		Account: func(name string) (*providers.Account, bool) {
			i := slices.IndexFunc(p.Accounts, func(a *providers.Account) bool { return a.Name == name })
			if i < 0 {
				return nil, false
			}
			return p.Accounts[i], true
		},
		AccountNames: func() []string { return names },
		Now:          func() guard.Instant { return at },
		Kick:         func(string) {},
		Rules:        func() policy.Rules { return c.Rules },
		Location:     func() *time.Location { return c.TimeZone },
		Channels:     func() []string { return told },
		Delivery: func(v *store.View) ([]wire.Channel, error) {
			return daemon.Delivery(v, at.Wall, c.Notify.Quiet.Ends, told...)
		},
		Health: func(guard.Instant) wire.Health { return wire.Health{} },
	})
	cl, err := client.New(client.Options{Addr: "unix:" + c.Listen.Unix, Transport: client.InProcess(api.As(api.Caller{Name: me(), Role: guard.Admin}, handler))})
	if err != nil {
		return err
	}
	s, err := cl.Status(ctx)
	if err != nil {
		return err
	}
	p.Status = &s
	p.Leased, err = doctor.Leased(ctx, ledger)
	return err
}
