package providers

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"guard"
)

func TestHints(t *testing.T) {
	at := guard.Instant{Wall: time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)}
	tests := []struct {
		name   string
		header []string
		body   string
		want   time.Duration // 0: none
	}{
		{"seconds", []string{"Retry-After", "30"}, "", 30 * time.Second},
		{"fraction", []string{"Retry-After", "1.5"}, "", 1500 * time.Millisecond},
		{"zero", []string{"Retry-After", "0"}, "", 0},
		{"negative", []string{"Retry-After", "-5"}, "", 0},
		{"not a number", []string{"Retry-After", "soon"}, "", 0},
		{"capped", []string{"Retry-After", "86400"}, "", time.Hour},
		{"overflowing", []string{"Retry-After", "99999999999999999999999999999999"}, "", time.Hour},
		{"milliseconds", []string{"Retry-After-Ms", "250"}, "", 250 * time.Millisecond},
		{"date by the server's clock", []string{"Retry-After", "Fri, 06 Mar 2026 08:01:30 GMT", "Date", "Fri, 06 Mar 2026 08:00:00 GMT"}, "", 90 * time.Second},
		{"date by ours", []string{"Retry-After", "Fri, 06 Mar 2026 10:00:45 GMT"}, "", 45 * time.Second},
		{"date too far away", []string{"Retry-After", "Sun, 08 Mar 2026 10:00:00 GMT"}, "", time.Hour},
		{"date in the past", []string{"Retry-After", "Fri, 06 Mar 2026 09:00:00 GMT"}, "", 0},
		{"words", nil, `{"error":"retry in 60 seconds"}`, time.Minute},
		{"more words", nil, `Please try again after 2 minutes.`, 2 * time.Minute},
		{"wait for", nil, `rate limited: wait 15s`, 15 * time.Second},
		{"field", nil, `{"retry_after": 30}`, 30 * time.Second},
		{"field of milliseconds", nil, `{"retry_after_ms": 1500}`, 1500 * time.Millisecond},
		{"field as text", nil, `{"retryAfter":"20"}`, 20 * time.Second},
		{"google", nil, `{"details":[{"retryDelay": "12s"}]}`, 12 * time.Second},
		{"header first", []string{"Retry-After", "5"}, `{"retry_after": 30}`, 5 * time.Second},
		{"a number that is no wait", nil, `{"error":"instance i-60 is busy","code":30}`, 0},
		{"a count of tries", nil, `{"error":"gave up after 3 retries"}`, 0},
		{"nothing", nil, ``, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api, a := over(reply(503, tt.body, tt.header...))
			err := api.Get(guard.WithInstant(t.Context(), at), nil, nil, "x")
			got, ok := guard.RetryAfter(err)
			if got != tt.want || ok != (tt.want > 0) {
				t.Errorf("wait %s (%t), want %s", got, ok, tt.want)
			}
			if !errors.Is(err, guard.ErrUnavailable) {
				t.Errorf("err = %v", err)
			}
			if tries := a.calls.Load(); ok != (tries == 1) {
				t.Errorf("%d tries with a wait of %s", tries, got)
			}
		})
	}
	t.Run("on a write", func(t *testing.T) {
		api, _ := over(reply(429, `{"error":"retry in 60 seconds"}`))
		err := api.Call(t.Context(), http.MethodDelete, nil, nil, nil, "x")
		if d, _ := guard.RetryAfter(err); d != time.Minute || !errors.Is(err, guard.ErrThrottled) {
			t.Errorf("err = %v", err)
		}
	})
}
