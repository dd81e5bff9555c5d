package secrets_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestFind(t *testing.T) {
	s := secrets.New([]string{
		"DB_PASSWORD=hunter2correct",
		"DATABASE_URL=postgres://app:S3cretly@db/x",
		"HOME=/home/ann",
		"SHORT_TOKEN=abc123",
		"GREETING=hello world",
		"TLS_KEY_FILE=/etc/tls/key.pem", "MY_PASSWORD=password", "EDITOR=vi", "LANG=C.UTF-8",
	})
	tests := map[string]string{
		"the password is hunter2correct.":                            "environment",
		"aHVudGVyMmNvcnJlY3Q=":                                       "environment",
		"connect with S3cretly":                                      "environment",
		"key abc123, or":                                             "environment",
		"xabc123x is another word":                                   "",
		"see /etc/tls/key.pem or /home/ann, hello world":             "",
		"a password is needed":                                       "",
		"HOME=/home/ann\nGREETING=hello world\nEDITOR=vi\nLANG=C.UT": "dump",
		"PATH=/usr/bin:/bin\nHOME=/root\nSHELL=/bin/sh":              "dump",
		"set PATH=/usr/bin:$PATH and HOME=/home/you":                 "",
		`{"API_KEY": "zz91-kk20-aa17"}`:                              "pair",
		`{\"API_KEY\": \"zz91-kk20-aa17\"}`:                          "pair",
		`{"token": "sha256:b609ec6bbe846d295466179370fc1b8c21f07a663b0e811c73c9e84485022618"}`:    "",
		`{"password": "sha256:b609ec6bbe846d295466179370fc1b8c21f07a663b0e811c73c9e84485022618"}`: "pair",
		`{"token": "sha256:b609ec6bbe846d295466179370fc1b8c21f07a663b0e811c73c9e8448502261"}`:     "pair",
		"MY_DB_PASSWORD=hunter4you":                              "pair",
		"api_key: 4f9a8b7c6d5e4f3a2b1c":                          "pair",
		"password: string, the password of the user":             "",
		`"password": "your-password"`:                            "",
		"token := os.Getenv(`API_TOKEN1`)":                       "",
		"TOKEN=$(cat /run/token1)":                               "",
		"https://ann:s3cr3tly@host.internal/":                    "token",
		"https://user:password@example.com/":                     "",
		"AKIA" + "QYLPMN5HFIQR7XYA":                              "token",
		"AKIA" + "IOSFODNN7EXAMPLE":                              "",
		"ghp_" + "k3Wq0cYw7m1nJ4s8xZ2bTf6pQ9rVuA5eK1lm":          "token",
		"k3Wq0cYw7m1nJ4s8xZ2bTf6pQ9rVuA5e":                       "entropy",
		"DecryptPKCS1v15SessionKey":                              "",
		"3f786850e387550fdab836ed7e6dc881de23001b":               "",
		"123e4567-e89b-12d3-a456-426614174000":                   "",
		"sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=":    "",
		"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=":     "",
		"https://example.com/d/k3Wq0cYw7m1nJ4s8xZ2bTf6pQ9rVuA5e": "",
		"-----BEGIN PRIVATE KEY----- is the first line":          "",
		"-----BEGIN " + "PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJrhJ7Qzn8fQpTl0\n-----END PRIVATE KEY-----": "private-key",
		base64.StdEncoding.EncodeToString([]byte("MY_SECRET_TOKEN=zz91-kk20-aa17\n")):                       "pair",
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			var got []string
			for _, m := range s.Find(text) {
				got = append(got, string(m.Kind))
				if strings.Contains(m.What, text[m.Start:m.End]) {
					t.Errorf("Find(%q) describes %q with the secret", text, m.What)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("Find(%q) = %v, want %q", text, got, want)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	s := secrets.New([]string{"DB_PASSWORD=hunter2correct"})
	got := s.Redact("hunter2correct@db: login failed for hunter2correct")
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "login failed") {
		t.Errorf("Redact = %q", got)
	}
}

func TestFindDocument(t *testing.T) {
	s := secrets.New([]string{"DB_PASSWORD=hunter2correct"})
	blob := base64.StdEncoding.EncodeToString([]byte("\x00\xff hunter2correct"))
	doc := `{"a/b":["x",{"secret":"zz91-kk20-aa17"}],"hunter2correct":1,"blob":"` + blob + `"}`
	var got []string
	for _, f := range s.FindDocument([]byte(doc)) {
		got = append(got, fmt.Sprintf("%s %s", f.Pointer, f.Kind))
	}
	want := "/a~1b/1/secret pair,  environment, /blob environment"
	if strings.Join(got, ", ") != want {
		t.Errorf("FindDocument = %q, want %q", strings.Join(got, ", "), want)
	}
}

// FuzzFind searches texts that repeat a fragment, and verifies that the time is linear.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{
		"TOKEN=",
		"PASSWORD='",
		`"API_KEY":"`,
		"a:b@",
		"://a:b@",
		"-----BEGIN ",
		"-----BEGIN PRIVATE KEY-----",
		"PATH=",
		"Bearer ",
		"eyJ.",
		"k3Wq0cYw7m1n", "=", ":", "\\\\", "\n", "ghp_", "\xff", `\"`,
	} {
		f.Add(seed)
	}
	s := secrets.New([]string{"DB_PASSWORD=hunter2correct", "PATH=/usr/bin"})
	fuzzbound.Fuzz(f, func(t *testing.T, fragment string) {
		if fragment == "" || len(fragment) > 1<<10 {
			return
		}
		text := strings.Repeat(fragment, 1+(256<<10)/len(fragment))
		start := time.Now()
		for _, m := range s.Find(text) {
			if m.Start < 0 || m.End > len(text) || m.Start > m.End {
				t.Fatalf("a match at %d to %d of %d bytes", m.Start, m.End, len(text))
			}
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%d bytes of %q took %v", len(text), fragment, took)
		}
	})
}
