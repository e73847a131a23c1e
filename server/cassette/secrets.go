package cassette

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "«redacted»"

// minSecret keeps a word such as "none", which many send for want of a key, from being taken out of every text.
const minSecret = 8

// secretNames are the names of members whose values are secrets, in lower case and without - and _.
var secretNames = map[string]bool{
	"apikey": true, "authorization": true, "accesstoken": true, "authtoken": true, "bearertoken": true, "refreshtoken": true,
	"token": true, "password": true, "passwd": true, "secret": true, "clientsecret": true, "privatekey": true, "cookie": true, "xapikey": true,
}

func isSecret(name string) bool {
	name = strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	return secretNames[name] || strings.HasSuffix(name, "apikey") // of whichever provider: openai_api_key, X-Goog-Api-Key
}

// isSecretParameter says the same of a name in a query, where a key is called just that by some.
func isSecretParameter(name string) bool { return isSecret(name) || strings.EqualFold(name, "key") }

// secretsOf are the keys that a request was sent with, in its headers or its query, as they are and as a URL or HTML
// writes them. The longest stand first: taking out what another begins with would leave the end of that.
func secretsOf(r *http.Request) (secrets []string) {
	for name, values := range r.Header {
		if !isSecret(name) {
			continue
		}
		for _, value := range values {
			if _, key, ok := strings.Cut(value, " "); ok && strings.EqualFold(name, "Authorization") {
				value = key
			}
			secrets = append(secrets, spellings(strings.TrimSpace(value))...)
		}
	}
	for _, p := range parameters(r.URL.RawQuery) {
		if isSecretParameter(p.name) {
			secrets = append(append(secrets, spellings(p.value)...), spellings(p.raw)...)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	return slices.Compact(secrets)
}

// spellings leaves out those of JSON: search sees through them.
func spellings(secret string) []string {
	if len(secret) < minSecret {
		return nil
	}
	return []string{secret, url.QueryEscape(secret), url.PathEscape(secret), html.EscapeString(secret)}
}

// parameter is one of a query: its name and value, and the value as it was written.
type parameter struct{ name, value, raw string }

// parameters takes every query apart, also what net/url refuses: a secret may stand in it.
func parameters(query string) (list []parameter) {
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		list = append(list, parameter{unescaped(name), unescaped(value), value})
	}
	return list
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// canonicalQuery is a query with its parameters in order, and without those that are secrets: with another key, or
// with one that is sent in a header, it is the same request.
func canonicalQuery(query string, secrets []string) string {
	list := slices.DeleteFunc(parameters(query), func(p parameter) bool { return isSecretParameter(p.name) })
	slices.SortStableFunc(list, func(a, b parameter) int { return cmp.Compare(a.name, b.name) })
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = url.QueryEscape(cleanText(p.name, secrets)) + "=" + url.QueryEscape(cleanText(p.value, secrets))
	}
	return strings.Join(parts, "&")
}

// canonicalJSON writes a JSON text with members in order and without spaces, numbers as they were written, and without
// secrets.
func canonicalJSON(data []byte, secrets []string) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON value")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(clean(value, secrets)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// clean takes secrets out of a decoded JSON value. A description of a parameter, in the schema of a tool, is an object
// and no secret, whatever it is called.
func clean(value any, secrets []string) any {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			member := v[name]
			if text, ok := member.(string); ok && text != "" && isSecret(name) {
				member = redacted
			}
			delete(v, name) // the name may be one
			v[cleanText(name, secrets)] = clean(member, secrets)
		}
	case []any:
		for i := range v {
			v[i] = clean(v[i], secrets)
		}
	case string:
		return cleanText(v, secrets)
	}
	return value
}

func cleanText(text string, secrets []string) string {
	return string(withoutSecrets([]byte(text), secrets))
}

func withoutSecrets(data []byte, secrets []string) []byte {
	a := Answer{Chunks: []Chunk{newChunk(0, data)}}
	return Answer{Chunks: replaced(a.Chunks, edits(search(data, secrets, false)))}.Bytes()
}
