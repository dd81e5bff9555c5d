// Answers queries from the search index of a site. The weights, limits and texts come from
// the tables of the Go implementation, and the order of every step is the same.

import { clip, compareBytes, format, lastNotAfter, quote } from './text.js';
import { nearest } from './nearest.js';
import { newAnalyzer, tokens } from './words.js';
import { LANGUAGE, SEARCH, TEXTS } from './tables.js';

/** A file of the index that does not exist. */
export class NoFile extends Error {}

/** A file of another build of the index. */
export class Stale extends Error {}

/**
 * Answers a query. files.load(name, sum) returns a parsed file of the index, or throws NoFile or
 * Stale; files.forget(name) drops a cached one.
 */
export async function search(files, query) {
  try {
    return await searchOnce(files, query);
  } catch (e) {
    if (!(e instanceof Stale)) throw e;
    files.forget(SEARCH.head); // the site was replaced after its head was read
    return searchOnce(files, query);
  }
}

async function searchOnce(files, query) {
  const head = checkHead(await files.load(SEARCH.head));
  const q = { files, head, analyzer: newAnalyzer(LANGUAGE), shards: new Map(), scores: new Map() };
  q.result = { query, hits: [], pages: 0, replaced: [], near: [], hint: head.hint ?? '' };
  let terms = wantedTerms(q, clip(query, SEARCH.maxQuery));
  await fetchTerms(q, terms);
  terms = await replaceUnknown(q, terms);
  let groups = 0;
  for (const t of terms) {
    groups = Math.max(groups, t.group + 1);
    addScores(q, t);
  }
  q.result.pages = q.scores.size;
  await show(q, rank(q, groups), terms);
  if (q.result.hits.length === 0) await suggest(q);
  return q.result;
}

function checkHead(head) {
  if (head.format !== SEARCH.format) throw new Error(`index of format ${head.format}`);
  head.starts ??= { terms: head.terms.map((s) => s[0]), rows: head.rows.map((s) => Number(s[0])) };
  return head;
}

/** Returns a shard, which must be of the build of the head. */
async function loadShard(q, name, sum) {
  try {
    return await q.files.load(name, sum);
  } catch (e) {
    throw e instanceof NoFile ? new Stale(name) : e;
  }
}

/** Returns the terms to look up: the words that are not stop words, or all words if there are no others. */
function wantedTerms(q, query) {
  const all = [];
  const telling = [];
  const seen = new Set();
  let group = 0;
  for (const t of tokens(q.analyzer, query)) {
    if (seen.has(t.term) || all.length >= SEARCH.maxTerms) continue;
    seen.add(t.term);
    const w = { term: t.term, word: t.word, weight: 1, group, compound: t.compound };
    w.literal = /[0-9]/.test(t.word) || Array.from(t.word).length < 4;
    if (t.compound) {
      w.weight = SEARCH.asCompound;
      w.group = Math.max(0, group - 1);
    } else group++;
    all.push(w);
    if (!t.stop) telling.push(w);
  }
  if (telling.length === 0) return all;
  const numbers = new Map();
  for (const t of telling) {
    if (!numbers.has(t.group)) numbers.set(t.group, numbers.size);
    t.group = numbers.get(t.group);
  }
  return telling;
}

const shardOf = (q, term) => lastNotAfter(q.head.starts.terms, term, compareBytes);

/** Loads the shards of the terms, side by side. */
async function fetchTerms(q, terms) {
  const numbers = new Set(terms.map((t) => shardOf(q, t.term)));
  await Promise.all([...numbers].filter((n) => n >= 0 && !q.shards.has(n)).map(async (n) => {
    q.shards.set(n, await loadShard(q, `terms-${n}.json`, q.head.terms[n][1]));
  }));
}

function postings(q, term) {
  const terms = q.shards.get(shardOf(q, term))?.terms;
  return terms && Object.hasOwn(terms, term) ? terms[term] : '';
}

/** Replaces words that no page has by words that begin with them or are similar. */
async function replaceUnknown(q, terms) {
  const known = terms.filter((t) => postings(q, t.term) !== '');
  const unknown = terms.filter((t) => postings(q, t.term) === '' && !t.compound);
  if (unknown.length === 0) return known;
  const words = await loadWords(q);
  for (const t of unknown) {
    let found = beginning(t.word, words);
    let weight = SEARCH.asPrefix;
    if (found.length === 0 && !t.literal) {
      found = near(t.word, words, 3);
      weight = SEARCH.asNear;
    }
    if (found.length === 0) continue;
    q.result.replaced.push({ word: t.word, instead: found });
    for (const word of found) {
      for (const n of tokens(q.analyzer, word)) known.push({ term: n.term, word, weight, group: t.group });
    }
  }
  known.sort((a, b) => compareBytes(a.term, b.term) || b.weight - a.weight);
  const distinct = known.filter((t, i) => i === 0 || known[i - 1].term !== t.term);
  await fetchTerms(q, distinct);
  return distinct;
}

async function loadWords(q) {
  const list = await loadShard(q, SEARCH.words, q.head.words);
  list.split ??= list.words.split(/\s+/).filter(Boolean);
  return list.split;
}

function near(word, words, limit) {
  const digits = /[0-9]/;
  return nearest(word, words, 4 * limit).filter((w) => !digits.test(w) || digits.test(word)).slice(0, limit);
}

function beginning(word, words) {
  if (Array.from(word).length < 3) return [];
  const found = [];
  for (const w of words) {
    if (w.startsWith(word) && w !== word && found.push(w) === SEARCH.maxPrefix) break;
  }
  return found;
}

/** Adds the scores of one term. */
function addScores(q, t) {
  eachPosting(postings(q, t.term), q.head.pages, (page, score, sections) => {
    let tally = q.scores.get(page);
    if (!tally) q.scores.set(page, (tally = { page, score: 0, groups: 0, sections: [] }));
    tally.score += t.weight * score;
    tally.groups |= 1 << Math.min(t.group, 31);
    for (const [section, points] of sections) {
      const known = tally.sections.find((s) => s.section === section);
      if (known) known.score += t.weight * points;
      else tally.sections.push({ section, score: t.weight * points });
    }
  });
}

/** Calls visit for the pages of a term: unsigned varints in base64. */
function eachPosting(encoded, pages, visit) {
  const data = atob(encoded);
  let i = 0;
  const next = (limit) => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = data.charCodeAt(i++);
      if (!(byte >= 0)) throw new Error('damaged postings');
      value += (byte & 127) * shift;
      if (byte < 128) break;
    }
    if (value > limit) throw new Error('damaged postings');
    return value;
  };
  let page = -1;
  while (i < data.length) {
    const step = next(pages);
    page += step;
    const score = next(1 << 24);
    const sections = [];
    let at = 0;
    for (let count = next(SEARCH.sections); count > 0; count--) {
      at += next(SEARCH.maxSections);
      sections.push([at, next(1 << 24)]);
    }
    if (step === 0 || page >= pages) throw new Error('damaged postings');
    visit(page, score, sections);
  }
}

/** Returns the best section of a page, or -1 if the words occur only in the title. */
function best(tally) {
  let section = -1;
  let score = 0;
  for (const s of tally.sections) {
    if (s.score > score || (s.score === score && section > s.section)) ({ section, score } = s);
  }
  return { section, score };
}

function rank(q, groups) {
  const all = [...q.scores.values()];
  for (const tally of all) {
    tally.score += SEARCH.forSection * best(tally).score;
    let on = 0;
    for (let g = 0; g < Math.min(groups, 32); g++) on += (tally.groups >>> g) & 1;
    tally.score *= SEARCH.anyWord + (SEARCH.allWords * on) / Math.max(1, groups);
  }
  all.sort((a, b) => b.score - a.score || a.page - b.page);
  return all.slice(0, SEARCH.maxHits);
}

/** Adds the best pages to the result. */
async function show(q, pages, terms) {
  const shards = await Promise.all(pages.map(async (tally) => {
    const n = lastNotAfter(q.head.starts.rows, tally.page, (a, b) => a - b);
    if (n < 0) throw new Error('damaged index');
    const shard = await loadShard(q, `pages-${n}.json`, q.head.rows[n][1]);
    return shard.pages[tally.page - q.head.starts.rows[n]];
  }));
  pages.forEach((tally, i) => q.result.hits.push(hit(q, shards[i], tally, terms)));
}

function hit(q, row, tally, terms) {
  const h = { page: row.id, title: row.title, link: row.link ?? '', slug: '', heading: '', snippet: '' };
  const s = row.sections[best(tally).section];
  if (s) {
    h.slug = s.slug ?? '';
    h.heading = s.heading ?? '';
    h.snippet = s.text ?? '';
  }
  for (let i = 0; h.snippet === '' && i < row.sections.length; i++) h.snippet = row.sections[i].text ?? '';
  h.snippet = snippet(q, h.snippet, terms);
  return h;
}

async function suggest(q) {
  const words = await loadWords(q);
  for (const t of tokens(q.analyzer, q.result.query)) {
    if (t.stop || t.compound) continue;
    for (const w of near(t.word, words, 4)) {
      if (q.result.near.length < SEARCH.maxNear && !q.result.near.includes(w)) q.result.near.push(w);
    }
  }
}

/** Returns the part of a text with most of the terms, with "…" at the cuts. Sizes are bytes. */
function snippet(q, text, terms) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= SEARCH.snippet) return text;
  const weights = new Map(terms.map((t) => [t.term, t.weight]));
  const found = tokens(q.analyzer, text).filter((t) => weights.get(t.term) > 0);
  const offset = byteOffsets(text, bytes);
  for (const t of found) t.at = offset(t.at);
  let start = 0;
  let most = 0;
  for (let i = 0; i < found.length; i++) {
    let sum = 0;
    const seen = new Set();
    for (let j = i; j < found.length && found[j].at < found[i].at + (SEARCH.snippet * 3) / 4; j++) {
      if (seen.has(found[j].term)) continue;
      seen.add(found[j].term);
      sum += weights.get(found[j].term);
    }
    if (sum > most) {
      start = found[i].at;
      most = sum;
    }
  }
  return cut(bytes, start);
}

/** Returns a function from rising offsets in UTF-16 units to offsets in UTF-8. */
function byteOffsets(text, bytes) {
  if (text.length === bytes.length) return (at) => at;
  let unit = 0;
  let byte = 0;
  return (at) => {
    if (at < unit) unit = byte = 0;
    while (unit < at) {
      const c = text.codePointAt(unit);
      unit += c > 0xffff ? 2 : 1;
      byte += c < 0x80 ? 1 : c < 0x800 ? 2 : c > 0xffff ? 4 : 3;
    }
    return byte;
  };
}

function cut(bytes, start) {
  const length = bytes.length;
  const isStart = (i) => (bytes[i] & 0xc0) !== 0x80;
  let from = Math.max(0, start - Math.floor(SEARCH.snippet / 6));
  if (from + SEARCH.snippet > length) from = Math.max(0, length - SEARCH.snippet);
  let to = Math.min(length, from + SEARCH.snippet);
  if (from > 0) {
    const i = bytes.subarray(from, to).indexOf(0x20);
    if (i >= 0 && from + i < Math.max(start, from + 20)) from += i + 1;
    while (from < length && !isStart(from)) from++;
  }
  if (to < length) {
    const i = bytes.subarray(from, to).lastIndexOf(0x20);
    if (i > SEARCH.snippet / 2) to = from + i;
    while (to > from && !isStart(to)) to--;
  }
  const middle = new TextDecoder().decode(bytes.subarray(from, to));
  return (from > 0 ? '…' : '') + middle + (to < length ? '…' : '');
}

/** Formats a result for a model. */
export function resultText(r) {
  let out = '';
  for (const x of r.replaced) out += format(TEXTS.searchReplaced, x.word, x.instead.map(quote).join(', '));
  const shown = r.hits.length;
  if (shown === 0 && r.near.length > 0) out += format(TEXTS.searchNear, r.query, r.near.join(', '));
  else if (shown === 0) out += format(TEXTS.searchNone, r.query);
  else if (r.pages === 1) out += format(TEXTS.searchOne, r.query);
  else if (r.pages > shown) out += format(TEXTS.searchBest, r.pages, r.query, shown);
  else out += format(TEXTS.searchAll, r.pages, r.query);
  r.hits.forEach((h, i) => {
    out += format(TEXTS.searchHit, i + 1, h.title, h.page);
    if (h.slug) out += format(TEXTS.searchHeading, h.slug, h.heading);
    if (h.link) out += format(TEXTS.searchLink, h.link);
    if (h.snippet) out += format(TEXTS.searchSnippet, h.snippet);
  });
  if (r.hint && shown > 0) out += format(TEXTS.searchHint, r.hint);
  return out;
}
