package check_test

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// The schemas of CycloneDX come with its Go library.
const cycloneDX = "github.com/CycloneDX/cyclonedx-go@v0.9.2"

// Whoever reads bills of materials reads those that hold the schema of CycloneDX.
func TestTheBillsHoldTheSchemaOfCycloneDX(t *testing.T) {
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(output(t, tool{"go", "golang"}, "mod", "download", "-json", cycloneDX)), &module); err != nil {
		t.Fatal(err)
	}
	bills, err := filepath.Glob(filepath.Join(dist(t), "*.cdx.json"))
	if err != nil || len(bills) == 0 {
		t.Fatalf("no bills: %v", err)
	}
	schema := resolved(t, filepath.Join(module.Dir, "schema"))
	for _, path := range bills {
		read := func() (bill map[string]any) {
			t.Helper()
			if err := json.Unmarshal(readFile(t, path), &bill); err != nil {
				t.Fatal(err)
			}
			return bill
		}
		if err := schema.Validate(read()); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
		// The schema does hold bills to something.
		nameless, formless := read(), read()
		delete(nameless["components"].([]any)[0].(map[string]any), "name")
		delete(formless, "bomFormat")
		for name, bill := range map[string]any{"a component without a name": nameless, "no format": formless} {
			if schema.Validate(bill) == nil {
				t.Errorf("%s passes for a bill", name)
			}
		}
	}
}

// resolved is the schema of the version that the bills are of, with those that it refers to.
func resolved(t *testing.T, folder string) *jsonschema.Resolved {
	t.Helper()
	load := func(name string) *jsonschema.Schema {
		var schema jsonschema.Schema
		if err := json.Unmarshal(readFile(t, filepath.Join(folder, name)), &schema); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return &schema
	}
	files := map[string]string{"spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"}
	schema, err := load("bom-1.5.schema.json").Resolve(&jsonschema.ResolveOptions{
		Loader: func(uri *url.URL) (*jsonschema.Schema, error) { return load(files[path.Base(uri.Path)]), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
