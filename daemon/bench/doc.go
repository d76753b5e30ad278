// Package bench measures what the daemon costs on a generated fleet: the real
// scheduler, loops, API and ledger file, against the fake cloud.
//
// The cloud runs in a process of its own (see [Serve]) and answers over a Unix
// socket. So what this process burns and holds is the daemon's alone, and the
// cloud's encoding is counted apart, by that process's own usage. The baseline of a
// cycle is a bare loop in the same run: the same adapters, transport and decoding
// read every page of the same kinds, and drop what they read.
//
// The time of a fleet is virtual and jumps from one thing that is due to the next,
// but for the deadlines, which fall due at real speed; all that is measured is
// real. CPU is user and system time of all threads by getrusage, so the garbage
// collector's work is in it.
package bench
