// Answers queries from the search index of a site. The weights, limits and texts come from
// the tables of the Go implementation, and the order of every step is the same. Both formats
// of an index are read: search1.js and search2.js are their readers.

import { clip, compareBytes, crc32, format, quote } from './text.js';
import { nearest } from './nearest.js';
import { newAnalyzer, plain, tokens } from './words.js';
import { Reader1 } from './search1.js';
import { Reader2 } from './search2.js';
import { LANGUAGE, LANGUAGES, SEARCH, TEXTS } from './tables.js';

/** A file of the index that does not exist. */
export class NoFile extends Error {}

/** A file of another build of the index. */
export class Stale extends Error {}

/** A section that the index does not have. The message is for the client. */
export class SectionError extends Error {}

/**
 * Answers a query {phrasings, limit, offset, section}. files.load(name, sum) returns a parsed
 * file of the index, or throws NoFile or Stale; files.forget(name) drops a cached one.
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

async function searchOnce(files, asked) {
  const head = await files.load(SEARCH.head);
  const reader = head.format === 1 ? new Reader1(files, head) : new Reader2(files, head);
  const section = asked.section.replace(/^\/+|\/+$/g, '');
  const q = { reader, section, analyzer: newAnalyzer(LANGUAGES[head.language] ?? LANGUAGE), terms: [] };
  const phrasings = asked.phrasings.slice(0, SEARCH.maxQueries);
  q.result = { asked: { ...asked, section }, hits: [], pages: 0, replaced: [], near: [], hint: head.hint ?? '' };
  if (section !== '') reader.inFolder(section);
  const lists = [];
  for (const phrasing of phrasings) lists.push(await rankPhrasing(q, clip(phrasing, SEARCH.maxQueryBytes)));
  const found = lists.length === 1 ? lists[0] : fuse(lists);
  q.result.pages = found.length;
  const from = Math.min(Math.max(0, asked.offset), SEARCH.maxOffset, found.length);
  const limit = asked.limit <= 0 ? SEARCH.maxHits : asked.limit;
  const shown = found.slice(from, from + Math.min(limit, SEARCH.maxLimit));
  const rows = await reader.rows(shown);
  const weights = new Map();
  for (const t of q.terms) weights.set(t.term, Math.max(weights.get(t.term) ?? 0, t.weight * reader.idf(t.term)));
  rows.forEach((row, i) => q.result.hits.push(hit(q, row, shown[i], weights)));
  if (q.result.pages === 0) await suggest(q, phrasings);
  return q.result;
}

/** Ranks the pages for one phrasing. */
async function rankPhrasing(q, query) {
  let terms = wantedTerms(q, query);
  await q.reader.fetch(terms);
  const pinned = q.reader.pinned(terms);
  terms = await addSynonyms(q, terms);
  terms = await replaceUnknown(q, terms);
  let groups = 0;
  for (const t of terms) groups = Math.max(groups, t.group + 1);
  const found = q.reader.rank(terms, groups, q.section);
  const score = found[0]?.score ?? 0;
  for (const page of pinned.reverse()) {
    const at = found.findIndex((c) => c.page === page);
    if (at < 0 && q.section !== '') continue;
    const [c] = at >= 0 ? found.splice(at, 1) : [{ page, section: -1 }];
    found.unshift({ ...c, score });
  }
  q.terms.push(...terms);
  return found;
}

export const byScore = (a, b) => b.score - a.score || a.page - b.page;

/** Joins the rankings for several phrasings by reciprocal rank, times the score relative to the best page. */
function fuse(lists) {
  const deepest = 100;
  const places = new Map();
  for (const list of lists) {
    list.forEach((c, rank) => {
      let y = places.get(c.page);
      if (!y) places.set(c.page, (y = { page: c.page, section: c.section, score: 0, best: rank }));
      if (rank < y.best && c.section >= 0) {
        y.best = rank;
        y.section = c.section;
      }
      const share = list[0].score > 0 ? c.score / list[0].score : 1;
      if (rank < deepest) y.score += share / (SEARCH.fuse + rank);
    });
  }
  return [...places.values()].sort(byScore);
}

/** Returns the factor for a page that has some of the words of a query. */
export function coverage(base, has, groups) {
  let on = 0;
  for (let n = groups > 0 ? has : 0; n !== 0; n &= n - 1) on++;
  return base + (1 - base) * (on / Math.max(1, Math.min(groups, 32)));
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
    const w = { term: t.term, word: t.word, weight: weightOf(q, t), group, compound: t.compound };
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
  return withHeading(telling);
}

/** Returns the weight of a word in a query. */
const weightOf = (q, t) => (q.analyzer.weak.has(t.word) ? SEARCH.asWeak : 1);

/** Adds the term for headings that consist of the other terms. */
function withHeading(terms) {
  const parts = terms.filter((t) => !t.compound).map((t) => t.term);
  if (parts.length < 2 || parts.length > SEARCH.maxHeading) return terms;
  const sum = crc32(new TextEncoder().encode(parts.join(SEARCH.headingJoint)));
  const term = parts[0] + SEARCH.headingJoint + sum;
  return [...terms, { term, word: term, weight: SEARCH.asHeading, group: 0, compound: true, literal: false }];
}

/** Replaces words that no page has by words that begin with them or are similar. */
async function replaceUnknown(q, terms) {
  const known = [];
  let unknown = [];
  for (const t of terms) {
    if (q.reader.has(t.term)) known.push(t);
    else if (q.reader.has(plain(t.word))) known.push({ ...t, term: plain(t.word) });
    else if (!t.compound && !t.synonym) unknown.push(t);
  }
  unknown = unknown.filter((t) => !promoteSynonyms(q, known, t));
  if (unknown.length === 0) return known;
  for (const t of unknown) {
    const words = await q.reader.words(t.word);
    let found = beginning(t.word, words);
    let weight = SEARCH.asPrefix;
    if (found.length === 0 && !t.literal) {
      found = near(t.word, words, 3);
      weight = SEARCH.asNear;
    }
    if (found.length === 0) continue;
    if (!q.result.replaced.some((x) => x.word === t.word)) q.result.replaced.push({ word: t.word, instead: found });
    for (const word of found) {
      for (const n of tokens(q.analyzer, word)) {
        known.push({ term: n.term, word, weight: weight * Math.min(t.weight, weightOf(q, n)), group: t.group });
      }
    }
  }
  return distinct(q, known);
}

/**
 * Raises the weight of synonyms that replace a word missing from every page: those added for it, and those that
 * are in the query or were added for another word of it. It reports whether there are any.
 */
function promoteSynonyms(q, known, unknown) {
  const synonyms = new Set(known.filter((t) => t.synonym && t.group === unknown.group));
  for (const group of q.reader.synonyms().groups) {
    if (!group.includes(unknown.term)) continue;
    for (const member of group) {
      if (findPhrase(known, member) < 0) continue;
      const parts = fields(member);
      for (const t of known) if (parts.includes(t.term)) synonyms.add(t);
    }
  }
  for (const t of synonyms) t.weight = Math.max(t.weight, SEARCH.asOnlySynonym * unknown.weight);
  return synonyms.size > 0;
}

/** Keeps the entry of each term with the largest weight, and fetches all. */
async function distinct(q, terms) {
  terms.sort((a, b) => compareBytes(a.term, b.term) || b.weight - a.weight);
  terms = terms.filter((t, i) => i === 0 || terms[i - 1].term !== t.term);
  await q.reader.fetch(terms);
  return terms;
}

/** Adds the other members of the groups of synonyms that the terms belong to, and related terms. */
async function addSynonyms(q, terms) {
  const { groups, own } = q.reader.synonyms();
  const given = terms.slice();
  terms = terms.slice();
  groups.forEach((group, n) => {
    const factor = n < own ? SEARCH.asOwnSynonym : SEARCH.asSynonym;
    const i = group.findIndex((member) => findPhrase(given, member) >= 0);
    if (i < 0) return;
    const from = given[findPhrase(given, group[i])];
    group.forEach((other, j) => {
      if (j === i) return;
      for (const term of fields(other)) {
        if (findPhrase(terms, term) >= 0) continue;
        terms.push({ term, word: term, weight: factor * from.weight, group: from.group, synonym: true, part: term !== other });
      }
    });
  });
  addRelated(q, terms, given);
  await q.reader.fetch(terms);
  return terms;
}

/** Adds the terms that documentation uses for the given ones, which are those of the query. */
function addRelated(q, terms, given) {
  const most = terms.length + SEARCH.maxRelated;
  for (const from of given) {
    for (const r of q.analyzer.related.get(from.term) ?? []) {
      if (findPhrase(given, r.phrase) < 0) continue;
      for (const term of r.terms) {
        if (terms.length === most) return;
        if (findPhrase(terms, term) >= 0) continue;
        terms.push({ term, word: term, weight: SEARCH.asRelated * from.weight, group: from.group, synonym: true, part: true });
      }
    }
  }
}

export const fields = (text) => text.split(/\s+/).filter(Boolean);

/** Returns the place of the first word of a phrase among terms, if they have all of its words, or -1. */
export function findPhrase(terms, phrase) {
  const places = fields(phrase).map((term) => terms.findIndex((t) => t.term === term));
  return places.length === 0 || places.includes(-1) ? -1 : places[0];
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

/** Adds similar words to a result without hits. */
async function suggest(q, phrasings) {
  for (const phrasing of phrasings) {
    for (const t of tokens(q.analyzer, phrasing)) {
      if (t.stop || t.compound) continue;
      for (const w of near(t.word, await q.reader.words(t.word), 4)) {
        if (q.result.near.length < SEARCH.maxNear && !q.result.near.includes(w)) q.result.near.push(w);
      }
    }
  }
}

/** Returns a page as a result, with a snippet from its best section, or from the first that has text. */
function hit(q, row, c, weights) {
  const h = { page: row.id, title: row.title, link: row.link ?? '', slug: '', heading: '', snippet: '' };
  const s = c.section >= 0 ? row.sections[c.section - (row.first ?? 0)] : undefined;
  if (s) {
    h.slug = s.slug ?? '';
    h.heading = s.heading ?? '';
    h.snippet = snippet(q, s.text ?? '', weights);
  }
  for (let i = 0; h.snippet === '' && i < row.sections.length; i++) h.snippet = snippet(q, row.sections[i].text ?? '', weights);
  return h;
}

/** Returns the part of a text with the most of the terms, with "…" at the cuts. Sizes are bytes. */
function snippet(q, text, weights) {
  const most = SEARCH.snippetBytes;
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= most) return text;
  const found = tokens(q.analyzer, text).filter((t) => weights.get(t.term) > 0);
  const offset = byteOffsets(text, bytes);
  for (const t of found) t.at = offset(t.at);
  let start = 0;
  let best = 0;
  for (let i = 0; i < found.length; i++) {
    let sum = 0;
    const seen = new Set();
    for (let j = i; j < found.length && found[j].at < found[i].at + Math.floor((most * 3) / 4); j++) {
      if (seen.has(found[j].term)) continue;
      seen.add(found[j].term);
      sum += weights.get(found[j].term);
    }
    if (sum > best) {
      start = found[i].at;
      best = sum;
    }
  }
  return cut(bytes, sentenceStart(bytes, start, Math.floor(most / 3)), most);
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

/** Returns the beginning of the sentence that contains at, if that is near, and otherwise a word before at. */
function sentenceStart(bytes, at, limit) {
  for (let i = at; i > Math.max(1, at - limit); i--) {
    if (bytes[i - 1] === 0x20 && '.!?:;'.includes(String.fromCharCode(bytes[i - 2]))) return i;
  }
  if (at <= limit) return 0;
  const from = at - Math.floor(limit / 2);
  const i = bytes.subarray(from, at).indexOf(0x20);
  return i >= 0 ? from + i + 1 : at;
}

/** Returns about size bytes from start, in whole words. */
function cut(bytes, start, size) {
  const isStart = (i) => (bytes[i] & 0xc0) !== 0x80;
  let from = start;
  if (from + size > bytes.length) {
    from = Math.max(0, bytes.length - size);
    const i = bytes.subarray(from).indexOf(0x20);
    if (from > 0 && i >= 0 && from + i < start) from += i + 1;
  }
  while (from < bytes.length && !isStart(from)) from++;
  let to = Math.min(bytes.length, from + size);
  if (to < bytes.length) {
    const i = bytes.subarray(from, to).lastIndexOf(0x20);
    if (i > Math.floor(size / 2)) to = from + i;
    while (to > from && !isStart(to)) to--;
  }
  const middle = new TextDecoder().decode(bytes.subarray(from, to));
  return (from > 0 ? '…' : '') + middle + (to < bytes.length ? '…' : '');
}

/** Formats a result for a model. */
export function resultText(r) {
  const asked = r.asked.phrasings.map(quote).join(', ');
  const { pages } = r;
  const shown = r.hits.length;
  const first = r.asked.offset + 1;
  let out = '';
  for (const x of r.replaced) out += format(TEXTS.searchReplaced, x.word, x.instead.map(quote).join(', '));
  if (pages === 0 && r.near.length > 0) out += format(TEXTS.searchNear, asked, r.near.join(', '));
  else if (pages === 0) out += format(TEXTS.searchNone, asked);
  else if (shown === 0) out += format(TEXTS.searchBeyond, pages, asked, first);
  else if (r.asked.offset > 0) out += format(TEXTS.searchNumbers, pages, asked, first, r.asked.offset + shown);
  else if (pages === 1) out += format(TEXTS.searchOne, asked);
  else if (pages > shown) out += format(TEXTS.searchBest, pages, asked, shown);
  else out += format(TEXTS.searchAll, pages, asked);
  r.hits.forEach((h, i) => {
    out += format(TEXTS.searchHit, first + i, h.title, h.page);
    if (h.slug) out += format(TEXTS.searchHeading, h.slug, h.heading);
    if (h.link) out += format(TEXTS.searchLink, h.link);
    if (h.snippet) out += format(TEXTS.searchSnippet, h.snippet);
  });
  if (r.hint && shown > 0) out += format(TEXTS.searchHint, r.hint);
  return out;
}
