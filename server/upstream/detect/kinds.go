package detect

import (
	"context"
	"slices"
	"strings"

	"chatwright.dev/tray/server/protocol"
)

// kindUnknown is the kind of a server that lists models as OpenAI does and has no mark of its own.
const kindUnknown = "openai"

// kind is one program that serves models.
type kind struct {
	id, name string
	ports    []int
	base     string // of its OpenAI-compatible API
	// is asks whether it is this one. Nil: it has no mark that others do not have as well.
	is func(ctx context.Context, a *asker) (mark, bool)
}

// mark is what a server said of itself.
type mark struct {
	version string
	loading bool // its model is still being loaded
}

func (m mark) reach() protocol.Reach {
	if m.loading {
		return protocol.ReachLoading
	}
	return protocol.ReachOK
}

// kinds are the servers that are known, the likeliest first. One that others imitate stands behind those others, so that
// the imitation is not taken for it.
var kinds = []kind{
	{"koboldcpp", "KoboldCpp", []int{5001}, "/v1", isKoboldCpp},
	{"ollama", "Ollama", []int{11434}, "/v1", isOllama},
	{"lmstudio", "LM Studio", []int{1234}, "/v1", isLMStudio},
	{"llama.cpp", "llama.cpp", []int{8080, 9931}, "/v1", isLlamaCpp},
	{"vllm", "vLLM", []int{8000}, "/v1", isVLLM},
	{"sglang", "SGLang", []int{30000}, "/v1", isSGLang},
	{"lemonade", "Lemonade", []int{13305, 8000}, "/api/v1", isLemonade},
	{"docker", "Docker Model Runner", []int{12434}, "/engines/v1", isDocker},
	{"jan", "Jan", []int{1337}, "/v1", ownedBy("jan")},
	{"gpt4all", "GPT4All", []int{4891}, "/v1", ownedBy("humanity")},
	{"tabby", "TabbyAPI", []int{5000}, "/v1", ownedBy("tabbyapi")},
	{"textgen", "text-generation-webui", []int{5000}, "/v1", isTextGen},
	{"localai", "LocalAI", []int{8080}, "/v1", nil},
	{"mlx", "MLX", []int{8080}, "/v1", nil},
	{"ramalama", "RamaLama", []int{8080}, "/v1", nil}, // it runs llama.cpp, and is then told as that
}

// rank orders servers for a person: Ollama before the one that imitates it.
func rank(id string) int {
	if id == "ollama" {
		return -1
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.id == id })
	if i < 0 {
		return len(kinds)
	}
	return i
}

func isOllama(ctx context.Context, a *asker) (mark, bool) {
	var version struct {
		Version string `json:"version"`
	}
	var tags struct {
		Models *[]struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	ok := a.json(ctx, "/api/version", &version) && version.Version != "" && a.json(ctx, "/api/tags", &tags) && tags.Models != nil
	return mark{version: version.Version}, ok
}

func isKoboldCpp(ctx context.Context, a *asker) (mark, bool) {
	var about struct {
		Result  string `json:"result"`
		Version string `json:"version"`
	}
	return mark{version: about.Version}, a.json(ctx, "/api/extra/version", &about) && about.Result == "KoboldCpp"
}

// isLMStudio knows both of its own interfaces. Each lists models with members that the one of OpenAI does not have.
func isLMStudio(ctx context.Context, a *asker) (mark, bool) {
	list, ok := a.lmStudio(ctx)
	return mark{}, ok && list != nil
}

func isLlamaCpp(ctx context.Context, a *asker) (mark, bool) {
	var props struct {
		Settings *struct{} `json:"default_generation_settings"`
		Slots    *int      `json:"total_slots"`
		Build    string    `json:"build_info"`
	}
	if a.json(ctx, "/props", &props) && (props.Settings != nil || props.Slots != nil) {
		return mark{version: props.Build}, true
	}
	return mark{loading: true}, a.loading(ctx, "/health")
}

func isVLLM(ctx context.Context, a *asker) (mark, bool) {
	var version struct {
		Version string `json:"version"`
	}
	if !a.json(ctx, "/version", &version) || version.Version == "" {
		return mark{}, false
	}
	text, ok := a.text(ctx, "/metrics")
	return mark{version: version.Version}, ok && strings.Contains(text, "vllm:")
}

func isSGLang(ctx context.Context, a *asker) (mark, bool) {
	var info struct {
		Model      string `json:"model_path"`
		Generation *bool  `json:"is_generation"`
	}
	return mark{}, a.json(ctx, "/get_model_info", &info) && info.Model != "" && info.Generation != nil
}

func isLemonade(ctx context.Context, a *asker) (mark, bool) {
	var health struct {
		Status  string  `json:"status"`
		Version string  `json:"version"`
		Loaded  *string `json:"model_loaded"`
		Models  *[]any  `json:"all_models_loaded"`
	}
	ok := a.json(ctx, "/api/v1/health", &health) && health.Status == "ok"
	return mark{version: health.Version}, ok && (health.Loaded != nil || health.Models != nil)
}

func isDocker(ctx context.Context, a *asker) (mark, bool) {
	_, ok := a.models(ctx, "/engines/v1/models")
	return mark{}, ok
}

func isTextGen(ctx context.Context, a *asker) (mark, bool) {
	var info struct {
		Name  *string   `json:"model_name"`
		Loras *[]string `json:"lora_names"`
	}
	return mark{}, a.json(ctx, "/v1/internal/model/info", &info) && info.Name != nil && info.Loras != nil
}

// ownedBy knows a server by what it says of the owner of its models.
func ownedBy(owner string) func(context.Context, *asker) (mark, bool) {
	return func(ctx context.Context, a *asker) (mark, bool) {
		models, ok := a.models(ctx, "/v1/models")
		return mark{}, ok && slices.ContainsFunc(models, func(m listed) bool { return strings.EqualFold(m.OwnedBy, owner) })
	}
}
