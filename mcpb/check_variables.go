package mcpb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// The rules for ${...} and user options.
const (
	ruleVariable     = "mcpb/variable"
	ruleUndeclared   = "mcpb/undeclared-option"
	ruleUnused       = "mcpb/unused-option"
	ruleArguments    = "mcpb/prompt-argument"
	ruleSecretArg    = "mcpb/secret-in-args"
	ruleArray        = "mcpb/list-in-text"
	ruleCommandList  = "mcpb/list-as-command"
	ruleOption       = "mcpb/option"
	ruleSecretOption = "mcpb/secret-default"
)

func (c *checker) checkVariables() {
	c.options = map[string]Option{}
	for _, o := range c.m.UserConfig {
		c.options[o.Key] = o
	}
	used := map[string]bool{}
	if config := c.m.Server.Config; config != nil {
		c.checkTexts("/server/mcp_config", config.Command, config.Args, config.Env, used)
		c.checkFlags("/server/mcp_config", config.Command, config.Args)
		for _, platform := range slices.Sorted(maps.Keys(config.Overrides)) {
			o := config.Overrides[platform]
			at := "/server/mcp_config/platform_overrides/" + jsonscan.EscapeToken(platform)
			c.checkTexts(at, o.Command, o.Args, o.Env, used)
			c.checkOverriddenFlags(at, config, o)
		}
	}
	if c.m.Server.Config == nil {
		return
	}
	for _, o := range c.m.UserConfig {
		if !used[o.Key] {
			c.at(ruleUnused, check.Note, "/user_config/"+jsonscan.EscapeToken(o.Key), fmt.Sprintf("nothing uses option %q", o.Key),
				"${"+userConfigPrefix+o.Key+"} in args or env passes it to the server")
		}
	}
}

func (c *checker) checkTexts(pointer, command string, args []string, env map[string]string, used map[string]bool) {
	c.checkText(pointer+"/command", command, used)
	for _, key := range optionsIn(command) {
		if c.options[key].Multiple {
			c.at(ruleCommandList, check.Error, pointer+"/command",
				fmt.Sprintf("option %q may have several values, and a command is one program", key),
				`take "multiple" out of the option, or pass its values in args`)
		}
	}
	for i, arg := range args {
		at := pointer + "/args/" + strconv.Itoa(i)
		c.checkText(at, arg, used)
		for _, key := range optionsIn(arg) {
			if c.options[key].Sensitive {
				c.at(ruleSecretArg, check.Warning, at,
					fmt.Sprintf("option %q is sensitive, and other programs can see arguments", key), "pass it in env")
			}
		}
		if _, alone := onlyOption(arg); !alone {
			c.checkArrays(at, arg)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		at := pointer + "/env/" + jsonscan.EscapeToken(name)
		c.checkText(at, env[name], used)
		c.checkArrays(at, env[name])
	}
}

// optionsIn returns the keys of the options that s refers to.
func optionsIn(s string) []string {
	var keys []string
	for _, p := range splitVariables(s) {
		if key, ok := strings.CutPrefix(p.name, userConfigPrefix); ok && p.variable {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *checker) checkText(pointer, s string, used map[string]bool) {
	for _, p := range splitVariables(s) {
		key, isOption := strings.CutPrefix(p.name, userConfigPrefix)
		switch {
		case p.unclosed:
			c.at(ruleVariable, check.Warning, pointer, fmt.Sprintf("%q has no }", p.text), "")
		case !p.variable:
		case isOption:
			used[key] = true
			if _, ok := c.options[key]; !ok {
				c.at(ruleUndeclared, check.Warning, pointer,
					fmt.Sprintf("user_config has no option %q, so the server gets the text %s", key, p.text),
					c.near(key, c.optionKeys()))
			}
		case !slices.Contains(variables(), p.name):
			c.at(ruleVariable, check.Warning, pointer,
				fmt.Sprintf("no variable is called %s, so the server gets that text", p.text), c.nearVariable(p.name))
		}
	}
}

func (c *checker) optionKeys() []string {
	var keys []string
	for _, o := range c.m.UserConfig[:min(len(c.m.UserConfig), maxFindings)] {
		keys = append(keys, o.Key)
	}
	return keys
}

func (c *checker) nearVariable(name string) string {
	known := variables()
	for _, key := range c.optionKeys() {
		if key == name {
			return "did you mean \"" + userConfigPrefix + key + "\"?"
		}
		known = append(known, userConfigPrefix+key)
	}
	return c.near(name, known)
}

// checkArrays notes a list that becomes a single text.
func (c *checker) checkArrays(pointer, s string) {
	for _, key := range optionsIn(s) {
		if c.options[key].Multiple {
			c.at(ruleArray, check.Note, pointer,
				fmt.Sprintf("option %q may have several values; slipway joins them with : or ;, other hosts do not", key),
				"an argument of its own becomes several arguments everywhere")
		}
	}
}

// checkPrompts checks the texts of prompts against their arguments.
func (c *checker) checkPrompts() {
	for i, prompt := range c.m.Prompts {
		pointer := fmt.Sprintf("/prompts/%d", i)
		used := map[string]bool{}
		for _, p := range splitVariables(prompt.Text) {
			name, isArgument := strings.CutPrefix(p.name, argumentsPrefix)
			if !p.variable || !isArgument {
				continue
			}
			used[name] = true
			if !slices.Contains(prompt.Arguments, name) {
				c.at(ruleArguments, check.Warning, pointer+"/text",
					fmt.Sprintf("prompt %q has no argument %q", prompt.Name, name), c.near(name, prompt.Arguments))
			}
		}
		for k, name := range prompt.Arguments {
			if !used[name] {
				c.at(ruleArguments, check.Note, fmt.Sprintf("%s/arguments/%d", pointer, k),
					fmt.Sprintf("the text of prompt %q does not use argument %q", prompt.Name, name), "")
			}
		}
	}
}
