package cli

import "guard/daemon/wire"

// timer is the provider's own timer, in lines: when it goes off and how sure that is.
func timer(s wire.Show) []string {
	x := s.Timer
	if x == nil {
		return nil
	}
	var lines []string
	switch {
	case x.At != nil:
		line := "the provider itself ends it at " + moment(s.Now, *x.At)
		if x.Read != nil {
			line += "; read back " + ahead(s.Now, *x.Read)
		}
		lines = append(lines, line)
	case x.Error == "":
		lines = append(lines, "not set at the provider yet")
	}
	if x.Error == "" {
		return lines
	}
	if x.At == nil && x.Asked != nil {
		return append(lines, "not set to "+clock(*x.Asked)+" at the provider: "+x.Error)
	}
	return append(lines, "not certain: "+x.Error)
}
