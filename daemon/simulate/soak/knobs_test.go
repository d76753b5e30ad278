package soak

import "time"

// shortKnobs are weeks of everything that end after a day.
func shortKnobs() Knobs {
	k := Usual()
	k.Most, k.Accounts, k.Boxes = 20*time.Hour, Range{1, 2}, Range{1, 3}
	return k
}

// quietKnobs are weeks in which nothing goes wrong but what people and their boxes do.
func quietKnobs() Knobs {
	k := Usual()
	k.Chance = map[Family]int{Newcomers: 40, Extensions: 40, Holds: 25, HandReleases: 20}
	return k
}
