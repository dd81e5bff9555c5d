package mcpb

import (
	"bytes"
	"strings"

	"github.com/slipway-mcp/slipway/internal/pathglob"
)

// IgnoreName is the file at the root of a bundle's folder that excludes files from
// packing, in gitignore syntax.
const IgnoreName = ".mcpbignore"

// defaultIgnores returns the patterns that are excluded from every bundle unless an
// ignore file includes them: the list of the reference CLI, and leftovers of development
// tools. As in the reference, case is ignored; unlike there, *.map excludes only files,
// because some packages have folders with such names.
func defaultIgnores() []string {
	return []string{
		".DS_Store", "Thumbs.db", ".gitignore", ".git", ".mcpbignore", "*.log", ".env*", ".npm", ".npmrc",
		".yarnrc", ".yarn", ".eslintrc", ".editorconfig", ".prettierrc", ".prettierignore", ".eslintignore",
		".nycrc", ".babelrc", ".pnp.*", "node_modules/.cache", "node_modules/.bin", "*.map", ".env.local",
		".env.*.local", "npm-debug.log*", "yarn-debug.log*", "yarn-error.log*", "package-lock.json",
		"yarn.lock", "*.mcpb", "*.d.ts", "*.tsbuildinfo", "tsconfig.json",
		// Not in the reference:
		"__pycache__", ".pytest_cache", ".mcp.json", ".vscode", ".idea", "/coverage", "/.nyc_output", "pnpm-lock.yaml",
	}
}

// defaultsName is the [IgnoreRule.File] of a built-in rule.
const defaultsName = "defaults"

// IgnoreRule is a line of an ignore file.
type IgnoreRule struct {
	// Pattern is the line as written.
	Pattern string `json:"pattern"`
	// File is the ignore file, or "defaults".
	File string `json:"file"`
	// Line counts from 1.
	Line int `json:"line"`

	rule  pathglob.IgnoreRule
	files bool // for files only, which the syntax cannot express
}

// ignoreRules decide what is packed: the last matching rule wins, and nothing below an
// excluded folder can be included again.
type ignoreRules []IgnoreRule

// newIgnoreRules returns the built-in rules, followed by those of text, the content of an
// ignore file.
func newIgnoreRules(text []byte) ignoreRules {
	var rules ignoreRules
	for i, line := range defaultIgnores() {
		if rule, ok := parseIgnore(line, true); ok {
			rule.File = defaultsName
			rule.Line = i + 1
			rule.files = line == "*.map" || line == "*.log" || line == "*.d.ts"
			rules = append(rules, rule)
		}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for i, line := range strings.Split(string(text), "\n") {
		if rule, ok := parseIgnore(strings.TrimSuffix(line, "\r"), false); ok {
			rule.File = IgnoreName
			rule.Line = i + 1
			rules = append(rules, rule)
		}
	}
	return rules
}

// parseIgnore parses one line like git. ok is false for a line without a rule that can
// match.
func parseIgnore(line string, anyCase bool) (rule IgnoreRule, ok bool) {
	rule.Pattern = line
	rule.rule, ok = pathglob.ParseIgnore(line, anyCase)
	return rule, ok
}

// match returns the rule that decides on a path, regardless of its parent folders, or
// nil.
func (rules ignoreRules) match(name string, isDir bool) *IgnoreRule {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].fits(name, isDir) {
			return &rules[i]
		}
	}
	return nil
}

// fits reports whether the rule matches a path.
func (rule *IgnoreRule) fits(name string, isDir bool) bool {
	return !(rule.files && isDir) && rule.rule.Fits(name, isDir)
}

// decide returns the rule that excludes a path or one of its parent folders, with the
// excluded path, or nil.
func (rules ignoreRules) decide(name string, isDir bool) (rule *IgnoreRule, at string) {
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		part := name[:i]
		r := rules.match(part, isDir || i < len(name))
		if r != nil && !r.rule.Include {
			return r, part
		}
	}
	return nil, ""
}
