// Package observe reads one account's cloud into the ledger. It writes down what
// is there, what changed for the meter, and, by the rules of policy/presence,
// what is proven gone; nothing else ever removes a thing. It judges no limits.
//
// The loop keeps no state that a restart would lose: what it holds in memory is
// when it wants to look next.
package observe
