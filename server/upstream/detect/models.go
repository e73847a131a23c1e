package detect

import (
	"context"
	"slices"
	"strings"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// modelsTimeout is how long one question about models may take: a server that is loading one answers late.
const modelsTimeout = 2 * time.Second

// Models asks a target which models it offers, and a server on this machine also which are loaded and where they run.
// What it does not tell is unknown. The list is in the server's order, loaded ones first.
func Models(ctx context.Context, target *upstream.Target) []protocol.Model {
	a := &asker{target: target, timeout: modelsTimeout}
	var models []protocol.Model
	if target.Loopback() {
		if models = a.ollama(ctx); models == nil {
			models, _ = a.lmStudio(ctx)
		}
	}
	if models == nil {
		models = a.openAI(ctx)
	}
	if key := target.APIKey; key != "" { // a server may repeat what it was sent, and a list is shown
		for i := range models {
			models[i].ID = strings.ReplaceAll(models[i].ID, key, strings.Repeat("*", len(key)))
		}
	}
	slices.SortStableFunc(models, func(x, y protocol.Model) int { return readiness(x.State) - readiness(y.State) })
	return models
}

func readiness(s protocol.ModelState) int {
	return slices.Index([]protocol.ModelState{protocol.ModelLoaded, protocol.ModelLoading, protocol.ModelUnknown, protocol.ModelUnloaded}, s)
}

// openAI is the list that every server has. llama.cpp says which are loaded.
func (a *asker) openAI(ctx context.Context) (models []protocol.Model) {
	list, ok := a.models(ctx, a.target.BaseURL.Path+"/models")
	if !ok {
		return nil
	}
	for _, m := range list {
		model := protocol.Model{ID: m.ID, State: protocol.ModelUnknown}
		if m.Status != nil {
			model.State = llamaState(m.Status.Value)
		} else if m.OwnedBy == "llamacpp" { // its only model, which it could not list otherwise
			model.State = protocol.ModelLoaded
		}
		if m.Meta != nil {
			model.SizeBytes = m.Meta.Size
		}
		models = append(models, model)
	}
	return models
}

func llamaState(value string) protocol.ModelState {
	switch value {
	case "loaded", "sleeping":
		return protocol.ModelLoaded
	case "loading":
		return protocol.ModelLoading
	case "unloaded", "failed":
		return protocol.ModelUnloaded
	}
	return protocol.ModelUnknown
}

// ollama is what an Ollama has on disk and what of it in memory; nil when it is none.
func (a *asker) ollama(ctx context.Context) []protocol.Model {
	var tags struct {
		Models *[]struct {
			Name string `json:"name"`
			Size int64  `json:"size"`
		} `json:"models"`
	}
	if !a.json(ctx, "/api/tags", &tags) || tags.Models == nil {
		return nil
	}
	loaded, err := upstream.LoadedModels(ctx, a.target)
	models := make([]protocol.Model, 0, len(*tags.Models))
	for _, m := range *tags.Models {
		model := protocol.Model{ID: m.Name, State: protocol.ModelUnloaded, SizeBytes: m.Size}
		if err != nil {
			model.State = protocol.ModelUnknown
		}
		for _, l := range loaded {
			if l.Is(m.Name) {
				model.State, model.SizeBytes, model.GPUBytes = protocol.ModelLoaded, l.Size, &l.VRAM
			}
		}
		models = append(models, model)
	}
	return models
}

// lmStudio is what LM Studio lists, through its own interface of today or the one before; ok is false when it is none.
func (a *asker) lmStudio(ctx context.Context) (models []protocol.Model, ok bool) {
	var today struct {
		Models *[]struct {
			Key       string `json:"key"`
			Size      int64  `json:"size_bytes"`
			Instances *[]any `json:"loaded_instances"`
		} `json:"models"`
	}
	if a.json(ctx, "/api/v1/models", &today) && today.Models != nil {
		models = []protocol.Model{}
		for _, m := range *today.Models {
			if m.Key == "" || m.Instances == nil {
				return nil, false
			}
			models = append(models, protocol.Model{ID: m.Key, State: loadedIf(len(*m.Instances) > 0), SizeBytes: m.Size})
		}
		return models, true
	}
	var before struct {
		Data *[]struct {
			ID    string `json:"id"`
			State string `json:"state"`
		} `json:"data"`
	}
	if !a.json(ctx, "/api/v0/models", &before) || before.Data == nil {
		return nil, false
	}
	models = []protocol.Model{}
	for _, m := range *before.Data {
		if m.ID == "" || m.State == "" {
			return nil, false
		}
		models = append(models, protocol.Model{ID: m.ID, State: loadedIf(m.State == "loaded")})
	}
	return models, true
}

func loadedIf(loaded bool) protocol.ModelState {
	if loaded {
		return protocol.ModelLoaded
	}
	return protocol.ModelUnloaded
}
