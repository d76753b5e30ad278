package guard

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"
)

// TestCourse: what is written is read back, and what is no row is refused.
func TestCourse(t *testing.T) {
	at := time.Date(2026, 3, 6, 18, 0, 0, 0, time.UTC)
	for text, c := range map[string]Course{
		"null-like": nil,
		"two":       {{From: at, Sent: 1<<64 - 1, In: 7}, {From: at.Add(5 * time.Minute), Flagged: true}},
	} {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(text, err)
		}
		var back Course
		if err := json.Unmarshal(b, &back); err != nil || len(back) != len(c) || len(c) > 0 && !reflect.DeepEqual(back, c) {
			t.Errorf("%s: %s is read back as %v, %v", text, b, back, err)
		}
	}
	var c Course
	if err := json.Unmarshal([]byte(" [ 1772820000 , 5 , 0 , 1 , 300,6,0,0 ] "), &c); err != nil || len(c) != 2 || !c[0].Flagged || c[1].Sent != 6 || !c[1].From.Equal(at.Add(5*time.Minute)) {
		t.Errorf("with blanks it is %v, %v", c, err)
	}
	for _, bad := range []string{`[1,2,3]`, `[1,2,3,4,5]`, `[1,2,3,-4]`, `[1.5,0,0,0]`, `{"a":1}`, `"x"`, `["1",0,0,0]`, `[1099511627777,0,0,0]`,
		`[1099511627776,0,0,0,1,0,0,0]`, `[18446744073709551616,0,0,0]`, `[[1,0,0,0]]`, `7`} {
		if err := json.Unmarshal([]byte(bad), &c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := json.Marshal(Course{{From: at}, {From: at.Add(-1 * time.Hour)}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("out of order: %v", err)
	}
}
