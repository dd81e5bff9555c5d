package site

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxFresh bounds the lifetime that a host can declare: after that, files are always
// revalidated.
const maxFresh = 24 * time.Hour

// freshness derives from the headers of a response how long it may be used, following RFC
// 9111 and RFC 5861 for a private cache.
func freshness(h http.Header, o *Options, now time.Time) *File {
	directives := cacheControl(h)
	life, declared := directives.life(h, now)
	if !declared {
		life = o.Recheck
	}
	stale := o.StaleIfError
	if seconds, ok := directives.seconds("stale-if-error"); ok {
		stale = seconds
	}
	if directives.has("must-revalidate") {
		stale = 0
	}
	fresh := now.Add(max(0, min(life, maxFresh)))
	return &File{
		FreshUntil: fresh,
		StaleUntil: fresh.Add(stale),
		Declared:   declared,
		Passing:    directives.has("no-store"),
	}
}

// life returns how long a response is fresh, and whether the host declared it.
func (d directives) life(h http.Header, now time.Time) (life time.Duration, declared bool) {
	if d.has("no-cache") {
		return 0, true
	}
	if seconds, ok := d.seconds("max-age"); ok {
		return seconds - age(h), true
	}
	if h.Get("Expires") == "" {
		return 0, false
	}
	expires, err := http.ParseTime(h.Get("Expires"))
	if err != nil {
		return 0, true // "0" and the like
	}
	return expires.Sub(now), true
}

// age returns how old a response was on arrival.
func age(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Age"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// directives are those of Cache-Control, by lower-case name.
type directives map[string]string

// cacheControl parses the directives of RFC 9111, section 5.2. The last of several equal
// ones counts.
func cacheControl(h http.Header) directives {
	d := make(directives)
	for _, line := range h.Values("Cache-Control") {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			d[strings.ToLower(strings.TrimSpace(name))] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return d
}

func (d directives) has(name string) bool {
	_, ok := d[name]
	return ok
}

// seconds returns the value of a directive in seconds.
func (d directives) seconds(name string) (time.Duration, bool) {
	value, ok := d[name]
	if !ok {
		return 0, false
	}
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0, true // an unreadable value counts as no lifetime
	}
	return time.Duration(seconds) * time.Second, true
}
