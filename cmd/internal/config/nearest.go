package config

// nearest returns the candidate that text was probably meant to be, or "".
func nearest(text string, candidates []string) string {
	best, least := "", 3 // two slips at most
	if len(text) <= 3 {
		least = 2
	}
	for _, candidate := range candidates {
		if d := distance(text, candidate, least); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the Damerau-Levenshtein distance with adjacent transpositions, at most limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitute := last[j-1]
			if a[i-1] != b[j-1] {
				substitute++
			}
			row[j] = min(substitute, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
