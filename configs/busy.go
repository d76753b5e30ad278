package configs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"guard/policy/activity"
)

// busyFile is what counts as work.
type busyFile struct {
	GPU       share         `yaml:"gpu"`
	CPUCores  cores         `yaml:"cpu_cores"`
	Net       byteRate      `yaml:"net"`
	Disk      byteRate      `yaml:"disk"`
	BootGrace time.Duration `yaml:"boot_grace"`
	Coverage  share         `yaml:"coverage"`
}

func defaultBusy(b activity.Busy) busyFile {
	return busyFile{GPU: share(b.GPU), CPUCores: cores(b.CPUCores), Net: byteRate(b.Net), Disk: byteRate(b.Disk),
		BootGrace: b.Boot, Coverage: share(100 * b.Coverage)}
}

func (d *decoder) busy(in busyFile) activity.Busy {
	const leastCoverage = 50
	if in.Coverage < leastCoverage && d.read("busy.coverage") {
		d.at("busy.coverage", "at least %d%%: of what was hardly seen nobody knows whether it works", leastCoverage)
	}
	return activity.Busy{GPU: float64(in.GPU), CPUCores: float64(in.CPUCores), Net: float64(in.Net), Disk: float64(in.Disk),
		Boot: d.between("busy.boot_grace", in.BootGrace, time.Second, 24*time.Hour), Coverage: float64(in.Coverage) / 100}
}

// share is a part of a hundred that need not be whole: 2%, 0.5%.
type share float64

func (s *share) UnmarshalText(b []byte) error {
	digits, ok := strings.CutSuffix(strings.TrimSpace(string(b)), "%")
	v, isNumber := decimal(strings.TrimSpace(digits))
	if !ok || !isNumber || v <= 0 || v > 100 {
		return fmt.Errorf("%s is not a percentage: write it as 2%% or 0.5%%, above 0%% and up to 100%%", shown(string(b)))
	}
	*s = share(v)
	return nil
}

// cores is how many processor cores, which need not be whole.
type cores float64

func (c *cores) UnmarshalText(b []byte) error {
	v, ok := decimal(strings.TrimSpace(string(b)))
	if !ok || v <= 0 || v > 1024 {
		return fmt.Errorf("%s is no number of cores: write it as 0.4 (a part of one core, not of the machine)", shown(string(b)))
	}
	*c = cores(v)
	return nil
}

// byteRate is bytes a second.
type byteRate float64

// rateUnits are what a rate may be written in. Bits are none of them: kb/s is not kB/s.
var rateUnits = []struct {
	name  string
	bytes float64
}{
	{"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9},
	{"KiB/s", 1 << 10}, {"kiB/s", 1 << 10}, {"MiB/s", 1 << 20}, {"GiB/s", 1 << 30}, {"B/s", 1},
}

func (r *byteRate) UnmarshalText(b []byte) error {
	text := strings.TrimSpace(string(b))
	for _, u := range rateUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		if v, ok := decimal(strings.TrimSpace(digits)); ok && v > 0 && v*u.bytes <= 1e12 {
			*r = byteRate(v * u.bytes)
			return nil
		}
		break
	}
	return fmt.Errorf("%s is no rate: write bytes a second as 200kB/s, 2MB/s or 1MiB/s", shown(text))
}

// decimal reads digits with at most one point in them, and nothing that only a
// programmer takes for a number.
func decimal(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}
