package secrets

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// token is the format of a service's credentials.
type token struct {
	prefix string
	least  int // characters after the prefix
	what   string
}

// tokens is the table of these formats.
var tokens = sync.OnceValue(func() []token {
	return []token{
		{"ghp_", 20, "a GitHub token"}, {"gho_", 20, "a GitHub token"}, {"ghu_", 20, "a GitHub token"},
		{"ghs_", 20, "a GitHub token"}, {"ghr_", 20, "a GitHub token"}, {"github_pat_", 20, "a GitHub token"},
		{"glpat-", 16, "a GitLab token"}, {"gldt-", 16, "a GitLab token"}, {"glcbt-", 16, "a GitLab token"},
		{"glrt-", 16, "a GitLab token"},
		{"gloas-", 16, "a GitLab token"}, {"glptt-", 16, "a GitLab token"}, {"glsoat-", 16, "a GitLab token"},
		{"sk-ant-", 16, "an Anthropic key"}, {"sk-proj-", 16, "an OpenAI key"}, {"sk-", 20, "an API key"},
		{"sk_live_", 16, "a Stripe key"}, {"sk_test_", 16, "a Stripe key"}, {"rk_live_", 16, "a Stripe key"},
		{"rk_test_", 16, "a Stripe key"}, {"whsec_", 16, "a webhook secret"},
		{"xoxb-", 16, "a Slack token"}, {"xoxp-", 16, "a Slack token"}, {"xoxa-", 16, "a Slack token"},
		{"xoxs-", 16, "a Slack token"}, {"xapp-", 16, "a Slack token"}, {"xoxe", 16, "a Slack token"},
		{"AKIA", 16, "an AWS key"}, {"ASIA", 16, "an AWS key"}, {"AIza", 30, "a Google key"},
		{"ya29.", 16, "a Google token"}, {"GOCSPX-", 16, "a Google secret"},
		{"npm_", 30, "an npm token"}, {"pypi-", 30, "a PyPI token"}, {"dop_v1_", 30, "a DigitalOcean token"},
		{"hf_", 30, "a Hugging Face token"},
		{"SG.", 30, "a SendGrid key"}, {"shpat_", 20, "a Shopify token"}, {"lin_api_", 20, "a Linear key"},
		{"ntn_", 30, "a Notion token"},
		{"figd_", 20, "a Figma token"}, {"sbp_", 30, "a Supabase token"}, {"tvly-", 16, "a Tavily key"},
		{"gsk_", 30, "a Groq key"},
		{"dckr_pat_", 16, "a Docker token"}, {"ATATT3", 30, "an Atlassian token"}, {"sq0atp-", 16, "a Square token"},
		{"AGE-SECRET-KEY-", 30, "an age key"},
		{"hvs.", 20, "a Vault token"}, {"xai-", 30, "an xAI key"}, {"pplx-", 30, "a Perplexity key"},
		{"r8_", 30, "a Replicate token"}, {"fc-", 30, "a Firecrawl key"},
		{"NRAK-", 20, "a New Relic key"}, {"HRKU-", 20, "a Heroku key"}, {"PMAK-", 30, "a Postman key"},
		{"sntrys_", 30, "a Sentry token"}, {"secret_", 40, "a Notion token"},
		{"dapi", 32, "a Databricks token"}, {"dp.st.", 30, "a Doppler token"}, {"dp.pt.", 30, "a Doppler token"},
		{"shpss_", 20, "a Shopify secret"}, {"tfp_", 30, "a Typeform token"},
	}
})

// Known returns the kind of credentials in s, or "". Credentials are detected anywhere in
// s, after white space, a quote or one of "=:,;@/?&".
func Known(s string) string {
	if _, rest, ok := strings.Cut(s, "-----BEGIN "); ok || strings.Contains(s, "PRIVATE KEY-----") {
		if head, _, _ := strings.Cut(rest, "-----"); !ok || strings.Contains(head, "PRIVATE KEY") {
			return "a private key"
		}
	}
	for _, word := range strings.FieldsFunc(s,
		func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'=:,;@/?&", r) }) {
		if parts := strings.Split(word, "."); len(parts) >= 3 && strings.HasPrefix(word, "eyJ") &&
			len(parts[1])+len(parts[2]) > 8 {
			return "a JSON Web Token"
		}
		for _, t := range tokens() {
			rest, ok := strings.CutPrefix(word, t.prefix)
			if ok && len(rest) >= t.least && strings.Trim(rest, tokenLetters) == "" && !words(rest) {
				return t.what
			}
		}
	}
	for _, test := range []func(string) string{userinfo, webhook, bearer, botToken, assignment} {
		if what := test(s); what != "" {
			return what
		}
	}
	return ""
}

// userinfo detects a password before a host, in URLs and in the notation of some drivers:
// user:password@tcp(host).
func userinfo(s string) string {
	rest := s
	for {
		_, behind, ok := strings.Cut(rest, "://")
		if !ok {
			break
		}
		authority := behind
		if i := strings.IndexAny(behind, "/?# \t\n\"'"); i >= 0 {
			authority = behind[:i]
		}
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			if _, password, _ := strings.Cut(authority[:i], ":"); password != "" && !Placeholder(password) {
				return "a password in front of a host"
			}
		}
		rest = behind
	}
	user, host, ok := strings.Cut(s, "@tcp(")
	if !ok {
		user, host, ok = strings.Cut(s, "@unix(")
	}
	if _, password, colon := strings.Cut(user, ":"); ok && colon && host != "" && password != "" &&
		!strings.Contains(user, " ") && !Placeholder(password) {
		return "a password in front of a host"
	}
	return ""
}

// webhook detects URLs that are credentials in themselves.
func webhook(s string) string {
	for _, prefix := range []string{"hooks.slack.com/services/T", "discord.com/api/webhooks/",
		"discordapp.com/api/webhooks/"} {
		if _, rest, ok := strings.Cut(s, prefix); ok && len(rest) >= 20 && strings.Contains(rest, "/") &&
			!strings.Contains(rest, "$") {
			return "the address of a webhook"
		}
	}
	return ""
}

// bearer detects credentials after the name of a scheme.
func bearer(s string) string {
	for _, scheme := range []string{"Bearer ", "Basic ", "bearer ", "basic "} {
		if _, rest, ok := strings.Cut(s, scheme); ok {
			word, _, _ := strings.Cut(rest, " ")
			if len(word) >= 8 && strings.Trim(word, tokenLetters+"+/=~") == "" && strings.ContainsAny(word, "0123456789=") &&
				!Placeholder(word) {
				return "what follows the name of a scheme"
			}
		}
	}
	return ""
}

// botToken detects tokens of the form 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw.
func botToken(s string) string {
	id, token, ok := strings.Cut(s, ":")
	if ok && len(id) >= 8 && len(id) <= 11 && strings.Trim(id, "0123456789") == "" && len(token) >= 33 &&
		len(token) <= 37 && strings.Trim(token, tokenLetters) == "" {
		return "the token of a bot"
	}
	return ""
}

// assignment detects password=value in connection strings and URL queries.
func assignment(s string) string {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("; \t\n&?\"'", r) }) {
		name, value, ok := strings.Cut(part, "=")
		if ok && Name(strings.TrimLeft(name, "-")) && !Plain(value) {
			return "a name in it says so"
		}
	}
	return ""
}

const tokenLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."

// words reports whether s looks like words rather than random: lower-case letters with
// separators.
func words(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-_.") == "" && strings.ContainsAny(s, "-_.")
}

// Name reports whether a variable, header, flag or parameter with this name usually
// contains a secret.
func Name(name string) bool {
	parts := strings.FieldsFunc(camel(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' || r == ' ' })
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	if slices.Contains([]string{"token", "secret", "password", "passwd", "passphrase", "apikey", "credential",
		"credentials", "pat", "pwd", "pass", "passcode",
		"authtoken", "accesstoken", "secretkey", "privatekey", "accesskey"}, last) {
		return true
	}
	if last == "key" && len(parts) > 1 {
		return slices.Contains([]string{"api", "access", "secret", "private", "auth", "service", "encryption", "signing",
			"account", "master", "license"}, parts[len(parts)-2])
	}
	return false
}

// camel converts apiKey to api_key.
func camel(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		upper := 'A' <= r && r <= 'Z'
		if upper && lower {
			b.WriteByte('_')
		}
		lower = 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// Identity reports whether a variable with this name contains an identifier, which may
// look random but is public.
func Identity(name string) bool {
	parts := strings.FieldsFunc(camel(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' || r == ' ' })
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	return slices.Contains([]string{"id", "ids", "uuid", "guid", "commit", "sha", "sha1", "sha256", "rev", "revision",
		"hash", "digest", "checksum", "integrity",
		"fingerprint", "etag", "ref", "version"}, last) || last == "key" && len(parts) > 1 && parts[len(parts)-2] == "public"
}

// Plain reports whether value is never a secret by itself: a reference, a switch, a
// number, a path, a URL.
func Plain(value string) bool {
	v := strings.TrimSpace(value)
	switch {
	case len(v) < 4, Placeholder(v), strings.Trim(v, "0123456789.,-+") == "":
		return true
	case strings.Contains(v, "://"), strings.HasPrefix(v, "/"), strings.HasPrefix(v, "./"), strings.HasPrefix(v, "~"),
		strings.HasPrefix(v, "../"):
		return true
	case len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/'):
		return true
	}
	return slices.Contains([]string{"true", "false", "none", "null", "auto", "required", "optional"}, strings.ToLower(v))
}

// Placeholder reports whether s is a placeholder for a value.
func Placeholder(s string) bool {
	return strings.HasPrefix(s, "$") || strings.HasPrefix(s, "{") || strings.HasPrefix(s, "<") &&
		strings.HasSuffix(s, ">") ||
		strings.HasPrefix(s, "%") && strings.HasSuffix(s, "%") || strings.Trim(s, "*xX.") == ""
}

// Random reports whether s looks random: one long word of letters in both cases with
// digits, or of hexadecimal digits, with high entropy.
func Random(s string) bool {
	if strings.Trim(s, tokenLetters+"+/=") != "" || contentAddress(s) {
		return false
	}
	hex := strings.Trim(s, "0123456789abcdef") == "" || strings.Trim(s, "0123456789ABCDEF") == ""
	if hex {
		return len(s) >= 32 && entropy(s) >= 3
	}
	return len(s) >= 24 && entropy(s) >= 4 && !spelled(s) && strings.ContainsAny(s, "0123456789") &&
		strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r && r <= 'z' }) &&
		strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

// contentAddress reports whether s is the address of published content: a version 0 CID
// of IPFS, which is the base58 form of a SHA-256.
func contentAddress(s string) bool {
	return len(s) == 46 && strings.HasPrefix(s, "Qm") && !strings.ContainsAny(s, "0OIl-_+/=")
}

// spelled reports whether s is composed of words, such as
// com.example.ApplicationFactory2: it has long runs of letters of one kind.
func spelled(s string) bool {
	runs, last := 1, byte(0)
	for i := range len(s) {
		kind := byte('o')
		switch c := s[i]; {
		case 'a' <= c && c <= 'z':
			kind = 'a'
		case 'A' <= c && c <= 'Z':
			kind = 'A'
		case '0' <= c && c <= '9':
			kind = '0'
		}
		if i > 0 && kind != last && (last != 'A' || kind != 'a') {
			runs++
		}
		last = kind
	}
	return len(s) >= 4*runs
}

// entropy returns the Shannon entropy in bits per byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
