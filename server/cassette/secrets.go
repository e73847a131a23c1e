package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
	return secretNames[strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))]
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
		for name, member := range v {
			if text, ok := member.(string); ok && text != "" && isSecret(name) {
				v[name] = redacted
			} else {
				v[name] = clean(member, secrets)
			}
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
