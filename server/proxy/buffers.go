package proxy

import "sync"

const (
	// answerBuffer takes what a socket gives at once, and most answers in a few reads.
	answerBuffer = 64 << 10
	// streamBuffer is small: a stream holds its buffer for as long as a model thinks, and its events are smaller.
	streamBuffer = 4 << 10
)

// buffers lends the buffers that answers are copied through, so that a call costs no garbage of that size.
type buffers struct{ answers, streams sync.Pool }

func newBuffers() *buffers {
	return &buffers{
		answers: sync.Pool{New: func() any { return new([answerBuffer]byte) }},
		streams: sync.Pool{New: func() any { return new([streamBuffer]byte) }},
	}
}

func (b *buffers) get(stream bool) []byte {
	if stream {
		return b.streams.Get().(*[streamBuffer]byte)[:]
	}
	return b.answers.Get().(*[answerBuffer]byte)[:]
}

func (b *buffers) put(p []byte) {
	if len(p) == streamBuffer {
		b.streams.Put((*[streamBuffer]byte)(p))
	} else {
		b.answers.Put((*[answerBuffer]byte)(p))
	}
}

// Get and Put make the body the BufferPool of its call's ReverseProxy: what peek has read is where it is copied to.
func (b *answerBody) Get() []byte {
	if b.buffer == nil {
		b.buffer = b.call.proxy.buffers.get(b.call.events)
	}
	return b.buffer
}

// Put is nothing: Close gives the buffer back, which an answer that is not copied needs too.
func (b *answerBody) Put([]byte) {}
