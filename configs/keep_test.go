package configs

import (
	"strings"
	"testing"
	"time"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 6, 18, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		file string
		want Backup
		next time.Time // of a backup at at
	}{
		{"", Backup{Dir: "/var/lib/guard/backups", Keep: 14}, at.Add(24 * time.Hour)},
		{"ledger: bolt:/srv/g/l.db\nbackup: {at: 0 3 * * *, keep: 3}", Backup{Dir: "/srv/g/backups", Keep: 3}, at.Add(9 * time.Hour)},
		{"time_zone: Asia/Shanghai\nbackup: {at: 0 3 * * *, dir: copies}", Backup{Dir: "/etc/guard/copies", Keep: 14}, at.Add(time.Hour)},
		{"backup: {every: 6h, off: true}", Backup{Dir: "/var/lib/guard/backups", Keep: 14, Off: true}, at.Add(6 * time.Hour)},
	} {
		got, err := Load([]byte(c.file), "/etc/guard/guard.yaml", nil, nil)
		if err != nil {
			t.Fatalf("%q: %v", c.file, err)
		}
		b := got.Backup
		if b.Dir != c.want.Dir || b.Keep != c.want.Keep || b.Off != c.want.Off || !b.Schedule.Next(at).Equal(c.next) {
			t.Errorf("%q: %+v, next %s, want %+v, %s", c.file, b, b.Schedule.Next(at), c.want, c.next)
		}
		if got.Retention != 400*24*time.Hour {
			t.Errorf("%q: retention %s", c.file, got.Retention)
		}
	}
	for file, want := range map[string]string{
		"backup: {at: 24h}":                   "a cron spec such as",
		"backup: {every: 0 3 * * *}":          "an interval such as 24h",
		"backup: {at: 0 3 * * *, every: 24h}": "not both",
		"backup: {every: 90d}":                "outside",
		"backup: {at: 0 3 1 1 *}":             "without a run",
		"backup: {keep: 0}":                   "outside 1 to 1000",
		"backup: {sometimes: true}":           "sometimes",
		"retention: 7d":                       "outside 62d to",
	} {
		if _, err := Load([]byte(file), "guard.yaml", nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}
