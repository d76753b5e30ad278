// Package prices is the price book: a file in which a person writes what things
// cost, for what a provider's API does not say and over what it says wrongly.
//
// A book only ever answers with what stands in it. A type, region or market that
// it does not name stays unknown; an on-demand price never stands in for a spot
// price, nor one region's for another's.
//
//	currency: USD                 # of every amount that names none
//	instances:
//	  - {type: p4d.24xlarge, scope: us-east-1, rate: {amount: "32.77", per: hour}}
//	  - {type: p4d.24xlarge, scope: us-east-1, spot: true, rate: {amount: "9.83", per: hour}}
//	  - {type: h100, scope: "*", rate: {amount: "2.49", per: hour, per_gpu: true}, stopped: {amount: "0.1", per: hour}}
//	volumes:
//	  - {type: gp3, scope: "*", rate: {amount: "0.08", per: gb_month}}
//	egress:                       # a GB; in: of what comes in; free_gb: a month, for the whole account
//	  - {scope: "*", amount: "0.09", free_gb: 100}
package prices

import (
	"fmt"
	"io"
	"os"
	"time"

	"guard"
)

// Source is what a rate from a book names as its source.
const Source = "price book"

// AnyScope in an entry stands for every region that no entry of its own names.
const AnyScope = "*"

// maxFile bounds what is read: a price list of every type in every region of the
// largest cloud is under two megabytes.
const maxFile = 8 << 20

// Book answers what things cost. It is immutable and safe for concurrent use; a
// nil Book knows no price.
type Book struct {
	rates  map[key]quote
	egress map[string]guard.EgressPrice // by scope
}

type key struct {
	what  what
	typ   string
	scope string
	spot  bool
}

type what int

const (
	running what = iota
	stopped
	volume
)

// quote is a rate and what it multiplies by.
type quote struct {
	rate   guard.Rate
	perGPU bool
	perGB  bool
}

// Want describes the instance or the volume a price is asked for.
type Want struct {
	Type  string // the provider's own name: p4d.24xlarge, gp3
	Scope string // its region or zone
	Spot  bool
	// GPUs multiplies a quote for one GPU; at 0 (not known) such a quote gives
	// no price. SizeGB does the same for a quote for one GB.
	GPUs   int
	SizeGB int64
}

// Instance is what a running instance costs; false where the book does not say.
func (b *Book) Instance(w Want) (guard.Rate, bool) { return b.lookup(running, w) }

// Stopped is what a stopped instance itself costs, its disks not included; false
// where the book does not say.
func (b *Book) Stopped(w Want) (guard.Rate, bool) { return b.lookup(stopped, w) }

// Volume is what a volume costs; false where the book does not say.
func (b *Book) Volume(w Want) (guard.Rate, bool) {
	w.Spot = false
	return b.lookup(volume, w)
}

func (b *Book) lookup(of what, w Want) (guard.Rate, bool) {
	if b == nil {
		return guard.Rate{}, false
	}
	q, ok := b.rates[key{of, w.Type, w.Scope, w.Spot}]
	if !ok {
		q, ok = b.rates[key{of, w.Type, AnyScope, w.Spot}]
	}
	r := q.rate
	switch {
	case !ok:
	case q.perGPU:
		r = r.PerGPU(w.GPUs)
	case q.perGB:
		r = r.PerGB(w.SizeGB)
	}
	if !ok || !r.Known() {
		return guard.Rate{}, false
	}
	return r, true
}

// Len is the number of prices in the book.
func (b *Book) Len() int {
	if b == nil {
		return 0
	}
	return len(b.rates) + len(b.egress)
}

// Load reads the book at path, as Parse does. A file that cannot be read, or is
// larger than 8 MiB, is guard.ErrInvalid too.
func Load(path string) (*Book, []Warning, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: read price book: %w", guard.ErrInvalid, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: read price book: %w", guard.ErrInvalid, err)
	}
	if len(data) > maxFile {
		return nil, nil, fmt.Errorf("%w: read price book %s: larger than %d MiB", guard.ErrInvalid, path, maxFile>>20)
	}
	return Parse(path, data)
}

// periods are the words of `per`. A month is 730 hours, see [guard.Month].
var periods = map[string]time.Duration{
	"second":   time.Second,
	"hour":     time.Hour,
	"month":    guard.Month,
	"gb_month": guard.Month,
}
