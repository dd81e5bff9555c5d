package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// taskTools returns the tools that run as tasks: optional or required, successful and failing.
func taskTools() []tool {
	poll := &mcp.TaskOptions{PollInterval: 100 * time.Millisecond}
	required := &mcp.TaskOptions{
		PollInterval: poll.PollInterval,
		Required:     true,
	}
	return []tool{
		{
			"greet",
			"greets at once",
			`{"type":"object","properties":{"name":{"type":"string"}}}`,
			func(_ context.Context, _ *mcp.Request, args json.RawMessage) (*mcp.CallToolResult, error) {
				var in struct{ Name string }
				if args != nil {
					if err := json.Unmarshal(args, &in); err != nil {
						return nil, mcp.InvalidArguments(err.Error())
					}
				}
				return say(mcp.Text("Hello, " + in.Name + "!")), nil
			},
		},
		{
			"slow_compute",
			"takes its time",
			`{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`,
			func(ctx context.Context, r *mcp.Request, args json.RawMessage) (*mcp.CallToolResult, error) {
				var in struct {
					Seconds float64
					Label   string
				}
				if args != nil {
					if err := json.Unmarshal(args, &in); err != nil {
						return nil, mcp.InvalidArguments(err.Error())
					}
				}
				return r.Task(ctx, poll, func(ctx context.Context) (*mcp.CallToolResult, error) {
					if err := pause(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
						return nil, err
					}
					return say(mcp.Text(fmt.Sprintf("Computed %s in %v seconds.", in.Label, in.Seconds))), nil
				})
			},
		},
		{
			"failing_job",
			"fails after a while",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				return r.Task(ctx, required, func(ctx context.Context) (*mcp.CallToolResult, error) {
					if err := pause(ctx, time.Second); err != nil {
						return nil, err
					}
					return nil, fmt.Errorf("the job failed, as it always does")
				})
			},
		},
		{
			"protocol_error_job",
			"ends with a protocol error",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				return r.Task(ctx, poll, func(ctx context.Context) (*mcp.CallToolResult, error) {
					return nil, mcp.Errorf(mcp.CodeInternalError, "the job broke the protocol, as it always does")
				})
			},
		},
		{
			"confirm_delete",
			"asks before it deletes",
			`{"type":"object","properties":{"filename":{"type":"string"}}}`,
			func(ctx context.Context, r *mcp.Request, args json.RawMessage) (*mcp.CallToolResult, error) {
				var in struct{ Filename string }
				if args != nil {
					if err := json.Unmarshal(args, &in); err != nil {
						return nil, mcp.InvalidArguments(err.Error())
					}
				}
				return r.Task(ctx, poll, func(ctx context.Context) (*mcp.CallToolResult, error) {
					answer, err := mcp.RequestFrom(ctx).Elicit(ctx,
						form("confirm", "Delete "+in.Filename+"?",
							`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`))
					if err != nil {
						return nil, err
					}
					return say(mcp.Text("The user chose to " + answer.Action + " the deletion of " + in.Filename)), nil
				})
			},
		},
		{
			"multi_input",
			"asks two things at once",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				return r.Task(ctx, poll, func(ctx context.Context) (*mcp.CallToolResult, error) {
					if _, err := mcp.RequestFrom(ctx).Ask(ctx, form("first", "The first?", nameForm),
						form("second", "The second?", nameForm)); err != nil {
						return nil, err
					}
					return say(mcp.Text("Both were answered.")), nil
				})
			},
		},
		{
			"test_tool_with_task",
			"asks, then becomes a task",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				if err := r.RequireTasks(); err != nil {
					return nil, err
				}
				name, err := askName(ctx, r)
				if err != nil {
					return nil, err
				}
				return r.Task(ctx, required, func(context.Context) (*mcp.CallToolResult, error) {
					return say(mcp.Text("Hello, " + name + ", from a task!")), nil
				})
			},
		},
	}
}
