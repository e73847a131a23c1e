package session

import "bytes"

// ReadRecord reads a record from an entry's end on; the zero Entry is the beginning.
func ReadRecord(content []byte, id string, behind Entry) (entries []Entry, err error) {
	from := behind.next
	if from.seq == 0 {
		from = place{seq: 1}
	}
	r := newReader(bytes.NewReader(content[from.offset:]), id, from)
	for {
		entry, err := r.read()
		if err != nil {
			return entries, err
		}
		if entry.Seq > behind.Seq { // who stops amid damage is sent back to where it begins
			entry.JSON = bytes.Clone(entry.JSON)
			entries = append(entries, entry)
		}
	}
}

// InMemory is how many bytes of events a session holds in memory.
func InMemory(s *Session) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.windowBytes
}
