// Package daemon is the composition root of guardd: it wires the configured
// accounts, the ledger, the loops and the channels together, drives the loops
// with one scheduler, reloads the configuration and stops in order.
package daemon
