package bolt

import (
	"fmt"

	"golang.org/x/sys/unix"

	"guard"
)

// networkTypes are the file systems on which a lock may block for ever or hold
// nobody off, and on which a map of a file is not what the server has. The
// numbers are those of statfs(2); the last three are not in golang.org/x/sys.
var networkTypes = map[uint32]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.SMB2_SUPER_MAGIC: "SMB",
	unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.AFS_FS_MAGIC:     "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
	unix.V9FS_MAGIC:       "9P",
	unix.CEPH_SUPER_MAGIC: "Ceph",
	unix.NCP_SUPER_MAGIC:  "NCP",
	0x0BD00BD0:            "Lustre",
	0x786F4256:            "VirtualBox shared folder",
	0x01161970:            "GFS2",
}

// refuseNetwork refuses a directory on a network file system. It may itself hang
// where the server does not answer.
func refuseNetwork(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("%w: ask for the file system of %s: %w", guard.ErrUnavailable, dir, err)
	}
	return refuseType(dir, uint32(st.Type))
}

func refuseType(dir string, magic uint32) error {
	name, ok := networkTypes[magic]
	if !ok {
		return nil
	}
	return fmt.Errorf("%w: the ledger would be on a network file system (%s is on %s), where file locks do not hold: put it on a local disk", guard.ErrRefused, dir, name)
}
