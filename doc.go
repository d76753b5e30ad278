// Package guard holds the nouns of the cost guard: what a provider reports
// ([Resource], [Lookup], [Identity]), what a person claims ([Lease]), what it
// costs ([Money], [Rate], [Segment]), what is wrong ([Finding]), what is done
// about it ([Release]) and what people are told ([Message]).
//
// It is floor 0: every other package may import it, it imports none of ours. It
// does no I/O and reads no clock: time arrives as an [Instant]. All wall times
// in the nouns are UTC; a zero time.Time means "not known", never the epoch.
package guard
