package mcplog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/mcplog"
)

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want, message string // of Compare and of CompareMessages
	}{
		"order of members": {`{"a":1,"b":2}`, `{"b":2,"a":1}`, "", ""},
		"order of rows with names": {
			`{"rows":[{"name":"a"},{"name":"b"}]}`,
			`{"rows":[{"name":"b"},{"name":"a"}]}`,
			`/rows/0/name "a" "b", /rows/1/name "b" "a"`, "the same",
		},
		"number of rows with names": {
			`{"rows":[{"name":"a"}]}`,
			`{"rows":[{"name":"a"},{"name":"a"}]}`,
			`/rows/1 missing {"name":"a"}`, "the same",
		},
		"rows that are named like a list": {
			`{"result":{"structuredContent":{"tools":[{"name":"a"},{"name":"b"}]}}}`,
			`{"result":{"structuredContent":{"tools":[{"name":"b"},{"name":"a"}]}}}`,
			`/result/structuredContent/tools/0/name "a" "b", /result/structuredContent/tools/1/name "b" "a"`, "the same",
		},
		"a list": {
			`{"result":{"tools":[{"name":"a"},{"name":"b"}]}}`,
			`{"result":{"tools":[{"name":"b"},{"name":"c"},{"name":"a"}]}}`,
			`/result/tools/0/name "a" "b", /result/tools/1/name "b" "c", /result/tools/2 missing {"name":"a"}`,
			`/result/tools/1 missing {"name":"c"}`,
		},
		"a list with equal names": {
			`{"result":{"resources":[{"name":"a","uri":"x://1"},{"name":"a","uri":"x://1"}]}}`,
			`{"result":{"resources":[{"name":"a","uri":"x://1"}]}}`,
			`/result/resources/1 {"name":"a","uri":"x://1"} missing`,
			`/result/resources/1 {"name":"a","uri":"x://1"} missing`,
		},
		"resources with equal names": {
			`{"result":{"resources":[{"name":"a","uri":"x://1"},{"name":"a","uri":"x://2"}]}}`,
			`{"result":{"resources":[{"name":"a","uri":"x://2"},{"name":"a","uri":"x://1"}]}}`,
			`/result/resources/0/uri "x://1" "x://2", /result/resources/1/uri "x://2" "x://1"`, "",
		},
		"_meta of the protocol": {
			`{"result":{"_meta":{"x":1},"content":[{"type":"text","text":"","_meta":{"y":1}}]}}`,
			`{"result":{"_meta":{"x":2},"content":[{"type":"text","text":""}]}}`,
			`/result/_meta/x 1 2, /result/content/0/_meta {"y":1} missing`, "",
		},
		"_meta of data": {
			`{"result":{"structuredContent":{"_meta":{"x":"<"}}}}`,
			`{"result":{"structuredContent":{"_meta":{"x":">"}}}}`,
			`/result/structuredContent/_meta/x "<" ">"`, "the same",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.message == "the same" {
				c.message = c.want
			}
			for want, compare := range map[*string]func(before, after []byte) ([]mcplog.Difference, error){
				&c.want:    mcplog.Compare,
				&c.message: mcplog.CompareMessages,
			} {
				list, err := compare([]byte(c.before), []byte(c.after))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(*want, shown(list)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
		})
	}
	many := `{"result":{"tools":[` + strings.Repeat(`{"name":"a"},`, 300) + `{"name":"b"}]}}`
	list, err := mcplog.CompareMessages([]byte(many), []byte(`{"result":{"tools":[]}}`))
	if len(list) != 100 || err != nil {
		t.Errorf("%d differences, %v", len(list), err)
	}
}

func shown(list []mcplog.Difference) string {
	var texts []string
	for _, d := range list {
		text := d.Pointer
		for _, value := range []string{string(d.Before), string(d.After)} {
			if value == "" {
				value = "missing"
			}
			text += " " + value
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
