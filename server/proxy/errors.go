package proxy

import (
	"net/http"

	"chatwright.dev/tray/server/internal/httpx"
)

// The types of the errors that are ours, as OpenAI's clients know them.
const (
	typeRequest  = "invalid_request_error"
	typeUpstream = "upstream_error"
)

// errorBody is the error object of OpenAI. Its members are in OpenAI's order, and param and code are there even when
// they are null: clients read them.
type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// WriteError answers with the OpenAI error object. An empty code is null.
func WriteError(w http.ResponseWriter, status int, message, typ, code string) {
	body := errorBody{errorObject{Message: message, Type: typ}}
	if code != "" {
		body.Error.Code = &code
	}
	httpx.WriteJSON(w, status, body)
}
