// Package watch broadcasts state: the newest value wins and every reader is woken. It is for state, where a reader
// needs only what holds now; things that must all be seen belong in a log that is read from a cursor.
package watch

import "sync"

// Value holds the newest value of type T. Make one with New. It is safe for concurrent use. Readers must not change
// what T refers to, since all of them share it.
type Value[T any] struct {
	mu      sync.Mutex
	current T
	changed chan struct{}
}

// New returns a Value that holds v.
func New[T any](v T) *Value[T] {
	return &Value[T]{current: v, changed: make(chan struct{})}
}

// Set replaces the value and wakes all readers. It never blocks on a reader.
func (v *Value[T]) Set(next T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.current = next
	v.wake()
}

// Update replaces the value with what f makes of the present one, as one step.
func (v *Value[T]) Update(f func(T) T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.current = f(v.current)
	v.wake()
}

func (v *Value[T]) wake() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// Get returns the present value.
func (v *Value[T]) Get() T {
	value, _ := v.Watch()
	return value
}

// Watch returns the present value and a channel that is closed as soon as there is a newer one.
func (v *Value[T]) Watch() (T, <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.current, v.changed
}
