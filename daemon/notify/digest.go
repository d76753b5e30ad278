package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/say"
)

const (
	// maxMembers bounds a digest: all its members are marked in one transaction.
	maxMembers = 60
	// lineRunes is the most that one member takes of a digest for each resource
	// that it is about: none of a group is cut away for being told with others.
	// A notice of a release has its last line, the command that stops it, well
	// before this.
	lineRunes = 800
)

// heldGroup begins the group of what quiet hours held back.
const heldGroup = "held|"

// groupKey is what messages have in common that may be told in one post; ""
// where a message is always told alone. held is the end of the quiet hours in which it
// was written, where those held it back.
func groupKey(m guard.Message, held time.Time) string {
	switch {
	case m.Short: // the channel refused it already: it is not to spoil the others' post
		return ""
	case !held.IsZero():
		return fmt.Sprint(heldGroup, held.Unix())
	case m.Rule != "":
		return fmt.Sprintf("%t|%s", m.Urgent, m.Rule)
	case m.Release != "":
		return fmt.Sprintf("%t|release", m.Urgent)
	}
	return ""
}

// digest is one message that tells all members, oldest first. Its ID follows
// from theirs.
func digest(members []guard.Message) guard.Message {
	first := members[0]
	d := guard.Message{ID: batchID(members), Channel: first.Channel, Lang: first.Lang, Urgent: first.Urgent, CreatedAt: first.CreatedAt}
	mixed := slices.ContainsFunc(members, func(m guard.Message) bool { return m.Rule != first.Rule })
	switch {
	case mixed: // only what quiet hours held back
		d.Title = say.In(d.Lang, "%d messages of the quiet hours", len(members))
	case first.Rule == "":
		d.Title = say.In(d.Lang, "%d messages: releases", len(members))
	default:
		d.Rule = first.Rule
		d.Title = say.In(d.Lang, "%d messages: %s", len(members), say.Rule(d.Lang, first.Rule))
	}
	for _, m := range members {
		d.Lines = append(d.Lines, cut(strings.Join(append([]string{m.Title}, m.Lines...), " · "), lineRunes*max(1, len(m.About))))
		d.MayRepeat = d.MayRepeat || m.MayRepeat
		for _, id := range m.About {
			if !slices.Contains(d.About, id) {
				d.About = append(d.About, id)
			}
		}
		if m.CreatedAt.Before(d.CreatedAt) {
			d.CreatedAt = m.CreatedAt
		}
	}
	return d
}

func batchID(members []guard.Message) string {
	if b := members[0].Batch; b != "" {
		return b // posted before: what is looked for in the history
	}
	h := sha256.New()
	for _, m := range members {
		fmt.Fprintf(h, "%d|%s", len(m.ID), m.ID)
	}
	return members[0].Channel + "|digest|" + hex.EncodeToString(h.Sum(nil)[:12])
}

// fitting is the longest run of the members, from the first, whose digest the
// channel takes uncut. It has at least one.
func fitting(members []guard.Message, fits func(guard.Message) bool) []guard.Message {
	members = members[:min(len(members), maxMembers)]
	n := len(members)
	for n > 1 && !fits(digest(members[:n])) {
		n--
	}
	return members[:n]
}

// cut shortens s to n runes, the last of which then says so.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
