package policy

import (
	"maps"
	"slices"
	"strings"

	"guard"
)

// keepers are the tags by which clusters and backup tools know what they made, by the
// beginning of their keys.
var keepers = []struct{ key, name, what string }{
	{"velero.io/", "Velero", "a backup tool"},
	{"aws:backup:", "AWS Backup", "a backup tool"},
	{"aws:dlm:", "Amazon Data Lifecycle Manager", "a backup tool"},
	{"dlm:managed", "Amazon Data Lifecycle Manager", "a backup tool"},
	{"CSIVolumeSnapshotName", "the CSI driver", "a backup tool"},
	{"snapshot.storage.kubernetes.io/", "the CSI driver", "a backup tool"},
	{"ebs.csi.aws.com/cluster", "the CSI driver", "Kubernetes"},
	{"CSIVolumeName", "the CSI driver", "Kubernetes"},
	{"kubernetes.io/", "a cluster", "Kubernetes"},
	{"k8s.io/", "a cluster", "Kubernetes"},
	{"KubernetesCluster", "a cluster", "Kubernetes"},
}

// keeper tells who made the subject and keeps it, where its tags or its name do, and why
// guard never deletes it; both "" where nothing speaks against that.
func (f Facts) keeper() (made, kept string) {
	r := f.Observed.Resource
	for _, k := range keepers {
		for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
			if !strings.HasPrefix(key, k.key) {
				continue
			}
			what := k.what
			if r.ID.Kind == guard.Snapshot && what == "Kubernetes" {
				what = "a backup tool" // a driver makes snapshots for nothing else
			}
			return f.say("%s made it (%s, by the tag %s)", f.kept(what), f.kept(k.name), key), f.say("it is %s's to delete", f.kept(k.name))
		}
	}
	switch {
	case strings.HasPrefix(r.Name, "pvc-"), strings.HasPrefix(r.Name, "kubernetes-dynamic-pvc-"):
		return f.say("Kubernetes made it (by its name, %s)", r.Name), f.say("it is %s's to delete", f.say("a cluster"))
	case r.ID.Kind == guard.Address && strings.EqualFold(r.RawState, "reserved"):
		return "", f.say("it is reserved, which is on purpose")
	case r.ReleaseProtected == guard.Yes:
		return "", f.say("the provider protects it")
	}
	return "", ""
}

// made is who made the subject, as evidence has it.
func (f Facts) made() string {
	made, _ := f.keeper()
	return made
}
