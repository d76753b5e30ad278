// Package agent runs on a GPU box: it reads the GPUs every second and the rest of the
// machine every minute, and sends one summary a minute to guardd. While guardd is away
// the summaries wait, in memory and on disk, and sampling goes on. It hears from guardd
// when the box's lease ends, and may hold a dead-man fuse that ends the box where guard
// has fallen silent past that.
//
// The decisions (what a minute's readings sum up to, when to try again, whether the fuse
// fires) are pure; what touches the machine is Linux only.
package agent
