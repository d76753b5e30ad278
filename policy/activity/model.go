package activity

import "strings"

// watts are the power limits of common models, in full load, of the variant that draws
// least: where the limit is not told, a power seems high rather than low, and what seems
// high counts as work. From the makers' data sheets.
var watts = []struct {
	model string
	limit float64
}{
	{"GB200", 1000}, {"B200", 1000}, {"GH200", 450}, {"H200", 600}, {"H100", 350}, {"H800", 350}, {"H20", 400},
	{"A100", 250}, {"A800", 250}, {"A40", 300}, {"A30", 165}, {"A10", 150}, {"A6000", 300},
	{"L40", 300}, {"L20", 275}, {"L4", 72}, {"T4", 70}, {"V100", 250}, {"P100", 250},
	{"5090", 575}, {"4090", 450}, {"3090", 350}, {"MI300", 750}, {"MI250", 500}, {"MI210", 300}, {"MI100", 300},
}

// limitOf is the power limit of a model, by its name as clouds and drivers write it.
func limitOf(model string) (float64, bool) {
	model = strings.ToUpper(model)
	for _, m := range watts {
		if strings.Contains(model, m.model) {
			return m.limit, true
		}
	}
	return 0, false
}
