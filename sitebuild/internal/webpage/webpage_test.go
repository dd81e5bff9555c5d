package webpage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/sitebuild/internal/webpage"
)

func TestMarkdown(t *testing.T) {
	tests := map[string]struct{ html, want string }{
		"headings, and links to themselves": {
			`<h1>Install<a class="headerlink" href="#i">¶</a></h1><p>Text.</p><h2>From <a href="x.html">source</a></h2>`,
			"# Install\n\nText.\n\n## From source\n",
		},
		"text": {
			"<p>One\n  <b>bold</b>, <em>soft</em> and <code>a`b</code>,<br>next <a href=\"b.html#c\">line</a>.</p>",
			"One **bold**, *soft* and ``a`b``,\\\nnext [line](b.html#c).\n",
		},
		"what would be markup": {
			`<p># no heading</p><p>1. no list</p><p>a*b_c_ &lt;T&gt; [x] {y} \ &amp;lt;</p><p>---</p>`,
			"\\# no heading\n\n1\\. no list\n\na\\*b_c\\_ \\<T> \\[x\\] \\{y} \\\\ \\&lt;\n\n\\---\n",
		},
		"code with its language": {
			`<div class="highlight-python3 notranslate"><div class="highlight"><pre><span></span>a <b>=</b> 1

b
</pre></div></div>`,
			"```python\na = 1\n\nb\n```\n",
		},
		"code with a fence, and with line numbers": {
			"<pre>```\nx</pre><table class=\"highlighttable\"><tr><td class=\"linenos\"><pre>1\n2</pre></td>" +
				"<td class=\"code\"><pre><code class=\"language-go\">a\nb</code></pre></td></tr></table>",
			"````\n```\nx\n````\n\n```go\na\nb\n```\n",
		},
		"lists": {
			`<ul><li>a<ul><li>b</li></ul></li><li><p>c</p><p>d</p></li></ul><ol start="3"><li>x</li><li>y</li></ol>`,
			"- a\n\n  - b\n\n- c\n\n  d\n\n3. x\n4. y\n",
		},
		"definitions": {
			`<dl><dt id="f"><code>f(x)</code></dt><dd><p>Does it.</p><dl><dt>x</dt><dd>What.</dd></dl></dd></dl>`,
			"- **`f(x)`**\n\n  Does it.\n\n  - **x**\n\n    What.\n",
		},
		"a table": {
			`<table><caption>Sizes</caption><tr><th>Name</th><th>Size</th></tr><tr><td>a|b</td><td><p>1</p>` +
				`<p>2</p></td></tr></table>`,
			"**Sizes**\n\n| Name | Size |\n| --- | --- |\n| a\\|b | 1<br>2 |\n",
		},
		"cells over several rows and columns": {
			`<table><tr><th>A</th><th>B</th><th>C</th></tr><tr><td rowspan="2">1</td><td colspan="2">2</td></tr>` +
				`<tr><td>3</td><td>4</td></tr></table>`,
			"| A | B | C |\n| --- | --- | --- |\n| 1 | 2 |  |\n| 1 | 3 | 4 |\n",
		},
		"a table of blocks": {
			"<table><tr><th>Call</th><th>Result</th></tr><tr><td>f</td><td><pre>a\nb</pre></td></tr></table>",
			"- **Call**: f\n\n  **Result**:\n\n  ```\n  a\n  b\n  ```\n",
		},
		"notes": {
			`<div class="admonition warning"><p class="admonition-title">Careful</p><p>Hot.</p></div>` +
				`<div class="note"><h3 class="title">Note</h3><p>Cold.</p></div>`,
			"> **Careful**\n>\n> Hot.\n\n> **Note**\n>\n> Cold.\n",
		},
		"pictures": {
			`<figure><img src="a b.png" alt="The [map]"><figcaption>Where</figcaption></figure>` +
				`<img src="data:image/png;base64,AA">`,
			"![The \\[map\\]](a%20b.png)\n\nWhere\n",
		},
		"what is not content": {
			`<nav>Menu</nav><p>Text.</p><script>x()</script><div hidden>Hidden</div><button>Copy</button>` +
				`<footer>Imprint</footer>`,
			"Text.\n",
		},
		"forms": {
			`<form role="search"><label>Search</label><input><select><option>` + strings.Repeat("Version ", 50) +
				`</select></form><form><p>Subscribe: <input></p></form><p>Text.</p>`,
			"Text.\n",
		},
		"a page in a form": {
			`<form id="aspnetForm"><input type="hidden" value="x"><div><h1>Install</h1><p>Text.</p></div></form>`,
			"# Install\n\nText.\n",
		},
		"text in a form": {
			`<form><div><p>` + strings.Repeat("Words. ", 40) + `</p></div></form>`,
			strings.TrimSpace(strings.Repeat("Words. ", 40)) + "\n",
		},
		"classes of controls, and of text": {
			`<h1>A<a class="src" href="a.rs">source</a></h1><span class="copy">Copy</span><div class="copy"><p>One.</p></div>` +
				`<p class="copy">Two.</p><pre class="src src-go">f()</pre>`,
			"# A\n\nOne.\n\nTwo.\n\n```\nf()\n```\n",
		},
		"related pages, and text about what is related": {
			`<div class="related"><h3>Navigation</h3><ul><li><a href="b.html">The next page</a> |</li></ul></div>` +
				`<section class="related"><h2>Rivers</h2><p>` + strings.Repeat("Water flows. ", 10) + `</p></section>`,
			"## Rivers\n\n" + strings.TrimSpace(strings.Repeat("Water flows. ", 10)) + "\n",
		},
		"tabs, of which one is shown": {
			`<div class="tabs-container"><ul role="tablist"><li role="tab">npm</li><li role="tab">yarn</li></ul><div>` +
				`<div role="tabpanel"><pre>npm i</pre></div><div role="tabpanel" hidden><pre>yarn add</pre></div></div></div>` +
				`<div class="sphinx-tabs"><div role="tablist"><button role="tab">Linux</button></div>` +
				`<div role="tabpanel" hidden="true"><p>Use apt.</p></div></div>`,
			"**npm**\n\n```\nnpm i\n```\n\n**yarn**\n\n```\nyarn add\n```\n\n**Linux**\n\nUse apt.\n",
		},
		"tabs in tabs": {
			`<div><div role="tablist"><b role="tab">A</b></div><div role="tabpanel">a` +
				`<div><div role="tablist"><b role="tab">B</b></div><div role="tabpanel" hidden>b</div></div></div></div>`,
			"**A**\n\na\n\n**B**\n\nb\n",
		},
		"tabs that share a panel": {
			`<div><div role="tablist"><i role="tab">A</i> <i role="tab">B</i></div><div role="tabpanel">a</div></div>`,
			"*A* *B*\n\na\n",
		},
		"panels without tabs": {`<div role="tabpanel" hidden><p>One.</p></div><p>Two.</p>`, "One.\n\nTwo.\n"},
		"sections in a list that only arranges them": {
			`<ul><li><section><h3 id="add(int)">add</h3><pre>void add(int)</pre></section></li></ul>`,
			"### add\n\n```\nvoid add(int)\n```\n",
		},
		"no links to scripts": {`<p><a href="javascript:alert(1)">go</a></p>`, "go\n"},
		"formulas": {
			`<p><math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math></p>`,
			"`x^2`\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := webpage.Read([]byte("<html><body><main>" + tt.html + "</main></body></html>"))
			if err != nil {
				t.Fatal(err)
			}
			if p.Markdown != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", p.Markdown, tt.want)
			}
		})
	}
}

// Each page has what its generator puts around the content; nothing of that may be left.
func TestGenerators(t *testing.T) {
	around := `<div class="sidebar"><a href="x.html">Other page</a></div>`
	tests := map[string]struct{ head, body string }{
		"sphinx": {"", `<div class="sphinxsidebar"><h3>Navigation</h3></div><div class="body" role="main">` +
			`<section id="use"><h1>Use</h1><p>Text.</p></section></div>`},
		"mkdocs": {`<meta name="generator" content="mkdocs-1.6, mkdocs-material-9">`,
			`<main><article class="md-content__inner md-typeset"><a class="md-content__button">Edit</a>` +
				`<h1 id="use">Use</h1><p>Text.</p></article></main>`},
		"docusaurus": {`<meta name="generator" content="Docusaurus v3">`,
			`<main><article><nav class="theme-doc-breadcrumbs">Home</nav><div class="theme-doc-markdown markdown">` +
				`<h1 id="use">Use</h1><p>Text.</p></div><footer class="theme-doc-footer">Edit</footer></article></main>`},
		"vitepress": {`<meta name="generator" content="VitePress v1">`,
			`<main class="main"><div class="vp-doc"><h1 id="use">Use <a class="header-anchor" href="#use">&#8203;</a></h1>` +
				`<p>Text.</p></div></main>`},
		"asciidoctor": {`<meta name="generator" content="Asciidoctor 2.0">`,
			`<div id="header"><h1 id="use">Use</h1><div id="toc">Contents</div></div><div id="content"><p>Text.</p></div>`},
		"antora": {`<meta name="generator" content="Antora 3">`,
			`<nav class="breadcrumbs">Home</nav><article class="doc"><h1 class="page" id="use">Use</h1><p>Text.</p></article>`},
		"javadoc": {`<meta name="generator" content="javadoc/JavadocWriter">`,
			`<div class="sub-nav">Summary</div><main role="main"><h1 class="title" id="use">Use</h1><p>Text.</p></main>`},
		"doxygen": {`<meta name="generator" content="Doxygen 1.9"/>`,
			`<div class="header"><div class="headertitle"><div class="title" id="use">Use</div></div></div>` +
				`<div class="contents"><p>Text.</p></div>`},
		"rustdoc": {`<meta name="generator" content="rustdoc">`,
			`<section id="main-content" class="content"><h1 id="use">Use<button id="copy-path">Copy</button>` +
				`</h1><p>Text.</p></section>`},
		"hugo": {`<meta name="generator" content="Hugo 0.120">`,
			`<main><div class="td-content"><h1 id="use">Use</h1><p>Text.</p></div></main>`},
		"docbook": {"", `<div class="navheader"><a href="n.html">Next</a></div><div class="sect1" id="use">` +
			`<h1>Use</h1><p>Text.</p></div>` +
			`<div class="navfooter">Up</div>`},
		"": {"", `<div><div><h1 id="use">Use</h1><p>Text.</p></div></div>`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			outside := around
			if name == "docbook" || name == "" {
				outside = "" // nothing marks it there
			}
			p, err := webpage.Read([]byte("<html><head><title>Use — Manual</title>" + tt.head + "</head><body>" + outside +
				tt.body + "</body></html>"))
			if err != nil {
				t.Fatal(err)
			}
			if p.Generator != name {
				t.Errorf("generator %q, want %q", p.Generator, name)
			}
			if p.Markdown != "# Use\n\nText.\n" || p.Title != "Use" {
				t.Errorf("title %q, content:\n%s", p.Title, p.Markdown)
			}
			if name != "asciidoctor" && name != "doxygen" && !slices.Equal(p.HeadingIDs, []string{"use"}) {
				t.Errorf("ids of headings: %q, want use", p.HeadingIDs)
			}
		})
	}
}

func TestHead(t *testing.T) {
	p, err := webpage.Read([]byte(`<html lang="de-AT"><head><title>Anfang | Handbuch</title>
		<meta name="description" content="Wie man  beginnt."><link rel="canonical" href="https://example.com/a.html">
		<link rel="next" href="b.html"></head><body><main><p>Los.</p></main></body></html>`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Title != "Anfang" || p.Description != "Wie man beginnt." || p.Language != "de-AT" ||
		p.Canonical != "https://example.com/a.html" || p.Next != "b.html" || p.Unlisted {
		t.Errorf("got %+v", p)
	}
	for _, head := range []string{`<meta http-equiv="refresh" content="0; url=b.html">`,
		`<meta name="robots" content="noindex, follow">`} {
		if p, err := webpage.Read([]byte("<head>" + head + "</head><main>x</main>")); err != nil || !p.Unlisted {
			t.Errorf("%s is listed (%v)", head, err)
		}
	}
}

// Deep nesting is cut off or refused, in time proportional to the size of the page.
func TestHostileNesting(t *testing.T) {
	for _, tag := range []string{"div", "ul><li", "blockquote", "table><tr><td", "b", "a href=x", "dl><dd", "section"} {
		page := "<main><p>Text.</p>" + strings.Repeat("<"+tag+">x", 20_000)
		p, err := webpage.Read([]byte(page))
		if err == nil && len(p.Markdown) > 100*len(page) {
			t.Errorf("%d bytes of <%s> give %d bytes", len(page), tag, len(p.Markdown))
		}
	}
	wide := "<table><tr>" + strings.Repeat(`<td colspan="1000000" rowspan="1000000">x</td>`, 2000) + "</tr></table>"
	if p, err := webpage.Read([]byte(wide)); err != nil || len(p.Markdown) > 10*len(wide) {
		t.Errorf("a wide table: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`<main><h1 id="a">T</h1><ul><li>a<pre>b</pre></ul><table><tr><td rowspan=9>c<td>d</table>` +
		`<dl><dt>e<dd>f</dl>`))
	f.Add([]byte(`<div class="admonition note"><p class="title">x</p></div><math>` +
		`<annotation encoding="tex">y</annotation></math>`))
	fuzzbound.Fuzz(f, func(t *testing.T, source []byte) {
		p, err := webpage.Read(source)
		if err != nil {
			return
		}
		if again, err := webpage.Read(source); err != nil || again.Markdown != p.Markdown {
			t.Error("reading twice gives different text")
		}
	})
}
