package schema_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/schema"
)

func TestCheckFormats(t *testing.T) {
	const object = `{"type":"object","properties":{"mail":{"type":"string","format":"email"},` +
		`"a/b":{"format":"date"},"free":{"format":"unknown"},"any":true}}`
	tests := []struct{ name, schema, content, want string }{
		{"all match", object, `{"mail":"ann@example.com","a/b":"2026-07-28"}`, ""},
		{"nothing is given", object, `{}`, ""},
		{"unknown formats and other types", object, `{"free":"x","mail":1,"any":"x"}`, ""},
		{"two differ", object, `{"a/b":"today","mail":"ann"}`,
			`mail: must be an email address; a/b: must be a date such as "2026-07-28"`},
		{"no properties", `{}`, `{"mail":"ann"}`, ""},
		{"properties that are none", `{"properties":[]}`, `{"mail":"ann"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			err := schema.CheckFormats([]byte(tt.schema), []byte(tt.content))
			if err != nil {
				got = err.Error()
				if last := err.(*schema.Error).Problems[1]; last.Pointer != "/a~1b" {
					t.Errorf("pointer %q", last.Pointer)
				}
			}
			if got != tt.want {
				t.Errorf("CheckFormats = %q, want %q", got, tt.want)
			}
		})
	}
}
