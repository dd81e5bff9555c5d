package docs

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/pathglob"
)

// hugoSettings decide which pages Hugo publishes.
type hugoSettings struct {
	// future and expired publish pages with dates in the future or the past.
	future, expired bool
	// cascade has the front matter for pages below a folder, or for all under "".
	cascade map[string][]hugoCascade
}

// hugoCascade is front matter for the pages of a folder that match target, or for all of them if
// that is nil.
type hugoCascade struct {
	target *regexp.Regexp
	values map[string]any
}

// hugoUnpublished reads the settings for pages that are not published. The names of values are in lower
// case.
func (c *config) hugoUnpublished(values map[string]any) {
	c.hugo.future = truth(values["buildfuture"])
	c.hugo.expired = truth(values["buildexpired"])
	if all := c.cascades(c.file, values["cascade"]); len(all) > 0 {
		c.hugo.cascade = map[string][]hugoCascade{"": all}
	}
	for _, text := range texts(values["ignorefiles"]) {
		pattern, err := regexp.Compile(text)
		if err != nil {
			c.unclear(c.file, 1, "ignoreFiles", "\""+text+"\" is not a regular expression")
			continue
		}
		root := c.root
		c.unpublished.never = append(c.unpublished.never, func(name string) bool {
			return pattern.MatchString("/" + path.Join(root, name))
		})
	}
	module, _ := values["module"].(map[string]any)
	mounts, _ := module["mounts"].([]any)
	for _, mount := range mounts {
		m, _ := mount.(map[string]any)
		for name := range m {
			switch key := strings.ToLower(name); key {
			case "excludefiles", "includefiles", "files":
				c.unclear(c.file, 1, "module.mounts."+name, "mounts are not read")
			}
		}
	}
}

// cascades reads the value of cascade: a map, or a list of maps with a target each.
func (c *config) cascades(file string, value any) []hugoCascade {
	list, _ := value.([]any)
	if one, ok := value.(map[string]any); ok {
		list = []any{one}
	}
	var all []hugoCascade
	for _, item := range list {
		values, _ := item.(map[string]any)
		values = lowered(values)
		target, _ := cmp.Or(values["_target"], values["target"]).(map[string]any)
		if params, ok := values["params"].(map[string]any); ok && len(values) == 1 {
			values = lowered(params)
		}
		if !hides(values) {
			continue
		}
		one := hugoCascade{values: values}
		switch where := str(lowered(target)["path"]); {
		case len(target) == 0:
		case len(target) == 1 && where != "":
			one.target = pathglob.Compile(strings.Trim(where, "{}/"))
		}
		if len(target) > 0 && one.target == nil { // it hides all pages rather than none
			c.unclear(file, 1, "cascade", "its target is not a simple path; it counts for all pages of the folder")
		}
		all = append(all, one)
	}
	return all
}

// hidingNames are the names of front matter that keep a page unpublished, in lower case.
var hidingNames = [...]string{"draft", "headless", "build", "_build", "date", "publishdate", "pubdate", "published",
	"expirydate", "unpublishdate"}

func hides(values map[string]any) bool {
	return slices.ContainsFunc(hidingNames[:], func(name string) bool { return values[name] != nil })
}

// lowered returns values with their names in lower case, as Hugo reads them.
func lowered(values map[string]any) map[string]any {
	lower := make(map[string]any, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		lower[strings.ToLower(name)] = values[name]
	}
	return lower
}

// readCascades reads the cascades in the front matter of the pages of folders.
func (r *reader) readCascades(documents []document) {
	for _, d := range documents {
		name := path.Base(d.file)
		if r.system != "hugo" || !strings.HasPrefix(name, "_index.") {
			continue
		}
		text, err := r.text(d.file)
		if err != nil || !strings.Contains(strings.ToLower(text), "cascade") {
			continue // an unreadable file is reported when it is read as a page
		}
		values, _, _, _ := splitFrontMatter(withLineFeeds(decodeMarked(text)))
		if all := r.config.cascades(d.file, lowered(values)["cascade"]); len(all) > 0 {
			dir := path.Dir(r.belowRoot(d.file))
			r.config.hugo.cascade = maps.Clone(r.config.hugo.cascade)
			if r.config.hugo.cascade == nil {
				r.config.hugo.cascade = make(map[string][]hugoCascade)
			}
			dir = strings.TrimPrefix(dir, ".")
			r.config.hugo.cascade[dir] = append(all, r.config.hugo.cascade[dir]...)
		}
	}
}

// cascaded adds to the front matter of a document what the folders above it define for all pages.
func (r *reader) cascaded(file string, values map[string]any) map[string]any {
	if len(r.config.hugo.cascade) == 0 {
		return values
	}
	name := r.belowRoot(file)
	bare := strings.TrimSuffix(name, path.Ext(name))
	for dir := strings.TrimPrefix(path.Dir(name), "."); ; dir = strings.TrimPrefix(path.Dir(dir), ".") {
		for _, one := range r.config.hugo.cascade[dir] {
			if one.target != nil && !one.target.MatchString(bare) && !one.target.MatchString(path.Dir(bare)) {
				continue
			}
			for _, key := range hidingNames {
				if v := one.values[key]; v != nil && values[key] == nil {
					values[key] = v
				}
			}
		}
		if dir == "" {
			return values
		}
	}
}

// hugoHidden reports whether Hugo does not publish a page with this front matter. dated is true if
// that depends on the day. unknown is a date that cannot be read; such a page is not published.
func (r *reader) hugoHidden(file string, values map[string]any) (hidden, dated bool, unknown string) {
	values = r.cascaded(file, lowered(values))
	hidden = truth(values["draft"])
	for _, name := range []string{"build", "_build"} {
		if build, ok := values[name].(map[string]any); ok {
			switch render := str(lowered(build)["render"]); render {
			case "never", "false", "link":
				hidden = true
			}
		}
	}
	if published, ok := values["published"].(bool); ok {
		hidden = hidden || !published
	}
	settings := &r.config.hugo
	for _, name := range []string{"publishdate", "pubdate", "published", "date"} {
		if values[name] == nil || values[name] == "" {
			continue
		}
		at, ok := hugoDate(values[name])
		if !ok {
			return true, dated, name
		}
		if at.After(r.began) {
			hidden = hidden || !settings.future
			dated = true
		}
		break
	}
	for _, name := range []string{"expirydate", "unpublishdate"} {
		if values[name] == nil || values[name] == "" {
			continue
		}
		at, ok := hugoDate(values[name])
		if !ok {
			return true, dated, name
		}
		hidden = hidden || !settings.expired && at.Before(r.began)
		dated = true
		break
	}
	return hidden, dated, ""
}

// readHugoDates sets whether Hugo publishes a page. Such a page is read by each build if that depends on
// the day or on other pages.
func (r *reader) readHugoDates(p *Page, values map[string]any) []check.Finding {
	hidden, dated, unknown := r.hugoHidden(p.File, values)
	p.front.hidden = p.front.hidden || hidden
	if dated || lowered(values)["cascade"] != nil {
		p.includes = true
		r.dated.Store(true)
	}
	if unknown == "" || r.opts.Drafts {
		return nil
	}
	return []check.Finding{finding(ruleUnpublished, r.place(p.File), 1, "write it as 2006-01-31",
		"the page is skipped: its %s is not a date", unknown)}
}

// hugoDate returns a date of front matter. One without a time zone is in UTC.
func hugoDate(v any) (time.Time, bool) {
	if at, ok := v.(time.Time); ok {
		return at, true
	}
	if s, ok := v.(interface {
		AsTime(*time.Location) time.Time
	}); ok { // a local date of TOML
		return s.AsTime(time.UTC), true
	}
	if _, ok := v.(bool); ok { // published: true, of other generators
		return time.Time{}, true
	}
	text := str(v)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05 -07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00",
		"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02", "2006/01/02", "2006-1-2", time.RFC1123Z, time.RFC1123,
		"02 Jan 2006", "2 Jan 2006", "Jan 2 2006", "Jan 2, 2006", "January 2, 2006"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
