package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-mcp/slipway/mcp"
)

// nameForm is the schema of a form with a required name.
const nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

// form returns a request for a form. The key names it among the requests of one round.
func form(key, message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Key:             key,
		Message:         message,
		RequestedSchema: json.RawMessage(schema),
	}
}

// question returns a request to the client's model.
func question(key, text string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Key:       key,
		Messages:  []mcp.SamplingMessage{mcp.SamplingText(mcp.RoleUser, text)},
		MaxTokens: 100,
	}
}

// elicit returns a tool that shows one form and returns the user's response.
func elicit(key, schema string) toolFunc {
	return func(ctx context.Context, r *mcp.Request, args json.RawMessage) (*mcp.CallToolResult, error) {
		var in struct{ Message string }
		_ = json.Unmarshal(args, &in)
		if in.Message == "" {
			in.Message = "Please fill in the form."
		}
		answer, err := r.Elicit(ctx, form(key, in.Message, schema))
		if err != nil {
			return nil, err
		}
		return say(mcp.Text(fmt.Sprintf("Elicitation completed: action=%s, content=%s", answer.Action, answer.Content))), nil
	}
}

// askingTools returns the tools that need an answer of the client. Their names and texts are those
// that the suite expects.
func askingTools() []tool {
	return []tool{
		{
			"test_sampling",
			"asks the client's model",
			`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`,
			sampling,
		},
		{
			"test_elicitation",
			"asks the user",
			`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
			elicit("response",
				`{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username",`+
					`"email"]}`),
		},
		{"test_elicitation_sep1034_defaults", "asks with defaults", "", elicit("defaults", `{"type":"object","properties":{`+
			`"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number",`+
			`"default":95.5},`+
			`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},`+
			`"verified":{"type":"boolean","default":true}}}`)},
		{"test_elicitation_sep1330_enums", "asks with enumerations", "", elicit("enums", `{"type":"object","properties":{`+
			`"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},`+
			`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},`+
			`{"const":"value3","title":"Third"}]},`+
			`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["One","Two","Three"]},`+
			`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},`+
			`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2",`+
			`"title":"Second"},{"const":"value3","title":"Third"}]}}}}`)},
		{"test_streaming_elicitation", "asks the user", "", elicit("user_name", nameForm)},
		{"test_input_required_result_elicitation", "asks for a name", "", greetName},
		{
			"test_input_required_result_sampling",
			"asks the client's model",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				answer, err := r.Sample(ctx, question("capital_question", "What is the capital of France?"))
				if err != nil {
					return nil, err
				}
				return say(mcp.Text("The model said: " + answer.Text())), nil
			},
		},
		{
			"test_input_required_result_list_roots",
			"asks for the folders",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				answers, err := r.Ask(ctx, &mcp.ListRootsParams{Key: "client_roots"})
				if err != nil {
					return nil, err
				}
				return say(mcp.Text("Roots: " + string(answers[0]))), nil
			},
		},
		{"test_input_required_result_request_state", "keeps a state between the rounds", "", keepsState},
		{
			"test_input_required_result_multiple_inputs",
			"asks three things at once",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				_, err := r.Ask(ctx, form("user_name", "What is your name?", nameForm), question("greeting", "Write a greeting."),
					&mcp.ListRootsParams{Key: "client_roots"})
				if err != nil {
					return nil, err
				}
				return say(mcp.Text("All three were answered.")), nil
			},
		},
		{
			"test_input_required_result_multi_round",
			"asks twice, one after the other",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				if _, err := r.Elicit(ctx, form("step1", "Step 1: what is your name?", nameForm)); err != nil {
					return nil, err
				}
				if _, err := r.Elicit(ctx,
					form("step2", "Step 2: what is your favorite color?",
						`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`)); err != nil {
					return nil, err
				}
				return say(mcp.Text("Both rounds were answered.")), nil
			},
		},
		{
			"test_input_required_result_tampered_state",
			"refuses a state that was changed",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				if _, err := r.Elicit(ctx,
					form("confirm", "Do you confirm?",
						`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)); err != nil {
					return nil, err
				}
				return say(mcp.Text("The state was intact.")), nil
			},
		},
		{
			"test_input_required_result_capabilities",
			"asks only what the client can answer",
			"",
			func(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				var questions []mcp.Question
				if r.RequireCapability("elicitation") == nil {
					questions = append(questions, form("user_name", "What is your name?", nameForm))
				}
				if r.RequireCapability("sampling") == nil {
					questions = append(questions, question("greeting", "Write a greeting."))
				}
				if _, err := r.Ask(ctx, questions...); err != nil {
					return nil, err
				}
				return say(mcp.Text("Everything asked was answered.")), nil
			},
		},
	}
}

// sampling asks the client's model, and returns its answer.
func sampling(
	ctx context.Context,
	r *mcp.Request,
	args json.RawMessage,
) (*mcp.CallToolResult, error) {
	var in struct{ Prompt string }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, mcp.InvalidArguments("prompt: required")
	}
	answer, err := r.Sample(ctx, question("", in.Prompt))
	if err != nil {
		return nil, err
	}
	return say(mcp.Text("LLM response: " + answer.Text())), nil
}

// greetName greets with the name that the user enters.
func greetName(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
	name, err := askName(ctx, r)
	if err != nil {
		return nil, err
	}
	return say(mcp.Text("Hello, " + name + "!")), nil
}

// askName asks for a name. It is empty if the user declines.
func askName(ctx context.Context, r *mcp.Request) (string, error) {
	answer, err := r.Elicit(ctx, form("user_name", "What is your name?", nameForm))
	if err != nil {
		return "", err
	}
	var in struct{ Name string }
	if answer.Content != nil {
		if err := json.Unmarshal(answer.Content, &in); err != nil {
			return "", err
		}
	}
	return in.Name, nil
}

// keepsState sets a state in the first round, and returns the state that the client sends back in
// the second.
func keepsState(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
	state, err := r.State()
	if err != nil {
		return nil, err
	}
	if state == nil {
		r.SetState(json.RawMessage(`"state-ok"`))
	}
	if _, err := r.Elicit(ctx,
		form("confirm", "Do you confirm?",
			`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)); err != nil {
		return nil, err
	}
	return say(mcp.Text("The state says " + string(state))), nil
}
