package soak

import (
	"cmp"
	"slices"
	"time"

	"guard"
	"guard/providers/fake"
)

// Family is a kind of thing that happens in a week.
type Family string

// The families. A fault of a provider's call is of the family of its call.
const (
	Reclaims     Family = "reclaim"           // the provider takes a box back
	Outside      Family = "delete by outside" // somebody ends a box elsewhere
	Platform     Family = "delete by platform"
	Stops        Family = "stop and start" // outside guard
	Prices       Family = "price change"
	OddPrices    Family = "odd price" // more than thirtyfold
	Moves        Family = "detach and attach"
	Impostors    Family = "identity change" // the credentials belong to another, for a while
	Newcomers    Family = "new box"
	Extensions   Family = "extend"
	Holds        Family = "hold"
	Protections  Family = "protect"
	Vetoes       Family = "veto"
	Snoozes      Family = "snooze"
	Ceilings     Family = "ceilings"
	Adoptions    Family = "adopt"
	HandReleases Family = "release by hand"
	Mistakes     Family = "wrong order"
	Work         Family = "work"             // boxes are watched
	Traffic      Family = "traffic"          // costs
	Guesses      Family = "guess"            // other rules for what is idle or stopped
	Leftovers    Family = "delete leftovers" // data that is left behind
	QuietHours   Family = "quiet hours"
	Purses       Family = "paid ahead" // an account that pays ahead

	ListFaults       Family = fake.CallList
	GetFaults        Family = fake.CallGet
	IdentityFaults   Family = fake.CallIdentity
	ReleaseFaults    Family = fake.CallRelease
	StopFaults       Family = fake.CallStop
	DeleteFaults     Family = fake.CallDelete
	TagFaults        Family = fake.CallTag
	ProtectionFaults Family = fake.CallProtection
	UnprotectFaults  Family = fake.CallUnprotect
	AnyFaults        Family = fake.CallAny
	SignalFaults     Family = fake.CallSignals
	SlackFaults      Family = "slack"

	Crashes    Family = "crash"
	CrashesAt  Family = "crash at a state"
	ClockSteps Family = "clock step"
	Suspends   Family = "suspend"
	Reloads    Family = "reload"
)

// Tail is the end of each week in which no fault begins or lasts, so that what
// was disturbed can come right.
const Tail = 4 * time.Hour

// Knobs say what weeks are like.
type Knobs struct {
	// Least and Most bound the length, Tail included.
	Least, Most time.Duration
	// Accounts and Boxes bound how many there are, boxes in one account.
	Accounts, Boxes Range
	// Observe is the percentage of accounts in observe mode.
	Observe int
	// Chance is the percentage of weeks in which a family occurs at all; Often how
	// many times at most it does in a day of such a week (reclaims and what else
	// happens to boxes: in each account).
	Chance map[Family]int
	Often  int
}

// Range is from Least to Most.
type Range struct{ Least, Most int }

// Usual are weeks of everything.
func Usual() Knobs {
	return Knobs{
		Least: 10 * time.Hour, Most: 7 * 24 * time.Hour,
		Accounts: Range{1, 3}, Boxes: Range{1, 4}, Observe: 15, Often: 2,
		Chance: map[Family]int{
			Reclaims: 25, Outside: 25, Platform: 15, Stops: 25, Prices: 25, OddPrices: 10, Moves: 20, Impostors: 10, Newcomers: 40,
			Extensions: 40, Holds: 25, Protections: 15, Vetoes: 20, Snoozes: 15, Ceilings: 20, Adoptions: 10, HandReleases: 20, Mistakes: 20,
			Work: 40, Traffic: 40, Guesses: 40, Leftovers: 20, SignalFaults: 20, QuietHours: 30, Purses: 25,
			ListFaults: 25, GetFaults: 25, IdentityFaults: 15, ReleaseFaults: 30, StopFaults: 5, DeleteFaults: 5, TagFaults: 15,
			ProtectionFaults: 10, UnprotectFaults: 5, AnyFaults: 15, SlackFaults: 30,
			Crashes: 25, CrashesAt: 30, ClockSteps: 10, Suspends: 12, Reloads: 10,
		},
	}
}

// DrawSeed is the week of a seed.
func DrawSeed(seed int64, k Knobs) Week {
	w := Draw(Seeded(seed), k)
	w.Seed = seed
	return w
}

// Draw makes a week. Whatever is drawn is a story that can be played.
func Draw(src Source, k Knobs) Week {
	d := &drawer{dice: dice{src}, k: k}
	// Most weeks are short: the longer ones are few, for what takes its time.
	most := max(k.Least, min(k.Most, pick(d.dice, "at most", 20*time.Hour, 20*time.Hour, 30*time.Hour, 30*time.Hour, 72*time.Hour, k.Most)))
	length := d.span("length", k.Least, most, time.Hour)
	d.w = Week{
		Start:  pick(d.dice, "start", starts...),
		Length: length,
		Poll:   pick(d.dice, "poll", 0, 5*time.Minute, 2*time.Minute, 3*time.Minute),
		Sweep:  pick(d.dice, "sweep", 0, 30*time.Minute, 10*time.Minute),
		Grace:  pick(d.dice, "grace", 0, 5*time.Minute, 30*time.Minute, time.Hour),
		Warn:   pick(d.dice, "warn", nil, []time.Duration{30 * time.Minute}, []time.Duration{2 * time.Hour, 15 * time.Minute}),
	}
	if d.chance("surprise", 30) {
		d.w.SurprisePercent = pick(d.dice, "surprise percent", 50, 10, 100)
		d.w.SurpriseHour = d.n("surprise an hour", 1, 10)
	}
	d.end = max(length-Tail, length/2)
	for i := range d.n("accounts", k.Accounts.Least, k.Accounts.Most) {
		d.account(accountNames[i%len(accountNames)])
	}
	for i := range d.w.Accounts {
		d.events(&d.w.Accounts[i].Script)
		d.faults(&d.w.Accounts[i].Script)
	}
	d.people()
	d.slack()
	d.hits()
	d.second()
	d.bounds()
	d.labour()
	if d.times(QuietHours) > 0 {
		d.w.Quiet = &Quiet{pick(d.dice, "quiet from", 22*time.Hour, 20*time.Hour, 12*time.Hour, 30*time.Minute), pick(d.dice, "quiet until", 8*time.Hour, 13*time.Hour+30*time.Minute, 10*time.Hour)}
	}
	d.purse()
	slices.SortStableFunc(d.w.Orders, func(a, b Order) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(d.w.Hits, func(a, b Hit) int { return cmp.Compare(a.At, b.At) })
	return d.w
}

var (
	accountNames = []string{"lab", "pods", "farm"}
	starts       = []time.Time{
		time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 6, 18, 0, 0, 0, time.FixedZone("", 8*3600)),
		time.Date(2026, 3, 27, 23, 30, 0, 0, time.FixedZone("", 3600)),
		time.Date(2027, 12, 30, 4, 0, 0, 0, time.FixedZone("", -8*3600)),
	}
)

// drawer is a week in the making.
type drawer struct {
	dice
	k     Knobs
	w     Week
	end   time.Duration // where the quiet tail begins
	boxes []rented
	met   map[Family]int // percent chances already thrown: 1 occurs, 2 does not
}

// rented is what the generator knows of an instance.
type rented struct {
	account, id string
	created     time.Duration // 0 where before the story
	hourly      guard.Money   // unset where nothing is billed or the price is not told
	gpu         bool
}

func (b rented) String() string { return b.account + "/" + b.id }

// times is how often a family occurs in this week.
func (d *drawer) times(f Family) int {
	if d.met == nil {
		d.met = map[Family]int{}
	}
	if d.met[f] == 0 {
		d.met[f] = 2
		if d.chance("any "+string(f), d.k.Chance[f]) {
			d.met[f] = 1
		}
	}
	if d.met[f] == 2 {
		return 0
	}
	days := int((d.w.Length + 24*time.Hour - 1) / (24 * time.Hour))
	return d.n(string(f), 1, max(1, d.k.Often*days))
}

// moment is a time before the quiet tail, from some time on.
func (d *drawer) moment(label string, from time.Duration) time.Duration {
	from = max(from.Truncate(time.Minute), 0)
	last := d.end - time.Second
	if from >= d.end {
		return last
	}
	at := d.span(label, from, d.end, time.Minute)
	if d.chance(label+" off the minute", 50) {
		at += d.span(label+" seconds", 0, 59*time.Second, time.Second)
	}
	return min(at, last)
}

// lasting is a duration of at most so much that ends before the quiet tail.
func (d *drawer) lasting(label string, at, most time.Duration) time.Duration {
	least := time.Minute
	if d.chance(label+" is long", 30) {
		least = most / 4
	}
	return max(min(d.span(label, least, max(least, most), time.Minute), d.end-at), time.Second)
}
