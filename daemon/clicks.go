package daemon

import (
	"context"
	"reflect"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/api"
	"guard/daemon/client"
	"guard/daemon/people"
	"guard/daemon/wire"
)

// Clicks is where people's clicks come from: a rim outside the scheduler, beside a channel.
type Clicks interface {
	Name() string
	// Run takes clicks until ctx ends, and returns when all of them are answered.
	Run(ctx context.Context, handle func(ctx context.Context, c wire.Click) wire.ClickAnswer)
	// Health is since when clicks arrive, zero where they do not, and why not all do.
	Health() (since time.Time, trouble string)
	// Check asks, without taking any, whether clicks can be taken.
	Check(ctx context.Context) (string, error)
}

// Click carries out what a person did in a channel.
func (d *Daemon) Click(ctx context.Context, c wire.Click) wire.ClickAnswer {
	return d.people.Handle(ctx, d.now(), c)
}

// newPeople introduces the people of the configuration in force to the API.
func (d *Daemon) newPeople() *people.People {
	return people.New(people.Config{Ledger: d.o.Ledger, Who: d.who, As: d.as, Log: d.o.Log,
		Lang: func(channel string) guard.Lang {
			for _, a := range d.gen.Load().audience() {
				if a.Channel == channel {
					return a.Lang
				}
			}
			return guard.English
		},
		Zone: func() *time.Location { return d.gen.Load().config.TimeZone }})
}

// who is the person that a channel's user is: nobody but those configured, whatever the
// channel lets in.
func (d *Daemon) who(channel, user string) (people.Person, bool) {
	s := d.gen.Load().config.Notify.Slack
	if channel != "slack" || s == nil || user == "" {
		return people.Person{}, false
	}
	for _, list := range []struct {
		users []configs.SlackUser
		role  guard.Role
	}{{s.Admins, guard.Admin}, {s.Users, guard.Operator}} {
		for _, u := range list.users {
			if u.ID == user && u.Name != "" {
				return people.Person{Name: u.Name, Role: list.role}, true
			} else if u.ID == user {
				return people.Person{Name: u.ID, Role: list.role}, true
			}
		}
	}
	return people.Person{}, false
}

// verbs is the API as one person of a channel has it.
type verbs struct{ *client.Client }

// Live implements people.Verbs.
func (v verbs) Live(ctx context.Context) (wire.List, error) { return v.List(ctx, client.Filter{}) }

func (d *Daemon) as(p people.Person, channel, user, once string) people.Verbs {
	by := api.Caller{Name: p.Name, Role: p.Role, Once: once, Data: map[string]string{channel + "_user": user}}
	c, err := client.New(client.Options{Transport: client.InProcess(api.As(by, d.api))})
	if err != nil {
		panic(err) // the address is the default one, and is not used
	}
	return verbs{c}
}

// clicksOf makes the rim of a new generation, or keeps the present one where nothing that
// it goes by has changed: a new connection may miss a click.
func (d *Daemon) clicksOf(c *configs.Config) (Clicks, error) {
	if d.o.Clicks == nil {
		return nil, nil
	}
	if old := d.gen.Load(); old != nil && reflect.DeepEqual(linked(old.config.Notify.Slack), linked(c.Notify.Slack)) {
		return old.clicks, nil
	}
	return d.o.Clicks(c)
}

// linked is what of a channel's settings its connection goes by.
func linked(s *configs.Slack) *configs.Slack {
	if s == nil {
		return nil
	}
	return &configs.Slack{Token: s.Token, AppToken: s.AppToken, Endpoint: s.Endpoint, Lang: s.Lang}
}

// takeClicks runs the rim of the generation in force, until ctx ends.
func (d *Daemon) takeClicks(ctx context.Context) {
	var runs Clicks
	stop := func() {}
	defer func() { stop() }()
	for {
		if next := d.gen.Load().clicks; next != runs {
			stop()
			runs, stop = next, d.start(ctx, next)
		}
		select {
		case <-d.adopted:
		case <-ctx.Done():
			return
		}
	}
}

// start runs a rim, and returns what stops it and waits for its last answer.
func (d *Daemon) start(ctx context.Context, c Clicks) (stop func()) {
	if c == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx, d.Click)
	}()
	return func() {
		cancel()
		<-done
	}
}

// clickLoop is how the rim does, told among the loops; false where there is none.
func (d *Daemon) clickLoop() (wire.Loop, bool) {
	c := d.gen.Load().clicks
	if c == nil {
		return wire.Loop{}, false
	}
	since, trouble := c.Health()
	return wire.Loop{Name: c.Name(), Last: known(since), Error: trouble}, true
}
