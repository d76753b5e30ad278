package activity

import "strings"

// models are the power limits (W) of common models, of the variant that draws least and
// of the one that draws most, from the makers' data sheets; and what one draws at most
// with a context and nothing to do, where that was measured.
var models = []model{
	{"GB200", 1000, 1200, 0}, {"B200", 1000, 1000, 0}, {"GH200", 450, 1000, 0}, {"H200", 600, 700, 0},
	{"H100", 350, 700, 125}, {"H800", 350, 700, 125}, {"H20", 400, 500, 0}, {"A100", 250, 400, 0}, {"A800", 250, 400, 0},
	{"A40", 300, 300, 0}, {"A30", 165, 165, 0}, {"A10", 150, 150, 0}, {"A6000", 300, 300, 0},
	{"L40", 300, 350, 0}, {"L20", 275, 275, 0}, {"L4", 72, 72, 0}, {"T4", 70, 70, 0}, {"V100", 250, 350, 0}, {"P100", 250, 300, 0},
	{"5090", 575, 575, 0}, {"4090", 450, 450, 0}, {"3090", 350, 350, 0},
	{"MI300", 750, 750, 0}, {"MI250", 500, 560, 0}, {"MI210", 300, 300, 0}, {"MI100", 300, 300, 0},
}

type model struct {
	name              string
	least, most, rest float64
}

// modelOf is the model that a name means, as clouds and drivers write it.
func modelOf(name string) (model, bool) {
	name = strings.ToUpper(name)
	for _, m := range models {
		if strings.Contains(name, m.name) {
			return m, true
		}
	}
	return model{}, false
}

// limit is the power limit of one that has drawn so much: where it is not told, that of
// the least variant which could have, so that a power seems high rather than low, and what
// seems high counts as work.
func (m model) limit(drew float64) float64 { return min(m.most, max(m.least, drew)) }
