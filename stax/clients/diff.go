package clients

import (
	"slices"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// unified returns a diff without the secrets already in the file: neither lines that look
// like secrets on their own, nor values whose member name marks them as secret.
func unified(f *FilePlan, before, after []byte) string {
	path := f.Short()
	text := string(diff.Diff(path, before, path, after))
	_, text, _ = strings.Cut(text, "\n") // "diff a b"
	hidden := slices.Concat(values(before, f.client, text), values(after, f.client, text))
	// Longest first, since one value may contain another.
	slices.SortFunc(hidden, func(a, b string) int { return len(b) - len(a) })
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if i > 1 && line != "" && line[0] != '@' {
			body := line[1:]
			for _, value := range hidden {
				body = strings.ReplaceAll(body, value, stax.Redacted)
			}
			lines[i] = line[:1] + visibleOnly(stax.Redact(body))
		}
	}
	return strings.Join(lines, "")
}

// visibleOnly replaces control characters, which a terminal could interpret: a project
// file may come from an untrusted author.
func visibleOnly(line string) string {
	body := strings.TrimRight(line, "\r\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, body) + line[len(body):]
}

// values returns the likely secrets in a file, line by line as written, if they occur in
// the shown text. Files may be large, and only a small part is shown.
func values(text []byte, c *Client, shown string) []string {
	root, problems := tree.Parse(text, c.Format)
	if root == nil || len(problems) > 0 {
		return nil
	}
	var found []string
	add := func(value string) {
		for _, line := range strings.Split(value, "\n") {
			if line = strings.TrimSpace(line); len(line) < 4 {
				continue
			}
			quoted := edit.Quoted(line)
			found = append(found, line, quoted[1:len(quoted)-1])
		}
	}
	visible := func(value string) bool {
		line, _, more := strings.Cut(strings.TrimSpace(value), "\n")
		quoted := ""
		if strings.ContainsAny(line, "\"\\") {
			quoted = edit.Quoted(line)
			quoted = quoted[1 : len(quoted)-1]
		}
		return more || strings.Contains(shown, line) ||
			quoted != "" && strings.Contains(shown, quoted)
	}
	var walk func(n *tree.Node)
	walk = func(n *tree.Node) {
		texts := texts(n)
		for i, item := range n.Items {
			if item.Kind == tree.String && visible(item.Text) &&
				stax.LooksSecretArgument(texts, i) != "" {
				add(item.Text)
			}
			walk(item)
		}
		for _, m := range n.Members {
			looksSecret := stax.LooksSecret
			if header(m.Key) {
				looksSecret = stax.LooksSecretHeader
			}
			if m.Value.Kind == tree.String && visible(m.Value.Text) &&
				looksSecret(m.Key, m.Value.Text) != "" {
				add(m.Value.Text)
			}
			walk(m.Value)
		}
	}
	walk(root)
	return found
}

// header reports whether a member is a header that carries credentials.
func header(name string) bool {
	return strings.EqualFold(name, "Authorization") ||
		strings.EqualFold(name, "Proxy-Authorization") ||
		strings.EqualFold(name, "Cookie")
}
