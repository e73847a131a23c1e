package protocol

// UpstreamKind is the dialect family of a model server.
type UpstreamKind string

// KindOpenAI is the one kind there is: what speaks the OpenAI API, as nearly every model server does.
const KindOpenAI UpstreamKind = "openai"

// UpstreamProtocol is which API of its kind is spoken.
type UpstreamProtocol string

// ProtocolChatCompletions is the one protocol there is: POST {base}/chat/completions.
const ProtocolChatCompletions UpstreamProtocol = "chat_completions"

// UpstreamProfile is a named upstream as the daemon tells of it. It has no field for the key, so that no answer can
// hold one.
type UpstreamProfile struct {
	Name     string           `json:"name"`
	Kind     UpstreamKind     `json:"kind"`
	BaseURL  string           `json:"base_url"` // no userinfo, query or fragment; "demo" for the built-in model
	HasKey   bool             `json:"has_key"`
	Model    string           `json:"model"` // of turns that name none; "": the first that the server lists
	Protocol UpstreamProtocol `json:"protocol"`
}

// PutUpstreamRequest is the body of PUT /v1/upstreams/{name}. What GET answered may be sent back with changes.
type PutUpstreamRequest struct {
	Name    string       `json:"name,omitempty"` // that of the path, or absent
	Kind    UpstreamKind `json:"kind,omitempty"` // absent: openai
	BaseURL string       `json:"base_url"`
	// APIKey is taken and never given. Absent keeps the key that is stored, if the base URL still names the same
	// server; "" removes it.
	APIKey   *string          `json:"api_key,omitempty"`
	HasKey   bool             `json:"has_key,omitempty"` // not read
	Model    string           `json:"model,omitempty"`
	Protocol UpstreamProtocol `json:"protocol,omitempty"` // absent: chat_completions
}

// UpstreamSource says why an upstream is in the list.
type UpstreamSource string

// The sources. A configured upstream and the demo model are always there, under their source as name.
const (
	SourceConfigured UpstreamSource = "configured" // by the upstream setting
	SourceDemo       UpstreamSource = "demo"       // the built-in model
	SourceNamed      UpstreamSource = "named"      // a profile that the user added
	SourceFound      UpstreamSource = "found"      // a model server that runs on this machine
)

// UpstreamEntry is one upstream that calls can go to.
type UpstreamEntry struct {
	UpstreamProfile
	Source UpstreamSource `json:"source"`
	Active bool           `json:"active,omitempty"` // Studio's calls go there
	Reach  Reach          `json:"reach"`
	Detail string         `json:"detail,omitempty"` // why it is not ok
}

// UpstreamList is the answer of GET /v1/upstreams.
type UpstreamList struct {
	Upstreams []UpstreamEntry `json:"upstreams"` // the configured one, the demo model, the named by name, the found
}
