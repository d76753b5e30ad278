package configs

import (
	"guard"
	"guard/policy"
)

// orphans are the keys about what may outlive an instance, by its kind.
func (r *rulesFile) orphans() map[guard.Kind]*orphanFile {
	return map[guard.Kind]*orphanFile{
		guard.Volume: &r.OrphanVolume, guard.Snapshot: &r.OrphanSnapshot, guard.Image: &r.OrphanImage,
		guard.Address: &r.OrphanAddress, guard.Filesystem: &r.OrphanFilesystem,
	}
}

// orphans checks what is done about leftovers. Deleting data is this rule's own word, so
// that it is allowed here and, for a stop saves nothing of a disk, nothing between.
func (d *decoder) orphans(f file, r policy.Rules) {
	for kind, in := range f.Rules.orphans() {
		key := "orphan_" + string(kind)
		path := "rules." + key
		d.per(f, r.Per, key, in.perRule, acts, policy.OrphanRule(kind))
		conf := policy.Orphan{After: d.told(path, in.After, in.Warn), Act: in.Act, Then: guard.Action(in.Then)}
		switch {
		case !d.read(path):
		case conf.Then == guard.ActStop:
			d.at(path+".then", "a thing of the kind %s has no stop: write alert, or release, which deletes it", kind)
		case conf.Then != guard.ActRelease && d.has(path+".act"):
			d.at(path+".act", "this rule only tells: write then: release, or leave act out")
		case d.has(path+".act") && conf.Act < conf.After:
			d.at(path+".act", "%s is before people are told (%s): both count from when it was left", formatDuration(conf.Act), formatDuration(conf.After))
		}
		r.Orphans[kind] = conf
	}
}

// stopped checks what is done about what does not run and bills: told, or released at a
// time that the file has to name.
func (d *decoder) stopped(f file, r policy.Rules) policy.StoppedBilling {
	const path = "rules.stopped_billing"
	in := f.Rules.StoppedBilling
	d.per(f, r.Per, "stopped_billing", in.perRule, acts, guard.RuleStoppedBilling)
	out := policy.StoppedBilling{Warn: in.Warn, Act: in.Act, Then: guard.Action(in.Then)}
	switch {
	case !d.read(path):
	case out.Then == guard.ActStop:
		d.at(path+".then", "it is stopped already: write alert or release")
	case out.Then == guard.ActRelease && !d.has(path+".act"):
		d.at(path+".then", "act is missing: write when it is released, such as act: 7d, counted from the stop")
	case out.Then != guard.ActRelease && d.has(path+".act"):
		d.at(path+".act", "this rule only tells: write then: release, or leave act out")
	case d.has(path+".act") && out.Act < out.Warn:
		d.at(path+".act", "%s is before people are told (warn: %s): both count from the stop", formatDuration(out.Act), formatDuration(out.Warn))
	}
	return out
}
