package sitelint_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/sitelint"
)

func ExampleCheck() {
	files := fstest.MapFS{
		"mcp.json": {Data: []byte(`{
  "protocolVersion": "2025-11-25",
  "serverInfo": {"name": "towns", "version": "1.0.0"},
  "capabilities": {"resources": [], "tools": [
    {"name": "get_town", "description": "About a town.",
     "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
  ]}
}`)},
		"tools/get_town/Köln.json": {Data: []byte(`{"content": [{"type": "text", "text": "On the Rhine."}]}`)},
	}
	report, err := sitelint.Check(context.Background(), files, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := report.WriteText(os.Stdout, false); err != nil {
		fmt.Println(err)
	}
	fmt.Println(report.OK(false), report.OK(true))
	// Output:
	// tools/get_town/Köln.json: warning: the standard's name for the value "Köln" is koln.json [staticmcp/file-name]
	//   hint: rename it to tools/get_town/koln.json
	// true false
}
