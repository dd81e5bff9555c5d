package router_test

import (
	"context"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/router"
)

// TestMisspeltTags: a tag that was probably meant for the router is a mistake, as is a
// jsonschema tag of another library that would become a description; other tags are
// ignored.
func TestMisspeltTags(t *testing.T) {
	type wrong struct {
		A string `json:"a" maxlength:"3"`
		B string `json:"b" Enum:"a,b"`
		C string `json:"c" defualt:"q"`
		D string `json:"d" jsonschema:"required,enum=a,enum=b,description=foo"`
		E string `json:"e" jsonschema:"the name,enum=a"`
		F string `json:"f" jsonschema:"title=F"`
	}
	_, err := router.New("x", "1", takes[wrong]())
	if err == nil {
		t.Fatal("no mistake found")
	}
	for _, want := range []string{
		`a: unknown tag "maxlength", did you mean "maxLength"?`, `b: unknown tag "Enum", did you mean "enum"?`,
		`c: unknown tag "defualt", did you mean "default"?`,
		`d: jsonschema:"required,enum=a,enum=b,description=foo" is not a description`,
		`e: jsonschema:"the name,enum=a" is not a description`, `f: jsonschema:"title=F" is not a description`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nhas no %s", err, want)
		}
	}
	type foreign struct {
		A string `json:"a" yaml:"a" xml:"a" db:"a" env:"A" form:"a"`
		C string `json:"c" toml:"c" bson:"c" validate:"required" gorm:"column:c" mapstructure:"c" query:"c"`
		B string `json:"b" jsonschema:"what it is, such as a = b, or nothing"`
	}
	if _, err := router.New("x", "1", takes[foreign]()); err != nil {
		t.Errorf("tags of other packages: %v", err)
	}
}

// TestNilResults: nil instead of a result is an error that names the tool.
func TestNilResults(t *testing.T) {
	type out struct{ A int }
	r := mustNew(t,
		router.Tool("pointer", "", func(context.Context, router.Void) (*out, error) { return nil, nil }),
		router.Tool("whole", "", func(context.Context, router.Void) (*mcp.CallToolResult, error) { return nil, nil }))
	for _, name := range []string{"pointer", "whole"} {
		c := mcptest.Connect(t, r, mcp.LatestVersion, nil)
		_, err := c.Try("tools/call", map[string]any{"name": name})
		if err == nil || err.Code != mcp.CodeToolBadOutput || err.Message != `tool "`+name+`" returned no result` {
			t.Errorf("%s: %+v", name, err)
		}
	}
}
