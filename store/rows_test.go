package store_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"guard/store"
)

// rows is the least that a Backend can be, for what is tested above one. The
// real backends are a floor higher.
type rows map[[2]string][]byte

func (r rows) View(_ context.Context, fn func(store.Reader) error) error { return fn(r) }

func (r rows) sorted(table string) []string {
	var keys []string
	for k := range r {
		if k[0] == table {
			keys = append(keys, k[1])
		}
	}
	slices.Sort(keys)
	return keys
}

func (r rows) Scan(table, prefix, after string, fn func(string, []byte) bool) error {
	for _, k := range r.sorted(table) {
		if strings.HasPrefix(k, prefix) && k > after && !fn(k, r[[2]string{table, k}]) {
			break
		}
	}
	return nil
}

func (r rows) Last(table string) (string, []byte, error) {
	keys := r.sorted(table)
	if len(keys) == 0 {
		return "", nil, nil
	}
	last := keys[len(keys)-1]
	return last, r[[2]string{table, last}], nil
}

func (r rows) Update(_ context.Context, fn func(store.Writer) error) error {
	next := rows{}
	for k, v := range r {
		next[k] = v
	}
	if err := fn(next); err != nil {
		return err
	}
	clear(r)
	for k, v := range next {
		r[k] = v
	}
	return nil
}

func (r rows) Get(table, key string) ([]byte, error) { return r[[2]string{table, key}], nil }

func (r rows) Put(table, key string, value []byte) error {
	r[[2]string{table, key}] = append([]byte{}, value...)
	return nil
}

func (r rows) Delete(table, key string) error {
	delete(r, [2]string{table, key})
	return nil
}

func (rows) Backup(context.Context, io.Writer) error { return errors.ErrUnsupported }
func (rows) Close() error                            { return nil }
