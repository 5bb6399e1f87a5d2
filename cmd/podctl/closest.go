package main

// closest is the word that a mistyped one most likely was meant to be, "" if
// none is near.
func closest(word string, known []string) string {
	best, bestSlips := "", 1+min(len(word)/4, 2)
	for _, k := range known {
		if slips := slips(word, k); slips <= bestSlips && len(k) > 1 && (best == "" || slips < bestSlips) {
			best, bestSlips = k, slips
		}
	}
	return best
}

// slips counts the letters to insert, leave out or replace to make b of a.
func slips(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
