package capture

import "slices"

// A shelf holds things by the id of their call, up to a size.
type shelf[T any] struct {
	limit, size int64
	items       map[string]item[T]
	order       []string // the ids, oldest first
}

type item[T any] struct {
	size  int64
	value T
}

func (s *shelf[T]) get(id string) (T, bool) {
	found, ok := s.items[id]
	return found.value, ok
}

// put adds a thing, and takes off the oldest that have no room beside it: their ids are returned. What is larger than
// the shelf goes at once.
func (s *shelf[T]) put(id string, size int64, value T) (gone []string) {
	if old, ok := s.items[id]; ok { // the call was sent once more
		s.size -= old.size
		s.order = slices.DeleteFunc(s.order, func(other string) bool { return other == id })
	}
	if s.items == nil {
		s.items = map[string]item[T]{}
	}
	s.items[id] = item[T]{size, value}
	s.order = append(s.order, id)
	s.size += size
	n := 0
	for ; s.size > s.limit; n++ {
		s.size -= s.items[s.order[n]].size
		delete(s.items, s.order[n])
	}
	gone = slices.Clone(s.order[:n])
	s.order = slices.Delete(s.order, 0, n)
	return gone
}

// clear takes everything off, and returns the ids.
func (s *shelf[T]) clear() (gone []string) {
	gone = s.order
	s.items, s.order, s.size = nil, nil, 0
	return gone
}
