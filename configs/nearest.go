package configs

import "slices"

// nearest is the known key that a person most likely meant, or "".
func nearest(key string, known []string) string {
	if len(key) > 40 {
		return ""
	}
	slices.Sort(known)
	best, least := "", min(2, len(key)/3)+1
	for _, k := range known {
		if n := distance(key, k); n < least {
			best, least = k, n
		}
	}
	return best
}

// distance counts the letters to add, drop, replace or swap with a neighbour
// that turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			n := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				n = min(n, rows[i-2][j-2]+1)
			}
			rows[i][j] = n
		}
	}
	return rows[len(x)][len(y)]
}
