// Package simulate plays scenario files: stories of a cloud, its people and its
// faults, told in YAML, in which the real daemon (scheduler, loops, ledger,
// policy, release machine, outbox, API, CLI) runs on virtual time against the
// fake cloud and a fake Slack, and which say what is expected of it.
//
// [Parse] reads a file, strictly, every mistake at once; [Story.Run] plays it.
// A story has one goroutine that lets time pass; one file and one seed give the
// same bytes.
package simulate
