package memory_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"guard/store"
	"guard/store/memory"
	"guard/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Suite{
		Open: func(*testing.T) store.Backend { return memory.New() },
		Restore: func(_ *testing.T, backup []byte) (store.Backend, error) {
			return memory.Restore(bytes.NewReader(backup))
		},
	})
}

// An update function that counts its runs shows why it must have no effect but
// through its writer.
func TestUpdateRunsTwice(t *testing.T) {
	b := memory.New()
	runs := 0
	err := b.Update(context.Background(), func(w store.Writer) error {
		runs++
		if v, err := w.Get("a", "k"); v != nil || err != nil {
			t.Errorf("run %d sees %q, %v of an earlier run", runs, v, err)
		}
		return w.Put("a", "k", []byte{byte(runs)})
	})
	if err != nil || runs != 2 {
		t.Fatalf("ran %d times, %v, want 2", runs, err)
	}
	err = b.View(context.Background(), func(r store.Reader) error {
		if v, err := r.Get("a", "k"); err != nil || !bytes.Equal(v, []byte{2}) {
			t.Errorf("kept %v, %v, want the second run's", v, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUpdateErrorOfTheSecondRun(t *testing.T) {
	b := memory.New()
	second := errors.New("second")
	runs := 0
	err := b.Update(context.Background(), func(w store.Writer) error {
		if runs++; runs == 2 {
			return second
		}
		return w.Put("a", "k", nil)
	})
	if !errors.Is(err, second) {
		t.Fatalf("got %v", err)
	}
}
