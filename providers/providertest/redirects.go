package providertest

import (
	"fmt"
	"net/http"
	"strings"
)

// redirects sees that nothing goes to a host that a reply names: neither credentials nor
// a question whose answer would count, and that a write is not sent a second time.
func (s *suite) redirects() {
	w := s.releasable(1)
	for _, call := range []string{Identity, List, Get, Release} {
		asked := s.asked(call)
		if asked == "" {
			continue
		}
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, to := range []string{"https://elsewhere.invalid/", "//elsewhere.invalid/", "http://169.254.169.254/"} {
				p, x := s.open(w)
				x.on(asked, func(_ int, r *http.Request) (*http.Response, error) {
					if strings.Contains(to, r.URL.Host) {
						return reply(r, 200, `{}`)
					}
					return reply(r, status, "", "Location", to)
				})
				err := s.do(s.ctx(), p, w, call)
				name := fmt.Sprintf("%s, told by %d to go to %s", call, status, to)
				if err == nil {
					s.Errorf("%s: it succeeds", name)
				} else {
					s.tells(name, fmt.Sprintf("%v %+v %#v", err, err, err))
				}
				for _, host := range x.hosts() {
					if strings.Contains(to, host) {
						s.Errorf("%s: it went there", name)
					}
				}
				if n := x.calls(asked); call == Release && n != 1 {
					s.Errorf("%s: sent %d times", name, n)
				}
			}
		}
	}
}
