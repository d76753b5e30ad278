package soak

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/daemon/simulate"
	"guard/providers/fake"
)

// The parts of a history that checks speak of.
type (
	simulateCall = simulate.CloudCall
	post         = notifytest.Post
)

// slackWait is how long after its last trouble a channel may still hold a message.
const slackWait = 65 * time.Minute

// notices holds law 9 for the first call of each release that nobody ordered: its
// notice was queued a grace before, or, where the limit is newer than that, when it
// was set, less the time that guard was down; a cap never waits, so for one a notice before the call is enough where
// its money moved within the grace. In good weather the notice came when it was due,
// not before, and Slack had it.
func (j *judge) notices(b *life) {
	for k, c := range b.calls {
		at := j.offset(c.At)
		said, ok := b.claim(at)
		if !ok || c.Call.Call == fake.CallStop || k > 0 && at-j.offset(b.calls[k-1].At) < time.Hour || slices.ContainsFunc(b.orders, func(t time.Duration) bool { return t <= at }) {
			continue
		}
		expired := said.expires <= at+j.slack()
		need := min(j.graceOf(said), at-said.set)
		if !expired {
			need = 0
			if j.plain(b) && j.unseen(b).Sign() == 0 && said.at == said.capSet {
				need = min(j.graceOf(said), at-said.capSet)
			}
		}
		need = max(need-reactionTime-j.sweep(), 0)
		if hard := j.hard(b, said, at); hard && !j.capped(b, at) && !expired {
			need = 0 // by money; what life asks for follows
			if j.week.Life > 0 && said.register+j.week.Life <= at+j.slack() {
				need = min(j.graceOf(said), at-max(said.register, b.born)) - reactionTime
				need = max(need-j.down(at-need-reactionTime, at), 0)
			}
		}
		if expired {
			need = min(j.graceOf(said), at-max(said.set, b.born, b.second(at))) - reactionTime
			// A notice that fell due while guard was down comes late, the call does not.
			need = max(need-j.down(at-need-reactionTime, at), 0)
		}
		// Where a hold covered its moment, the notice came when that was lifted.
		if before, _ := b.claim(said.at - 1); before.held > said.at {
			need = max(min(need, at-said.at-reactionTime), 0)
		}
		told := j.told(func(m guard.Message) bool {
			return m.Channel == "slack" && aboutID(m, b.id) && (m.Rule == guard.RuleExpired || m.Rule == guard.RuleBudgetExceeded || m.Rule == guard.RuleCeilingReached || m.Rule == guard.RuleStoppedBilling) && j.earliest(m.CreatedAt) <= at-need
		})
		if len(told) == 0 {
			j.wrong(9, "message lost", at, b.id, "it is called without a notice %s before", need)
			continue
		}
		if expired {
			j.punctual(b, said, at)
		}
	}
}

// punctual holds the notice of an expiry to its moment: the greater of grace and
// first warning ahead of the limit.
func (j *judge) punctual(b *life, c claim, call time.Duration) {
	lead := max(j.graceOf(c), j.warning())
	due := c.expires - lead
	if c.at > due-retryAtLeast || c.held > c.register || len(b.vetoes) > 0 || j.hard(b, c, call) || due < b.born+retryAtLeast || due < retryAtLeast || j.steps() || !calm(j.storms(b), due-retryAtLeast, call) || len(j.week.Hits) > 0 {
		return
	}
	posted := slices.ContainsFunc(j.h.Posts, func(p post) bool {
		t := j.offset(p.At)
		return p.Stored && t >= due-reactionTime && t <= due+retryAtLeast && strings.Contains(p.Text+"\n"+p.Blocks, b.id)
	})
	if !posted && !j.slackTrouble(due-slackWait, due+retryAtLeast) {
		j.wrong(9, "message lost", due, b.id, "its notice was due at %s, and Slack had none by %s", due, due+retryAtLeast)
	}
}

// slackTrouble reports that posts may fail, or wait for an earlier failure.
func (j *judge) slackTrouble(from, to time.Duration) bool {
	return slices.ContainsFunc(j.week.Slack, func(f SlackFault) bool {
		end := never
		if f.For > 0 {
			end = f.From + f.For
		}
		return span{f.From, end}.touches(from, to)
	})
}

// messages holds the rest of law 9: no message is lost, what was acknowledged was
// really stored, and nothing is stored twice. Slack's history always answers in
// these stories, so that even a post of unknown fate is never repeated.
func (j *judge) messages() {
	end := j.h.Length
	quiet := !j.slackTrouble(end-slackWait, end) && !j.crashed(end-slackWait, end)
	for id, m := range j.book.pending {
		if at := j.latest(m.CreatedAt); quiet && at < end-5*time.Minute && !(waits(m) && (j.hushed(end) || j.hushed(end-5*time.Minute))) {
			j.wrong(9, "message lost", at, aboutText(m), "%q waits since %s in good weather: %s", m.Title, at, cmp.Or(m.LastError, id))
		}
	}
	stored := map[string][]post{}
	for _, p := range j.h.Posts {
		if p.Stored && p.ID != "" {
			stored[p.ID] = append(stored[p.ID], p)
		}
	}
	for id, ps := range stored {
		if len(ps) > 1 {
			how := "after its answer was lost, although the history had it"
			if ps[0].Status == 200 && ps[0].Error == "" {
				how = "after it was acknowledged"
			}
			j.wrong(9, "message repeated", j.offset(ps[1].At), "", "message %s is posted again at %s, %s: %s", id, j.offset(ps[1].At), how, ps[1].Text)
		}
	}
	for id, m := range j.book.sent {
		if m.Channel != "slack" {
			continue
		}
		alone, grouped := len(stored[id]) > 0, m.Batch != "" && len(stored[m.Batch]) > 0
		switch {
		case !alone && !grouped:
			j.wrong(9, "message lost", j.latest(m.CreatedAt), aboutText(m), "%q counts as sent, and Slack never stored it", m.Title)
		case alone && grouped:
			j.wrong(9, "message repeated", j.latest(m.CreatedAt), aboutText(m), "%q is posted alone and with others", m.Title)
		}
	}
}

func aboutText(m guard.Message) string {
	if len(m.About) == 0 {
		return ""
	}
	return m.About[0].String()
}

// surprises holds law 7: in no hour more calls on boxes whose limit was set less
// than a grace before than the bound allows, in one account or in all. A box that
// is gone counts as live for a quarter of an hour: its end has to be proven.
func (j *judge) surprises() {
	type sudden struct {
		b  *life
		at time.Duration
	}
	var all []sudden
	for _, b := range j.boxes {
		for k, c := range b.calls {
			at := j.offset(c.At)
			said, ok := b.claim(at)
			if !ok || c.Call.Call == fake.CallStop || k > 0 || slices.ContainsFunc(b.orders, func(t time.Duration) bool { return t <= at }) {
				continue
			}
			since := said.capSet
			if said.expires <= at+j.slack() {
				since = said.set
				if said.budget.IsSet() && said.capSet < since && j.capped(b, at) {
					since = said.capSet
				}
			}
			if j.hard(b, said, at) {
				since = said.register
			}
			if at-since < j.graceOf(said)-time.Second {
				all = append(all, sudden{b, at})
			}
		}
	}
	slices.SortFunc(all, func(a, b sudden) int { return cmp.Compare(a.at, b.at) })
	most := cmp.Or(j.week.SurpriseHour, mostHour)
	for i, s := range all {
		own, total, live := 0, 0, 0
		for _, o := range all[:i+1] {
			if o.at > s.at-time.Hour {
				total++
				if o.b.account == s.b.account {
					own++
				}
			}
		}
		for _, b := range j.boxes {
			if b.account == s.b.account && (b.alive(s.at) || b.alive(s.at-15*time.Minute)) {
				live++
			}
		}
		bound := max(2, (live*cmp.Or(j.week.SurprisePercent, percentHour)+99)/100)
		if own > bound || total > most {
			j.wrong(7, "wrong release", s.at, s.b.id, "it is the %d. unforeseen release of its account within an hour, %d in all; %d and %d are allowed", own, total, bound, most)
		}
	}
}

// believed is the most that guard can hold a box to have cost by a moment where
// some price is odd: prices that came more than thirtyfold off are never believed
// (law 8), the dearest of the others counts from its beginning.
func (j *judge) believed(b *life, at time.Duration) (cost float64, ok bool) {
	if costs, _ := b.account.priced(); costs {
		return 0, false
	}
	for _, id := range append([]string{b.spec.ID}, b.family...) {
		r, born, known := b.account.of(id)
		if !known || r.Rate == nil || r.ListRate != nil || r.Count > 1 {
			return 0, false
		}
		ps := b.account.prices(id, r)
		now := ps[0]
		top := now.hourly
		for _, p := range ps[1:] {
			if p.hourly != nil && !odds(now.hourly, p.hourly) && p.code == now.code {
				now = p
				if p.hourly.Cmp(top) > 0 {
					top = p.hourly
				}
			}
		}
		f, _ := over(top, at-min(born, at)+j.lead(b.account, at)+2*granule(b.account)+time.Minute).Float64()
		cost += f
	}
	for _, f := range b.account.Script.Faults {
		if f.Reply.SetFields["rate"] != nil && f.From <= max(b.born, 0)+3*j.poll() || slices.Contains(f.Reply.NullFields, "rate") && f.From <= max(b.born, 0)+3*j.poll() {
			return 0, false // it may have been the first price that guard saw
		}
	}
	return cost, !slices.ContainsFunc(b.account.Script.Timeline, func(e fake.Event) bool { return e.Attach != "" })
}
