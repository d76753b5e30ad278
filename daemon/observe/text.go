package observe

import (
	"fmt"
	"strings"
	"time"

	"guard"
	"guard/store"
)

// newsGone is proven absence.
const newsGone news = "gone"

// tell writes the news that people may want to read into the journal.
func (r *round) tell(tx *store.Tx, old, next guard.Observed, told news, lease guard.Lease, leased bool) error {
	id := next.Resource.ID
	e := guard.JournalEntry{At: r.at.Wall, Who: "guard", Verb: string(told), Subject: id.String()}
	if leased {
		e.Lease = lease.ID
	}
	switch told {
	case newsFound:
		e.Text = fmt.Sprintf("%s was found: %s", describe(next.Resource), state(next))
		if !next.Instance.IsZero() {
			e.Text += ", attached to " + next.Instance.String()
		}
	case newsReplaced:
		e.Text = fmt.Sprintf("%s is another thing than before: created %s, the one known was created %s", describe(next.Resource),
			stamp(next.Resource.Created), stamp(old.Resource.Created))
	case newsNotSame:
		e.Text = fmt.Sprintf("%s now names another thing, created %s; ours was created %s. Guard keeps counting ours and will not touch the other. "+
			"If ours is really gone, release the lease by hand and register the new one", id, stamp(next.NotSame), stamp(next.Resource.Created))
	case newsBack:
		e.Text = fmt.Sprintf("%s is alive, although it was proven gone at %s: it is counted again, as if it had never been gone", describe(next.Resource), stamp(old.Gone.ProvenAt))
	case newsStopped, newsStarted:
		e.Text = fmt.Sprintf("%s was %s: %s", describe(next.Resource), told, state(next))
	case newsGone:
		e.Text = goneText(next)
		e.Data = map[string]string{"how": string(next.Gone.How), "proof": next.Gone.Proof}
	default:
		return nil
	}
	return tx.Journal(e)
}

func goneText(o guard.Observed) string {
	by := map[guard.How]string{
		guard.ByRelease:  "released by guard",
		guard.ByReclaim:  "taken back by the provider (spot reclaim)",
		guard.ByOutside:  "ended outside guard",
		guard.ByPlatform: "ended by the provider",
	}[o.Gone.How]
	when := "at " + stamp(o.Gone.At)
	if o.Gone.Estimated {
		when += " at the latest"
	}
	return fmt.Sprintf("%s is gone: %s %s; proof: %s", describe(o.Resource), by, when, o.Gone.Proof)
}

// describe names a resource with what people know it by.
func describe(r guard.Resource) string {
	var is []string
	if r.Name != "" {
		is = append(is, fmt.Sprintf("%q", r.Name))
	}
	if r.Type != "" {
		is = append(is, r.Type)
	}
	if r.GPUs > 0 {
		is = append(is, strings.TrimSpace(fmt.Sprintf("%d GPU %s", r.GPUs, r.GPUModel)))
	}
	if r.SizeGB > 0 {
		is = append(is, fmt.Sprintf("%d GB", r.SizeGB))
	}
	if len(is) == 0 {
		return r.ID.String()
	}
	return fmt.Sprintf("%s (%s)", r.ID, strings.Join(is, ", "))
}

// state tells what it is doing and what that costs.
func state(o guard.Observed) string {
	r := o.Resource
	s := string(r.State)
	if r.RawState != "" && r.RawState != s {
		s = fmt.Sprintf("%s (%q)", s, r.RawState)
	}
	if r.Bills == guard.No {
		return s + ", bills nothing of its own"
	}
	rate := r.BillingRate()
	if !rate.Known() {
		return s + ", its price is not known"
	}
	return s + ", " + rate.String()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "at an unknown time"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
