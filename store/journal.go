package store

import (
	"encoding/json"
	"fmt"
	"strconv"

	"guard"
)

// journalHead is the meta key of the last sequence number given out.
const journalHead = "journal_head"

// seqKey makes numbers sort as bytes.
func seqKey(seq uint64) string { return fmt.Sprintf("%016x", seq) }

// indexKey sorts the entries of one subject newest first: backends scan only
// forward.
func indexKey(subject string, seq uint64) string { return indexPrefix(subject) + seqKey(^seq) }

func indexPrefix(subject string) string { return subject + "\x00" }

// Journal appends an entry to the history and gives it the next sequence number:
// they start at 1 and have no gaps.
func (tx *Tx) Journal(e guard.JournalEntry) error {
	head, err := readHead(tx.o)
	if err != nil {
		return err
	}
	e.Seq = head + 1
	if err := tx.o.put(metaTable, journalHead, written{value: []byte(strconv.FormatUint(e.Seq, 10))}); err != nil {
		return err
	}
	if err := journal.put(tx.o, e); err != nil {
		return err
	}
	for _, s := range indexedBy(e) {
		if err := tx.o.put(journalIndex, indexKey(s, e.Seq), written{value: []byte{}}); err != nil {
			return err
		}
	}
	return nil
}

// indexedBy is what an entry is found by.
func indexedBy(e guard.JournalEntry) []string {
	var by []string
	if e.Subject != "" {
		by = append(by, e.Subject)
	}
	if e.Lease != "" && e.Lease != e.Subject {
		by = append(by, e.Lease)
	}
	return by
}

func readHead(g Getter) (uint64, error) {
	b, err := g.Get(metaTable, journalHead)
	if err != nil || b == nil {
		return 0, err
	}
	var head uint64
	if err := json.Unmarshal(b, &head); err != nil {
		return 0, fmt.Errorf("%w: record %q in the ledger's table %s cannot be read: %v", guard.ErrDamaged, journalHead, metaTable, err)
	}
	return head, nil
}

// JournalSince returns at most limit entries after the sequence number seq,
// oldest first; all of them where limit is not above 0.
func (v *View) JournalSince(seq uint64, limit int) ([]guard.JournalEntry, error) {
	var out []guard.JournalEntry
	for e, err := range journal.all(v.s, "", seqKey(seq)) {
		if err != nil {
			return out, err
		}
		if out = append(out, e); len(out) == limit {
			break
		}
	}
	return out, nil
}

// JournalOf returns at most limit entries about a subject or under a lease's ID,
// newest first; all of them where limit is not above 0. An empty subject means
// the whole journal.
func (v *View) JournalOf(subject string, limit int) ([]guard.JournalEntry, error) {
	if subject == "" {
		return v.journalNewest(limit)
	}
	var seqs []string
	var out []guard.JournalEntry
	prefix := indexPrefix(subject)
	err := v.s.Scan(journalIndex, prefix, "", func(key string, _ []byte) bool {
		inverted, err := strconv.ParseUint(key[len(prefix):], 16, 64)
		if err != nil {
			return true // a longer subject that holds a zero byte: not ours
		}
		seqs = append(seqs, seqKey(^inverted))
		return len(seqs) != limit
	})
	if err != nil {
		return nil, err
	}
	for _, seq := range seqs {
		e, ok, err := journal.get(v.s, seq)
		if err != nil {
			return out, err
		}
		if !ok {
			return out, fmt.Errorf("%w: the ledger's journal lacks entry %s of %q", guard.ErrDamaged, seq, subject)
		}
		out = append(out, e)
	}
	return out, nil
}

func (v *View) journalNewest(limit int) ([]guard.JournalEntry, error) {
	head, err := readHead(v.s)
	if err != nil {
		return nil, err
	}
	var out []guard.JournalEntry
	for seq := head; seq > 0 && (limit <= 0 || len(out) < limit); seq-- {
		e, ok, err := journal.get(v.s, seqKey(seq))
		if err != nil {
			return out, err
		}
		if !ok {
			return out, fmt.Errorf("%w: the ledger's journal lacks entry %d", guard.ErrDamaged, seq)
		}
		out = append(out, e)
	}
	return out, nil
}
