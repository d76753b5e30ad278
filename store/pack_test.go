package store

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

// draw sets v to something, deep enough for every field to have been met.
func draw(t *rapid.T, v reflect.Value) {
	if rapid.IntRange(0, 2).Draw(t, "zero") == 0 {
		return
	}
	texts := []string{"", "a", "lab", "i-1", "instance", "lab/instance/i-1", "größe <&>\u2028", "x\xff", "running"}
	switch {
	case v.Type() == timeType:
		at := time.Unix(rapid.Int64Range(-1<<36, 1<<36).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		switch rapid.IntRange(0, 9).Draw(t, "zone") {
		case 0:
			at = at.In(time.FixedZone("", 3600))
		case 1:
			at = time.Time{}.In(time.FixedZone("", 3600))
		case 2:
			at = time.Now()
		}
		v.Set(reflect.ValueOf(at))
		return
	case v.Type().Implements(textType):
		money := rapid.SampledFrom([]string{"", "0 USD", "31.464 USD", "-0.000000000000000001 CNY", "2.50 EUR"}).Draw(t, "money")
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(money)); err != nil {
			t.Fatal(err)
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.SampledFrom(texts), rapid.String()).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		draw(t, v.Elem())
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "n")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			draw(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			k := rapid.SampledFrom(texts).Draw(t, "tag")
			v.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), reflect.ValueOf(rapid.SampledFrom(texts).Draw(t, "value")))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	default:
		t.Fatalf("a %s in a record", v.Type())
	}
}

// TestPackedIsJSON: what is packed reads as what JSON makes of it, whether it was
// packed before it was written or after it was read.
func TestPackedIsJSON(t *testing.T) {
	packedIsJSON(t, leases)
	packedIsJSON(t, leaseIndex)
	packedIsJSON(t, observed)
	packedIsJSON(t, metered)
	packedIsJSON(t, plans)
	packedIsJSON(t, findings)
	packedIsJSON(t, releases)
	packedIsJSON(t, outbox)
	packedIsJSON(t, scopes)
	packedIsJSON(t, accounts)
}

func packedIsJSON[T any](t *testing.T, of table[T]) {
	t.Run(of.name, func(t *testing.T) {
		packed := 0
		rapid.Check(t, func(t *rapid.T) {
			var v, want T
			draw(t, reflect.ValueOf(&v).Elem())
			b, err := json.Marshal(v)
			if err != nil {
				return
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			key := of.key(v)
			for _, from := range []T{v, want} {
				s := of.as.of(key, &from)
				if s == "" {
					continue
				}
				packed++
				got := of.unpack(key, s[len(asPacked):])
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s\nis read as %+v\nwant       %+v", b, got, want)
				}
			}
		})
		least := 20
		if testing.Short() {
			least = 1 // rapid plays a fifth
		}
		if packed < least {
			t.Errorf("%d were packed at all", packed)
		}
	})
}

// volume is what the ledger knows of one, as most of what is rented.
func volume(n int) (guard.Observed, guard.Metered) {
	at := time.Date(2026, 3, 6, 10, n%60, 0, 0, time.UTC)
	id := guard.ResourceID{Account: "lab-01", Kind: guard.Volume, Scope: "east", ID: fmt.Sprintf("vol-%016x", n)}
	host := guard.ResourceID{Account: "lab-01", Kind: guard.Instance, Scope: "east", ID: fmt.Sprintf("i-%016x", n/4)}
	rate := guard.Rate{Amount: guard.MustMoney("0.08 USD"), Per: guard.Month, Units: "100", Unit: "gb", Source: "api"}
	o := guard.Observed{Resource: guard.Resource{ID: id, State: guard.StateRunning, RawState: "in-use", Created: at, Tags: map[string]string{"team": "nlp"},
		SizeGB: 100, Rate: rate, Bills: guard.Yes, Parent: host}, Identity: "acct-lab-01", FirstSeen: at, Seen: at, Instance: host}
	m := guard.Metered{Resource: id, Lease: "l-" + host.ID, Segments: []guard.Segment{{Resource: id, Lease: "l-" + host.ID, State: guard.StateRunning, Rate: rate, From: at, Granularity: time.Second, Minimum: time.Minute}}}
	return o, m
}

// BenchmarkRead reads a record as a mirror has it, over its JSON.
func BenchmarkRead(b *testing.B) {
	o, _ := volume(1)
	key := observed.key(o)
	text, _ := json.Marshal(o)
	packed := observed.as.of(key, &o)[len(asPacked):]
	start := time.Now()
	for range 1000 {
		if _, err := observed.decode(key, text); err != nil {
			b.Fatal(err)
		}
	}
	each := time.Since(start) / 1000
	for b.Loop() {
		observed.unpack(key, packed)
	}
	b.ReportMetric(float64(each)/(float64(b.Elapsed())/float64(b.N)), "x-json-is-slower")
	b.ReportMetric(float64(len(text))/float64(len(packed)), "x-json-is-larger")
}

func BenchmarkPack(b *testing.B) {
	o, _ := volume(1)
	key := observed.key(o)
	start := time.Now()
	for range 1000 {
		_, _ = json.Marshal(o)
	}
	each := time.Since(start) / 1000
	for b.Loop() {
		observed.as.of(key, &o)
	}
	b.ReportMetric(float64(each)/(float64(b.Elapsed())/float64(b.N)), "x-json-is-slower")
}
