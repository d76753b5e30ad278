package fake

import (
	"maps"
	"slices"
	"time"
)

// wireSample is one reading as the API sends it; the names of its numbers are those of
// a scenario file.
type wireSample map[string]any

// signals answers with the readings of each thing asked for. As with some clouds, the
// newest comes first.
func (c *Cloud) signals(o op, odd Reply) answer {
	results := []any{}
	for i, id := range o.ids {
		one := map[string]any{"kind": id.Kind, "id": id.ID}
		results = append(results, one)
		f := c.faultOf(CallSignals, id)
		t := c.see(id)
		reply := odd
		if f != nil {
			reply = f.Reply
		}
		switch {
		case f != nil && f.Reply.fails():
			one["error"] = f.Reply.itemError()
		case f != nil && f.Reply.HTML:
			one["samples"] = "<!DOCTYPE html>"
		case t == nil:
			one["absent"] = true
		case reply.Empty:
			one["samples"] = []any{}
		default:
			samples := []any{}
			for _, s := range slices.Backward(t.watch.samples(o.since[i], c.now)) {
				samples = append(samples, s.disguised(reply))
			}
			one["samples"] = samples
		}
	}
	return ok(map[string]any{"results": results})
}

func (s wireSample) disguised(odd Reply) any {
	if len(odd.NullFields)+len(odd.SetFields) == 0 {
		return s
	}
	out := maps.Clone(s)
	for _, name := range odd.NullFields {
		out[name] = nil
	}
	maps.Copy(out, odd.SetFields)
	return out
}

// tell lets an event of what a monitor tells happen.
func (c *Cloud) tell(e Event, at time.Time) {
	if t := c.find("", e.ID); t != nil {
		c.watched(t, e, at)
		return
	}
	if c.find("", member(e.ID, 1)) == nil {
		c.foretold[e.ID] = append(c.foretold[e.ID], e)
		return
	}
	for i := 1; ; i++ {
		t := c.find("", member(e.ID, i))
		if t == nil {
			return
		}
		c.watched(t, e, at)
	}
}

func (c *Cloud) watched(t *thing, e Event, at time.Time) {
	switch {
	case t.last().word == stateGone:
	case e.SignalsFile != nil:
		c.play(t, *e.SignalsFile, at)
	default:
		if e.Signals != nil {
			t.trace = nil
		}
		t.watch.happen(e, at)
	}
}

// play plays a trace over what the thing tells now.
func (c *Cloud) play(t *thing, tr Trace, at time.Time) {
	tr.step = tr.usual()
	t.trace = &tr
	base := maps.Clone(t.watch.marks[len(t.watch.marks)-1].told.Of)
	var row func(i int, now time.Time)
	row = func(i int, now time.Time) {
		if t.trace != &tr {
			return // something else is told since
		}
		if i == len(tr.Rows) {
			t.watch.change(now, func(m *mark) { m.lost = SignalsMissing })
			return
		}
		next := at.Add(tr.Rows[i].At)
		t.watch.change(now, func(m *mark) { m.row(overlay(base, tr.Rows[i].Of), tr.step, next) })
		c.plan(next, func(now time.Time) { row(i+1, now) })
	}
	row(0, at)
}

// overlay is what a row tells: over what holds, and without what it has no value for.
func overlay(base, over map[string]Reading) map[string]Reading {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]Reading{}
	}
	for name, r := range over {
		if r.Each == nil && r.All == (Value{}) {
			delete(out, name)
			continue
		}
		out[name] = r
	}
	return out
}
