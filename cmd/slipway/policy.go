package main

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcp"
)

// policyFileHelp and policyHelp are paragraphs in the help of each policy command.
const policyFileHelp = `FILE is a policy, or the configuration of "slipway serve", such as slipway.yaml,
with its policy and the rules of its tool scopes.`

const policyHelp = `ITEM is SERVER/NAME with the original name of a tool, prompt or resource, such
as github/create_issue.`

func newPolicy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check and test the rules of a policy",
		Long: `Check and test policies: files of Cedar rules that decide who may do what, for
"slipway serve --policy".`,
		Example: `  slipway policy check examples/policy/policy.cedar
  slipway policy test examples/policy/policy.cedar examples/policy/cases.yaml`,
	}
	return group(cmd, newPolicyCheck(), newPolicyTest(), newPolicyExplain(), newPolicyWho(), newPolicyReplay(),
		newPolicySchema())
}

// openPolicy reads the rules in a file, which may be the configuration of serve. Mistakes in
// them are the answer no.
func openPolicy(cmd *cobra.Command, path string) (*policy.Set, error) {
	if slices.Contains([]string{".yaml", ".yml", ".json", ".jsonc", ".toml"}, strings.ToLower(filepath.Ext(path))) {
		return configuredPolicy(cmd, path)
	}
	return readPolicy(path)
}

// configuredPolicy returns the rules that serve applies with a configuration file.
func configuredPolicy(cmd *cobra.Command, path string) (*policy.Set, error) {
	file, err := readConfig(cmd, path)
	if err != nil {
		return nil, err
	}
	f, declared := declaredServe()
	f.config.file = file
	f.config.origins = make(map[string]string)
	// The settings are read in the same way as by serve, with the flags of a command that never
	// runs.
	if err := f.config.overlay(declared.Flags()); err != nil {
		return nil, err
	}
	if f.policyFile == "" && len(f.toolScopes) == 0 {
		return nil, badInput("set serve.access.policy, or name the policy",
			"%s: it has neither a policy nor tool scopes", path)
	}
	// Tool scopes alone restrict nothing else.
	set := policy.Unrestricted()
	if f.policyFile != "" {
		if set, err = readPolicy(f.policyFile); err != nil {
			return nil, err
		}
	}
	scopes, err := pairs("--tool-scope", "delete_city=write", f.toolScopes)
	if err != nil {
		return nil, err
	}
	implies, err := pairs("--scope-implies", "admin=write", f.implies)
	if err != nil || len(scopes) == 0 {
		return set, err
	}
	if set, err = set.WithToolScopes(scopes, implies); err != nil {
		return nil, badInput("slipway config check "+shell.PathWord(path), "%s: %v", path, err)
	}
	return set, nil
}

// readPolicy reads a file of rules.
func readPolicy(path string) (*policy.Set, error) {
	set, err := policy.Open(path)
	if err == nil {
		return set, nil
	}
	var mistake *policy.Error
	if errors.As(err, &mistake) && mistake.Line > 0 {
		return nil, no("slipway policy schema prints what rules can refer to", "%v", err)
	}
	return nil, badInput("", "%v", err)
}

// decisionFlags describe a request to a policy.
type decisionFlags struct {
	// c has the values that need no parsing; the other fields are added to it.
	c      policy.Case
	kind   string
	claims []string
	// at is the time of the request, and address that of the caller.
	at, address string
	// lock is a file with the hints of tools, and jsonArgs the arguments of a call.
	lock, jsonArgs string
}

// callerFlags adds the flags that describe a caller.
func (f *decisionFlags) callerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.c.User, "user", "", "`name` of the caller (default: a caller without a token)")
	flags.StringSliceVar(&f.c.Groups, "group", nil, "`group` of the caller")
	flags.StringSliceVar(&f.c.Roles, "role", nil, "`role` of the caller")
	flags.StringSliceVar(&f.c.Scopes, "scope", nil, "`scope` of the caller's token")
	flags.StringVar(&f.c.Client, "client", "", "OAuth `client` that the token was issued to")
	flags.StringVar(&f.c.Tenant, "tenant", "", "`tenant` of the caller")
	flags.StringSliceVar(&f.claims, "claim", nil, "mapped claim of the caller, as `NAME=VALUE`")
}

// itemFlags adds the flags that describe an item.
func (f *decisionFlags) itemFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kind, "kind", "tool", "`kind` of ITEM: tool, prompt, resource or server")
	cmd.Flags().StringVar(&f.c.Action, "action", "",
		"`action`: list, call, get, read, complete, subscribe or connect (default: the use of ITEM)")
	cmd.Flags().StringVar(&f.lock, "lock", "", "lock `FILE` with the hints of tools (default: no tool is locked)")
}

// situationFlags adds the flags that describe the situation.
func (f *decisionFlags) situationFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.jsonArgs, "json-args", "", "arguments as a JSON `object`")
	flags.StringVar(&f.at, "time", "", "`time` of the request, such as 2026-01-31T09:00:00Z (default: now)")
	flags.StringVar(&f.c.Transport, "transport", "http", "`transport`: http, websocket, sse or stdio")
	flags.StringVar(&f.c.Origin, "origin", "", "`origin` of the web page that sends the request")
	flags.StringVar(&f.c.Endpoint, "endpoint", "", "`name` of the endpoint")
	flags.StringVar(&f.c.Application, "application", "", "`name` that the client software gives itself")
	flags.StringVar(&f.address, "address", "", "IP `address` of the client")
}

// request returns the request about an item with arguments as NAME=VALUE.
func (f *decisionFlags) request(cmd *cobra.Command, item string, arguments []string) (*policy.Request, error) {
	switch f.kind {
	case "tool":
		f.c.Tool = item
	case "prompt":
		f.c.Prompt = item
	case "resource":
		f.c.Resource = item
	case "server":
		f.c.Server = item
	default:
		return nil, usage("", "--kind %s: want tool, prompt, resource or server", f.kind)
	}
	claims, err := pairs("--claim", "department=finance", f.claims)
	if err != nil {
		return nil, err
	}
	f.c.Claims = claims
	if f.at != "" {
		if f.c.Time, err = time.Parse(time.RFC3339, f.at); err != nil {
			return nil, usage("for example 2026-01-31T09:00:00Z", "--time: %q is not a time", f.at)
		}
	}
	if f.address != "" {
		if f.c.Address, err = netip.ParseAddr(f.address); err != nil {
			return nil, usage("for example 192.0.2.1", "--address: %q is not an IP address", f.address)
		}
	}
	if f.c.Arguments, err = untypedArguments(f.jsonArgs, arguments); err != nil {
		return nil, err
	}
	r, err := f.c.Request()
	if err != nil {
		return nil, usage(cmd.CommandPath()+" --help", "%v", err)
	}
	return r, f.addHints(&r.Item)
}

// addHints adds the hints of a tool in the lock file.
func (f *decisionFlags) addHints(item *policy.Item) error {
	if f.lock == "" || item.Kind != policy.ToolKind {
		return nil
	}
	file, err := lock.Open(f.lock)
	if err != nil {
		return badInput("", "%s: %s", f.lock, fsutil.Reason(err))
	}
	item.Hints, item.Locked = file.Hints(item.Servers[0], item.Name)
	return nil
}

// untypedArguments returns arguments as an object. There is no schema: a value is JSON if it
// can be, otherwise a string.
func untypedArguments(object string, pairs []string) (json.RawMessage, error) {
	if object != "" {
		if len(pairs) > 0 {
			return nil, usage("leave one of them out", "--json-args and NAME=VALUE exclude each other")
		}
		if !json.Valid([]byte(object)) || !jsonscan.IsObject([]byte(object)) {
			return nil, usage(`for example '{"amount": 5}'`, "--json-args: want a JSON object")
		}
		return json.RawMessage(object), nil
	}
	if len(pairs) == 0 {
		return nil, nil
	}
	members := make(map[string]json.RawMessage, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage("for example title=Hello", "%q is not NAME=VALUE", pair)
		}
		text := []byte(value)
		if !json.Valid(text) {
			var err error
			if text, err = mcp.Marshal(value); err != nil {
				return nil, err
			}
		}
		members[name] = text
	}
	return mcp.Marshal(members)
}

// readInput reads a file, or stdin for "-".
func readInput(cmd *cobra.Command, path string, limit int64) ([]byte, error) {
	if path == "-" {
		return fsutil.ReadLimited(cmd.InOrStdin(), limit)
	}
	return fsutil.ReadText(path, limit)
}

// openInput opens a file, or stdin for "-".
func openInput(cmd *cobra.Command, path string) (in interface{ Read([]byte) (int, error) }, stop func(), err error) {
	if path == "-" {
		return cmd.InOrStdin(), func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, badInput("", "%s: %s", path, fsutil.Reason(err))
	}
	return f, func() { _ = f.Close() }, nil
}
