package inspect

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcp"
)

// Limits of a lock that the page sends, and of the differences that it gets.
const (
	maxLock      = 16 << 20
	maxDrifts    = 500
	maxDriftText = 64 << 10
)

// drift is a difference between a lock and a source.
type drift struct {
	Item string `json:"item"`
	// Text is the difference in words, and Diff its lines.
	Text string `json:"text"`
	Diff string `json:"diff,omitempty"`
	// Informational reports whether it is only reported, as a new version is.
	Informational bool `json:"informational,omitempty"`
}

// subject returns the connected source as a subject of a lock.
func (t *target) subject() (*lock.Subject, error) {
	name := t.src.Lock
	if name.Name == "" || name.Definitions != "" {
		f := failure(http.StatusConflict, "no_lock", "%s is not a single server: its lock has several", t.src.Name)
		f.Hint = "use the command"
		return nil, f
	}
	live, err := t.live()
	if err != nil {
		return nil, err
	}
	return &lock.Subject{
		Name:   name.Name,
		Origin: name.Origin,
		Open:   func(context.Context) (mcp.Source, error) { return unclosed{live}, nil },
	}, nil
}

// serveLock serves GET api/lock: a lock of the source as it is now.
func (in *Inspector) serveLock(w http.ResponseWriter, r *http.Request) error {
	t, err := in.asked(r)
	if err != nil {
		return err
	}
	subject, err := t.subject()
	if err != nil {
		return err
	}
	entries, _, err := lock.RecordAll(r.Context(), []lock.Subject{*subject})
	if err != nil {
		return in.explain(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", "attachment; filename=slipway.lock")
	return (&lock.File{Sources: entries}).Write(w)
}

// serveLockDiff serves POST api/lock: the differences between a lock, which is the body, and
// the source as it is now.
func (in *Inspector) serveLockDiff(w http.ResponseWriter, r *http.Request) error {
	t, err := in.asked(r)
	if err != nil {
		return err
	}
	text, err := readBody(w, r, maxLock)
	if err != nil {
		return err
	}
	locked, err := lock.Parse(text)
	if err != nil {
		return badRequest("the file is not a lock: %v", err)
	}
	subject, err := t.subject()
	if err != nil {
		return err
	}
	// A lock of one source means this one, under whatever name.
	if names := locked.Names(); len(names) == 1 {
		subject.Name = names[0]
	}
	c, err := locked.Verify(r.Context(), []lock.Subject{*subject}, []string{subject.Name})
	if err != nil {
		return in.explain(err)
	}
	drifts := []drift{}
	for _, d := range c.Drifts[:min(len(c.Drifts), maxDrifts)] {
		drifts = append(drifts, in.drift(d))
	}
	return answer(w, map[string]any{
		"drifts": drifts,
		"total":  len(c.Drifts),
		"locked": slices.Contains(locked.Names(), subject.Name),
	})
}

// drift returns a difference for the page.
func (in *Inspector) drift(d lock.Drift) drift {
	var out bytes.Buffer
	_ = lock.WriteDiff(&out, []lock.Drift{d}) // a Buffer takes everything
	_, lines, _ := strings.Cut(strings.TrimRight(out.String(), "\n"), "\n")
	lines = strings.TrimPrefix(lines, "--- locked\n+++ now\n")
	return drift{
		Item:          in.clean(d.Item.String()),
		Text:          in.clean(d.String()),
		Diff:          in.clean(lines[:min(len(lines), maxDriftText)]),
		Informational: d.Informational(),
	}
}
