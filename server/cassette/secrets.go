package cassette

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "«redacted»"

// secretNames are the names of members whose values are secrets, in lower case and without - and _.
var secretNames = map[string]bool{
	"apikey": true, "authorization": true, "accesstoken": true, "authtoken": true, "bearertoken": true, "refreshtoken": true,
	"token": true, "password": true, "passwd": true, "secret": true, "clientsecret": true, "privatekey": true, "cookie": true, "xapikey": true,
}

func isSecret(name string) bool {
	name = strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	return secretNames[name] || strings.HasSuffix(name, "apikey") // of whichever provider: openai_api_key, X-Goog-Api-Key
}

// secretsOf are the keys that a request was sent with, in its headers or its query, in each spelling that an answer may
// repeat them in. The longest stand first: taking out what another begins with would leave the end of that.
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
	for name, values := range r.URL.Query() {
		if !isSecret(name) && !strings.EqualFold(name, "key") {
			continue
		}
		for _, value := range values {
			secrets = append(secrets, spellings(value)...)
			secrets = append(secrets, spellings(url.QueryEscape(value))...)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	return slices.Compact(secrets)
}

// spellings are a secret as it is, and as writers of JSON escape it: Go and others hide < > and &, PHP /, .NET + as well.
func spellings(secret string) []string {
	if len(secret) < minSecret {
		return nil
	}
	quoted, err := json.Marshal(secret)
	if err != nil {
		return []string{secret}
	}
	hidden := string(quoted[1 : len(quoted)-1])
	upper := strings.NewReplacer(`\u003c`, `\u003C`, `\u003e`, `\u003E`, "+", `\u002B`).Replace(hidden)
	plain := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(secret)
	all := []string{secret}
	for _, text := range []string{hidden, upper, plain} {
		all = append(all, text, strings.ReplaceAll(text, "/", `\/`))
	}
	return all
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
			v[string(withoutSecrets([]byte(name), secrets))] = clean(member, secrets)
		}
	case []any:
		for i := range v {
			v[i] = clean(v[i], secrets)
		}
	case string:
		return string(withoutSecrets([]byte(v), secrets))
	}
	return value
}

// minSecret keeps a word such as "none", which many send for want of a key, from being taken out of every text.
const minSecret = 8

func withoutSecrets(data []byte, secrets []string) []byte {
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			data = bytes.ReplaceAll(data, []byte(secret), []byte(redacted))
		}
	}
	return data
}
