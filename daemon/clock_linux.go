package daemon

import (
	"context"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"guard"
)

// Now reads both clocks of this machine: the wall clock in UTC, and the time
// since boot that also counts suspend.
func Now() guard.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// Every Linux since 2.6.39 has it; without it no duration can be trusted.
		panic("CLOCK_BOOTTIME: " + err.Error())
	}
	return guard.Instant{Wall: time.Now().UTC().Round(0), Elapsed: time.Duration(ts.Nano())}
}

// Boot is the kernel's random ID of this boot; "" where it cannot be read.
func Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Wait waits d of real time, or until ctx ends or wake is signalled.
func Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-t.C:
	}
}
