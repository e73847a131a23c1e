package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"chatwright.dev/tray/server/chat"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/session"
	"chatwright.dev/tray/server/upstream"
)

// turns answers the calls of sessions through the engine that Studio's calls go through, so that they are measured,
// shown and recorded alike.
type turns struct {
	upstream func(name string) (target *upstream.Target, model string, err error)
	engine   func() *proxy.Proxy

	mu     sync.Mutex
	firsts map[*upstream.Target]string // the model of turns that name none, where nobody else does either
}

// maxFirsts is how many upstreams are remembered; over it they are asked anew.
const maxFirsts = 64

// Stream implements session.Model.
func (t *turns) Stream(ctx context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
	target, model, err := t.upstream(req.Upstream)
	if err != nil {
		return session.ModelResult{}, upstreamGone(req.Upstream, err)
	}
	client := &chat.Client{Transport: t.engine().Direct(target)}
	if req.Model != "" {
		model = req.Model
	}
	if model == "" {
		if model, err = t.first(ctx, target, client); err != nil {
			return session.ModelResult{}, explainTurn(target, model, err)
		}
	}
	spoke := false
	result, err := client.Stream(ctx, chat.Request{Model: model, Messages: req.Messages}, func(p chat.Piece) {
		spoke = true
		emit(session.Delta{Text: p.Text, Reasoning: p.Reasoning})
	})
	if err != nil {
		if status, ok := errors.AsType[*chat.StatusError](err); ok && status.Status == http.StatusNotFound {
			t.forget(target) // it may be the model that is gone
		}
		return session.ModelResult{}, explainTurn(target, model, err)
	}
	if !spoke && len(result.Tools) > 0 {
		return session.ModelResult{}, hint.With(
			fmt.Errorf("the model said nothing but asked for a tool (%s), and there are none in this session", strings.Join(result.Tools, ", ")),
			"ask it to answer in words, or choose another model")
	}
	return resultOf(result, model), nil
}

func resultOf(r chat.Result, asked string) session.ModelResult {
	out := session.ModelResult{FinishReason: r.FinishReason, Model: r.Model}
	if out.Model == "" {
		out.Model = asked
	}
	if r.Usage != nil {
		out.Usage = &protocol.Usage{InputTokens: r.Usage.Prompt, OutputTokens: r.Usage.Completion, CacheReadTokens: r.Usage.Cached}
	}
	return out
}

// first is the first model that the upstream lists. It is remembered, since some servers list what was used last first,
// and a conversation should stay with one.
func (t *turns) first(ctx context.Context, target *upstream.Target, client *chat.Client) (string, error) {
	t.mu.Lock()
	known := t.firsts[target]
	t.mu.Unlock()
	if known != "" {
		return known, nil
	}
	names, err := client.Models(ctx)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", hint.With(errors.New(target.Name+" lists no model"), "load one there, or name one: chatwright-tray session new --model MODEL")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.firsts == nil || len(t.firsts) >= maxFirsts {
		t.firsts = map[*upstream.Target]string{}
	}
	t.firsts[target] = names[0]
	return names[0], nil
}

func (t *turns) forget(target *upstream.Target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.firsts, target)
}

// upstreamGone says which upstream a session cannot have.
func upstreamGone(name string, err error) error {
	if !errors.Is(err, upstream.ErrNoProfile) {
		return err
	}
	return hint.With(fmt.Errorf("the upstream %q of this session was removed", name),
		"add it again: chatwright-tray upstream add "+name+" URL; or carry on elsewhere: chatwright-tray session new --resume ID --upstream OTHER")
}

// explainTurn says what went wrong with a call, and what to do about it.
func explainTurn(target *upstream.Target, model string, err error) error {
	status, answered := errors.AsType[*chat.StatusError](err)
	_, reported := errors.AsType[*chat.StreamError](err)
	switch {
	case errors.Is(err, context.Canceled), hint.Of(err) != "":
		return err
	case answered && target.Verbatim:
		return hint.With(err, "record what is missing: chatwright-tray --record FOLDER")
	case answered && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden):
		return hint.With(fmt.Errorf("%s refuses the call (status %d): %w", target.Name, status.Status, err),
			"give the upstream its key: chatwright-tray upstream add NAME URL --key-stdin")
	case answered && status.Status == http.StatusNotFound && model != "":
		return hint.With(fmt.Errorf("%s knows no model %q, or its base URL is wrong: %w", target.Name, model, err),
			"see what there is: chatwright-tray upstream list")
	case answered && status.Status == http.StatusRequestEntityTooLarge:
		return hint.With(fmt.Errorf("the conversation has become too long: %w", err),
			"begin another session, or raise --max-body if the cap is ours")
	case answered && status.Status == http.StatusBadGateway: // the engine's own words say who is meant
		return hint.With(err, "start your model server, or use another: chatwright-tray upstream use NAME")
	case answered, reported:
		return fmt.Errorf("%s: %w", target.Name, err)
	case errors.Is(err, chat.ErrBroken):
		return hint.With(fmt.Errorf("%s broke off its answer", target.Name), "say it again; the log of the model server may tell why")
	}
	return fmt.Errorf("%s: %w", target.Name, err)
}
