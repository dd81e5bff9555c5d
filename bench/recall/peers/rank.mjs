// Ranks pages with other search libraries, each configured as its documentation recommends.
//
// Reads {"pages": [{"id", "title", "sections": [{"heading", "text"}]}], "queries": [text]} from stdin and writes
// {library: [[id, ...] for each query]} to stdout, at most 10 ids each.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import lunr from "lunr";
import MiniSearch from "minisearch";
import * as pagefind from "pagefind";

const most = 10;
const { pages, queries } = JSON.parse(await readFile("/dev/stdin", "utf8"));
const textOf = (page) => page.sections.map((s) => `${s.heading}\n${s.text}`).join("\n");

function withMiniSearch() {
  const index = new MiniSearch({ fields: ["title", "text"], searchOptions: { boost: { title: 2 }, fuzzy: 0.2, prefix: true } });
  index.addAll(pages.map((page) => ({ id: page.id, title: page.title, text: textOf(page) })));
  return queries.map((query) => index.search(query).slice(0, most).map((hit) => hit.id));
}

function withLunr() {
  const index = lunr(function () {
    this.ref("id");
    this.field("title", { boost: 10 });
    this.field("text");
    for (const page of pages) this.add({ id: page.id, title: page.title, text: textOf(page) });
  });
  // Signs are operators in lunr's query language.
  const plain = (query) => query.replace(/[^\p{L}\p{N}]+/gu, " ");
  return queries.map((query) => index.search(plain(query)).slice(0, most).map((hit) => hit.ref));
}

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

async function withPagefind() {
  const { index } = await pagefind.createIndex({ forceLanguage: "en" });
  for (const [n, page] of pages.entries()) {
    const body = page.sections.map((s) => `${s.heading ? `<h2>${escaped(s.heading)}</h2>` : ""}<p>${escaped(s.text)}</p>`);
    const { errors } = await index.addHTMLFile({
      url: `/${n}`,
      content: `<!doctype html><html lang="en"><body><h1>${escaped(page.title)}</h1>${body.join("")}</body></html>`,
    });
    if (errors.length > 0) throw new Error(errors.join("; "));
  }
  const folder = await mkdtemp(path.join(os.tmpdir(), "pagefind-"));
  try {
    await index.writeFiles({ outputPath: folder });
    return await askPagefind(folder);
  } finally {
    await rm(folder, { recursive: true });
    await pagefind.close();
  }
}

// askPagefind runs the library's browser module, whose requests are answered from the folder.
async function askPagefind(folder) {
  globalThis.window = { location: { origin: "http://localhost", href: "http://localhost/" } };
  globalThis.location = globalThis.window.location;
  globalThis.document = { querySelector: () => ({ getAttribute: () => "en" }), currentScript: null };
  globalThis.fetch = async (url) => {
    const file = /(?:index\/|fragment\/)?[^/?]+(?=\?|$)/.exec(String(url))[0];
    return new Response(await readFile(path.join(folder, file)));
  };
  const browser = await import(path.join(folder, "pagefind.js"));
  await browser.init();
  const found = [];
  for (const query of queries) {
    const { results } = await browser.search(query);
    const data = await Promise.all(results.slice(0, most).map((hit) => hit.data()));
    found.push(data.map((d) => pages[Number(/\/(\d+)/.exec(d.url)[1])].id));
  }
  return found;
}

const found = { minisearch: withMiniSearch(), lunr: withLunr(), pagefind: await withPagefind() };
process.stdout.write(JSON.stringify(found), () => process.exit(0));
