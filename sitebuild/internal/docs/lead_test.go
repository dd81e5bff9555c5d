package docs_test

import (
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// Names and descriptions are what models choose by: they are free of the markup of
// documentation generators, and say what a page is about. The pages have the forms of real
// documentations.
func TestDescriptions(t *testing.T) {
	for _, test := range []struct{ name, page, title, description string }{
		{"links of a project", "# API\n\n<p align=\"center\"><a href=\"https://ci.example.com\">" +
			"<img src=\"https://ci.example.com/b.svg\"></a></p>\n\n" +
			"**Documentation**: [https://api.example.com](https://api.example.com)\n\n" +
			"**Source Code**: <https://git.example.com>\n\nA framework for fast APIs.\n",
			"API", "A framework for fast APIs."},
		{"badges", "# Kit\n\n[![Build](https://x.example.com/b.svg)](https://x.example.com) " +
			"![Size](https://x.example.com/s.svg)\n\nA kit of small tools.\n", "Kit", "A kit of small tools."},
		{"breadcrumbs", "[Home](/) › [Guide](/guide) › Install\n\n# Install\n\nHow to install it.\n",
			"Install", "How to install it."},
		{"breadcrumbs without links", "Home > Guide > Install\n\n# Install\n\nHow to install it.\n",
			"Install", "How to install it."},
		{"edit link", "# Install\n\n[Edit this page on GitHub](https://git.example.com/edit)\n\nHow to install it.\n",
			"Install", "How to install it."},
		{"table of contents", "# Install\n\nTable of contents\n\n- [Linux](#linux)\n\n## Linux\n\nUse the package.\n",
			"Install", "Use the package."},
		{"source code", "# abc — Abstract classes\n\n**Source code:** [Lib/abc.py](https://git.example.com/abc.py)\n\n" +
			"This module provides base classes.\n", "abc — Abstract classes", "This module provides base classes."},
		{"version notes", "# pathlib\n\nNew in version 3.4.\n\nChanged in version 3.6: Paths are accepted.\n\n" +
			"This module offers classes for paths.\n", "pathlib", "This module offers classes for paths."},
		{"see also", "# Startup\n\nSee also [Configuration](c.md) and [Threads](t.md).\n\nA program starts in three steps.\n",
			"Startup", "A program starts in three steps."},
		{"rubric", "# Event loop\n\n**Preface**\n\nThe event loop is the core of every program.\n",
			"Event loop", "The event loop is the core of every program."},
		{"lesson", "# Slots\n\n[Free lesson about slots](https://school.example.com)\n\nA slot is a place for content.\n",
			"Slots", "A slot is a place for content."},
		{"admonition in slashes", "# Security\n\n/// warning | For experts\n\nSkip this at first.\n\n///\n\n" +
			"There are extra features.\n",
			"Security", "There are extra features."},
		{"admonition in colons", "# Limits\n\n:::tip Read this\n\nIt is short and useful.\n\n:::\n\n" +
			"Every call has a limit.\n",
			"Limits", "Every call has a limit."},
		{"admonition with a list", "# Start\n\n:::tip Before\n\n- Know the shell.\n- Install the runtime first.\n:::\n\n" +
			"This page sets up a project.\n\n:::tip\n\nDo it now.\n\n:::\n\nThis command installs it.\n",
			"Start", "This page sets up a project."},
		{"an example", "# First steps\n\nThe simplest file could look like this:\n\n```\nrun()\n```\n\nCopy it to a file.\n",
			"First steps", "The simplest file could look like this."},
		{"only an admonition", "# Limits\n\n:::note\n\nCalls are counted for each key.\n\n:::\n",
			"Limits", "Calls are counted for each key."},
		{"import without MDX", "# Architecture\n\nimport Video from 'video-embed';\n\nThe parts and their tasks.\n",
			"Architecture", "The parts and their tasks."},
		{"dangling start", "# Types\n\nUp to now, you have been using the common data types, like:\n\n- int\n- str\n",
			"Types", "Up to now, you have been using the common data types."},
		{"announcement", "# Features\n\nIt gives you the following:\n\n- speed\n\nAll of it is based on open standards.\n",
			"Features", "All of it is based on open standards."},
		{"removed tag", "# Yield\n\nSome steps run <dfn title=\"at exit\">after finishing</dfn>.\n",
			"Yield", "Some steps run after finishing."},
		{"list only", "# Dictionaries\n\n- `PyDict`\n\n  This type represents a dictionary object.\n",
			"Dictionaries", "This type represents a dictionary object."},
		{"headings only", "# Reference\n\n## Flags\n\n```sh\nrun --all\n```\n\n## Files\n\n```sh\nls\n```\n",
			"Reference", "Sections: Flags, Files"},
		{"emoji", "---\ntitle: \"👋🏽 Welcome\"\n---\n\nText of the page.\n", "Welcome", "Text of the page."},
		{"emoji with a selector", "# 🗂️ State ⚡\n\nText of the page.\n", "State", "Text of the page."},
		{"only emoji", "---\ntitle: 🎉\n---\n\nText of the page.\n", "🎉", "Text of the page."},
		{"symbols stay", "# → Next © 2026\n\nText of the page.\n", "→ Next © 2026", "Text of the page."},
		{"Markdown in front matter", "---\ntitle: Migrate from `old` &amp; [older](x.md)\n" +
			"description: \"The `App` type is **the** <b>center</b>.\"\n---\n\nText.\n",
			"Migrate from old & older", "The App type is the center."},
		{"code in front matter", "---\ntitle: \"`<b>`, *args and **kwargs\"\n" +
			"description: \"<b> needs 2**3 bytes & ?a=1&region=eu, `a**b**c` and `&lt;`.\"\n---\n\nText.\n",
			"<b>, *args and **kwargs", "<b> needs 2**3 bytes & ?a=1&region=eu, a**b**c and &lt;."},
		{"code in a heading", "# The `<b>` element, `**` and `a`\n\nText of the page.\n",
			"The <b> element, ** and a", "Text of the page."},
		{"description repeats the title", "---\ntitle: Backups\ndescription: Backups\n---\n\n" +
			"How backups are made and kept.\n",
			"Backups", "How backups are made and kept."},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := docs.Read(t.Context(), fstest.MapFS{"a.md": {Data: []byte(test.page)}}, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			p := set.Page("a")
			if p.Title != test.title || p.Description != test.description {
				t.Errorf("title %q, description %q, want %q, %q", p.Title, p.Description, test.title, test.description)
			}
		})
	}
}

// A link that is a component is a link.
func TestDescriptionWithComponents(t *testing.T) {
	set, err := docs.Read(t.Context(), fstest.MapFS{"a.mdx": {Data: []byte(
		"# Models\n\n<LessonLink href=\"https://school.example.com\" title=\"Free lesson\">\n" +
			"  Watch an interactive video lesson\n" +
			"</LessonLink>\n\nA model binds a value in both directions.\n")}}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Page("a").Description, "A model binds a value in both directions."; got != want {
		t.Errorf("description %q, want %q", got, want)
	}
}

// Numbers of sections and titles that the generator makes up are not part of a title.
func TestRenderedTitles(t *testing.T) {
	set, err := docs.Read(t.Context(), fstest.MapFS{
		"index.html": {Data: []byte(`<body><main><h1><span class="section-number">2. </span>Using it</h1>` +
			`<p>How it is used.</p></main>`)},
		"parts/the-notice.html": {Data: []byte(`<title>&lt;no title&gt; &#8212; Kit</title>` +
			`<body><main><p>A notice.</p></main>`)},
	}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"home": "Using it", "parts/the-notice": "The notice"} {
		if got := set.Page(id).Title; got != want {
			t.Errorf("title of %s = %q, want %q", id, got, want)
		}
	}
}
