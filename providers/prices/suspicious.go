package prices

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sized finds the count in a name such as gpu_8x_h100, 8xH100 or H100x8.
var sized = regexp.MustCompile(`(?i)(^|[^a-z0-9])(\d{1,3})x|x(\d{1,3})($|[^a-z0-9])`)

// suspicious finds types of one family but different size with one and the same
// price for the whole machine: most often a price for one GPU that was copied to
// the machine with eight. It may be right, so it only warns.
func (r *reader) suspicious() []Warning {
	type group struct {
		key
		amount string
	}
	seen := map[group]key{}
	var out []Warning
	for _, k := range r.order {
		q := r.book.rates[k]
		fam, size := family(k.typ)
		if size == "" || q.perGPU || q.perGB || q.rate.Free || k.what != running {
			continue
		}
		g := group{key{k.what, fam, k.scope, k.spot}, q.rate.String()}
		first, ok := seen[g]
		if !ok {
			seen[g] = k
			continue
		}
		if _, firstSize := family(first.typ); firstSize == size {
			continue
		}
		out = append(out, Warning{r.lines[k], fmt.Sprintf(
			"%s costs exactly as much as %s (line %d), which has another size: if the price is for one GPU, write per_gpu: true",
			k.typ, first.typ, r.lines[first])})
	}
	slices.SortStableFunc(out, func(a, b Warning) int { return a.Line - b.Line })
	return out
}

// family splits a type into what it is of and how large it is: p4d and 24xlarge,
// gpu_#x_h100 and 8. The size is "" where the name does not tell.
func family(typ string) (fam, size string) {
	if fam, size, ok := strings.Cut(typ, "."); ok && strings.Contains(size, "large") {
		return fam, size
	}
	m := sized.FindStringSubmatchIndex(typ)
	if m == nil {
		return typ, ""
	}
	at, end := m[4], m[5]
	if at < 0 {
		at, end = m[6], m[7]
	}
	n, _ := strconv.Atoi(typ[at:end])
	return typ[:at] + "#" + typ[end:], strconv.Itoa(n)
}
