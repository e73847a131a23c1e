package detect

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"chatwright.dev/tray/server/upstream"
)

// maxAnswer bounds what is read of an answer. Lists of models and pages of metrics are well below.
const maxAnswer = 1 << 20

// asker puts questions to one address. It follows no redirect, keeps no cookie and sends nothing but the question.
type asker struct {
	target  *upstream.Target
	timeout time.Duration // of one question
}

// listens says whether anything takes connections there, which saves the questions where nothing does.
func (a *asker) listens(ctx context.Context) bool {
	dialer := net.Dialer{Timeout: a.timeout}
	conn, err := dialer.DialContext(ctx, "tcp", a.target.BaseURL.Host)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// get asks for a path beside the base URL's own. ok is false when there was no whole answer in time.
func (a *asker) get(ctx context.Context, path string) (status int, body []byte, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	where := url.URL{Scheme: a.target.BaseURL.Scheme, Host: a.target.BaseURL.Host, Path: path}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return 0, nil, false
	}
	r.Header.Set("Accept", "application/json, text/plain")
	if a.target.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+a.target.APIKey)
	}
	answer, err := a.target.Transport.RoundTrip(r)
	if err != nil {
		return 0, nil, false
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return answer.StatusCode, body, err == nil
}

// json reads a good answer into out; what is no JSON of that shape is none.
func (a *asker) json(ctx context.Context, path string, out any) bool {
	status, body, ok := a.get(ctx, path)
	return ok && status == http.StatusOK && json.Unmarshal(body, out) == nil
}

func (a *asker) text(ctx context.Context, path string) (string, bool) {
	status, body, ok := a.get(ctx, path)
	return string(body), ok && status == http.StatusOK
}

// loading says whether a server answers as llama.cpp does while it loads its model.
func (a *asker) loading(ctx context.Context, path string) bool {
	status, body, ok := a.get(ctx, path)
	return ok && status == http.StatusServiceUnavailable && upstream.IsLoading(string(body))
}

// listed is one entry of a list of models in OpenAI's shape, with what some servers add.
type listed struct {
	ID      string `json:"id"`
	OwnedBy string `json:"owned_by"`
	Status  *struct {
		Value string `json:"value"`
	} `json:"status"` // llama.cpp, when it serves several
	Meta *struct {
		Size int64 `json:"size"`
	} `json:"meta"` // llama.cpp
}

// models reads a list of models; ok is false when that is not what is there.
func (a *asker) models(ctx context.Context, path string) (list []listed, ok bool) {
	var answer struct {
		Object string    `json:"object"`
		Data   *[]listed `json:"data"`
	}
	if !a.json(ctx, path, &answer) || answer.Data == nil {
		return nil, false
	}
	for _, m := range *answer.Data {
		if m.ID == "" {
			return nil, false
		}
	}
	return *answer.Data, answer.Object == "list" || len(*answer.Data) > 0
}
