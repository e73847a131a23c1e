package server

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// acceptsGzip reports whether a caller takes an answer in gzip's format, and does not like it less than a plain one
// (RFC 9110, 12.5.3). Who does not mention encodings is sent none: they may not even know that there are any.
func acceptsGzip(h http.Header) bool {
	gzip, identity, rest := -1, -1, -1 // thousandths; -1: not mentioned
	for _, line := range h["Accept-Encoding"] {
		for element := range strings.SplitSeq(line, ",") {
			coding, quality := element, 1000
			if at := strings.IndexByte(element, ';'); at >= 0 {
				coding, quality = element[:at], qvalue(element[at+1:])
			}
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				gzip = quality
			case "identity":
				identity = quality
			case "*":
				rest = quality
			}
		}
	}
	if gzip < 0 {
		gzip = rest
	}
	return gzip > 0 && gzip >= identity
}

// qvalue reads "q=0.5" as 500. What is no such thing counts as 0: a plain answer is one that everybody can read.
func qvalue(parameter string) int {
	name, text, ok := strings.Cut(strings.TrimSpace(parameter), "=")
	if !ok || !strings.EqualFold(name, "q") {
		return 0
	}
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return int(q*1000 + 0.5)
}

// sizedWriter says the length of an encoded answer, which http.ServeContent leaves out, since it cannot know that
// nobody else encodes it.
type sizedWriter struct {
	http.ResponseWriter
	size int64
}

func (w sizedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w sizedWriter) WriteHeader(status int) {
	if status == http.StatusOK {
		w.Header().Set("Content-Length", strconv.FormatInt(w.size, 10))
	}
	w.ResponseWriter.WriteHeader(status)
}

// ReadFrom lets the system copy the file to the connection.
func (w sizedWriter) ReadFrom(from io.Reader) (int64, error) { return io.Copy(w.ResponseWriter, from) }
