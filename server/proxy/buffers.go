package proxy

import "sync"

const bufferSize = 32 << 10

// buffers lends the buffers that answers are copied through, so that a call costs no 32 KiB of garbage.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any { return new([bufferSize]byte) }}}
}

// Get and Put make it the BufferPool of a ReverseProxy.
func (b *buffers) Get() []byte { return b.pool.Get().(*[bufferSize]byte)[:] }

func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }
