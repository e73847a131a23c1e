package datastate

// CompareValues is the order of sort keys.
func CompareValues(a, b any) int { return compareValues(plain(a), plain(b)) }
