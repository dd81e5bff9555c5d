package mcpb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// checkVariables checks the variables in command lines, and that every option is used.
func (c *checker) checkVariables() {
	c.options = map[string]Option{}
	for _, o := range c.m.UserConfig {
		c.options[o.Key] = o
	}
	if c.m.Server.Config == nil {
		return
	}
	used := map[string]bool{}
	for _, l := range c.m.commandLines() {
		c.checkTexts(&l, used)
		c.checkFlags(&l)
	}
	for _, o := range c.m.UserConfig {
		if !used[o.Key] {
			c.Add(ruleUnused, pointerTo("/user_config", o.Key),
				"${"+userConfigPrefix+o.Key+"} in args or env passes it to the server", "nothing uses option %q",
				o.Key)
		}
	}
}

// checkTexts checks the variables of a command line, and adds its options to used.
func (c *checker) checkTexts(l *commandLine, used map[string]bool) {
	at := l.pointer + "/command"
	c.checkText(at, l.Command, used)
	for _, key := range optionsIn(l.Command) {
		if c.options[key].Multiple {
			c.Add(ruleCommandList, at, `remove "multiple" from the option, or pass its values in args`,
				"option %q may have several values, and a command is one program", key)
		}
	}
	for i, arg := range l.Args {
		at := fmt.Sprintf("%s/args/%d", l.pointer, i)
		c.checkText(at, arg, used)
		for _, key := range optionsIn(arg) {
			if c.options[key].Sensitive {
				c.Add(ruleSecretArg, at, "pass it in env",
					"option %q is sensitive, and other programs can see arguments", key)
			}
		}
		if _, alone := onlyOption(arg); !alone {
			c.checkLists(at, arg)
		}
	}
	for _, name := range sortedKeys(l.Env) {
		at := pointerTo(l.pointer+"/env", name)
		c.checkText(at, l.Env[name], used)
		c.checkLists(at, l.Env[name])
	}
}

// checkText reports unknown variables in a text, and adds its options to used.
func (c *checker) checkText(pointer, s string, used map[string]bool) {
	for _, p := range splitVariables(s) {
		key, isOption := p.option()
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
				"unknown variable %s, so the server gets that text", p.text)
		}
	}
}

// optionKeys returns the keys of the first options: as many as are compared for hints.
func (c *checker) optionKeys() []string {
	var keys []string
	for _, o := range c.m.UserConfig[:min(len(c.m.UserConfig), maxFindings)] {
		keys = append(keys, o.Key)
	}
	return keys
}

// nearVariable returns a hint with the variable that was probably meant.
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

// checkLists notes a list that becomes a single text.
func (c *checker) checkLists(pointer, s string) {
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
