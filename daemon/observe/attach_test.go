package observe

import (
	"testing"
	"time"

	"guard"
	"guard/policy/spend"
	"guard/providers/fake"
	"guard/store"
)

func TestSinceWhenADiskHangsThere(t *testing.T) {
	b := newBench(t, nil)
	do := func(e fake.Event) {
		t.Helper()
		if err := b.cloud.Do(e); err != nil {
			t.Fatal(err)
		}
	}
	want := func(on string, at, after time.Duration) {
		t.Helper()
		o := b.observed(guard.Volume, "v-1")
		wantAt, wantAfter := b.cloud.At(at).Wall, b.cloud.At(after).Wall
		if at == 0 {
			wantAt, wantAfter = time.Time{}, time.Time{}
		}
		if o.Instance.ID != on || !o.AttachedAt.Equal(wantAt) || !o.AttachedAfter.Equal(wantAfter) {
			t.Errorf("on %s since %v, not before %v; want %s, %v, %v", o.Instance.ID, o.AttachedAt, o.AttachedAfter, on, wantAt, wantAfter)
		}
	}
	m := time.Minute
	sweep := func(d time.Duration) {
		b.loop.RequestSweep()
		b.once(d)
	}
	b.once(10 * m)
	want("i-1", 0, 0)
	do(fake.Event{ID: "v-1", Detach: true})
	sweep(12 * m)
	want("i-1", 0, 0)
	if o := b.observed(guard.Volume, "v-1"); o.DetachedAt.IsZero() {
		t.Error("it is not detached")
	}
	do(fake.Event{ID: "v-1", Attach: "i-1"})
	sweep(14 * m)
	want("i-1", 0, 0) // back: as if it had never left
	do(fake.Event{ID: "v-1", Attach: "i-2"})
	b.once(15 * m) // no sweep is due, but i-2 tells of it
	want("i-2", 15*m, 14*m)
	if o := b.observed(guard.Volume, "v-1"); !o.DetachedAt.IsZero() {
		t.Error("it is detached")
	}
	do(fake.Event{ID: "v-1", Attach: "i-1"})
	b.once(17 * m)
	want("i-1", 17*m, 15*m)

	// One that was not listed before may have hung elsewhere until then.
	do(fake.Event{Create: &fake.Resource{ID: "v-9", Kind: guard.Volume}})
	do(fake.Event{ID: "v-9", Attach: "i-1"})
	b.once(18 * m)
	if o := b.observed(guard.Volume, "v-9"); o.Instance.ID != "i-1" || !o.AttachedAt.IsZero() || !o.AttachedAfter.Equal(b.cloud.At(17*m).Wall) {
		t.Errorf("a new one: %+v", o)
	}
	calls := len(b.cloud.Calls())
	b.once(19 * m)
	if n := len(b.cloud.Calls()) - calls; n > 2 {
		t.Errorf("a quiet poll makes %d calls", n)
	}
}

// TestKnownBeforeItsBox: a disk that was listed before its instance counts to that with
// the instance's first listing, also where a register has written that down first.
func TestKnownBeforeItsBox(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"found by the poll": func(*bench) {},
		"registered first": func(b *bench) {
			id := b.cloud.ID(guard.Instance, "n-1")
			look := b.account.Provider.Get(guard.WithInstant(t.Context(), b.now), id)[0]
			look.Resource.ID.Account = "lab"
			b.put(func(tx *store.Tx) error { return tx.Observed.Put(spend.First(look.Resource, "acct-1", b.now.Wall)) })
			b.register("n-1", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			if err := b.cloud.Do(fake.Event{Create: &fake.Resource{ID: "v-9", Kind: guard.Volume}}); err != nil {
				t.Fatal(err)
			}
			b.once(10 * time.Minute)
			if o := b.observed(guard.Volume, "v-9"); !o.Live() || !o.Instance.IsZero() {
				t.Fatalf("to begin with: %+v", o)
			}
			if err := b.cloud.Do(fake.Event{Create: &fake.Resource{ID: "n-1", Attached: []string{"v-9"}}}); err != nil {
				t.Fatal(err)
			}
			b.now = b.cloud.At(10*time.Minute + 30*time.Second)
			b.cloud.Advance(b.now.Wall)
			change(b)
			b.once(11 * time.Minute) // no sweep is due
			if o := b.observed(guard.Volume, "v-9"); o.Instance.ID != "n-1" {
				t.Errorf("it is on %q", o.Instance.ID)
			}
		})
	}
}

func TestSinceWhenNothingNeedsIt(t *testing.T) {
	b := newBench(t, nil)
	do := func(e fake.Event) {
		t.Helper()
		if err := b.cloud.Do(e); err != nil {
			t.Fatal(err)
		}
	}
	freed := func(d, want time.Duration) {
		t.Helper()
		b.loop.RequestSweep()
		b.once(d)
		wantAt := time.Time{}
		if want > 0 {
			wantAt = b.cloud.At(want).Wall
		}
		if o := b.observed(guard.Volume, "v-9"); !o.FreedAt.Equal(wantAt) {
			t.Errorf("freed at %v, want %v", o.FreedAt, wantAt)
		}
	}
	m := time.Minute
	do(fake.Event{Create: &fake.Resource{ID: "v-9", Kind: guard.Volume, UsedBy: []string{"nfs-1"}}})
	freed(10*m, 0)
	do(fake.Event{ID: "v-9", Set: &fake.Changes{UsedBy: &[]string{}}})
	freed(12*m, 12*m)
	freed(14*m, 12*m)
	do(fake.Event{ID: "v-9", Set: &fake.Changes{UsedBy: &[]string{"nfs-2"}}})
	freed(16*m, 0)
}
