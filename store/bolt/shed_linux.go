package bolt

import "golang.org/x/sys/unix"

// shedEvery is after how many commits the mapped pages are given back.
const shedEvery = 32

// shed gives the pages of the file that are mapped back to the kernel, which keeps
// them in its cache as long as it has room. Otherwise all of the file that was ever
// looked at counts as this process's memory, and for little: the open tables are read
// from the ledger's own. A page that is looked at again is mapped again.
func (b *Backend) shed() {
	tx, err := b.begin(false) // the map stays in place until it ends
	if err != nil {
		return
	}
	// Where it cannot be done, the pages only stay where they are.
	_ = b.touch("look at", func() error {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, tx.DB().Info().Data, uintptr(tx.Size()), unix.MADV_DONTNEED)
		return tx.Rollback()
	})
}
