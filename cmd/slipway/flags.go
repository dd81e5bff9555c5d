package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/serve"
)

// envPrefix is the prefix of all environment variables that serve reads.
const envPrefix = "MCP_SERVER_"

// fromEnvironment sets flags that are missing on the command line from the environment.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	typed := flags.Changed("addr")
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := environmentName(f.Name)
		value, _ := lookup(variable)
		if value == "" ||
			f.Changed ||
			slices.Contains([]string{"help", "print-config", "json"}, f.Name) ||
			isGlobal(f) {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, usage("", "%s: %q: %v", variable, value, cause(err)))
		}
	})
	if port, _ := lookup(envPrefix + "PORT"); port != "" && !typed {
		errs = append(errs, setPort(flags, port))
	}
	return errors.Join(errs...)
}

// variables are the environment variables of serve that have no flag.
var variables = []string{"PORT", "STATE_KEY", "TOKEN", "TOKEN_FILE"}

// unknownVariables returns a message for each environment variable that has the prefix of
// serve but is unknown: a misspelled one would otherwise be ignored.
func unknownVariables(flags *pflag.FlagSet, environ []string) (messages []string) {
	var known []string
	for _, name := range variables {
		known = append(known, envPrefix+name)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !isGlobal(f) {
			known = append(known, environmentName(f.Name))
		}
	})
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) {
			continue
		}
		message := name + " in the environment is not a variable of slipway serve"
		if near := nearest.DidYouMean(name, known); near != "" {
			message += "; did you mean " + near + "?"
		}
		messages = append(messages, message)
	}
	return messages
}

// environmentName returns the variable that sets a flag of serve, such as MCP_SERVER_LOG_LEVEL for
// log-level.
func environmentName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// cause removes pflag's message about a flag that the user did not type.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// setPort combines MCP_SERVER_PORT with the host of MCP_SERVER_ADDR, which must not
// contain another port.
func setPort(flags *pflag.FlagSet, port string) error {
	host := flags.Lookup("addr").Value.String()
	own := ""
	if flags.Changed("addr") {
		if h, p, err := net.SplitHostPort(host); err == nil {
			host = h
			own = p
		}
	} else {
		host, _, _ = net.SplitHostPort(serve.DefaultAddr)
	}
	if own != "" && own != port {
		return usage("set the port in one of them", "%sADDR has port %s, %sPORT has %s", envPrefix, own, envPrefix, port)
	}
	if !serve.IsPort(port) {
		return usage("", "%sPORT: %q is not a port", envPrefix, port)
	}
	return flags.Set("addr", net.JoinHostPort(strings.Trim(host, "[]"), port))
}

// address returns the host:port of the value of a flag: that, a host, or a port.
func address(flag, typed string) (string, error) {
	addr, err := serve.ParseAddr(typed)
	if err != nil {
		return "", usage("for example "+flag+" 127.0.0.1:9000", "serve: %s %v", flag, err)
	}
	return addr, nil
}

// size is a flag value for a number of bytes.
type size int64

func (s *size) String() string { return s.text() }

// text returns the size in the largest unit that divides it, so that Set reads it back.
func (s size) text() string {
	n := int64(s)
	for _, u := range units() {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func (s *size) Type() string { return "size" }

// Set reads a size in bytes, or with a unit: KiB, KB and K are all 1,024 bytes, in any case.
// Zero, negative sizes and sizes above 1 TiB are errors.
func (s *size) Set(text string) error {
	number := text
	factor := int64(1)
	for _, u := range units() {
		for _, suffix := range []string{u.name, u.name[:1] + "B", u.name[:1]} {
			rest, ok := strings.CutSuffix(strings.ToUpper(text), strings.ToUpper(suffix))
			if ok && factor == 1 {
				number = rest
				factor = u.bytes
			}
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n <= 0 || n > 1<<40/factor {
		return fmt.Errorf("want a size such as 512KiB or 4MiB, up to 1TiB")
	}
	*s = size(n * factor)
	return nil
}

// number is a flag value for a finite number in a range.
type number[T int | float64] struct {
	field       *T
	least, most T
	endless     bool // there is no most
}

// atLeast binds a number with a minimum. The default may be below it: 0 where that means none.
func atLeast[T int | float64](field *T, least T) pflag.Value {
	return &number[T]{
		field:   field,
		least:   least,
		endless: true,
	}
}

// within binds a number from least to most.
func within[T int | float64](field *T, least, most T) pflag.Value {
	return &number[T]{
		field: field,
		least: least,
		most:  most,
	}
}

func (n *number[T]) String() string { return fmt.Sprint(*n.field) }

func (n *number[T]) Type() string {
	if _, whole := any(n.field).(*int); whole {
		return "int"
	}
	return "float64"
}

// Set reads a whole number also in the other notations of Go, such as 0x1f.
func (n *number[T]) Set(text string) error {
	var value T
	var err error
	switch value := any(&value).(type) {
	case *int:
		var whole int64
		whole, err = strconv.ParseInt(text, 0, strconv.IntSize)
		*value = int(whole)
	case *float64:
		*value, err = strconv.ParseFloat(text, 64)
	}
	valid := err == nil && value >= n.least && !math.IsInf(float64(value), 0)
	switch {
	case err != nil && n.endless:
		return fmt.Errorf("want a number of at least %v", n.least)
	case err != nil:
		return fmt.Errorf("want a number from %v to %v", n.least, n.most)
	case n.endless && !valid:
		return fmt.Errorf("want at least %v", n.least)
	case !n.endless && (!valid || value > n.most):
		return fmt.Errorf("want %v to %v", n.least, n.most)
	}
	*n.field = value
	return nil
}

// longerThanZero binds a time of more than 0, such as a timeout.
func longerThanZero(field *time.Duration) pflag.Value { return (*period)(field) }

// period is a flag value for a time of more than 0.
type period time.Duration

func (p *period) String() string { return time.Duration(*p).String() }
func (p *period) Type() string   { return "duration" }

// Set reads a time as [duration] does. 0 is an error.
func (p *period) Set(text string) error {
	var d duration
	if d.Set(text) != nil || d == 0 {
		return errors.New("want a time of more than 0, such as 10s or 5m")
	}
	*p = period(d)
	return nil
}

// duration is a flag value for a time that is not negative.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }
func (d *duration) Type() string   { return "duration" }

// Set reads a time with a unit, as package time does. Negative times are errors.
func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("want a time such as 10s or 5m")
	case value < 0:
		return errors.New("a time cannot be negative")
	}
	*d = duration(value)
	return nil
}

// unit is a suffix of sizes, and its number of bytes.
type unit struct {
	name  string
	bytes int64
}

// units are powers of 1,024, even if written without the i.
func units() []unit {
	return []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

// level is a flag value for a log level.
type level slog.Level

func (l *level) String() string {
	return strings.ToLower(slog.Level(*l).String())
}
func (l *level) Type() string      { return "level" }
func (l *level) choices() []string { return []string{"debug", "info", "warn", "error"} }

// Set reads one of the level's choices; offsets such as info+2 are errors.
func (l *level) Set(text string) error {
	if slices.Contains(l.choices(), text) {
		return (*slog.Level)(l).UnmarshalText([]byte(text))
	}
	return errors.New("want " + orList(l.choices()))
}
