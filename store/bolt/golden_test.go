package bolt_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/store"
	"guard/store/bolt"
	"guard/store/storetest"
)

// update writes testdata/schema-N.db for the present schema N where there is
// none, and what is read from each such file today to schema-N.txt:
//
//	go test ./store/bolt -run Golden -update
//
// A ledger of an earlier schema is never written again: only the build of that
// time could. So run this before an upgrade step goes in, too.
var update = flag.Bool("update", false, "write the golden ledger of the present schema, and what is read from all of them")

func golden(version int, ext string) string {
	return filepath.Join("testdata", fmt.Sprintf("schema-%d.%s", version, ext))
}

// TestGoldenSchemas opens a ledger of every schema there ever was with this
// build, and finds in it all that its own build had written.
func TestGoldenSchemas(t *testing.T) {
	if _, err := os.Stat(golden(store.Schema(), "db")); *update && errors.Is(err, os.ErrNotExist) {
		writeGolden(t, golden(store.Schema(), "db"))
	}
	for version := 1; version <= store.Schema(); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			content, err := os.ReadFile(golden(version, "db"))
			if errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the schema is %d, and there is no ledger of schema %d to try it on: go test ./store/bolt -run Golden -update, with a build whose schema is %d",
					store.Schema(), version, version)
			}
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "ledger.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := schemaOf(t, path); got != version {
				t.Fatalf("%s has schema %d", golden(version, "db"), got)
			}
			l := storetest.Ledger(t, open(t, path, bolt.Options{}))
			if up, ok := l.Upgraded(); ok != (version < store.Schema()) || ok && (up.From != version || up.To != store.Schema()) {
				t.Errorf("upgraded %+v, %t", up, ok)
			} else if ok {
				if kept, err := os.ReadFile(up.Kept); err != nil || up.Kept != fmt.Sprintf("%s.schema-%d", path, version) || schemaOf(t, up.Kept) != version || len(kept) > len(content) {
					t.Errorf("kept %s, %v", up.Kept, err)
				}
			}
			got := dump(t, l, version)
			if *update {
				if err := os.WriteFile(golden(version, "txt"), []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden(version, "txt"))
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("a ledger of schema %d is read as\n%s\nand was written as\n%s", version, got, want)
			}
			if got := schemaOf(t, path); got != store.Schema() {
				t.Errorf("once open, it has schema %d", got)
			}
		})
	}
	if _, err := os.Stat(golden(store.Schema()+1, "db")); err == nil {
		t.Errorf("there is a ledger of schema %d, and this build knows %d", store.Schema()+1, store.Schema())
	}
}

// schemaOf reads which schema a file says that it has.
func schemaOf(t *testing.T, path string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(copied, content, 0o600); err != nil {
		t.Fatal(err)
	}
	var meta struct{ Schema int }
	err = open(t, copied, bolt.Options{}).View(context.Background(), func(r store.Reader) error {
		b, err := r.Get("meta", "schema")
		return errors.Join(err, json.Unmarshal(b, &meta))
	})
	if err != nil {
		t.Fatal(err)
	}
	return meta.Schema
}

// writeGolden makes a ledger with records of every table in which no field is
// left out.
func writeGolden(t *testing.T, to string) {
	t.Helper()
	ctx := context.Background()
	b := open(t, filepath.Join(t.TempDir(), "ledger.db"), bolt.Options{})
	l := storetest.Ledger(t, b)
	if err := l.Update(ctx, goldenRecords); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), b.BackupTo(ctx, to)); err != nil {
		t.Fatal(err)
	}
}

func goldenRecords(tx *store.Tx) error {
	f := &filler{}
	id := func(kind guard.Kind, id string) guard.ResourceID {
		return guard.ResourceID{Account: "research", Kind: kind, Scope: "us-east-1", ID: id}
	}
	box, other, disk := id(guard.Instance, "i-0a00000000000001"), id(guard.Instance, "i-0a00000000000002"), id(guard.Volume, "vol-0a00000000000001")
	var errs []error
	do := func(err error) { errs = append(errs, err) }

	for _, s := range []guard.LeaseStatus{guard.LeaseActive, guard.LeaseReleased, guard.LeaseExpected} {
		l := record[guard.Lease](f)
		l.ID, l.Status, l.OnLimit, l.EndedHow = "l-"+string(s), s, guard.ActRelease, guard.ByRelease
		l.Resource = map[guard.LeaseStatus]guard.ResourceID{guard.LeaseActive: box, guard.LeaseReleased: other}[s]
		do(tx.Leases.Put(l))
		p := record[guard.Plan](f)
		p.Lease = l.ID
		do(tx.Plans.Put(p))
	}
	for _, r := range []guard.ResourceID{box, other, disk} {
		o := record[guard.Observed](f)
		o.Resource.ID, o.Resource.State = r, guard.StateRunning
		if r != other {
			o.Gone = nil
		}
		do(tx.Observed.Put(o))
		m := record[guard.Metered](f)
		m.Resource, m.Lease = r, "l-active"
		do(tx.Metered.Put(m))
	}
	for _, open := range []bool{true, false} {
		x := record[guard.Finding](f)
		x.Rule, x.Subject, x.Resource, x.ID = guard.RuleUnregistered, box.String(), box, fmt.Sprintf("unregistered|%s|%t", box, open)
		r := record[guard.Release](f)
		r.ID, r.Lease, r.Target, r.State, r.Action, r.Cause = fmt.Sprintf("%s|expiry|%t", box.Key(), open), "l-active", box, guard.ReleaseBlocked, guard.ActRelease, guard.CauseExpiry
		m := record[guard.Message](f)
		m.ID, m.Channel = fmt.Sprintf("slack|%s|%t", box, open), "slack"
		if open {
			x.Closed = time.Time{}
			do(errors.Join(tx.Findings.Put(x), tx.Releases.Put(r), tx.Queue(m)))
			continue
		}
		x.Subject, x.Resource, r.Target, r.State = other.String(), other, other, guard.ReleaseDone
		do(errors.Join(tx.CloseFinding(x), tx.EndRelease(r), tx.Sent(m)))
	}
	s := record[guard.ScopeStatus](f)
	s.Account, s.Kind, s.Scope = "research", guard.Instance, "us-east-1"
	a := record[guard.AccountStatus](f)
	a.Name, a.Provider, a.Mode, a.Identity.ID, a.Mismatch, a.Twin = "research", "aws", guard.Observe, "123456789012", "", ""
	do(errors.Join(tx.Scopes.Put(s), tx.Accounts.Put(a)))
	for _, subject := range []string{box.String(), other.String(), ""} {
		e := record[guard.JournalEntry](f)
		e.Subject, e.Lease = subject, "l-active"
		do(tx.Journal(e))
	}
	mute := record[guard.Mute](f)
	mute.Subject, mute.Kind = box.String(), guard.Veto
	token := record[guard.Token](f)
	token.ID, token.Role = "t-1", guard.Operator
	do(errors.Join(tx.Mutes.Put(mute), tx.Tokens.Put(token)))
	do(tx.SetValue("notify/slack", map[string]any{"last_post": storetest.At.Wall, "failures": 2}))
	return errors.Join(errs...)
}

// dump is all that a ledger holds, as this build reads it.
func dump(t *testing.T, l *store.Ledger, schema int) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "deployment %s\n", l.Deployment())
	err := l.View(context.Background(), func(v *store.View) error {
		var value any
		_, err := v.Value("notify/slack", &value)
		entries, journalErr := v.JournalSince(0, 0)
		return errors.Join(err, journalErr,
			table(&out, "lease", v.Leases.All("")), table(&out, "plan", v.Plans.All("")),
			table(&out, "observed", v.Observed.All("")), table(&out, "metered", v.Metered.All("")),
			table(&out, "finding", v.Findings.All("")), table(&out, "closed finding", v.ClosedFindings.All("")),
			table(&out, "release", v.Releases.All("")), table(&out, "ended release", v.EndedReleases.All("")),
			table(&out, "message", v.Outbox.All("")), table(&out, "sent message", v.SentMessages.All("")),
			table(&out, "scope", v.Scopes.All("")), table(&out, "account", v.Accounts.All("")),
			line(&out, "journal", entries), line(&out, "value", value),
			since(schema, 2, func() error {
				return errors.Join(table(&out, "mute", v.Mutes.All("")), table(&out, "token", v.Tokens.All("")))
			}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// since runs fn for a ledger whose schema had what it reads.
func since(schema, first int, fn func() error) error {
	if schema < first {
		return nil
	}
	return fn()
}

func table[T any](out *strings.Builder, name string, rows iter.Seq2[T, error]) error {
	n := 0
	for r, err := range rows {
		if err := errors.Join(err, line(out, name, r)); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("no %s in it", name)
	}
	return nil
}

func line(out *strings.Builder, name string, v any) error {
	b, err := json.Marshal(v)
	fmt.Fprintf(out, "%s %s\n", name, b)
	return err
}

// filler fills every field of a record with something that is not its zero
// value, and not the same everywhere.
type filler struct{ n int }

func record[T any](f *filler) T {
	var v T
	f.fill(reflect.ValueOf(&v).Elem())
	return v
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(storetest.At.Wall.Add(time.Duration(f.n) * time.Minute)))
		return
	case time.Duration:
		v.SetInt(int64(time.Duration(f.n) * time.Second))
		return
	case guard.Money:
		v.Set(reflect.ValueOf(guard.MustMoney(fmt.Sprintf("%d.25 CNY", f.n))))
		return
	case guard.Rate:
		v.Set(reflect.ValueOf(guard.Rate{Amount: guard.MustMoney(fmt.Sprintf("%d.5 USD", f.n)), Per: time.Hour, Units: "8", Unit: "gpu", Free: true, Source: "price book"}))
		return
	case guard.Tri:
		v.SetString(string(guard.Yes))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint64:
		v.SetUint(uint64(f.n))
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic(fmt.Sprintf("a %s in a record", v.Type()))
	}
}
