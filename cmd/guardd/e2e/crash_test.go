package e2e

import (
	"time"

	"guard/providers/aws/mototest"
)

func terminate(c mototest.Call) bool { return c.Action == "TerminateInstances" }

// doomed is a registered instance whose time ends soon.
func (h *house) doomed(ttl string) string {
	h.t.Helper()
	id := h.launch("g5.xlarge")
	h.guard("register", "research/"+id, "--purpose", "x", "--ttl", ttl)
	return id
}

func (h *house) reaches(id, state string) {
	h.t.Helper()
	h.until(id+" is "+state, func() bool { return h.release(id) == state })
}

func (h *house) waitFor(what string, arrived <-chan mototest.Call) {
	h.t.Helper()
	select {
	case <-arrived:
	case <-time.After(patience):
		h.t.Fatalf("still not after %s: %s", patience, what)
	}
}

func killedNoticed(h *house) {
	id := h.doomed("10s")
	h.reaches(id, "noticed")
	h.kill()
	h.start()
	h.released(id)
	h.terminated(id, 1)
}

// The intent is in the ledger and the call has not reached the server: after the
// restart it is still alive, and is asked to end once more.
func killedBeforeTheCall(h *house) {
	held := h.proxy.Hold(terminate)
	id := h.doomed("3s")
	h.waitFor("the terminate call", held.Arrived)
	if got := h.release(id); got != "intended" {
		h.t.Errorf("while the call is out it is %s", got)
	}
	h.kill()
	if s := h.state(id); s != "running" {
		h.t.Errorf("it is %s", s)
	}
	held.Go()
	h.start()
	h.released(id)
	h.terminated(id, 2) // the first never arrived
}

// The server has done it and guardd never heard: after the restart it looks
// first, and does not ask again.
func killedAfterTheCall(h *house) {
	done := make(chan mototest.Call, 10)
	h.proxy.Lose(func(c mototest.Call) bool {
		if !terminate(c) {
			return false
		}
		h.kill()
		done <- c
		return true
	})
	id := h.doomed("3s")
	h.waitFor("the terminate call", done)
	h.start()
	h.released(id)
	h.terminated(id, 1)
}

func killedIssued(h *house) {
	id := h.doomed("3s")
	h.reaches(id, "issued")
	h.kill()
	h.start()
	h.released(id)
	h.terminated(id, 1)
}

func killedReleased(h *house) {
	id := h.doomed("3s")
	before := h.released(id)
	h.kill()
	h.start()
	after := h.released(id)
	if *before.Item.Spend != *after.Item.Spend {
		h.t.Errorf("spent %s, and after the restart %s", *before.Item.Spend, *after.Item.Spend)
	}
	h.terminated(id, 1)
	h.well()
}

// An expiry is no hard cap: what cannot be read is not ended, and people are
// told; when the server is back, it is. The read for a release may come half a
// minute ahead of it, so the server is away longer than that.
func awayWhenDue(h *house) {
	id := h.doomed("50s")
	h.reaches(id, "noticed")
	h.proxy.Cut()
	h.reaches(id, "blocked")
	if _, code := h.try("status"); code != 1 {
		h.t.Errorf("status: exit %d", code)
	}
	h.terminated(id, 0)
	h.proxy.Mend()
	h.released(id)
	h.terminated(id, 1)
}

func awayBeforeProof(h *house) {
	id := h.doomed("3s")
	h.reaches(id, "issued")
	h.proxy.Cut()
	at := h.show(id).Now
	h.until("a minute has passed", func() bool { return h.show(id).Now.Sub(at).Seconds() > 45 })
	// Nothing was read meanwhile: it is not proven gone, and not asked to end again.
	if got := h.release(id); got != "issued" {
		h.t.Errorf("it is %s", got)
	}
	h.proxy.Mend()
	h.released(id)
	h.terminated(id, 1)
}

// The call is done and its answer lost on the way, with guardd running on.
func answerLost(h *house) {
	h.proxy.Lose(terminate)
	id := h.doomed("3s")
	h.released(id)
	h.terminated(id, 1)
	h.well()
}
