package stax

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// SecretStore is where secrets come from. It is queried for one key at a time and is safe for
// concurrent use.
type SecretStore interface {
	// Lookup returns the secret with that key. ok is false if the store does not have it.
	// An error never contains a value.
	Lookup(ctx context.Context, key string) (secret Secret, ok bool, err error)
	// String returns the store in the syntax of [ParseSecretStore].
	String() string
}

// maxSecret is the maximum size of a secret in bytes.
const maxSecret = 64 << 10

// commandTimeout limits how long a command may take for one secret. The user may have to
// touch a hardware key.
const commandTimeout = time.Minute

// ParseSecretStore parses a secret store:
//
//	env                     variables of this process
//	file:PATH               a file of KEY=VALUE lines, or a folder with a file for each key
//	keychain, keychain:NAME the keychain of the operating system, under the service
//	                        "slipway" or NAME
//	command:PROGRAM ARG...  the output of a program; {KEY} in an argument is the key
//
// A command is split at spaces and started without a shell.
func ParseSecretStore(word string) (SecretStore, error) {
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
	return nil, fmt.Errorf("unknown source of secrets %q: want env, file:PATH, keychain or command:PROGRAM", kind)
}

// environment is the store of the process's environment variables.
type environment struct{}

func (environment) String() string { return "env" }

// Lookup treats an unexpanded reference as missing.
func (environment) Lookup(_ context.Context, key string) (Secret, bool, error) {
	value, ok := os.LookupEnv(key)
	// Some clients pass their own reference through unexpanded if the variable is unset.
	ok = ok &&
		value != "" &&
		!slices.Contains([]string{"$" + key, "${" + key + "}", "${env:" + key + "}", "{env:" + key + "}",
			"${{ secrets." + key + " }}"}, value)
	return NewSecret(value), ok, nil
}

// file is a file of KEY=VALUE lines, or a folder with one file per key.
type file string

func (f file) String() string { return "file:" + string(f) }

// Lookup reads KEY from a folder with a file for each secret, or from a .env file.
func (f file) Lookup(_ context.Context, key string) (Secret, bool, error) {
	info, err := os.Stat(string(f))
	if err != nil {
		return Secret{}, false, fmt.Errorf("%s: %w", f, cause(err))
	}
	if info.IsDir() {
		if !variableName(key) {
			return Secret{}, false, nil
		}
		text, err := fsutil.ReadText(filepath.Join(string(f), key), maxSecret)
		if errors.Is(err, fs.ErrNotExist) {
			return Secret{}, false, nil
		} else if err != nil {
			return Secret{}, false, fmt.Errorf("%s: %s: %w", f, key, cause(err))
		}
		return NewSecret(chomp(text)), len(text) > 0, nil
	}
	text, err := fsutil.ReadText(string(f), 1<<20)
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

// cause returns an error without its path, which the message already contains.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// chomp removes the line ending that editors and programs add after a secret. A second one
// belongs to the secret.
func chomp(text []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}

// keychain is a service in the keychain of the operating system.
type keychain string

func (k keychain) String() string { return "keychain:" + string(k) }

// Lookup reads from the keychain of the system, which may prompt the user.
func (k keychain) Lookup(_ context.Context, key string) (Secret, bool, error) {
	value, err := keyring.Get(string(k), key)
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		return Secret{}, false, nil
	case err != nil:
		return Secret{}, false, fmt.Errorf("%s: %w", k, noKeychain(err))
	}
	return NewSecret(value), value != "", nil
}

// noKeychain explains the error for a missing program, which would start the bus of the
// keychain.
func noKeychain(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("no keychain is available (%w)", err)
	}
	return err
}

// Store stores a secret in the keychain of the operating system, under the service
// "slipway", replacing any secret with the same key.
func Store(key string, secret Secret) error {
	return noKeychain(keyring.Set("slipway", key, secret.Reveal()))
}

// command is a program that prints a secret.
type command []string

func (c command) String() string {
	return "command:" + strings.Join(c, " ")
}

// Lookup runs a password manager. The key replaces {KEY} in its arguments.
func (c command) Lookup(ctx context.Context, key string) (Secret, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	args := make([]string, 0, len(c))
	for _, arg := range c[1:] {
		args = append(args, strings.ReplaceAll(arg, "{KEY}", key))
	}
	// The program's stdout and stderr are never reported: either may contain the value.
	cmd := exec.CommandContext(ctx, c[0], args...)
	cmd.WaitDelay = time.Second
	var out secretOutput
	cmd.Stdout = &out
	err := cmd.Run()
	if out.err != nil {
		err = out.err
	}
	if err != nil {
		return Secret{}, false, fmt.Errorf("command %s for %s: %w", c[0], key, err)
	}
	value := chomp(out.text)
	return NewSecret(value), value != "", nil
}

// secretOutput holds what a command prints. A command that prints more than maxSecret
// bytes loses its stdout, and err reports it.
type secretOutput struct {
	// text is the output so far; err reports that it exceeded the limit.
	text []byte
	err  error
}

// Write fails rather than grows without a limit.
func (o *secretOutput) Write(p []byte) (int, error) {
	if len(o.text)+len(p) > maxSecret {
		o.err = fmt.Errorf("more than %d bytes", maxSecret)
		return 0, o.err
	}
	o.text = append(o.text, p...)
	return len(p), nil
}
