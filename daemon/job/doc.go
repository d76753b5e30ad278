// Package job runs a command as somebody's job on a rented box: in a process group of its
// own, with every signal passed on and its exit status kept, ended at its longest time,
// and told of a release before that comes. Linux only.
//
// What happens when is decided by pure functions; a job never ends because guard fails.
package job
