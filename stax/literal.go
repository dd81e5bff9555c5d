package stax

import (
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// LooksSecret returns why a value called name looks like a secret, or "". The reason does
// not contain the value.
func LooksSecret(name, value string) string {
	if what := secrets.Known(value); what != "" {
		return what
	}
	if secrets.Plain(value) {
		return ""
	}
	if secrets.Name(name) {
		return "because of its name"
	}
	if secrets.Random(value) && !secrets.Identity(name) {
		return "it looks random"
	}
	return ""
}

// LooksSecretHeader is [LooksSecret] for a header. Headers that carry credentials are always
// secret.
func LooksSecretHeader(name, value string) string {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token":
		scheme, rest, ok := strings.Cut(strings.TrimSpace(value), " ")
		if ok && secrets.Placeholder(strings.TrimSpace(rest)) ||
			!ok && secrets.Placeholder(scheme) {
			return ""
		}
		return headerWhy
	}
	return LooksSecret(name, value)
}

// LooksSecretArgument is [LooksSecret] for the argument i of a command. Its name is the flag
// in the same or the preceding argument.
func LooksSecretArgument(args []string, i int) string {
	name := ""
	value := args[i]
	if flag, rest, ok := strings.Cut(value, "="); ok && strings.HasPrefix(flag, "-") {
		name = strings.TrimLeft(flag, "-")
		value = rest
	} else if i > 0 &&
		strings.HasPrefix(args[i-1], "-") &&
		!strings.Contains(args[i-1], "=") &&
		!strings.HasPrefix(value, "-") {
		name = strings.TrimLeft(args[i-1], "-")
	}
	if what := secrets.Known(value); what != "" {
		return what
	}
	if name != "" && secrets.Name(name) && !secrets.Plain(value) {
		return "because of the flag before it"
	}
	// A header, in the syntax of programs that forward one.
	if header, rest, ok := strings.Cut(value, ":"); ok && headerName(header) && !strings.HasPrefix(rest, "/") {
		rest = strings.TrimSpace(rest)
		if why := LooksSecretHeader(header, rest); why == headerWhy && rest != "" || secrets.Name(header) &&
			!secrets.Plain(rest) {
			return headerWhy
		}
	}
	return ""
}

// headerWhy is the reason for headers that always carry credentials.
const headerWhy = "this header carries credentials"

// Redact replaces the likely secret in a line of a configuration file, so that the line
// can be shown to the user.
func Redact(line string) string {
	line = redactTokens(line)
	i := strings.IndexAny(line, ":=")
	if i < 0 {
		return line
	}
	name := strings.Trim(line[:i], " \t\"'+-{[,")
	if names := strings.Trim(line[i+1:], " \t\"',;\r\n"); onlyNames(names) {
		return line
	}
	value := strings.Trim(line[i+1:], " \t\"',;{}[]\r\n")
	why := LooksSecret(name, value)
	if strings.EqualFold(name, "Authorization") {
		why = LooksSecretHeader(name, value)
	}
	if value == "" || why == "" {
		return line
	}
	return line[:i+1] + strings.Replace(line[i+1:], value, Redacted, 1)
}

// redactTokens replaces words in the form of known credentials.
func redactTokens(line string) string {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool {
		return strings.ContainsRune(" \t\"'=,;", r)
	}) {
		if secrets.Known(word) != "" {
			line = strings.ReplaceAll(line, word, Redacted)
		}
	}
	return line
}

// quote quotes a value for a message, unless it looks like a secret.
func quote(value string) string {
	if LooksSecret("", value) != "" {
		return Redacted
	}
	return strconv.Quote(value)
}

// onlyNames reports whether a header value refers to a secret instead of containing it:
// {KEY}, or Bearer {KEY}.
func onlyNames(value string) bool {
	if scheme, rest, spaced := strings.Cut(value, " "); spaced && variableName(scheme) && secrets.Known(scheme) == "" &&
		len(scheme) <= len("Negotiate") {
		value = rest
	}
	return strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") &&
		variableName(value[1:len(value)-1])
}
