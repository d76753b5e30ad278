// Package e2e tries the built binaries, guardd and guard. It holds tests only.
//
// The stories of an account run against a real EC2-compatible server that is not
// ours, with instances that boto3 made. Without a server to be had they skip with
// one line each; in CI GUARD_E2E=require makes that a failure. See
// guard/providers/aws/mototest for how the server is found.
//
// The six GPU clouds are the fakes of their adapters, over loopback.
//
// What a crash, a full disk or a damaged file does to the binary is tried against
// a small EC2 in the test process, which tells exactly what was asked of it and
// costs no start.
package e2e
