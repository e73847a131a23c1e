package protocol

// FoundServer is a model server that was found on this machine.
type FoundServer struct {
	Kind    string `json:"kind"`    // "ollama", "llama.cpp" …; "openai" for one that could not be told
	Name    string `json:"name"`    // as a person reads it: "Ollama", "OpenAI-compatible (Jan?)"
	BaseURL string `json:"baseURL"` // where calls go: "http://localhost:11434/v1"
	Version string `json:"version,omitempty"`
	Reach   Reach  `json:"reach"` // ReachOK, or ReachLoading while its model is being loaded
}

// ModelState says whether a model can answer at once.
type ModelState string

// The states of a model.
const (
	ModelUnknown  ModelState = "unknown" // the server does not tell
	ModelLoaded   ModelState = "loaded"
	ModelLoading  ModelState = "loading"
	ModelUnloaded ModelState = "unloaded" // the first call has to wait for it
)

// Model is one that an upstream offers.
type Model struct {
	ID    string     `json:"id"`
	State ModelState `json:"state"`
	// SizeBytes is what it takes: in memory when it is loaded, else on disk. Zero: unknown.
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	// GPUBytes is how much of it is in the memory of a GPU. Nil: the server does not tell.
	GPUBytes *int64 `json:"gpuBytes,omitempty"`
}
