package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"guard"
)

// journalHead is the meta key of the last sequence number given out, and
// journalFirst of the first one that was not pruned; none is 1.
const (
	journalHead  = "journal_head"
	journalFirst = "journal_first"
)

// seqKey makes numbers sort as bytes.
func seqKey(seq uint64) string { return fmt.Sprintf("%016x", seq) }

// indexKey sorts the entries of one subject newest first: backends scan only
// forward.
func indexKey(subject string, seq uint64) string { return indexPrefix(subject) + seqKey(^seq) }

func indexPrefix(subject string) string { return subject + "\x00" }

// Journal appends an entry to the history and gives it the next sequence number:
// they start at 1 and have no gaps, but that Prune takes the first ones away.
func (tx *Tx) Journal(e guard.JournalEntry) error {
	head, err := readSeq(tx.o, journalHead)
	if err != nil {
		return err
	}
	e.Seq = head + 1
	if err := tx.writeSeq(journalHead, e.Seq); err != nil {
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

// forget removes the first entry of the journal, if it is that of the key.
func (tx *Tx) forget(key string) (bool, error) {
	first, err := readFirst(tx.o)
	if err != nil || seqKey(first) != key {
		return false, err
	}
	e, ok, err := journal.now(tx.o, key)
	if err != nil || !ok {
		return false, err
	}
	errs := []error{tx.writeSeq(journalFirst, first+1), tx.o.delete(journal.name, key)}
	for _, s := range indexedBy(e) {
		errs = append(errs, tx.o.delete(journalIndex, indexKey(s, e.Seq)))
	}
	return true, errors.Join(errs...)
}

func (tx *Tx) writeSeq(name string, seq uint64) error {
	return tx.o.put(metaTable, name, written{value: strconv.AppendUint(nil, seq, 10)})
}

func readFirst(g Getter) (uint64, error) {
	first, err := readSeq(g, journalFirst)
	return max(first, 1), err
}

func readSeq(g Getter, name string) (uint64, error) {
	b, err := g.Get(metaTable, name)
	if err != nil || b == nil {
		return 0, err
	}
	var seq uint64
	if err := json.Unmarshal(b, &seq); err != nil {
		return 0, fmt.Errorf("%w: record %q in the ledger's table %s cannot be read: %v", guard.ErrDamaged, name, metaTable, err)
	}
	return seq, nil
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
	head, err := readSeq(v.s, journalHead)
	if err != nil {
		return nil, err
	}
	first, err := readFirst(v.s)
	if err != nil {
		return nil, err
	}
	var out []guard.JournalEntry
	for seq := head; seq >= first && (limit <= 0 || len(out) < limit); seq-- {
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
