package mcpb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
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
		for _, platform := range sortedKeys(config.Overrides) {
			o := config.Overrides[platform]
			at := pointerTo("/server/mcp_config/platform_overrides", platform)
			c.checkTexts(at, o.Command, o.Args, o.Env, used)
			c.checkOverriddenFlags(at, config, o)
		}
	}
	if c.m.Server.Config == nil {
		return
	}
	for _, o := range c.m.UserConfig {
		if !used[o.Key] {
			c.Add(ruleUnused, pointerTo("/user_config", o.Key),
				"${"+userConfigPrefix+o.Key+"} in args or env passes it to the server", "nothing uses option %q",
				o.Key)
		}
	}
}

func (c *checker) checkTexts(pointer, command string, args []string, env map[string]string, used map[string]bool) {
	c.checkText(pointer+"/command", command, used)
	for _, key := range optionsIn(command) {
		if c.options[key].Multiple {
			c.Add(ruleCommandList, pointer+"/command",
				`take "multiple" out of the option, or pass its values in args`,
				"option %q may have several values, and a command is one program", key)
		}
	}
	for i, arg := range args {
		at := pointer + "/args/" + strconv.Itoa(i)
		c.checkText(at, arg, used)
		for _, key := range optionsIn(arg) {
			if c.options[key].Sensitive {
				c.Add(ruleSecretArg, at, "pass it in env",
					"option %q is sensitive, and other programs can see arguments", key)
			}
		}
		if _, alone := onlyOption(arg); !alone {
			c.checkArrays(at, arg)
		}
	}
	for _, name := range sortedKeys(env) {
		at := pointer + pointerTo("/env", name)
		c.checkText(at, env[name], used)
		c.checkArrays(at, env[name])
	}
}

func (c *checker) checkText(pointer, s string, used map[string]bool) {
	for _, p := range splitVariables(s) {
		key, isOption := strings.CutPrefix(p.name, userConfigPrefix)
		switch {
		case p.unclosed:
			c.Add(ruleVariable, pointer, "", "%q has no }", p.text)
		case !p.variable:
		case isOption:
			used[key] = true
			if _, ok := c.options[key]; !ok {
				c.Add(ruleUndeclared, pointer, c.near(key, c.optionKeys()),
					"user_config has no option %q, so the server gets the text %s", key, p.text)
			}
		case !slices.Contains(variables(), p.name):
			c.Add(ruleVariable, pointer, c.nearVariable(p.name),
				"no variable is called %s, so the server gets that text", p.text)
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
			c.Add(ruleArray, pointer, "an argument of its own becomes several arguments everywhere",
				"option %q may have several values; slipway joins them with : or ;, other hosts do not", key)
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
				c.Add(ruleArguments, pointer+"/text", c.near(name, prompt.Arguments),
					"prompt %q has no argument %q", prompt.Name, name)
			}
		}
		for k, name := range prompt.Arguments {
			if !used[name] {
				c.Add(ruleArguments.As(check.Note), fmt.Sprintf("%s/arguments/%d", pointer, k), "",
					"the text of prompt %q does not use argument %q", prompt.Name, name)
			}
		}
	}
}
