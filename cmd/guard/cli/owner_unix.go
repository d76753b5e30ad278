//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// mine reports whether a file is the caller's own: in a folder that many may write
// to it is nobody else's to deliver.
func mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
