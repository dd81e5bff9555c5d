package stax

import (
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// secretValue says why value, called name, looks like a secret, or "". The value
// is no part of the answer.
func secretValue(name, value string) string {
	if what := secrets.Known(value); what != "" {
		return what
	}
	if secrets.Plain(value) {
		return ""
	}
	if secrets.Name(name) {
		return "its name says so"
	}
	if secrets.Random(value) && !secrets.Identity(name) {
		return "it reads like chance"
	}
	return ""
}

// secretHeader is [secretValue] for a header: what names a scheme carries
// credentials behind it.
func secretHeader(name, value string) string {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token":
		scheme, rest, ok := strings.Cut(strings.TrimSpace(value), " ")
		if ok && secrets.Placeholder(strings.TrimSpace(rest)) || !ok && secrets.Placeholder(scheme) {
			return ""
		}
		return headerWhy
	}
	return secretValue(name, value)
}

// secretArgument is [secretValue] for the argument i of a command: its name is
// the flag in it, or in front of it.
func secretArgument(args []string, i int) string {
	name, value := "", args[i]
	if flag, rest, ok := strings.Cut(value, "="); ok && strings.HasPrefix(flag, "-") {
		name, value = strings.TrimLeft(flag, "-"), rest
	} else if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && !strings.HasPrefix(value, "-") {
		name = strings.TrimLeft(args[i-1], "-")
	}
	if what := secrets.Known(value); what != "" {
		return what
	}
	if name != "" && secrets.Name(name) && !secrets.Plain(value) {
		return "the flag in front of it says so"
	}
	// A header, as programs take it that hand it on.
	if header, rest, ok := strings.Cut(value, ":"); ok && headerName(header) && !strings.HasPrefix(rest, "/") {
		rest = strings.TrimSpace(rest)
		if why := secretHeader(header, rest); why == headerWhy && rest != "" || secrets.Name(header) && !secrets.Plain(rest) {
			return headerWhy
		}
	}
	return ""
}

// headerWhy is why the value of a header is a secret whatever it is.
const headerWhy = "this header carries credentials"

// Redact returns a line of a configuration file in which what looks like the
// value of a secret is replaced, for showing it to somebody.
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
	why := secretValue(name, value)
	if strings.EqualFold(name, "Authorization") {
		why = secretHeader(name, value)
	}
	if value == "" || why == "" {
		return line
	}
	return line[:i+1] + strings.Replace(line[i+1:], value, Redacted, 1)
}

// redactTokens replaces what has the form of credentials.
func redactTokens(line string) string {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"'=,;", r) }) {
		if secrets.Known(word) != "" {
			line = strings.ReplaceAll(line, word, Redacted)
		}
	}
	return line
}

// quote is what stands where a word of the format belongs, as it may be printed.
func quote(value string) string {
	if secretValue("", value) != "" {
		return Redacted
	}
	return strconv.Quote(value)
}

// onlyNames reports whether the value of a header names a secret instead of
// holding it: {KEY}, or Bearer {KEY}.
func onlyNames(value string) bool {
	if scheme, rest, spaced := strings.Cut(value, " "); spaced && variableName(scheme) && secrets.Known(scheme) == "" &&
		len(scheme) <= len("Negotiate") {
		value = rest
	}
	return strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") && variableName(value[1:len(value)-1])
}

// LooksSecret says why a value called name looks like a secret, or "". header
// says that it is one of HTTP. The value is no part of the answer.
func LooksSecret(name, value string, header bool) string {
	if header {
		return secretHeader(name, value)
	}
	return secretValue(name, value)
}

// LooksSecretArgument is [LooksSecret] for the argument i of a command.
func LooksSecretArgument(args []string, i int) string { return secretArgument(args, i) }
