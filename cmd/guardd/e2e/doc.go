// Package e2e tries the built binaries, guardd and guard, against a real
// EC2-compatible server that is not ours, with instances that boto3 made. It
// holds tests only.
//
// Without a server to be had the tests skip with one line each; in CI
// GUARD_E2E=require makes that a failure. See guard/providers/aws/mototest for
// how the server is found.
package e2e
