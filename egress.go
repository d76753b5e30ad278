package guard

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// GB is what providers bill traffic by: 10⁹ bytes.
const GB = 1_000_000_000

// EgressPrice is what traffic out of a resource costs.
type EgressPrice struct {
	// PerGB is one GB's price; unset where nobody tells. UpTo is then the most that it
	// can be, where that is known.
	PerGB Money `json:"per_gb"`
	UpTo  Money `json:"up_to"`
	// FreeGB are free in each calendar month (UTC), for the whole account.
	FreeGB int64 `json:"free_gb,omitzero"`
	// InPerGB is the price of traffic that comes in; unset: none.
	InPerGB Money  `json:"in_per_gb"`
	Source  string `json:"source,omitzero"`
}

// IsZero reports that nothing is told of a price, for omitzero.
func (p EgressPrice) IsZero() bool { return p == EgressPrice{} }

// Cost is what so many bytes out and in cost, whatever is free of them; false where the
// price is not known. Traffic of a price that nobody tells costs nothing that is known.
func (p EgressPrice) Cost(sent, in uint64) (Money, bool) {
	if !p.PerGB.IsSet() || p.PerGB.IsNegative() {
		return Money{}, false
	}
	cost := new(big.Rat).Mul(p.PerGB.Rat(), gigabytes(sent))
	if p.InPerGB.IsPositive() && p.InPerGB.Currency() == p.PerGB.Currency() {
		cost.Add(cost, new(big.Rat).Mul(p.InPerGB.Rat(), gigabytes(in)))
	}
	m, err := MoneyFromRat(cost, p.PerGB.Currency())
	return m, err == nil
}

// AtMost is the price at the most that it can be; false where that is not known either.
func (p EgressPrice) AtMost() (EgressPrice, bool) {
	if !p.PerGB.IsSet() {
		p.PerGB = p.UpTo
	}
	return p, p.PerGB.IsSet() && !p.PerGB.IsNegative()
}

// CalendarMonth is when the calendar month (UTC) of a moment begins.
func CalendarMonth(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

func gigabytes(n uint64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(n), big.NewInt(GB))
}

// Egress is the meter of one resource's traffic: how many bytes went out, as far as
// its counters tell.
type Egress struct {
	Resource ResourceID `json:"resource"`
	// Sent and Received are all bytes since First, whatever the counters did between.
	// They never fall.
	Sent     uint64    `json:"sent"`
	Received uint64    `json:"received"`
	First    time.Time `json:"first"`
	At       time.Time `json:"at"` // of the newest sample in it
	// Heard is when that came, by guard's time; zero: nobody noted it.
	Heard time.Time `json:"heard,omitzero"`
	// Lag is how far apart the last two samples were: what is newer than that may not
	// have been told yet.
	Lag time.Duration `json:"lag,omitzero"`
	// Source is whose samples are counted: two that tell of the same bytes must not
	// both be.
	Source string `json:"source,omitzero"`
	// Boot and Last are the counters as last believed, by interface; empty where the
	// source tells rates only.
	Boot string             `json:"boot,omitzero"`
	Last map[string]Counter `json:"last,omitzero"`
	// Odd are later readings that were not believed: a second one may show that they
	// were right.
	Odd map[string]Counter `json:"odd,omitzero"`
	// Doubtful are jumps of counters over times in which nothing was read, oldest first, at
	// rates that nothing around them shows: they are in none of the other numbers.
	Doubtful []Jump `json:"doubtful,omitzero"`
	// Spike is since when a finding about its traffic is open, as of the newest sample;
	// zero: none is.
	Spike time.Time `json:"spike,omitzero"`
	// Resets, Wraps and Dropped count what the counters did: began anew, ran over, or
	// told what no line can carry.
	Resets  int `json:"resets,omitzero"`
	Wraps   int `json:"wraps,omitzero"`
	Dropped int `json:"dropped,omitzero"`
	// Buckets are the bytes of each five minutes of the last day, Hours of each hour of
	// the last eight days, oldest first; what nobody saw is missing.
	Buckets Course `json:"buckets,omitzero"`
	Hours   Course `json:"hours,omitzero"`
	// Months are the bytes of each calendar month (UTC) of the last year.
	Months []Bytes `json:"months,omitzero"`
}

// Counter is the byte counters of one interface, and when they were read.
type Counter struct {
	NICSample
	At time.Time `json:"at"`
	// Still is since when it has stood exactly there, so that what it moves next may have
	// been sent from then on; zero: since At.
	Still time.Time `json:"still,omitzero"`
}

// Jump is what the counters of one interface moved (bytes) while nobody read them.
type Jump struct {
	// NIC is the interface; "": several jumps, kept as one.
	NIC  string    `json:"nic,omitzero"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Sent uint64    `json:"sent,omitzero"`
	In   uint64    `json:"in,omitzero"`
}

// Bytes are those of one stretch of time.
type Bytes struct {
	From time.Time `json:"from"`
	Sent uint64    `json:"sent"`
	In   uint64    `json:"in,omitzero"`
	// Flagged: a spike was told of it, so that it is no part of what is usual.
	Flagged bool `json:"flagged,omitzero"`
}

// Course is the bytes of stretches that follow each other, oldest first. In JSON it is a
// row of numbers, for there are many of them: of each stretch the seconds since the one
// before (of the first: since 1970), the bytes sent and received, and 1 where flagged.
type Course []Bytes

// MarshalJSON implements json.Marshaler.
func (c Course) MarshalJSON() ([]byte, error) {
	row := append(make([]byte, 0, 32*len(c)+2), '[')
	var last int64
	for i, b := range c {
		at := b.From.Unix()
		if at < last {
			return nil, fmt.Errorf("%w: stretches of traffic are not in the order of time", ErrInvalid)
		}
		if i > 0 {
			row = append(row, ',')
		}
		row = strconv.AppendInt(row, at-last, 10)
		row = strconv.AppendUint(append(row, ','), b.Sent, 10)
		row = strconv.AppendUint(append(row, ','), b.In, 10)
		if row = append(row, ",0"...); b.Flagged {
			row[len(row)-1] = '1'
		}
		last = at
	}
	return append(row, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler. A meter is read often and most of it is such
// rows, so they are not read by reflection.
func (c *Course) UnmarshalJSON(b []byte) error {
	const latest = 1 << 40 // seconds: some 30,000 years
	*c = nil
	if string(b) == "null" {
		return nil
	}
	row, ok := bytes.CutPrefix(b, []byte("["))
	row, closed := bytes.CutSuffix(row, []byte("]"))
	if !ok || !closed {
		return fmt.Errorf("%w: %s is no row of bytes", ErrInvalid, clip(string(b)))
	}
	if len(bytes.TrimSpace(row)) == 0 {
		return nil
	}
	n := bytes.Count(row, []byte(",")) + 1
	if n%4 != 0 {
		return fmt.Errorf("%w: a row of bytes has four numbers for each stretch", ErrInvalid)
	}
	*c = make(Course, n/4)
	var at uint64
	for i := range *c {
		var x [4]uint64
		for j := range x {
			var word []byte
			word, row, _ = bytes.Cut(row, []byte(","))
			v, err := strconv.ParseUint(string(bytes.TrimSpace(word)), 10, 64)
			if err != nil {
				return fmt.Errorf("%w: %s is no row of bytes", ErrInvalid, clip(string(b)))
			}
			x[j] = v
		}
		if at += x[0]; x[0] > latest || at > latest {
			return fmt.Errorf("%w: a stretch of traffic has no such time", ErrInvalid)
		}
		(*c)[i] = Bytes{From: time.Unix(int64(at), 0).UTC(), Sent: x[1], In: x[2], Flagged: x[3] == 1}
	}
	return nil
}

// Quantity is what was sent and received in one stretch of one calendar month (UTC) at
// one price. Money of traffic is computed from quantities, never kept as a running sum.
type Quantity struct {
	// Lease is whose budget it counts to; "" for none.
	Lease string    `json:"lease,omitzero"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Sent  uint64    `json:"sent"`
	In    uint64    `json:"in,omitzero"`
	// Free is how many of Sent were within the account's free tier.
	Free  uint64      `json:"free,omitzero"`
	Price EgressPrice `json:"price,omitzero"`
}

// ByteText is so many bytes for people, in the units that traffic is billed by: 4.20 GB.
func ByteText(n uint64) string {
	unit, names := float64(n), []string{"B", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for ; unit >= 999.5 && i < len(names)-1; i++ {
		unit /= 1000
	}
	switch {
	case i == 0:
		return fmt.Sprintf("%d B", n)
	case unit < 9.995:
		return fmt.Sprintf("%.2f %s", unit, names[i])
	case unit < 99.95:
		return fmt.Sprintf("%.1f %s", unit, names[i])
	}
	return fmt.Sprintf("%.0f %s", unit, names[i])
}

// ParseBytes reads 140GB, 1.5TB or 500 MB; units are powers of 1000 as traffic is billed,
// and those of 1024 (GiB) only where they are written so.
func ParseBytes(s string) (uint64, error) {
	n := strings.TrimSpace(s)
	digits := strings.TrimRight(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	units := map[string]float64{"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
	unit, ok := units[strings.ToLower(strings.TrimSpace(n[len(digits):]))]
	v, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(v >= 0) || strings.ContainsAny(digits, "xX_pPiInN") || v*unit >= 1e18 {
		return 0, fmt.Errorf("%w: %s is no amount of traffic: write 500MB, 140GB or 1.5TB", ErrInvalid, strconv.Quote(clip(s)))
	}
	return uint64(v*unit + 0.5), nil
}
