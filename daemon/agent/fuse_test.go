package agent

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

var wall = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

// moment is a time of the one boot that tables play in.
func moment(d time.Duration) guard.Instant {
	return guard.Instant{Wall: wall, Elapsed: time.Hour}.Add(d)
}

// heardAt is guard heard at zero, with a limit so long after it; 0: none.
func heardAt(limit time.Duration) Heard {
	h := Heard{Boot: "one", At: moment(0)}
	if limit != 0 {
		h.Limit = moment(limit)
	}
	return h
}

func TestJudge(t *testing.T) {
	const h = time.Hour
	stepped := func(d, step time.Duration) guard.Instant {
		i := moment(d)
		i.Wall = i.Wall.Add(step)
		return i
	}
	// In another boot the box has been up for so long when the wall clock says d.
	rebooted := func(d, up time.Duration) Scene {
		return Scene{At: guard.Instant{Wall: wall.Add(d), Elapsed: up}, Boot: "two", Vain: guard.Instant{Wall: wall.Add(d - up)}.Add(time.Second)}
	}
	in := func(at guard.Instant) Scene { return Scene{At: at, Boot: "one", Vain: moment(time.Second)} }
	for name, c := range map[string]struct {
		heard Heard
		now   Scene
		burn  Burn
		fires time.Duration // by the wall clock, from the table's zero; 0: never
	}{
		"never heard":                       {Heard{}, in(moment(100 * h)), FuseOff, 0},
		"no limit":                          {heardAt(0), in(moment(100 * h)), FuseOff, 0},
		"just heard":                        {heardAt(2 * h), in(moment(0)), FuseArmed, 6 * h},
		"just heard, the limit is far":      {heardAt(20 * h), in(moment(0)), FuseArmed, 20 * h},
		"silent, the limit has not passed":  {heardAt(20 * h), in(moment(7 * h)), FuseBurning, 20 * h},
		"the limit has passed, not silent":  {heardAt(2 * h), in(moment(6*h - time.Second)), FuseArmed, 6 * h},
		"both":                              {heardAt(2 * h), in(moment(6 * h)), FuseFired, 6 * h},
		"both, the limit last":              {heardAt(20 * h), in(moment(20 * h)), FuseFired, 20 * h},
		"a limit that had passed when told": {heardAt(-h), in(moment(6 * h)), FuseFired, 6 * h},
		"not called yet":                    {heardAt(2 * h), Scene{At: moment(9 * h), Boot: "one"}, FuseBurning, 9*h + settle},
		"called in vain for nine minutes":   {heardAt(2 * h), Scene{At: moment(9 * h), Boot: "one", Vain: moment(9*h - 9*time.Minute)}, FuseBurning, 9*h + time.Minute},
		"the clock steps a year ahead":      {heardAt(2 * h), in(stepped(h, 365*24*h)), FuseArmed, 365*24*h + 6*h},
		"the clock steps a year back":       {heardAt(2 * h), in(stepped(7*h, -365*24*h)), FuseFired, 7*h - 365*24*h},
		"rebooted, long ago":                {heardAt(2 * h), rebooted(50*h, 11*time.Minute), FuseFired, 50 * h},
		"rebooted, looks for guard first":   {heardAt(2 * h), rebooted(50*h, 4*time.Minute), FuseBurning, 50*h + 6*time.Minute + time.Second},
		"rebooted, not silent for long":     {heardAt(2 * h), rebooted(3*h, 11*time.Minute), FuseArmed, 6 * h},
		"rebooted, before the limit":        {heardAt(20 * h), rebooted(9*h, 11*time.Minute), FuseBurning, 20 * h},
		"rebooted in 1970":                  {heardAt(2 * h), rebooted(-50*365*24*h, 11*time.Minute), FuseArmed, -50*365*24*h - 11*time.Minute + 6*h},
		"rebooted in 1970, six hours ago":   {heardAt(2 * h), rebooted(-50*365*24*h, 6*h), FuseFired, -50 * 365 * 24 * h},
		"rebooted in the far future":        {heardAt(2 * h), rebooted(365*24*h, 11*time.Minute), FuseArmed, 365*24*h - 11*time.Minute + 6*h},
		"rebooted, up for a limit's length": {heardAt(20 * h), rebooted(365*24*h, 20*h), FuseFired, 365 * 24 * h},
	} {
		v := Judge(6*time.Hour, c.heard, c.now)
		fires := time.Duration(0)
		if !v.At.IsZero() {
			fires = v.At.Wall.Sub(wall)
		}
		if v.Burn != c.burn || fires != c.fires {
			t.Errorf("%s: %s at %s, want %s at %s (%s)", name, v.Burn, fires, c.burn, c.fires, v.Why)
		}
	}
}

// TestFuseNeverEarly is the fuse's law: whatever the clocks and reboots do, it fires only
// when guard has in truth been silent for long enough and the limit has in truth passed,
// or when a clock that is believed says so after a reboot; and in the end it does fire.
func TestFuseNeverEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		after := time.Duration(rapid.Int64Range(int64(15*time.Minute), int64(48*time.Hour)).Draw(t, "after"))
		limit := time.Duration(rapid.Int64Range(int64(-2*time.Hour), int64(72*time.Hour)).Draw(t, "limit"))
		// truth is how much time has really passed; boots are when the box came up.
		var truth, up, off time.Duration
		boot, started := "one", guard.Instant{Wall: wall, Elapsed: time.Hour}
		up = -time.Hour
		heard := Heard{Boot: boot, At: started, Limit: started.Add(limit)}
		stepped := false
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			truth += time.Duration(rapid.Int64Range(0, int64(12*time.Hour)).Draw(t, "passes"))
			switch rapid.SampledFrom([]string{"", "", "step", "reboot"}).Draw(t, "what") {
			case "step":
				off += time.Duration(rapid.Int64Range(-int64(1000*24*time.Hour), int64(1000*24*time.Hour)).Draw(t, "step"))
				stepped = true
			case "reboot":
				boot += "+"
				up = truth
				started = guard.Instant{Wall: wall.Add(truth + off)}
				truth += time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "up for"))
			}
			at := guard.Instant{Wall: wall.Add(truth + off), Elapsed: truth - up}
			v := Judge(after, heard, Scene{At: at, Boot: boot, Vain: started})
			due := truth >= after && truth >= limit
			// A clock that was stepped may lie after a reboot, by what is believed at most.
			if v.Burn == FuseFired && !due && !(stepped && boot != "one" && at.Wall.Sub(heard.At.Wall) >= max(after, limit)) {
				t.Fatalf("fired after %s of %s, limit %s: %s", truth, after, limit, v.Why)
			}
			if v.Burn == FuseFired && boot != "one" && at.Sub(started) < settle {
				t.Fatalf("fired %s after a reboot, before guard was looked for", at.Sub(started))
			}
			if due && boot == "one" && v.Burn != FuseFired {
				t.Fatalf("%s after %s of %s, limit %s: %s", v.Burn, truth, after, limit, v.Why)
			}
			if up, needs := at.Elapsed, max(after, limit, settle); boot != "one" && up >= needs && at.Sub(started) >= settle && v.Burn != FuseFired {
				t.Fatalf("up for %s and %s", up, v.Burn)
			}
			if v.Burn != FuseFired && !v.At.IsZero() && v.At.Before(at) {
				t.Fatalf("%s, and yet it fires at a time that has passed", v.Burn)
			}
		}
	})
}

// TestFuseHeeds: an extension that is heard, and guard's word that it would not act, put
// the fuse off, whatever came before.
func TestFuseHeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		silent := time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "silent"))
		h := Heard{Boot: "one", At: moment(silent), Limit: moment(silent + time.Second)}
		at := moment(silent + time.Minute)
		if v := Judge(15*time.Minute, h, Scene{At: at, Boot: "one", Vain: moment(silent - time.Hour)}); v.Burn != FuseArmed {
			t.Fatalf("heard a minute ago: %s", v.Burn)
		}
		h.Limit = guard.Instant{}
		if v := Judge(15*time.Minute, h, Scene{At: moment(silent + 10000*time.Hour), Boot: "one", Vain: moment(silent - time.Hour)}); v.Burn != FuseOff {
			t.Fatalf("no limit: %s", v.Burn)
		}
	})
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 30 * time.Second: "30s", 10 * time.Minute: "10m", 90 * time.Minute: "1h30m", 6 * time.Hour: "6h", 10 * time.Hour: "10h",
		time.Hour + time.Second: "1h0m1s", 20*time.Hour + 10*time.Minute: "20h10m"} {
		if got := short(d); got != want {
			t.Errorf("%s: %s", want, got)
		}
	}
}
