package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

// pick lists what nobody has registered. At a terminal a person chooses one and is
// asked what the flags leave open; done tells that there is nothing to register.
func (a *app) pick(cmd *cobra.Command, r *wire.RegisterRequest) (done bool, err error) {
	list, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.List, error) {
		return c.List(ctx, client.Filter{Kind: "instance"})
	})
	if err != nil {
		return true, err
	}
	items := slices.DeleteFunc(list.Items, claimed)
	if done, err := a.json(append([]wire.Item{}, items...)); done && (err != nil || len(items) == 0) {
		return true, err
	} else if !done {
		if len(items) == 0 {
			a.say("everything that guard sees is registered")
			return true, nil
		}
		a.offer(list.Now, items)
	}
	if !a.Ask {
		return true, usagef("register which one? Name it: guard register %s/%s --purpose … --ttl …", items[0].Account, items[0].ID)
	}
	it, err := a.choose(cmd, items)
	if err == nil {
		r.ID = it.Account + "/" + it.ID
		err = a.missing(cmd, r, list.Defaults)
	}
	if errors.Is(err, errSilent) {
		a.say("nothing registered")
	}
	return false, err
}

// claimed reports what is not to be picked: it is registered, or not ours.
func claimed(it wire.Item) bool {
	return it.Lease != "" && !it.Adopted || it.Self || it.Foreign || it.EndedAt != nil || it.State == "releasing"
}

// offer prints the list, where a person answers on the terminal that asks.
func (a *app) offer(now time.Time, items []wire.Item) {
	var rows [][]string
	for i, it := range items {
		age, gpus, name, each := "", "", it.Name, ""
		if it.CreatedAt != nil {
			age = span(now.Sub(*it.CreatedAt))
		}
		if it.GPUs > 0 {
			gpus = strings.TrimSpace(strconv.Itoa(it.GPUs) + " " + it.GPUModel)
		}
		if m, ok := perGPU(it); ok {
			each = m.String()
		}
		if name == it.ID {
			name = ""
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), it.Account + "/" + it.ID, name, it.Type, gpus, perHour(it), each, age, costs(it)})
	}
	b := *a
	if a.Ask {
		b.Out = a.Err
	}
	b.table([]column{{title: "no", right: true}, {title: "id"}, {title: "name", least: 6, drop: 2}, {title: "type", least: 10, drop: 5},
		{title: "gpus", least: 6, drop: 3}, {title: "per hour", right: true}, {title: "per gpu", drop: 1, right: true}, {title: "age", drop: 4, right: true}, {title: "spent", drop: 6, right: true}}, rows)
}

// choose asks for a number until it is one of the list.
func (a *app) choose(cmd *cobra.Command, items []wire.Item) (wire.Item, error) {
	for {
		text, err := a.question(cmd, fmt.Sprintf("Which one? [1-%d, empty for none] ", len(items)))
		if err != nil {
			return wire.Item{}, err
		}
		if text == "" {
			return wire.Item{}, errSilent
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(items) {
			return items[n-1], nil
		}
		a.say(fmt.Sprintf("%q is not a number from 1 to %d", text, len(items)))
	}
}

// missing asks what the flags leave open.
func (a *app) missing(cmd *cobra.Command, r *wire.RegisterRequest, d wire.Defaults) error {
	put := func(into *string, prompt string) (err error) {
		if *into == "" {
			*into, err = a.question(cmd, prompt)
		}
		return err
	}
	if err := put(&r.Purpose, "Purpose: "); err != nil {
		return err
	}
	if r.Until == "" {
		if err := put(&r.TTL, "Hours ["+none(d.TTL)+"]: "); err != nil {
			return err
		}
		if _, err := strconv.ParseUint(r.TTL, 10, 32); err == nil {
			r.TTL += "h"
		}
	}
	return put(&r.Budget, "The most it may cost, such as 40USD [no cap]: ")
}

// question asks a person for one line. No line at all is errSilent: the caller says
// what was not done.
func (a *app) question(cmd *cobra.Command, prompt string) (string, error) {
	fmt.Fprint(a.Err, prompt)
	if a.lines == nil {
		a.lines = bufio.NewReader(a.In)
	}
	type answer struct {
		text string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := a.lines.ReadString('\n')
		read <- answer{strings.TrimSpace(text), err}
	}()
	select {
	case <-cmd.Context().Done(): // a signal does not end the read
		return "", cmd.Context().Err()
	case r := <-read:
		if errors.Is(r.err, io.EOF) && r.text == "" {
			fmt.Fprintln(a.Err)
			return "", errSilent
		}
		return r.text, nil
	}
}
