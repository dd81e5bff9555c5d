package sitelint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"

	"github.com/slipway-mcp/slipway/check"
)

// CheckURL is [Check] for the site under baseURL on a web host. A host does not list its
// files, so only those known from the manifest are checked: resources, tools and prompts
// without arguments, and arguments whose values the schema lists; and, if the site's
// index was published, the files in it. It also checks how the host responds to missing
// files.
//
// Readers and Hosts are an error here: checking them requires the files.
func CheckURL(ctx context.Context, baseURL string, opts *Options) (*check.Report, error) {
	c, err := newChecker(opts,
		strings.TrimSuffix(strings.TrimSuffix(baseURL, site.ManifestName), "/")+"/")
	if err != nil {
		return nil, err
	}
	if len(c.opts.Readers)+len(c.hosts) > 0 {
		return nil, &staticmcp.SiteError{
			Op: "check site",
			Err: site.SubjectError(
				"a web host does not list its files: check the folder for other readers and for hosts"),
		}
	}
	w, err := site.OpenWeb(baseURL, c.reading())
	if err != nil {
		return nil, &staticmcp.SiteError{
			Op:  "check site",
			Err: err,
		}
	}
	defer w.Close()
	if err := c.readManifest(ctx, w); err != nil {
		return nil, err
	}
	if c.site == nil {
		return c.report, nil
	}
	if err := c.checkResponses(ctx, w); err != nil {
		return nil, err
	}
	entries, err := c.readIndex(ctx, w)
	if err != nil {
		return nil, err
	}
	if entries != nil {
		c.holdIndex(entries)
	}
	list := c.indexProbes(entries, c.probes())
	packed := site.NewPacked(w)
	packed.SetTable(c.site.packs)
	if err := c.probeAll(ctx, packed, list); err != nil {
		return nil, err
	}
	if err := c.findSearch(ctx, w); err != nil {
		return nil, err
	}
	c.take(c.site.fileReport)
	return c.report, nil
}

// absentPath is a path that no site has.
const absentPath = site.ToolsDir + "/slipway-asks-for-what-is-not-there" + site.Extension

// checkResponses checks how a host responds.
func (c *checker) checkResponses(ctx context.Context, w *site.Web) error {
	found, err := w.Head(ctx, site.ManifestName)
	if err != nil {
		return &staticmcp.SiteError{
			Op:  "check site",
			Err: err,
		}
	}
	kind := mediatype.Of(found.Header.Get("Content-Type"))
	if kind != "application/json" {
		c.in(site.ManifestName).Add(ruleWebHeaders, "",
			"other readers may refuse it: let it send application/json",
			"the host sends JSON as %q", kind)
	}
	if found.Header.Get("Access-Control-Allow-Origin") == "" {
		c.in(site.ManifestName).Add(ruleWebHeaders, "", "let it send Access-Control-Allow-Origin: *",
			"the host sends no Access-Control-Allow-Origin, so no web page can read the site")
	}
	missing, err := w.Head(ctx, absentPath)
	if err != nil {
		return &staticmcp.SiteError{
			Op:  "check site",
			Err: err,
		}
	}
	if missing.StatusCode == http.StatusOK {
		kind := mediatype.Of(missing.Header.Get("Content-Type"))
		c.in(absentPath).Add(ruleWebNotFound, "",
			"some readers take that for an answer: put a 404.html at the root, or switch off the fallback page",
			"the host answers with status 200 and %q for a missing file", kind)
	}
	return nil
}

// probe is a request to a host.
type probe struct {
	job
	// candidates are the paths at which the file may be. The first that exists is read.
	candidates []site.Candidate
	// missed reports the finding if the file does not exist.
	missed func()
}

// probes returns the files that the manifest leads to.
func (c *checker) probes() []probe {
	var list []probe
	for i := range c.site.resources {
		r := &c.site.resources[i]
		if staticmcp.ResourceAddress(r.name).Valid() != nil {
			continue
		}
		candidates := site.ResourcePaths(r.name, false)
		list = append(list, probe{job{resource: i + 1}, candidates, func() {
			c.site.fileReport.At(r.at).Add(ruleFileMissing, r.path()+"/uri",
				"publish "+candidates[0].Path+", or remove the entry from the manifest",
				"there is no file for resource %q", site.Shorten(r.name))
		}})
	}
	for _, t := range c.site.tools {
		list = append(list, c.toolProbes(t)...)
	}
	for _, p := range c.site.prompts {
		if p.leastParts() == 0 {
			list = append(list, c.answerProbe(p, nil, nil))
		}
	}
	return list
}

// toolProbes returns the calls of a tool that are known in advance.
func (c *checker) toolProbes(t *listedTool) []probe {
	var list []probe
	if t.leastParts() == 0 {
		bare := c.answerProbe(t, nil, nil)
		if len(t.params) > 0 {
			bare.missed = func() {} // an answer without arguments is optional
		}
		list = append(list, bare)
	}
	if len(t.params) != 1 {
		return list
	}
	for k, name := range t.claims[0].names {
		list = append(list, c.answerProbe(t, []string{name},
			[]string{t.claims[0].wanted[k]}))
	}
	return list
}

// answerProbe returns the probe for the answer to a call.
func (c *checker) answerProbe(t *listedTool, parts, values []string) probe {
	steps := append([]string{t.root, t.name}, parts...)
	path := strings.Join(steps, "/") + site.Extension
	return probe{job{
		tool:  t,
		parts: parts,
	}, []site.Candidate{{Path: path}}, func() {
		r := ruleAnswerMissing
		message := fmt.Sprintf("tool %q has no answer for %s", t.name,
			strings.Join(values, ", "))
		switch {
		case t.root == site.PromptsDir:
			r, message = ruleFileMissing, fmt.Sprintf("there is no file for prompt %q", t.name)
		case len(values) == 0:
			r, message = ruleNoAnswers, fmt.Sprintf("tool %q has no answers", t.name)
		}
		c.site.fileReport.At(t.entry.at).Add(r, t.entry.path(), "publish "+path,
			"%s", message)
	}}
}

// probeAll requests all files, several at a time, up to MaxProbes.
func (c *checker) probeAll(ctx context.Context, w site.Store, list []probe) error {
	if len(list) > c.opts.MaxProbes {
		c.in(site.ManifestName).Add(rulePartial, "", "check the folder that was published",
			"of the %d known files, %d were checked", len(list), c.opts.MaxProbes)
		list = list[:c.opts.MaxProbes]
	}
	reports := make([]*fileReport, len(list))
	failures := make([]error, len(list))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range c.reading().MaxFetches {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(list) && ctx.Err() == nil; i = next.Add(1) - 1 {
				reports[i], failures[i] = c.probe(ctx, w, &list[i])
			}
		})
	}
	workers.Wait()
	for i, s := range reports {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case failures[i] != nil:
			return &staticmcp.SiteError{
				Op:  "check site",
				Err: failures[i],
			}
		case s == nil:
			list[i].missed()
		default:
			c.take(s)
		}
	}
	open := c.unknowable()
	if open != "" && c.index == nil {
		c.in(site.ManifestName).Add(rulePartial, "", "check the folder that was published",
			"a host does not list its files: the answers of %s were not checked", open)
	}
	return nil
}

// unknowable returns the names of the tools whose answers cannot be enumerated.
func (c *checker) unknowable() string {
	var names []string
	for _, t := range c.site.tools {
		if len(t.params) > 1 ||
			len(t.params) == 1 && len(t.claims[0].names) == 0 {
			names = append(names, t.name)
		}
	}
	if len(names) > site.MaxKnown {
		names = append(names[:site.MaxKnown:site.MaxKnown], fmt.Sprintf("%d more tools", len(names)-site.MaxKnown))
	}
	return strings.Join(names, ", ")
}

// probe requests one file under each of its possible names. The result is nil if none
// exists.
func (c *checker) probe(ctx context.Context, w site.Store, p *probe) (*fileReport, error) {
	for k, candidate := range p.candidates[:min(len(p.candidates), site.DefaultMaxMisses)] {
		loaded, err := w.Load(ctx, candidate.Path, nil, c.opts.MaxFileBytes)
		if errors.Is(err, site.ErrMissing) {
			continue
		}
		var large site.TooLarge
		if err != nil && !errors.As(err, &large) {
			return nil, err
		}
		p.job.path = candidate.Path
		p.leaf = &leaf{}
		s := c.newFileReport(candidate.Path, nil)
		if k > 0 {
			s.At(0).Add(ruleFileName, "", "publish it under that name",
				"the standard's name is %s", p.candidates[0].Path)
		}
		if err != nil {
			s.At(0).Add(ruleTooLarge, "", "split the answer: readers refuse it",
				"the file is larger than %d bytes", large.Limit)
			return s, nil
		}
		s.setText(loaded.Data)
		c.compareIndex(s)
		c.content(s, &p.job)
		s.setText(nil)
		return s, nil
	}
	return nil, nil
}
