package mcpb

import (
	"fmt"
	"slices"
	"strings"
)

// checkOptions checks what a schema cannot express: whether the fields of a user option
// fit together.
func (c *checker) checkOptions() {
	for i := range c.m.UserConfig {
		o := &c.m.UserConfig[i]
		pointer := pointerTo("/user_config", o.Key)
		warn := func(field, format string, args ...any) {
			c.Add(ruleOption, pointer+field, "", "option %q: %s", o.Key,
				fmt.Sprintf(format, args...))
		}
		if o.Key == "" || strings.ContainsAny(o.Key, "{}$") {
			warn("", "no ${user_config.KEY} can name it")
		}
		if o.Multiple && !o.isPath() {
			warn("/multiple", "only directories and files can be multiple")
		}
		if o.Sensitive && o.Type != OptionString {
			warn("/sensitive", "only a string can be sensitive")
		}
		if o.Type != OptionNumber && o.Min != nil {
			warn("/min", "only a number can have a minimum")
		}
		if o.Type != OptionNumber && o.Max != nil {
			warn("/max", "only a number can have a maximum")
		}
		if o.Min != nil && o.Max != nil && *o.Min > *o.Max {
			warn("/min", "min %s is greater than max %s", formatNumber(*o.Min),
				formatNumber(*o.Max))
		}
		c.checkDefault(o, pointer+"/default")
	}
}

// checkDefault verifies the default of an option, including the variables in it.
func (c *checker) checkDefault(o *Option, pointer string) {
	if o.Default == nil {
		return
	}
	if why := explainMisfit(o, o.Default); why != "" {
		c.Add(ruleOption, pointer, "", "option %q: the default %s", o.Key, why)
	}
	if s, ok := o.Default.(string); ok && o.Sensitive && s != "" {
		c.Add(ruleSecretOption, pointer, "remove the default",
			"option %q is sensitive and has a default that anyone can read", o.Key)
	}
	texts, _ := o.Default.([]string)
	if s, ok := o.Default.(string); ok {
		texts = []string{s}
	}
	system := variables()
	for _, text := range texts {
		for _, p := range splitVariables(text) {
			if p.variable && !slices.Contains(system, p.name) {
				c.Add(ruleVariable, pointer, c.near(p.name, system),
					"%s has no meaning in a default", p.text)
			}
		}
	}
}

// explainMisfit returns why a value does not fit the option, or "". It is worded to follow the
// name of the value.
func explainMisfit(o *Option, value any) string {
	switch v := value.(type) {
	case []string:
		if !o.Multiple {
			return "is a list, and the option takes one value"
		}
		if !o.isPath() {
			return "is a list, and must be " + withArticle(o.Type)
		}
	case string:
		if o.Type == OptionNumber || o.Type == OptionBoolean {
			return "is a string, and must be " + withArticle(o.Type)
		}
	case bool:
		if o.Type != OptionBoolean {
			return "is a boolean, and must be " + withArticle(o.Type)
		}
	case float64:
		switch {
		case o.Type != OptionNumber:
			return "is a number, and must be " + withArticle(o.Type)
		case o.Min != nil && v < *o.Min:
			return fmt.Sprintf("is %s, less than the minimum %s", formatNumber(v),
				formatNumber(*o.Min))
		case o.Max != nil && v > *o.Max:
			return fmt.Sprintf("is %s, more than the maximum %s", formatNumber(v),
				formatNumber(*o.Max))
		}
	default:
		return "is a list or an object of others, and must be " + withArticle(o.Type)
	}
	return ""
}

// withArticle returns a kind of option for a sentence.
func withArticle(kind string) string {
	switch kind {
	case OptionDirectory, OptionFile:
		return "the path of a " + kind
	}
	return "a " + kind
}

// isPath reports whether the values of the option are paths.
func (o *Option) isPath() bool {
	return o.Type == OptionDirectory || o.Type == OptionFile
}
