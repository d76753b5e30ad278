package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/client"
	"guard/store"
)

// seeded gives a seed that is printed, or the one that GUARD_TEST_SEED asks for.
func seeded(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("GUARD_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("GUARD_TEST_SEED=%d", seed)
	return seed
}

// TestKilled kills guardd again and again, at any moment, while people work and
// releases fall due. Whatever was acknowledged is kept, nothing is half done, and
// in the end the cloud has been told to end what was due, once, and nothing else.
func TestKilled(t *testing.T) {
	t.Parallel()
	houses, kills := 4, 55
	if testing.Short() {
		houses, kills = 2, 12
	}
	seed := seeded(t)
	for i := range houses {
		t.Run(fmt.Sprintf("house %d", i+1), func(t *testing.T) {
			t.Parallel()
			killedUnderLoad(t, seed+uint64(i), kills)
		})
	}
}

func killedUnderLoad(t *testing.T, seed uint64, kills int) {
	r := rand.New(rand.NewPCG(seed, 99))
	c, w, g := newCloud(t), newWorkspace(t), unpack(t)
	g.watch(guard.Enforce, filepath.Join(g.dir, "ledger.db"), c, w)
	for range 2 {
		c.run() // nobody registers these
	}
	g.start()
	l := work(t, g, c, 6, seed)
	g.kill()
	came := 0 // how often guardd had come up when it was killed, at least
	for range kills {
		// Most are killed at work, some while they come up.
		if r.IntN(4) == 0 {
			g.exec()
		} else {
			g.start()
			came++
		}
		life := time.Duration(r.IntN(400)) * time.Millisecond
		if r.IntN(10) == 0 {
			life = 2 * time.Second // enough for posts and proofs
		}
		select {
		case err := <-g.over:
			g.over <- err
			t.Fatalf("guardd ended by itself: %v", err)
		case <-time.After(life):
		}
		g.kill()
		c.settle()
		w.settle()
		g.whole(l.kept)
	}
	g.start()
	l.stop()
	if l.acks < kills/10 {
		t.Errorf("only %d orders were acknowledged: that proves little", l.acks)
	}
	l.allEnded()
	if !testing.Short() { // the proof of an end takes half a minute and more
		l.allReleased()
		g.until("everything is told", func() bool {
			s, err := g.api.Status(context.Background())
			return err == nil && s.Counts.Pending == 0
		})
	}
	g.stop()
	g.whole(l.kept)
	if !testing.Short() {
		g.whole(func(v *store.View) error { return errors.Join(l.ledgerAgrees(v), toldOnce(v, w)) })
	}
	l.cloudAgrees()
	t.Logf("%d kills (up at %d), %d boxes, %d orders acknowledged, %d posts; refused: %v", kills, came, len(l.promises), l.acks, len(w.Stored()), l.refusals)
}

// allEnded waits until all that is due soon has come due and is ended.
func (l *load) allEnded() {
	l.t.Helper()
	last := l.last()
	l.guard.until("all that is due is ended", func() bool {
		for id, p := range l.promises {
			if p.due(last) && l.cloud.alive(id) {
				return false
			}
		}
		return !time.Now().Before(last)
	})
}

// last is the last of the deadlines that come while the test runs.
func (l *load) last() time.Time {
	last := time.Now()
	for _, p := range l.promises {
		if len(p.could) == 1 && p.could[0].until.After(last) && time.Until(p.could[0].until) < time.Hour {
			last = p.could[0].until
		}
	}
	return last
}

// allReleased waits for the proven end of every box that is ended.
func (l *load) allReleased() {
	l.t.Helper()
	l.guard.until("all that is due is released", func() bool {
		list, err := l.guard.api.List(context.Background(), client.Filter{All: true})
		if err != nil {
			return false
		}
		for _, i := range list.Items {
			if !l.cloud.alive(i.ID) && i.State != "released" {
				return false
			}
		}
		return true
	})
}

// cloudAgrees checks what really became of the boxes.
func (l *load) cloudAgrees() {
	l.t.Helper()
	ended := 0
	for _, id := range l.cloud.order {
		p := l.promises[id]
		due := p != nil && p.due(time.Now())
		if due {
			ended++
		}
		if due == l.cloud.alive(id) {
			l.t.Errorf("%s: due %t, alive %t (%+v)", id, due, l.cloud.alive(id), p)
		}
		if n := l.cloud.asked(id); due && n != 1 || !due && n != 0 {
			l.t.Errorf("%s: the cloud was told %d times to end it; due %t", id, n, due)
		}
	}
	if ended == 0 {
		l.t.Error("nothing fell due: that proves nothing")
	}
}

// ledgerAgrees checks that the ledger says of each box what is true.
func (l *load) ledgerAgrees(v *store.View) error {
	var errs []error
	done := map[string]int{}
	for r, err := range v.EndedReleases.All("") {
		if err != nil {
			return err
		}
		if r.State == guard.ReleaseDone {
			done[r.Target.ID]++
			if r.Receipt == nil || r.Receipt.Proof != guard.ProofTerminal {
				errs = append(errs, fmt.Errorf("%s was released without proof: %+v", r.Target, r.Receipt))
			}
		}
	}
	for id := range l.cloud.boxes {
		if alive := l.cloud.alive(id); alive && done[id] != 0 || !alive && done[id] != 1 {
			errs = append(errs, fmt.Errorf("%s: alive %t, and released %d times in the ledger", id, alive, done[id]))
		}
	}
	for r, err := range v.Releases.All("") {
		if err != nil || r.State != guard.ReleasePlanned && r.State != guard.ReleaseNoticed {
			errs = append(errs, err, fmt.Errorf("the release of %s is %s in the end", r.Target, r.State))
		}
	}
	return errors.Join(errs...)
}

// toldOnce checks that every message to Slack is there, once, alone or in a digest.
func toldOnce(v *store.View, w *workspace) error {
	var errs []error
	posts := map[string]int{}
	for _, p := range w.Stored() {
		posts[p.ID]++
		if posts[p.ID] > 1 {
			errs = append(errs, fmt.Errorf("posted again: %s %q", p.ID, p.Text))
		}
	}
	for m, err := range v.SentMessages.All("slack|") {
		if err != nil {
			return err
		}
		n := posts[m.ID]
		if m.Batch != "" {
			n += posts[m.Batch]
		}
		if n != 1 || m.MayRepeat || !strings.HasPrefix(m.Receipt, "C0001|") {
			errs = append(errs, fmt.Errorf("message %s was posted %d times (may repeat: %t, receipt %q)", m.ID, n, m.MayRepeat, m.Receipt))
		}
	}
	if len(posts) == 0 {
		errs = append(errs, errors.New("nothing was told"))
	}
	return errors.Join(errs...)
}
