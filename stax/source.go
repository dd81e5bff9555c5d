package stax

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
)

// Source is somewhere that secrets are found. It is asked for one key at a time,
// and is safe for concurrent use.
type Source interface {
	// Lookup returns the secret with that key. ok is false if the source does not
	// have it. An error never holds a value.
	Lookup(ctx context.Context, key string) (secret Secret, ok bool, err error)
	// String returns the source as [ParseSource] reads it.
	String() string
}

// maxSecret is how many bytes a secret may have.
const maxSecret = 64 << 10

// commandTimeout is how long a command may take for one secret: somebody may
// have to touch a key.
const commandTimeout = time.Minute

// ParseSource returns the source that a word stands for:
//
//	env                     variables of this process
//	file:PATH               a file of KEY=VALUE lines, or a folder with a file for each key
//	keychain, keychain:NAME the keychain of the operating system, under the service
//	                        "slipway" or NAME
//	command:PROGRAM ARG...  what a program prints; {KEY} in an argument is the key
//
// A command is cut at spaces and started without a shell.
func ParseSource(word string) (Source, error) {
	kind, rest, _ := strings.Cut(word, ":")
	switch {
	case word == "env":
		return environment{}, nil
	case kind == "file" && rest != "":
		return file(rest), nil
	case kind == "keychain":
		if rest == "" {
			rest = "slipway"
		}
		return keychain(rest), nil
	case kind == "command" && len(strings.Fields(rest)) > 0:
		return command(strings.Fields(rest)), nil
	}
	return nil, fmt.Errorf("no source of secrets is called %q: want env, file:PATH, keychain or command:PROGRAM", kind)
}

type environment struct{}

func (environment) String() string { return "env" }

func (environment) Lookup(_ context.Context, key string) (Secret, bool, error) {
	value, ok := os.LookupEnv(key)
	// A client that has no such variable hands its own reference on as it stands.
	ok = ok && value != "" && !slices.Contains([]string{"$" + key, "${" + key + "}", "${env:" + key + "}", "{env:" + key + "}"}, value)
	return NewSecret(value), ok, nil
}

// file is a file of lines, or a folder of files.
type file string

func (f file) String() string { return "file:" + string(f) }

func (f file) Lookup(_ context.Context, key string) (Secret, bool, error) {
	info, err := os.Stat(string(f))
	if err != nil {
		return Secret{}, false, fmt.Errorf("%s: %w", f, cause(err))
	}
	if info.IsDir() {
		if !variableName(key) {
			return Secret{}, false, nil
		}
		text, err := readSecret(filepath.Join(string(f), key), maxSecret)
		if errors.Is(err, fs.ErrNotExist) {
			return Secret{}, false, nil
		} else if err != nil {
			return Secret{}, false, fmt.Errorf("%s: %s: %w", f, key, cause(err))
		}
		return NewSecret(chomp(text)), len(text) > 0, nil
	}
	text, err := readSecret(string(f), 1<<20)
	if err != nil {
		return Secret{}, false, fmt.Errorf("%s: %w", f, cause(err))
	}
	values, err := parseEnv(text)
	if err != nil {
		return Secret{}, false, fmt.Errorf("%s: %w", f, err)
	}
	value, ok := values[key]
	return NewSecret(value), ok && value != "", nil
}

// cause is an error without the path, which is said already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func readSecret(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return text, err
}

func chomp(text []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}

// parseEnv reads lines of KEY=VALUE. A value may be in single quotes, as it is,
// or in double quotes with \n, \" and \\. Nothing is expanded.
func parseEnv(text []byte) (map[string]string, error) {
	values := map[string]string{}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || !variableName(key) {
			return nil, fmt.Errorf("line %d is not KEY=VALUE", i+1)
		}
		plain, err := unquote(value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		values[key] = plain
	}
	return values, nil
}

func unquote(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	quote := value[0]
	if quote != '\'' && quote != '"' {
		if i := strings.Index(value, " #"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		return value, nil
	}
	var b strings.Builder
	for i := 1; i < len(value); i++ {
		c := value[i]
		switch {
		case c == quote:
			if rest := strings.TrimSpace(value[i+1:]); rest != "" && rest[0] != '#' {
				return "", errors.New("text behind the closing quote")
			}
			return b.String(), nil
		case c == '\\' && quote == '"' && i+1 < len(value):
			i++
			b.WriteString(strings.NewReplacer("n", "\n", "r", "\r", "t", "\t").Replace(value[i : i+1]))
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("a quote is not closed")
}

// keychain is a service in the keychain of the operating system.
type keychain string

func (k keychain) String() string { return "keychain:" + string(k) }

func (k keychain) Lookup(_ context.Context, key string) (Secret, bool, error) {
	value, err := keyring.Get(string(k), key)
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		return Secret{}, false, nil
	case err != nil:
		return Secret{}, false, fmt.Errorf("%s: %w", k, err)
	}
	return NewSecret(value), value != "", nil
}

// Store puts a secret into the keychain of the operating system, under the service
// "slipway", in place of one with its key.
func Store(key string, secret Secret) error { return keyring.Set("slipway", key, secret.Reveal()) }

// command is a program that prints a secret.
type command []string

func (c command) String() string { return "command:" + strings.Join(c, " ") }

func (c command) Lookup(ctx context.Context, key string) (Secret, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	args := make([]string, 0, len(c))
	for _, arg := range c[1:] {
		args = append(args, strings.ReplaceAll(arg, "{KEY}", key))
	}
	// Neither output nor errors of the program are told: both may hold the value.
	cmd := exec.CommandContext(ctx, c[0], args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err == nil && len(out) > maxSecret {
		err = fmt.Errorf("more than %d bytes", maxSecret)
	}
	if err != nil {
		return Secret{}, false, fmt.Errorf("command %s for %s: %w", c[0], key, err)
	}
	value := chomp(out)
	return NewSecret(value), value != "", nil
}
