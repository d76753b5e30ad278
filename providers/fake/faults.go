package fake

import (
	"net/http"
	"net/url"
	"slices"
)

// fault finds the first fault that answers a request as a whole, and counts it.
// A fault of one ID among many that are read at once is that ID's alone; see
// faultOf.
func (c *Cloud) fault(o op) *Fault {
	for i := range c.faults {
		f := &c.faults[i]
		if !c.live(f, o.call) || f.Scope != "" && f.Scope != o.scope {
			continue
		}
		if f.ID != "" && (o.call == CallGet || o.call == CallList || o.call == CallSignals || !slices.Contains(o.names(), f.ID)) {
			continue
		}
		if n := f.Reply.DropPage; n > 0 && (o.call != CallList || n != c.pageOf(o)) {
			continue
		}
		f.used++
		return f
	}
	return nil
}

// faultOf finds the fault of one ID within a list or a read of many, and counts it.
func (c *Cloud) faultOf(call string, id ref) *Fault {
	for i := range c.faults {
		f := &c.faults[i]
		if call == CallList && len(f.Reply.NullFields)+len(f.Reply.SetFields) == 0 {
			continue // a list names no IDs: only its entries can be odd
		}
		if f.ID != "" && f.ID == id.ID && c.live(f, call) {
			f.used++
			return f
		}
	}
	return nil
}

func (c *Cloud) live(f *Fault, call string) bool {
	if f.Call != "" && f.Call != CallAny && f.Call != call || f.Times > 0 && f.used >= f.Times {
		return false
	}
	from := c.script.Start.Add(f.From)
	return !c.now.Before(from) && (f.For <= 0 || c.now.Before(from.Add(f.For)))
}

// faulty answers as a fault says.
func (c *Cloud) faulty(o op, r Reply) answer {
	write := o.call == CallRelease || o.call == CallDelete || o.call == CallStop || o.call == CallTag || o.call == CallUnprotect || o.call == CallArm
	switch {
	case r.Unreachable:
		return answer{lost: dialFailed(), outcome: "unreachable"}
	case r.TimesOut:
		return answer{lost: timeOut{}, outcome: "timed out"}
	case r.DoneButTimesOut:
		a := c.serve(o, r)
		return answer{lost: timeOut{}, outcome: "timed out after: " + a.outcome}
	case r.HTML:
		return answer{status: http.StatusOK, html: true, outcome: "fault", body: "<!DOCTYPE html><html><title>Log in</title></html>"}
	case r.Status >= 400 || r.Status >= 200 && r.Body != "":
		body := any(r.Body)
		if r.Body == "" {
			body = map[string]any{"error": "fault"}
		}
		return answer{status: r.Status, body: body, retryAfter: r.RetryAfter, outcome: "fault"}
	case write && (r.AcceptedIgnored || r.Status >= 200):
		a := accepted()
		a.outcome = "ignored"
		return a
	case r.Empty && o.call == CallSignals:
		return c.serve(o, r)
	case r.Empty && o.call == CallList:
		return ok(map[string]any{"items": []any{}, "currency": c.script.Currency})
	case r.Empty:
		return answer{status: http.StatusOK, body: map[string]any{}, outcome: "fault"}
	}
	return c.serve(o, r)
}

// fails reports whether a reply about one of many things is an error.
func (r Reply) fails() bool {
	return r.Status >= 400 || r.Unreachable || r.TimesOut || r.DoneButTimesOut
}

// itemError is that error.
func (r Reply) itemError() *wireError {
	status := r.Status
	if status < 400 {
		status = http.StatusGatewayTimeout
	}
	return &wireError{status, r.Body, r.RetryAfter}
}

func unescape(s string) string {
	u, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return u
}
