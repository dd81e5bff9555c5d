package fix

import (
	"encoding/json"
	"fmt"
)

// The input schemas of the tools that are called, for peers that accept a schema as JSON.
const (
	EchoSchema = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`
	BlobSchema = `{"type":"object"}`

	ProgressSchema = `{"type":"object"}`
)

// Tool is one entry of tools/list.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// fillerSchema has three properties, so that fillers have the size of real tools: about
// 350 bytes each.
const fillerSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"what to look for"},` +
	`"limit":{"type":"integer","description":"how many at most"},` +
	`"exact":{"type":"boolean","description":"match whole words"}},` +
	`"required":["query"]}`

// Called is the number of tools that are called, and the minimum of NTOOLS.
const Called = 3

// Tools returns the tools to list for NTOOLS=n: echo, blob, progress, and fillers up to n
// tools in total.
func Tools(n int) []Tool {
	tools := []Tool{
		{
			Name:        Echo,
			Description: EchoDescription,
			InputSchema: json.RawMessage(EchoSchema),
		},
		{
			Name:        Blob,
			Description: BlobDescription,
			InputSchema: json.RawMessage(BlobSchema),
		},
		{
			Name:        Progress,
			Description: ProgressDescription,
			InputSchema: json.RawMessage(ProgressSchema),
		},
	}
	return append(tools, Fillers(n)...)
}

// Fillers returns the tools of [Tools] that are listed but never called.
func Fillers(n int) []Tool {
	var tools []Tool
	for i := Called; i < n; i++ {
		tools = append(tools, Tool{
			Name:        fmt.Sprintf("filler_%04d", i),
			Description: fmt.Sprintf("Look up entry number %d of the register and report it", i),
			InputSchema: json.RawMessage(fillerSchema),
		})
	}
	return tools
}
