// Package glob matches names of tools and sources against patterns: SOURCE, TOOL or
// SOURCE/TOOL, in which "*" matches any text and "?" any one byte.
package glob

import (
	"iter"
	"strings"
)

// Match reports whether name matches a pattern.
func Match(pattern, name string) bool {
	star := -1
	mark := 0 // the last "*", and how much of name it has matched
	p := 0
	n := 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star = p
			mark = n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p = p + 1
			n = n + 1
		case star >= 0:
			mark++
			p = star + 1
			n = mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Splits yields the ways to read a pattern as SOURCE/TOOL.
func Splits(pattern string) iter.Seq2[string, string] {
	return func(yield func(source, tool string) bool) {
		for i := range len(pattern) {
			if pattern[i] == '/' && !yield(pattern[:i], pattern[i+1:]) {
				return
			}
		}
	}
}

// MatchTool reports whether a pattern matches a name of a tool: as TOOL, or as SOURCE/TOOL
// if from reports that the tool comes from a source whose name matches SOURCE.
func MatchTool(pattern, name string, from func(source string) bool) bool {
	if Match(pattern, name) {
		return true
	}
	for source, rest := range Splits(pattern) {
		if Match(rest, name) && from(source) {
			return true
		}
	}
	return false
}
