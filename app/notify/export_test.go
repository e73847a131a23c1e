package notify

import (
	"context"
	"time"
)

// The times that a test of them must know.
const (
	Settle = settle
	Quiet  = quiet
)

// Paper is a desktop that a test reads. Its methods are called on the goroutine of Run.
type Paper struct {
	Refuse error
	Dials  int
	Posted []Notice
	Up     map[uint32]string // cause by ID
	Closed int
}

// NewPaper returns a notifier that writes on a Paper.
func NewPaper(cfg Config) (*Notifier, *Paper) {
	n, p := New(cfg), &Paper{Up: map[uint32]string{}}
	n.dial = func(context.Context, Config) (desktop, error) {
		p.Dials++
		if p.Refuse != nil {
			return nil, p.Refuse
		}
		return &sheet{p, make(chan event)}, nil
	}
	return n, p
}

type sheet struct {
	*Paper
	heard chan event
}

func (s *sheet) post(_ context.Context, n Notice) (uint32, error) {
	s.Posted = append(s.Posted, n)
	s.Up[uint32(len(s.Posted))] = n.Cause
	return uint32(len(s.Posted)), nil
}
func (s *sheet) withdraw(_ context.Context, id uint32) { delete(s.Up, id) }
func (s *sheet) events() <-chan event                  { return s.heard }
func (s *sheet) close()                                { s.Closed++ }

// Hasten has a notifier tell of a cause at once.
func (n *Notifier) Hasten() { n.settle = time.Millisecond }
