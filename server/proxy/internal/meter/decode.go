package meter

import (
	"io"

	"chatwright.dev/tray/server/internal/coding"
)

// maxDecoded bounds what is decoded of one answer: a small answer can unpack to terabytes. What comes later is relayed
// and not read.
const maxDecoded = 64 << 20

// decoder unpacks a compressed answer on the side. The decoders of this world pull, and bytes here are pushed, so a
// goroutine stands between: it reads until the pipe is closed, whatever it makes of the bytes, so that a push never
// waits for longer than one push takes to unpack, and it ends with close.
type decoder struct {
	pipe *io.PipeWriter
	done chan struct{}
}

// newDecoder returns a decoder for the coding that hands on to m, or nil when there is nothing to decode.
func newDecoder(encoding string, m *Meter) *decoder {
	name := coding.Clean(encoding)
	if name == "" {
		return nil
	}
	reader, writer := io.Pipe()
	d := &decoder{pipe: writer, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		decode(name, reader, m.read)
		_, _ = io.Copy(io.Discard, reader) // after an error too: the relay must not wait
	}()
	return d
}

func (d *decoder) write(p []byte) { _, _ = d.pipe.Write(p) }

// close returns when all that was written has been read.
func (d *decoder) close() {
	_ = d.pipe.Close()
	<-d.done
}

// decode hands on what the bytes of from say. An error ends it: then the answer is unread from there on, no more.
func decode(name string, from io.Reader, read func([]byte)) {
	plain := coding.Open(name, io.NopCloser(from))
	defer plain.Close()
	buf := make([]byte, 8<<10)
	for left := maxDecoded; left > 0; {
		n, err := plain.Read(buf)
		read(buf[:n])
		if left -= n; err != nil {
			return
		}
	}
}
