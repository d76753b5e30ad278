package simulate

import (
	"slices"
	"testing"
	"time"
)

func TestASpotRequestIsCancelledBeforeItsInstanceIsReleased(t *testing.T) {
	b := &book{start: time.Unix(0, 0), zone: time.UTC}
	b.add(time.Hour, Event{Event: evProviderCall, Account: "lab", ID: "lab/sir-1", Kind: "spot_request"})
	b.add(time.Hour, Event{Event: evProviderCall, Account: "lab", ID: "lab/i-1", Kind: "instance"})
	b.add(0, Event{Event: evProviderCall, Account: "lab", ID: "lab/z", Kind: "instance"})
	var ids []string
	for _, e := range b.sorted() {
		ids = append(ids, e.ID)
	}
	if want := []string{"lab/z", "lab/sir-1", "lab/i-1"}; !slices.Equal(ids, want) {
		t.Errorf("in this order: %v, want %v", ids, want)
	}
}
