// Command upstream is a server that is killed and suspended while it works, built with a
// third-party library:
//
//	upstream gosdk stdio JOURNAL
//	upstream mcpgo 127.0.0.1:9001 JOURNAL
//
// The tool echo returns its message and is idempotent. The tool work does the same after
// some milliseconds, is not idempotent, and appends the message to the journal, so that
// calls that run twice are detected.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/slipway-mcp/slipway/bench/contract"
)

func main() { contract.Exit("upstream", run(os.Args[1:])) }

// library contains the server functions of one third-party library.
type library struct {
	// stdio serves standard input and output until it ends, and handler serves HTTP.
	stdio   func(*journal) error
	handler func(*journal) http.Handler
}

// libraries returns the libraries by the name on the command line.
func libraries() map[string]library {
	return map[string]library{
		"gosdk": {
			stdio: func(j *journal) error {
				return gosdkServer(j).Run(context.Background(), &gosdk.StdioTransport{})
			},
			handler: func(j *journal) http.Handler {
				s := gosdkServer(j)
				return gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server {
					return s
				}, nil)
			},
		},
		"mcpgo": {
			stdio: func(j *journal) error {
				return mcpgoserver.ServeStdio(mcpgoServer(j))
			},
			handler: func(j *journal) http.Handler {
				return mcpgoserver.NewStreamableHTTPServer(mcpgoServer(j))
			},
		},
	}
}

// run serves one library on stdio or at an address, and appends each message of the tool work
// to a journal, from which the test learns how often it ran.
func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: upstream gosdk|mcpgo stdio|ADDR JOURNAL")
	}
	lib, ok := libraries()[args[0]]
	if !ok {
		return fmt.Errorf("no library %q", args[0])
	}
	file, err := os.OpenFile(args[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	j := &journal{file}
	if args[1] == contract.Stdio {
		return lib.stdio(j)
	}
	server := http.Server{
		Addr:    args[1],
		Handler: lib.handler(j),
	}
	return server.ListenAndServe()
}

// journal records each run of work.
type journal struct{ file *os.File }

// message is the argument of both tools. Only work waits for Millis.
type message struct {
	Message string `json:"message"`
	Millis  int    `json:"millis,omitempty"`
}

// work writes the message to the journal before it answers, so that a killed call is in it,
// too.
func (j *journal) work(m message) (string, error) {
	if _, err := fmt.Fprintln(j.file, m.Message); err != nil {
		return "", err
	}
	time.Sleep(time.Duration(m.Millis) * time.Millisecond)
	return m.Message, nil
}

// gosdkServer returns a server of the official SDK with the tools echo, which may be repeated,
// and work, which may not.
func gosdkServer(j *journal) *gosdk.Server {
	s := gosdk.NewServer(&gosdk.Implementation{
		Name:    "gosdk",
		Version: "1.0.0",
	}, nil)
	text := func(text string) *gosdk.CallToolResult {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: text}}}
	}
	echo := &gosdk.Tool{
		Name: "echo",
		Annotations: &gosdk.ToolAnnotations{
			ReadOnlyHint:   true,
			IdempotentHint: true,
		},
	}
	gosdk.AddTool(s, echo,
		func(_ context.Context, _ *gosdk.CallToolRequest, m message) (*gosdk.CallToolResult, any, error) {
			return text(m.Message), nil, nil
		})
	work := &gosdk.Tool{Name: "work"}
	gosdk.AddTool(s, work,
		func(_ context.Context, _ *gosdk.CallToolRequest, m message) (*gosdk.CallToolResult, any, error) {
			answer, err := j.work(m)
			return text(answer), nil, err
		})
	return s
}

// mcpgoServer is gosdkServer for mcp-go.
func mcpgoServer(j *journal) *mcpgoserver.MCPServer {
	s := mcpgoserver.NewMCPServer("mcpgo", "1.0.0")
	argument := mcpgo.WithString("message", mcpgo.Required())
	echo := mcpgo.NewTool("echo", argument, mcpgo.WithReadOnlyHintAnnotation(true),
		mcpgo.WithIdempotentHintAnnotation(true))
	s.AddTool(echo, mcpgo.NewTypedToolHandler(
		func(_ context.Context, _ mcpgo.CallToolRequest, m message) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultText(m.Message), nil
		}))
	s.AddTool(mcpgo.NewTool("work", argument,
		mcpgo.WithNumber("millis")), mcpgo.NewTypedToolHandler(
		func(_ context.Context, _ mcpgo.CallToolRequest, m message) (*mcpgo.CallToolResult, error) {
			answer, err := j.work(m)
			return mcpgo.NewToolResultText(answer), err
		}))
	return s
}
