package configs

import (
	"path/filepath"
	"strings"
	"time"
)

// Backup says where and when guardd copies its ledger by itself.
type Backup struct {
	Off      bool
	Dir      string // absolute, or relative to the configuration's folder
	Schedule Schedule
	Keep     int // how many copies are kept
}

type backupFile struct {
	Off   bool   `yaml:"off"`
	Dir   string `yaml:"dir"`
	At    plain  `yaml:"at"`
	Every plain  `yaml:"every"`
	Keep  int    `yaml:"keep"`
}

// The defaults and bounds of what is kept.
const (
	defaultBackup    = 24 * time.Hour
	leastBackup      = time.Minute
	mostBackup       = 31 * 24 * time.Hour
	defaultKeep      = 14
	mostKeep         = 1000
	defaultRetention = 400 * 24 * time.Hour
	// leastRetention: what a month has cost is read from what is kept.
	leastRetention = 62 * 24 * time.Hour
)

// keep checks backups and retention.
func (d *decoder) keep(f file, c *Config) {
	c.Retention = d.between("retention", f.Retention, leastRetention, longest)
	in := f.Backup
	c.Backup = Backup{Off: in.Off, Dir: d.path(in.Dir), Keep: d.within("backup.keep", in.Keep, 1, mostKeep), Schedule: Every(defaultBackup)}
	if in.Dir == "" {
		c.Backup.Dir = filepath.Join(filepath.Dir(c.Ledger.Path), "backups")
	}
	switch {
	case in.At != "" && in.Every != "":
		d.at("backup.at", "write at or every, not both")
	case in.At != "" && !strings.ContainsAny(string(in.At), " @"):
		d.at("backup.at", "write a cron spec such as \"0 3 * * *\"; an interval goes under every")
	case in.Every != "" && strings.ContainsAny(string(in.Every), " @"):
		d.at("backup.every", "write an interval such as 24h; a cron spec goes under at")
	case in.At != "":
		c.Backup.Schedule = d.recurs("backup.at", in.At, c.TimeZone)
	case in.Every != "":
		c.Backup.Schedule = d.recurs("backup.every", in.Every, c.TimeZone)
	}
}

func (d *decoder) recurs(path string, s plain, zone *time.Location) Schedule {
	out, err := parseSchedule(string(s), zone, leastBackup, mostBackup)
	if err != nil {
		d.at(path, "%v", err)
	}
	return out
}
