package openapi_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild/internal/openapi"
)

const petstore = `openapi: 3.1.0
info: {title: Pet Store, version: 2.1.0, description: "All about\npets."}
servers: [{url: https://pets.example/v1}]
security: [{token: []}, {}]
tags: [{name: pets}, {name: unused}]
paths:
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: integer, minimum: 1}}
      - {name: trace, in: header, schema: {type: string}}
    get:
      operationId: getPet
      tags: [pets]
      summary: Find a pet
      description: Looks in all stores.
      parameters:
        - {name: trace, in: header, description: For our log, schema: {type: string, default: "off"}}
        - $ref: '#/components/parameters/Fields'
      responses:
        200:
          description: The pet
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Pet'}
              examples:
                cat: {$ref: '#/components/examples/Cat'}
        default: {$ref: 'common.yaml#/responses/Error'}
    delete:
      deprecated: true
      security: []
      responses: {204: {description: Gone}}
  /pets:
    post:
      operationId: addPet
      tags: [pets]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [name]
              properties:
                name: {type: string, minLength: 1}
                friends: {type: array, items: {$ref: '#/components/schemas/Pet'}}
                kind: {enum: [cat, dog]}
                more: {type: object, additionalProperties: {type: [number, 'null']}}
      responses: {201: {description: Added}}
webhooks:
  petSold:
    post: {summary: A pet was sold, responses: {200: {description: Thanks}}}
components:
  parameters:
    Fields: {name: fields, in: query, schema: {type: array, items: {type: string}}}
  examples:
    Cat: {value: {id: 1, name: Tom}}
  securitySchemes:
    token: {type: http, scheme: bearer, bearerFormat: JWT}
  schemas:
    Pet:
      type: object
      description: A pet.
      required: [id]
      properties:
        id: {type: integer, format: int64, readOnly: true}
        parent: {$ref: '#/components/schemas/Pet', description: Of whom it is a child}
        owner: {$ref: 'common.yaml#/Owner'}
        tag: {type: string, nullable: true}
`

const common = `responses:
  Error:
    description: Something went wrong
    content: {text/plain: {schema: {type: string}}}
Owner:
  allOf:
    - {$ref: 'sub/person.json'}
    - {properties: {pets: {type: array, items: {$ref: 'openapi.yaml#/components/schemas/Pet'}}}}
`

const person = `{"type": "object", "properties": {"name": {"type": "string"}, "email": {"type": "string", ` +
	`"format": "email", "pattern": "^.+@.+$"}}}`

// folder writes test files and returns the path of the first.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	texts := make(map[string]string)
	for i := 0; i < len(files); i += 2 {
		texts[files[i]] = files[i+1]
	}
	return filepath.Join(sitetest.Folder(t, texts), files[0])
}

func open(t *testing.T, path string, opts *openapi.Options) (*sitetest.Built, error) {
	t.Helper()
	in, err := openapi.New(path, opts)
	if err != nil {
		return nil, err
	}
	return sitetest.Open(t, in, nil)
}

func must(t *testing.T, path string, opts *openapi.Options) *sitetest.Built {
	t.Helper()
	b, err := open(t, path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPetstore(t *testing.T) {
	b := must(t, folder(t, "openapi.yaml", petstore, "common.yaml", common, "sub/person.json", person), nil)
	if len(b.From.Findings) > 0 {
		t.Errorf("findings: %v", b.From.Findings)
	}
	tests := map[string][4]string{
		"list": {"list_operations", `{}`, `getPet  GET /pets/{petId} — Find a pet
delete_pets_petId  DELETE /pets/{petId} (deprecated)
addPet  POST /pets
post_petSold  Webhook petSold (POST) — A pet was sold
`, `{"operations":[{"operationId":"getPet","method":"GET","path":"/pets/{petId}","summary":"Find a pet",` +
			`"tags":["pets"]},{"operationId":"delete_pets_petId","method":"DELETE","path":"/pets/{petId}",` +
			`"deprecated":true},{"operationId":"addPet","method":"POST","path":"/pets","tags":["pets"]},` +
			`{"operationId":"post_petSold","method":"POST","path":"petSold","summary":"A pet was sold"}]}`},
		"tag": {"list_operations", `{"tag":"pets"}`, "getPet  GET /pets/{petId} — Find a pet\naddPet  POST /pets\n",
			`{"operations":[{"operationId":"getPet","method":"GET","path":"/pets/{petId}","summary":"Find a pet",` +
				`"tags":["pets"]},{"operationId":"addPet","method":"POST","path":"/pets","tags":["pets"]}]}`},
		"get": {"get_operation", `{"operation_id":"getPet"}`, `GET /pets/{petId} — Find a pet
Operation: getPet
Tags: pets

Looks in all stores.

Servers: https://pets.example/v1
Security: token (HTTP bearer JWT), or none

Parameters
- petId (path, required): integer, at least 1
- trace (header, optional): string, default "off" — For our log
- fields (query, optional): array of string

Responses
- 200 — The pet
  application/json: Pet

Example (cat): {"id":1,"name":"Tom"}
- default — Something went wrong
  text/plain: string
`, `{"operationId":"getPet","method":"GET","path":"/pets/{petId}","summary":"Find a pet","tags":["pets"],` +
			`"description":"Looks in all stores.","servers":["https://pets.example/v1"],"parameters":[{"name":"petId",` +
			`"in":"path","required":true,"schema":{"type":"integer","minimum":1}},{"name":"trace","in":"header",` +
			`"description":"For our log","schema":{"type":"string","default":"off"}},{"name":"fields","in":"query",` +
			`"schema":{"type":"array","items":{"type":"string"}}}],"responses":{"200":{"description":"The pet",` +
			`"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Pet"},` +
			`"examples":{"cat":{"value":{"id":1,"name":"Tom"}}}}}},"default":{"description":"Something went wrong",` +
			`"content":{"text/plain":{"schema":{"type":"string"}}}}},"security":[{"token":[]},{}]}`},
		"no security": {"get_operation", `{"operation_id":"delete_pets_petId"}`, `DELETE /pets/{petId}
Operation: delete_pets_petId
Deprecated.

Servers: https://pets.example/v1
Security: none

Parameters
- petId (path, required): integer, at least 1
- trace (header, optional): string

Responses
- 204 — Gone
`, ""},
		"body": {"get_operation", `{"operation_id":"addPet"}`, `POST /pets
Operation: addPet
Tags: pets

Servers: https://pets.example/v1
Security: token (HTTP bearer JWT), or none

Request body
  application/json: object
  - name: string, min length 1, required
  - friends: array of Pet
  - kind: one of "cat", "dog"
  - more: object with values: number or null

Responses
- 201 — Added
`, ""},
		"circle": {"get_schema", `{"name":"Pet"}`, `Pet: object

A pet.

- id: integer (int64), read only, required
- parent: Pet — Of whom it is a child
- owner: Owner
- tag: string or null
`, `{"name":"Pet","schema":{"type":"object","description":"A pet.","required":["id"],` +
			`"properties":{"id":{"type":"integer","format":"int64","readOnly":true},` +
			`"parent":{"$ref":"#/components/schemas/Pet","description":"Of whom it is a child"},` +
			`"owner":{"$ref":"#/components/schemas/Owner"},"tag":{"type":"string","nullable":true}}}}`},
		"another file": {"get_schema", `{"name":"Owner"}`, "Owner: person & object\n\n- pets: array of Pet\n",
			`{"name":"Owner","schema":{"allOf":[{"$ref":"#/components/schemas/person"},` +
				`{"properties":{"pets":{"type":"array","items":{"$ref":"#/components/schemas/Pet"}}}}]}}`},
		"a whole file": {
			"get_schema", `{"name":"person"}`,
			"person: object\n\n- name: string\n- email: string (email), pattern ^.+@.+$\n", "",
		},
		"schemas": {"list_schemas", `{}`, "Pet — A pet.\nOwner\nperson\n", ""},
		"unknown": {
			"get_schema", `{"name":"Dog"}`,
			`invalid arguments for get_schema: name: must be one of "Pet", "Owner", "person" (got "Dog")`,
			"",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := b.Call(test[0], test[1])
			text, structured := answer.Text, answer.Structured
			if diff := cmp.Diff(text, test[2]); diff != "" {
				t.Error(diff)
			}
			if test[3] != "" && structured != test[3] {
				t.Errorf("got %s\nwant %s", structured, test[3])
			}
		})
	}
	want := `Pet Store, version 2.1.0. All about pets.
Servers: https://pets.example/v1
Security: token (HTTP bearer JWT), or none
4 operations: list_operations names them, get_operation describes one. 3 schemas: list_schemas, get_schema.`
	if diff := cmp.Diff(b.From.Instructions, want); diff != "" {
		t.Error(diff)
	}
	if s := b.From.Server; s.Name != "pet_store" || s.Version != "2.1.0" {
		t.Errorf("server %+v", s)
	}
}

func TestResources(t *testing.T) {
	b := must(t,
		folder(t, "a.json",
			`{"openapi":"3.0.3","info":{"title":"A","version":"1"},`+
				`"paths":{"/x":{"get":{"operationId":"a/b","responses":{}}}}}`),
		nil)
	for _, uri := range []string{"openapi://info", "openapi://operations/a%2Fb"} {
		if _, err := b.Site.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestSearch(t *testing.T) {
	text := "openapi: 3.0.0\ninfo: {title: A, version: 1.0.0}\npaths:\n"
	for _, noun := range []string{
		"apple", "banana", "cherry", "grape", "lemon", "mango", "melon", "orange", "peach",
		"plum",
	} {
		text += "  /" + noun + "s: {get: {operationId: list" + noun + ", summary: List " + noun +
			" trees in the orchard, responses: {}}}\n"
	}
	b := must(t, folder(t, "a.yaml", text), nil)
	for query, want := range map[string]string{"orchard mango": "path: listmango", "cherry": "path: listcherry"} {
		if got := b.Call("search_operations", `{"query":"`+query+`"}`).Text; !strings.Contains(got, "1. List") ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %s", query, got)
		}
	}
}

func TestPaths(t *testing.T) {
	path := folder(t, "openapi.yaml", petstore, "common.yaml", common, "sub/person.json", person, "other.txt", "")
	in, err := openapi.New(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range in.Paths() {
		got = append(got, strings.TrimPrefix(p, filepath.Dir(path)+"/"))
	}
	if diff := cmp.Diff(got, []string{"common.yaml", "openapi.yaml", "sub/person.json"}); diff != "" {
		t.Error(diff)
	}
}

func TestTags(t *testing.T) {
	b := must(t, folder(t, "openapi.yaml", petstore, "common.yaml", common, "sub/person.json", person),
		&openapi.Options{Tags: []string{"pets"}})
	if text := b.Call("list_operations", `{}`).Text; strings.Contains(text, "petSold") ||
		!strings.Contains(text, "addPet") {
		t.Errorf("got %s", text)
	}
}

func TestFindings(t *testing.T) {
	paths := func(s string) string {
		return "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: a\n    " +
			"  responses: {}\n" +
			s
	}
	tests := map[string]struct{ text, want string }{
		"missing": {
			paths("      parameters:\n      - $ref: '#/nothing'\n"),
			`openapi.yaml:9:9: warning: the target of the reference "#/nothing" does not exist [openapi/ref]`,
		},
		"circle": {
			paths("      requestBody: {$ref: '#/x'}\nx: {$ref: '#/x'}\n"),
			`openapi.yaml:9:4: warning: the reference "#/x" refers to itself [openapi/ref]`,
		},
		"network": {
			paths("      parameters: [{name: q, in: query, schema: {$ref: 'https://example.org/a.yaml'}}]\n"),
			`openapi.yaml:8:49: warning: the reference "https://example.org/a.yaml" cannot be followed: it is a URL, ` +
				`and documents are not fetched from the network [openapi/ref]`,
		},
		"outside": {
			paths("      parameters: [{name: q, in: query, schema: {$ref: '../../etc/x.yaml'}}]\n"),
			`openapi.yaml:8:49: warning: the reference "../../etc/x.yaml" cannot be followed: statat ` +
				`../../etc/x.yaml: path escapes from parent [openapi/ref]`,
		},
		"same ids": {
			paths("    post:\n      operationId: a\n      responses: {}\n"),
			`openapi.yaml:9:7: warning: two operations have the id "a"; the second is renamed to "a_2" [openapi/operation-id]`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := folder(t, "openapi.yaml", test.text)
			b := must(t, path, nil)
			if len(ruletest.Record(b.From.Findings...)) == 0 {
				t.Fatal("no finding")
			}
			if got := strings.TrimPrefix(b.From.Findings[0].String(), filepath.Dir(path)+"/"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestBrokenPaths verifies that a broken reference removes nothing but what it would lead to, and that the
// finding points to it: one for each place, also if several have the same reference.
func TestBrokenPaths(t *testing.T) {
	text := `openapi: 3.1.0
info: {title: A, version: '1'}
paths:
  /a/{x}:
    $ref: 'missing.yaml'
    get: {operationId: getA, responses: {}}
  /b:
    get: {operationId: getB, responses: {}}
    post: {$ref: '#/nothing'}
    put: {operationId: putB, $ref: '#/nowhere'}
    delete: {$ref: '#/components/x-operations/gone'}
  /again: {post: {$ref: '#/nothing'}}
  /schemas:
    get: {operationId: getS, responses: {'200': {content: {a/b: {schema: {items: {$ref: '#/no'}}}}}}}
    put: {operationId: putS, responses: {'200': {content: {a/b: {schema: {items: {$ref: '#/no'}}}}}}}
  /c:
    $ref: '#/components/pathItems/none'
  /d:
    $ref: '#/components/pathItems/D'
    parameters: [{name: outer, in: query}]
    get: {operationId: getD, responses: {}}
components:
  x-operations:
    gone: {operationId: deleteB, responses: {}}
  pathItems:
    D:
      parameters: [{name: inner, in: query}]
      get: {operationId: hidden, responses: {}}
      put: {operationId: putD, responses: {}}
`
	path := folder(t, "openapi.yaml", text)
	b := must(t, path, nil)
	want := "getA  GET /a/{x}\ngetB  GET /b\nputB  PUT /b\ndeleteB  DELETE /b\ngetS  GET /schemas\nputS  PUT /schemas\n" +
		"getD  GET /d\nputD  PUT /d"
	if got := b.Call("list_operations", `{}`).Text; strings.TrimSpace(got) != want {
		t.Errorf("operations:\n%s\nwant\n%s", got, want)
	}
	for _, name := range []string{"inner", "outer"} {
		if got := b.Call("get_operation", `{"operation_id":"putD"}`).Text; !strings.Contains(got, name) {
			t.Errorf("putD lacks the parameter %s:\n%s", name, got)
		}
	}
	var got []string
	for _, f := range b.From.Findings {
		if f.File != path {
			t.Errorf("%s is in the file %s, want %s", f.Message, f.File, path)
		}
		got = append(got, f.Pointer)
	}
	pointers := []string{"/paths/~1a~1{x}", "/paths/~1b/post", "/paths/~1b/put", "/paths/~1again/post",
		"/paths/~1schemas/get/responses/200/content/a~1b/schema/items",
		"/paths/~1schemas/put/responses/200/content/a~1b/schema/items", "/paths/~1c"}
	if diff := cmp.Diff(pointers, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"swagger": {
			"swagger: '2.0'\n",
			"it is Swagger 2.0, and only OpenAPI 3 is supported; convert it, such as with swagger2openapi",
		},
		"four":   {"openapi: 4.0.0\n", "its version is 4.0.0, and only OpenAPI 3 is supported"},
		"other":  {"a: b\n", `it is not an OpenAPI document: the member "openapi" is missing`},
		"empty":  {"openapi: 3.0.0\n", "it has neither operations nor schemas"},
		"syntax": {"openapi: 3.0.0\npaths: [", "line 2, column 1: did not find expected node content"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := folder(t, "openapi.yaml", test.text)
			if _, err := open(t, path, nil); err == nil || err.Error() != "read "+path+": "+test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestReads(t *testing.T) {
	for text, want := range map[string]bool{
		"openapi: 3.0.0\n": true, "# x\n---\n\"openapi\": '3.1.0'\n": true,
		`{"info":{},"openapi":"3.0.3"}`: true, "{\n  \"openapi\": \"3.0.3\"": true,
		"swagger: '2.0'": true, "mcpServers: {}": false, "": false, `[{"openapi":1}]`: false,
	} {
		if got := openapi.Reads([]byte(text)); got != want {
			t.Errorf("Reads(%q) = %v", text, got)
		}
	}
}

func FuzzSite(f *testing.F) {
	f.Add(petstore)
	f.Add(common)
	f.Add(`{"openapi":"3.0.0","paths":{"/":{"$ref":"#/paths/~1","get":{"parameters":[{"$ref":"a.yaml#/paths"}]}}}}`)
	f.Add("openapi: 3.1.0\ncomponents: {schemas: {A: &a {allOf: [*a]}, B: {enum: [], type: [], items: {}}}}\n")
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		in, err := openapi.New(folder(t, "a.yaml", text), nil)
		if err != nil {
			t.Fatal(err)
		}
		site, err := in.Site(context.Background())
		if err != nil {
			return
		}
		if _, err := sitewriter.Write(context.Background(), site, sitewriter.NewMemory(),
			&sitewriter.Options{Lenient: true}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNames: a site is named after its title, without runs of underscores. A title
// without the letters a to z yields the default name.
func TestNames(t *testing.T) {
	for title, want := range map[string]string{
		"Pet ~ Store (v2)": "pet_store_v2",
		"案内 ~ API":         "api",
		"案内":               "api",
	} {
		t.Run(title, func(t *testing.T) {
			site := must(t,
				folder(t, "a.json",
					`{"openapi":"3.0.3","info":{"title":"`+title+`","version":"1"},"paths":{"/x":{"get":{"responses":{}}}}}`),
				nil)
			if got := site.From.Server; got.Name != want || got.Title != title {
				t.Errorf("got %q and %q, want %q", got.Name, got.Title, want)
			}
		})
	}
}
