// Package spell compares words that somebody may have misspelt.
package spell

// Distance is how many letters must be put in, left out or exchanged to make b of a, counted in bytes. Words over 64
// bytes are far from every other: 64.
func Distance(a, b string) int {
	const far = 64
	if len(a) > far || len(b) > far {
		return far
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
