package jsonscan_test

import (
	"fmt"
	"testing"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

func TestMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                    "",
		` { "a" : 1 , "b\u0063" : [ 2 , {} ] }`: `a=1 bc=[ 2 , {} ] `,
		`{"a":1,"a":{"b":null}}`:                `a=1 a={"b":null} `,
		`{"a":1,"b":}`:                          `a=1 `,
		`[1]`:                                   "",
	} {
		got := ""
		for _, m := range jsonscan.Members([]byte(text)) {
			got += fmt.Sprintf("%s=%s ", m.Name, m.Value)
		}
		if got != want {
			t.Errorf("Members(%s) = %q, want %q", text, got, want)
		}
	}
}

func TestElements(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                        "",
		` [ 1 , "a" , [ 2 ] , {} ]`: `1;"a";[ 2 ];{};`,
		`[1,2`:                      "1;2;",
		`{"a":1}`:                   "",
	} {
		got := ""
		for _, element := range jsonscan.Elements([]byte(text)) {
			got += string(element) + ";"
		}
		if got != want {
			t.Errorf("Elements(%s) = %q, want %q", text, got, want)
		}
	}
}
