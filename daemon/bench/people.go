package bench

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/client"
)

// people measures what people type, through the command tree and the API's handler.
// A socket between the two is not in it.
func (b *bench) people(ctx context.Context) error {
	s, leases := b.Fleet.account(0)
	one := s.Account + "/" + s.Resources[0].ID
	if len(leases) > 0 {
		one = leases[0].Resource.String()
	}
	transport := client.InProcess(api.As(api.Caller{Name: "bench", Role: guard.Admin}, b.daemon.Handler()))
	for _, line := range []string{"ls", "ls -o json", "status", "findings", "log", "show " + one, "why " + one} {
		var all []Command
		for range times {
			before, err := used()
			if err != nil {
				return err
			}
			var out counter
			start := time.Now()
			// A status of 1 is `guard status` saying that something needs a person.
			if status := b.Guard(ctx, transport, &out, strings.Fields(line)...); status > 1 || status == 1 && line != "status" {
				return fmt.Errorf("%w: guard %s ended with status %d", guard.ErrUnavailable, line, status)
			}
			wall := time.Since(start)
			after, err := used()
			if err != nil {
				return err
			}
			all = append(all, Command{Line: "guard " + line, Wall: ms(wall), CPU: ms(after.CPU - before.CPU), Out: int(out)})
		}
		c := median(all, func(c Command) float64 { return c.Wall })
		c.N = len(all)
		b.result.People = append(b.result.People, c)
	}
	return nil
}

// counter counts what is written to it.
type counter int

var _ io.Writer = (*counter)(nil)

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
