package meter

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxDecoded bounds what is decoded of one answer: a small answer can unpack to terabytes. What comes later is
	// relayed and not read.
	maxDecoded = 64 << 20
	// maxWindow bounds the memory of a zstd decoder; RFC 9659 gives 8 MiB to the coding in HTTP.
	maxWindow = 8 << 20
)

// decoder unpacks a compressed answer on the side. The decoders of this world pull, and bytes here are pushed, so a
// goroutine stands between: it reads until the pipe is closed, whatever it makes of the bytes, so that a push never
// waits for longer than one push takes to unpack, and it ends with close.
type decoder struct {
	pipe *io.PipeWriter
	done chan struct{}
}

// newDecoder returns a decoder for the coding that hands on to m, or nil when there is nothing to decode.
func newDecoder(coding string, m *Meter) *decoder {
	coding = strings.ToLower(strings.TrimSpace(coding))
	if coding == "" || coding == "identity" {
		return nil
	}
	reader, writer := io.Pipe()
	d := &decoder{pipe: writer, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		decode(coding, reader, m.read)
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
func decode(coding string, from io.Reader, read func([]byte)) {
	plain, err := Unpack(coding, from)
	if err != nil {
		return
	}
	defer plain.Close()
	// The decoders of other people meet hostile bytes here: if one of them panics, an answer is unread.
	defer func() { _ = recover() }()
	buf := make([]byte, 8<<10)
	for left := maxDecoded; left > 0; {
		n, err := plain.Read(buf)
		read(buf[:n])
		if left -= n; err != nil {
			return
		}
	}
}

// Knows reports whether Unpack can undo a coding.
func Knows(coding string) bool {
	switch coding {
	case "gzip", "x-gzip", "br", "zstd", "deflate":
		return true
	}
	return false
}

// Unpack undoes a content coding; a name is in lower case.
func Unpack(coding string, from io.Reader) (io.ReadCloser, error) {
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(from)
	case "br":
		return io.NopCloser(brotli.NewReader(from)), nil
	case "zstd":
		d, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case "deflate":
		return openDeflate(from)
	default:
		return nil, io.EOF
	}
}

// openDeflate tells the two things that are called deflate apart: zlib, as the standard has it, and the bare stream
// that some servers send.
func openDeflate(from io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(from)
	head, err := buffered.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0F == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}
