package policy

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"guard"
)

// Booking is a change to a lease that guard makes by itself: it registers what
// nobody did, has found what was expected, or waits for it no longer. It touches no
// cloud, so it is made in observe mode too.
type Booking struct {
	Lease guard.Lease
	// Verb and Text are the journal's: adopted, seen, ended.
	Verb, Text string
	// Say is what people are told; nil where a finding tells them.
	Say *Stage
}

// LeaseID is unique for a resource and a moment, and the same when a story is
// played again.
func LeaseID(deployment string, id guard.ResourceID, at time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", deployment, id.Key(), at.UnixNano()))
	return "l-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// status is that of a lease of something that lives.
func status(r guard.Resource) guard.LeaseStatus {
	if r.State == guard.StateStopped {
		return guard.LeaseStopped
	}
	return guard.LeaseActive
}
