// Package egress folds the byte counters of an instance's interfaces into how much it
// sent, and tells what of it is usual. It is pure and incremental: each sample is folded
// once.
//
// A counter says less than it seems to. After a reboot it begins anew, one of 32 bits
// runs over, an interface goes and another comes, a source tells 0 or 1.8e19 once. What
// is known is how many bytes a line can carry in a time, and which boot a reading is of;
// what neither explains is not counted, and is counted as dropped.
package egress
