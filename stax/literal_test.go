package stax_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/stax"
)

// The values are split in two so that secret scanners do not flag this file.
func TestLooksSecret(t *testing.T) {
	secret := map[string]string{
		"GitHub":          "gh" + "p_16C7e42F292c6912E7710c838347Ae178B4a",
		"GitLab":          "glpat" + "-ABcdEF12_gh34IJkl56",
		"GitLab job":      "glcbt" + "-64_abcdefghijklmnopqrst",
		"Slack":           "xox" + "b-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
		"Slack webhook":   "https://hooks.slack.com/services/T0000" + "0000/B00000000/XXXXabcdEFGH1234ijklMNOP",
		"Discord webhook": "https://discord.com/api/webhooks/1234567890" + "12345678/abcdEFGHijklMNOPqrstUVWXyz",
		"Telegram":        "110201543:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
		"AWS":             "AKIA" + "IOSFODNN7EXAMPLE",
		"AWS secret":      "wJalrXUtnFEMI" + "/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"OpenAI":          "sk-proj" + "-abcdEFGHijklMNOPqrstUVWXyz0123456789ABCDEF",
		"Anthropic":       "sk-ant" + "-api03-abcdefghijklmnopqrstuvwxyz0123456789-ABCDEF-AA",
		"Stripe":          "sk_live" + "_51HabcdefGHIJKLmnopqr",
		"npm":             "npm" + "_abcdefghijklmnopqrstuvwxyzABCD012345",
		"PyPI":            "pypi" + "-AgEIcHlwaS5vcmcCJDU3ZjM4abcdefghij",
		"Notion":          "secret" + "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ",
		"New Relic":       "NRAK" + "-ABCDEFGHIJKLMNOPQRSTUVWXYZ0",
		"JSON Web Token": "eyJhbGciOiJIUzI1NiJ9" +
			".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
		"encrypted token": "eyJhbGciOiJSU0EtT0FFUCJ9" +
			".OKOawDo13gRp2ojaHV7LF5.48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rpYI.XFBoMYUZodetZd",
		"private key":       "-----BEGIN OPENSSH PRIVATE KEY" + "-----\nb3BlbnNzaC1r\n",
		"PGP key":           "-----BEGIN PGP PRIVATE KEY BLOCK" + "-----",
		"basic":             "https://user:p4ss" + "w0rd@host.example/",
		"basic in a line":   "curl -s https://user:p4ss" + "w0rd@host.example/",
		"PostgreSQL":        "postgres://app:s3" + "cr3t@db.example:5432/x",
		"Redis":             "redis://:s3" + "cr3t@redis.example:6379",
		"MySQL in Go":       "root:hunter" + "2@tcp(127.0.0.1:3306)/x",
		"SQL Server":        "Server=db;Database=x;User Id=sa;Password=" + "Passw0rd1;",
		"libpq":             "host=db user=x password=" + "hunter2 dbname=y",
		"Azure":             "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + "abcdEFGHijklMNOPqrstUVWX==",
		"query":             "https://x.example/a?api_key=" + "hunter2222",
		"bearer":            "Bearer abcdef0123" + "456789ABCDEFghij",
		"sixty-four digits": "9f86d081884c7d659a2feaa0c55ad015" + "a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	for name, value := range secret {
		t.Run(name, func(t *testing.T) {
			why := stax.LooksSecret("V", value)
			if why == "" || strings.Contains(why, value[len(value)-6:]) {
				t.Errorf("LooksSecret = %q", why)
			}
		})
	}
	innocent := map[string]string{
		"PATH_OF": "/home/user/.config/app/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
		"WINDOWS": `C:\Users\x\AppData\Local\Programs\Thing123ABC`,
		"UUID":    "123e4567-e89b-12d3-a456-426614174000", "ADDRESS": "https://api.example.com/v1/things?page=2&limit=50",
		"GIT_COMMIT":       "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"IMAGE":            "ghcr.io/org/image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"IMAGE_DIGEST":     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"MODEL":            "claude-3-5-sonnet-20241022",
		"ROLE":             "arn:aws:iam::123456789012:role/MyRoleForTheServer2024",
		"MAIL":             "user@example.com",
		"MAX_TOKENS":       "8192",
		"API_KEY_FILE":     "/run/secrets/api_key",
		"SSH_KEY_PATH":     "~/.ssh/id_ed25519",
		"GITHUB_TOKEN":     "${GITHUB_TOKEN}",
		"PUBLIC_KEY":       "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEabcdefghijklmnop",
		"CLASS":            "com.example.MyApplicationServiceFactory2Impl",
		"FUNCTION":         "getUserProfileInformationV2FromServer",
		"TABLE":            "Users2024ProductionReplicaEUWest1",
		"GLOB":             "src/**/*.ts,!src/**/*.test.ts",
		"GOOGLE_CLIENT_ID": "1234567890-abc123def456ghi789jkl012mno345pq.apps.googleusercontent.com",
		"DATABASE":         "postgres://app@db.example/x",
		"REFERENCE":        "https://x.example/a?token=${TOKEN}",
		"NPM":              "//registry.example/:_authToken=${NPM_TOKEN}",
		"SEARCH_PATH":      "/usr/local/bin:/usr/bin:/bin",
		"WORDS":            "Basic authentication is off", "LEARN": "sk-learn-pipeline-with-many-words", "PASSWORD": "",
	}
	for name, value := range innocent {
		t.Run(name, func(t *testing.T) {
			if why := stax.LooksSecret(name, value); why != "" {
				t.Errorf("LooksSecret(%q) = %q", value, why)
			}
		})
	}
}

func TestLooksSecretArgument(t *testing.T) {
	tests := []struct {
		args   []string
		secret bool
	}{
		{[]string{"--api-key", "hunter2222"}, true},
		{[]string{"--header", "Authorization: Bearer " + "hunter2222"}, true},
		{[]string{"--header=X-Api-Key: " + "hunter2222"}, true},
		{[]string{"-e", "DB_PASSWORD=" + "hunter2222"}, true},
		{[]string{"--env=API_TOKEN=" + "hunter2222"}, true},
		{[]string{"--header", "Authorization: Bearer ${TOKEN}"}, false},
		{[]string{"--header", "Accept: application/json"}, false},
		{[]string{"-e", "DB_PASSWORD"}, false},
		{[]string{"--max-tokens", "4096"}, false},
		{[]string{"--cookie-file", "/tmp/x"}, false},
		{[]string{"-y", "@scope/server@1.2.3"}, false},
	}
	for _, test := range tests {
		last := len(test.args) - 1
		if why := stax.LooksSecretArgument(test.args, last); (why != "") != test.secret {
			t.Errorf("LooksSecretArgument(%q) = %q, want a reason: %v", test.args, why, test.secret)
		}
	}
}
