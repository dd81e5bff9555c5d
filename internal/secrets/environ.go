package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

// needle is a text that reveals a secret of the environment.
type needle struct {
	// variable is the environment variable with the secret, and text what to look for.
	variable string
	text     string
	// form is how the secret is encoded in text, or "".
	form string
	// word requires a match of a whole word, because the secret is short.
	word bool
	// wrapped allows the text to be broken into lines.
	wrapped bool
}

const (
	// minSecret is the shortest value of a variable that is searched for.
	minSecret = 6
	// minUnbound is the shortest value that is also found inside a longer word.
	minUnbound = 12
	// minEncoded is the shortest encoded form that is searched for.
	minEncoded = 6
	// maxSecret limits how much of a value is searched for.
	maxSecret = 4 << 10
)

// secretsIn returns the parts of a variable's value that are secret.
func secretsIn(name, value string) []string {
	var list []string
	add := func(secret string) {
		secret = strings.TrimSpace(secret)
		if len(secret) >= minSecret && !common(secret) && !slices.Contains(list, secret) {
			list = append(list, secret[:min(len(secret), maxSecret)])
		}
	}
	if password := passwordIn(value); password != "" {
		add(password)
	}
	switch {
	case isPath(value) || strings.Contains(value, "://") && Known(value) == "":
	case variableName(name) || Known(value) != "" || Random(value) && !Identity(name):
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); line == strings.TrimSpace(value) || len(line) >= 2*minSecret &&
				!strings.HasPrefix(line, "-----") {
				add(line)
			}
		}
	}
	return list
}

// variableName reports whether a variable with this name usually contains a secret.
func variableName(name string) bool {
	if Name(name) {
		return true
	}
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(table().VariableParts,
		func(part string) bool { return strings.Contains(upper, part) })
}

// isPath reports whether a value is a file path rather than a secret that begins with a
// slash.
func isPath(value string) bool {
	if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "./") &&
		!strings.HasPrefix(value, "~") &&
		!(len(value) > 2 && value[1] == ':' && value[2] == '\\') {
		return false
	}
	return !Random(strings.ReplaceAll(value, "/", ""))
}

// common reports whether a secret is a word that also occurs in texts for other reasons.
func common(secret string) bool {
	return slices.Contains(table().CommonWords,
		strings.ToLower(secret))
}

// passwordIn returns the password in a URL, or "".
func passwordIn(value string) string {
	if !strings.Contains(value, "://") {
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}

// appendNeedles adds the forms in which a secret may be written.
func appendNeedles(list []needle, variable, secret string) []needle {
	add := func(text, form string, wrapped bool) {
		if len(text) < minEncoded || slices.ContainsFunc(list, func(n needle) bool {
			return n.text == text
		}) {
			return
		}
		list = append(list, needle{variable, text, form, form == "" &&
			len(secret) < minUnbound, wrapped})
	}
	add(secret, "", false)
	for shift := range 3 {
		add(alignedBase64(base64.StdEncoding, secret, shift), "in base64", true)
		add(alignedBase64(base64.URLEncoding, secret, shift), "in base64", true)
	}
	digits := hex.EncodeToString([]byte(secret))
	add(digits, "in hexadecimal digits", true)
	add(strings.ToUpper(digits), "in hexadecimal digits", true)
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		add(escaped, "escaped for a URL", false)
		add(lowerEscapes(escaped), "escaped for a URL", false)
	}
	once := jsonEscaped(secret)
	add(once, "escaped for JSON", false)
	add(jsonEscaped(once), "escaped for JSON", false)
	add(html.EscapeString(secret), "escaped for HTML", false)
	return list
}

// alignedBase64 returns the base64 characters of secret that are the same in any longer
// text, if shift bytes precede it in its first group of three.
func alignedBase64(encoding *base64.Encoding, secret string, shift int) string {
	encoded := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
	if (shift+len(secret))%3 != 0 {
		encoded = encoded[:len(encoded)-1] // depends on what follows
	}
	first := []int{0, 2, 3}[shift] // depends on what precedes
	return encoded[min(first, len(encoded)):]
}

// lowerEscapes returns a text with escapes such as %2F written as %2f.
func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// jsonEscaped returns text as a JSON string, without the quotes.
func jsonEscaped(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(quoted[1 : len(quoted)-1])
}

// findNeedles finds the secrets of the environment.
func (s *Scanner) findNeedles(text string, add func(kind Kind, what string, start, end int)) {
	if len(s.needles) == 0 {
		return
	}
	joined := ""
	if strings.ContainsAny(text, "\n\r") {
		joined = strings.NewReplacer("\r", "", "\n", "").Replace(text)
	}
	for i := range s.needles {
		n := &s.needles[i]
		if at := n.in(text); at >= 0 {
			add(Environment, n.what(), at, at+len(n.text))
		} else if n.wrapped && strings.Contains(joined, n.text) {
			add(Environment, n.what(), 0, len(text))
		}
	}
}

// what describes the needle without its text.
func (n *needle) what() string {
	what := fmt.Sprintf("the value of the environment variable %s", n.variable)
	if n.form != "" {
		what += " " + n.form
	}
	return what
}

// in returns the position of the needle in text, or -1.
func (n *needle) in(text string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], n.text)
		if i < 0 {
			return -1
		}
		at := from + i
		end := from + i + len(n.text)
		if !n.word ||
			(at == 0 || !isAlphanumeric(text[at-1])) &&
				(end == len(text) || !isAlphanumeric(text[end])) {
			return at
		}
		from = at + 1
	}
}

// isAlphanumeric reports whether c is an ASCII letter or digit.
func isAlphanumeric(c byte) bool { return classes[c]&alphanumeric != 0 }

// dumpText describes a dump.
const dumpText = "a list of environment variables"

// variableSet contains the environment variables found in a text or a document.
type variableSet struct {
	usual map[string]bool // PATH and similar names, with plausible values
	own   map[string]bool // variables of the scanner's environment, with their values
}

// minVariables is how many variables make a dump.
const minVariables = 3

// note adds a variable to the set if it belongs to an environment.
func (v *variableSet) note(name, value string, environ map[string]string) {
	upper := strings.ToUpper(name)
	usual := name == upper || name == "Path" || name == "SystemRoot"
	if usual && slices.Contains(table().UsualVariables, upper) && value != "" &&
		!strings.ContainsAny(value, "$<{") {
		if list := strings.Count(value, "/") + strings.Count(value, `\`); upper != "PATH" || list > 1 &&
			strings.ContainsAny(value, ":;") {
			if v.usual == nil {
				v.usual = make(map[string]bool)
			}
			v.usual[upper] = true
		}
	}
	own, ok := environ[name]
	if ok && len(value) >= 2 && strings.HasPrefix(own, value) {
		if v.own == nil {
			v.own = make(map[string]bool)
		}
		v.own[name] = true
	}
}

// dump reports whether the variables are more than an example would show.
func (v *variableSet) dump() bool {
	return v.usual["PATH"] && len(v.usual) >= minVariables || len(v.own) >= minVariables+1
}
