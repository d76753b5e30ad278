// Package meter turns what was observed into money and money into deadlines: it
// folds pending changes into segments and solves, for each open lease, when its
// limits are reached and by when a release must be called. The arithmetic is
// policy/spend; this package reads and writes the ledger around it.
package meter
