// Package pathglob matches paths against the patterns of gitignore files, and against the globs of
// JavaScript tools.
package pathglob

import (
	"path"
	"regexp"
	"strings"
)

// IgnoreRule is a line of an ignore file. The zero value matches nothing.
type IgnoreRule struct {
	// Include reports whether the line begins with "!": it includes what earlier lines exclude.
	Include bool

	glob     string
	pattern  *regexp.Regexp // of glob, if that has special characters
	folders  bool           // it ends with "/"
	anchored bool           // it is matched against the whole path
	anyCase  bool
}

// ParseIgnore parses one line like git. ok is false for a line without a rule that can
// match.
func ParseIgnore(line string, anyCase bool) (rule IgnoreRule, ok bool) {
	rule.anyCase = anyCase
	glob := trimIgnore(line)
	if strings.HasPrefix(glob, "#") {
		return rule, false
	}
	if glob, rule.Include = strings.CutPrefix(glob, "!"); glob == "" {
		return rule, false
	}
	glob, rule.folders = strings.CutSuffix(glob, "/")
	rule.anchored = strings.Contains(glob, "/")
	rule.glob = strings.TrimPrefix(glob, "/")
	if !strings.ContainsAny(rule.glob, `*?[\`) {
		return rule, rule.glob != ""
	}
	rule.pattern = compileGlob(rule.glob, anyCase)
	return rule, rule.pattern != nil
}

// trimIgnore removes trailing spaces, unless they are escaped with a backslash.
func trimIgnore(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			end = i + 1
		case line[i] != ' ':
			end = i + 1
		}
	}
	return line[:end]
}

// Fits reports whether the rule matches a path. A rule without a slash matches the last
// part of it. Whether it matches a parent folder is up to the caller.
func (rule *IgnoreRule) Fits(name string, isDir bool) bool {
	if rule.folders && !isDir {
		return false
	}
	if !rule.anchored {
		name = path.Base(name)
	}
	switch {
	case rule.pattern != nil:
		return rule.pattern.MatchString(latin1(name))
	case rule.anyCase:
		return strings.EqualFold(rule.glob, name)
	}
	return rule.glob == name
}
