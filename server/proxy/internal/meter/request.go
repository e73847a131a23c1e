package meter

// The values that are read from a request.
const (
	requestModel field = iota + 1
	requestStream
	requestFormat
)

func requestTree() *node {
	return &node{members: []*node{
		{name: "model", field: requestModel},
		{name: "stream", field: requestStream},
		{name: "response_format", members: []*node{{name: "type", field: requestFormat}}},
	}}
}

// Request reads a request body as it passes. It is not safe for concurrent use.
type Request struct {
	Model          string // as Clean leaves it; "": not named so far
	Stream         bool
	ResponseFormat string // its type

	json jsonScanner
}

// Request returns a reader for one request body.
func (r *Reader) Request() *Request {
	q := new(Request)
	q.json = newJSONScanner(r.requests, q)
	return q
}

// Write reads the next bytes of the body.
func (q *Request) Write(p []byte) { q.json.write(p) }

// value takes the wanted values; a member that comes twice counts as it came last, as in every JSON library.
func (q *Request) value(f field, k kind, text []byte) {
	switch {
	case f == requestStream:
		q.Stream = k == kindLiteral && string(text) == "true"
	case k != kindString:
	case f == requestModel:
		q.Model = Clean(text)
	case f == requestFormat:
		q.ResponseFormat = Clean(text)
	}
}
