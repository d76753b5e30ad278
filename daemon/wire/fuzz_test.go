package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// bodies are one of each body that travels.
var bodies = []any{
	RegisterRequest{}, ExtendRequest{}, HoldRequest{}, IDRequest{}, ReleaseRequest{}, BackupRequest{}, Error{},
	Registered{}, Changed{}, ReleaseAnswer{}, BackupAnswer{}, List{}, Show{}, Why{}, Findings{}, Log{}, Status{}, Health{}, MuteRequest{}, Spooled{}, Diagnosis{},
}

// FuzzBodies: a body that was read is written so that it reads the same again:
// nothing that is unknown comes back as known, and nothing known is lost.
func FuzzBodies(f *testing.F) {
	rate, at := "2.50 USD", time.Date(2026, 3, 6, 18, 0, 0, 0, time.FixedZone("", 8*3600))
	item := Item{Account: "lab", ID: "i-1", Rate: &rate, ExpiresAt: &at, Tags: map[string]string{"a": "b"}, Findings: []string{"budget"}}
	for i, v := range append(bodies[:7:7],
		Registered{Now: at, Item: item, Limits: []Limit{{Reason: "expiry", Reached: &at}}}, Changed{Now: at, Item: item}, ReleaseAnswer{Results: []ReleaseOutcome{{ID: "lab/i-1", Error: &Error{Kind: KindRefused}}}},
		BackupAnswer{}, List{Items: []Item{item}}, Show{Item: item, Release: &Release{Spend: []string{rate}}}, Why{Facts: []Fact{{Name: "state", At: &at}}}, Findings{Findings: []Finding{{Wastes: &rate}}},
		Log{Entries: []Entry{{Seq: 7, Data: map[string]string{"a": "b"}}}}, Status{Loops: []Loop{{Last: &at}}}, Health{OK: true}) {
		b, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), b)
	}
	for _, s := range []string{`null`, `{}`, `{"now":"2026-03-06T18:00:00+08:00"}`, `{"id":7}`, `{"tags":{"a":null}}`, `{"ID":"lab/i-1","Id":"x"}`, `{"item":{"rate":"","spend":null}}`, `{"now":"9999-12-31T23:59:59-23:59"}`} {
		for i := range bodies {
			f.Add(byte(i), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		of := reflect.TypeOf(bodies[int(which)%len(bodies)])
		first := reflect.New(of).Interface()
		if json.Unmarshal(b, first) != nil {
			return
		}
		one, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("%s was read and cannot be written: %v", b, err)
		}
		second := reflect.New(of).Interface()
		if err := json.Unmarshal(one, second); err != nil {
			t.Fatalf("%s cannot be read again: %v", one, err)
		}
		two, err := json.Marshal(second)
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s came back as %s: %v", one, two, err)
		}
	})
}
