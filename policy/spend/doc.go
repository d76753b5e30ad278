// Package spend computes money from segments: what was spent until a moment,
// when a cap will be crossed, and by when a release must be called to land under
// it. It also turns what was observed into segments ([Fold]) and keeps one odd
// reading from moving a deadline to now ([Settle]).
//
// Everything is exact: amounts are fractions of integers until they are rounded
// once for people. Currencies are never mixed and an unknown rate is never
// nothing; both are listed as parts that the sum lacks.
//
// # Billing
//
// Consecutive segments in which one resource bills the same state are one run. A
// run is billed in units: the first is the minimum rounded up to whole
// granularity, the others are one granularity each. A unit is owed in full from
// the moment it starts, at the rate in force then. Without a granularity the run
// is billed by the nanosecond after its minimum.
package spend
