package httpx

import "net/http"

// The types of OpenAI's errors that our answers have, as its clients know them.
const (
	TypeInvalidRequest = "invalid_request_error"
	TypeUpstream       = "upstream_error"
)

// openAIError is the error object of OpenAI. Its members are in OpenAI's order, and param and code are there even when
// they are null: clients read them.
type openAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// WriteOpenAIError answers with the OpenAI error object. An empty code is null.
func WriteOpenAIError(w http.ResponseWriter, status int, message, typ, code string) {
	var body openAIError
	body.Error.Message, body.Error.Type = message, typ
	if code != "" {
		body.Error.Code = &code
	}
	WriteJSON(w, status, body)
}
