package simulate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard/configs"
	"guard/providers/fake"
)

// The bounds of a trace.
const (
	mostTraceBytes = 64 << 20
	mostTraceRows  = 500_000
	// epoch is a time in seconds that can only be one since 1970.
	epoch = 1e9
)

// tracePart is readings that were recorded.
type tracePart struct{ trace fake.Trace }

// ReadNode implements configs.NodeReader.
func (t *tracePart) ReadNode(n configs.Node) {
	var keys struct {
		CSV     word         `yaml:"csv"`
		Columns configs.Node `yaml:"columns"`
	}
	if !n.IsGroup() {
		n.Problem("is %s: write {csv: trace.csv, columns: {t: seconds, gpu_util: util}}", n.Shape())
		return
	}
	if !n.Decode(&keys) {
		return
	}
	if keys.CSV == "" || keys.Columns.IsZero() {
		n.Problem("write {csv: trace.csv, columns: {t: seconds, gpu_util: util}}")
		return
	}
	at, cols, lists, ok := traceColumns(keys.Columns)
	if !ok {
		return
	}
	file, err := os.Open(n.In(string(keys.CSV)))
	if err != nil {
		n.At("csv", "%s cannot be read: %s", clip(string(keys.CSV)), plainError(err))
		return
	}
	defer file.Close()
	rows, err := readTrace(io.LimitReader(file, mostTraceBytes), at, cols, lists)
	if err != nil {
		n.At("csv", "%s, %v", clip(string(keys.CSV)), err)
		return
	}
	t.trace.Rows = rows
}

// traceColumns are the names of the columns: of the time, and of each field.
func traceColumns(n configs.Node) (at string, cols map[string][]string, lists map[string]bool, ok bool) {
	cols, lists = map[string][]string{}, map[string]bool{}
	known := fake.SignalFields()
	for _, f := range n.Fields() {
		var names words
		f.Value.Decode(&names)
		perGPU, field := known[f.Key]
		switch {
		case len(names) == 0:
			if f.Value.Read() {
				f.Value.Problem("name a column")
			}
		case f.Key == "t":
			at = names[0]
		case !field:
			f.Value.Unknown(f.Key, append(slices.Sorted(maps.Keys(known)), "t"))
		case f.Value.IsList() && !perGPU:
			f.Value.Problem("is a list: write one column, for the whole box")
		default:
			cols[f.Key], lists[f.Key] = names, f.Value.IsList()
		}
	}
	switch {
	case !n.Read():
	case at == "":
		n.Problem("t is missing: name the column of the time, in seconds")
	case len(cols) == 0:
		n.Problem("name the columns of the readings, such as gpu_util: util")
	default:
		return at, cols, lists, true
	}
	return "", nil, nil, false
}

func plainError(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// traceReader reads a trace; errors name line and column.
type traceReader struct {
	csv   *csv.Reader
	head  []string
	at    int              // the column of the time
	cols  map[string][]int // of each field
	lists map[string]bool  // fields with a column for each GPU
	first float64          // the time from which the rows count
}

// readTrace reads all rows.
func readTrace(in io.Reader, at string, names map[string][]string, lists map[string]bool) ([]fake.TraceRow, error) {
	r := &traceReader{csv: csv.NewReader(in), cols: map[string][]int{}, lists: lists}
	if err := r.begin(at, names); err != nil {
		return nil, err
	}
	var rows []fake.TraceRow
	for {
		row, err := r.row(rows)
		switch {
		case errors.Is(err, io.EOF) && len(rows) == 0:
			return nil, errors.New("line 2: it has no rows")
		case errors.Is(err, io.EOF):
			return slices.Clip(rows), nil
		case err != nil:
			return nil, err
		case len(rows) == mostTraceRows:
			return nil, fmt.Errorf("line %d: more than %d rows", mostTraceRows+2, mostTraceRows)
		}
		rows = append(rows, row)
	}
}

// begin reads the head, and finds the columns.
func (r *traceReader) begin(at string, names map[string][]string) error {
	var err error
	if r.head, err = r.csv.Read(); err != nil {
		return errors.New("line 1: its head with the names of the columns is missing")
	}
	r.head[0] = strings.TrimPrefix(r.head[0], "\ufeff")
	for i, h := range r.head {
		r.head[i] = strings.TrimSpace(h)
	}
	find := func(name string) (int, error) {
		if i := slices.Index(r.head, name); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("line 1: there is no column %q; there are %s", clip(name), clip(strings.Join(r.head, ", ")))
	}
	if r.at, err = find(at); err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(names)) {
		for _, name := range names[field] {
			i, err := find(name)
			if err != nil {
				return err
			}
			r.cols[field] = append(r.cols[field], i)
		}
	}
	return nil
}

// row reads the next row; before it come others.
func (r *traceReader) row(before []fake.TraceRow) (fake.TraceRow, error) {
	rec, err := r.csv.Read()
	if err != nil {
		return fake.TraceRow{}, err // io.EOF, or a csv.ParseError, which says where
	}
	wrong := func(column int, format string, args ...any) (fake.TraceRow, error) {
		line, _ := r.csv.FieldPos(column)
		return fake.TraceRow{}, fmt.Errorf("line %d, column %s: %s", line, clip(r.head[column]), fmt.Sprintf(format, args...))
	}
	sec, err := strconv.ParseFloat(strings.TrimSpace(rec[r.at]), 64)
	if err != nil || !(sec >= 0 && sec < 1e11) {
		return wrong(r.at, "%q is not a time in seconds", clip(rec[r.at]))
	}
	if len(before) == 0 && sec >= epoch {
		r.first = sec
	}
	if sec-r.first > longest.Seconds() {
		return wrong(r.at, "%v", errTooLong)
	}
	row := fake.TraceRow{At: time.Duration(math.Round((sec-r.first)*1e3)) * time.Millisecond, Of: map[string]fake.Reading{}}
	if n := len(before); n > 0 && row.At <= before[n-1].At {
		return wrong(r.at, "it is not later than the line before")
	}
	for field, columns := range r.cols {
		each := make([]fake.Value, len(columns))
		for k, i := range columns {
			if each[k], err = traceValue(rec[i]); err != nil {
				return wrong(i, "%v", err)
			}
		}
		row.Of[field] = fake.Reading{All: each[0]}
		if r.lists[field] {
			row.Of[field] = fake.Reading{Each: each}
		}
	}
	return row, nil
}

// traceValue is a number, nothing or a word such as N/A.
func traceValue(s string) (fake.Value, error) {
	if s = strings.TrimSpace(s); s == "" {
		return fake.Value{}, nil
	}
	return signalNumber(s)
}
