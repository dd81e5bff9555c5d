// Indexes of format 2: files repeat the build of the head, scores are computed while reading.

import { byteLength, compareBytes, crc32, format, quote } from './text.js';
import { nearest } from './nearest.js';
import { plain } from './words.js';
import { SectionError, Stale, byScore, coverage, fields, findPhrase } from './search.js';
import { Numbers, loadOf } from './search1.js';
import { SEARCH, TEXTS } from './tables.js';

/** Returns a length from its code of one byte. */
function lengthOf(code) {
  return code < 16 ? code : ((code & 7) + 8) * 2 ** ((code >> 3) - 1);
}

/** Decodes the sections of the head: for each page their number, its length and theirs. */
function layoutOf(head) {
  const numbers = new Numbers(head.sections);
  const l = { lengths: [], first: [0], unit: [0], sections: [], page: [] };
  let total = 0;
  let all = 0;
  for (let p = 0; p < head.pages; p++) {
    const count = numbers.next(SEARCH.maxSections);
    l.lengths.push(lengthOf(numbers.byte()));
    total += l.lengths[p];
    for (let i = 0; i < count; i++) {
      const length = lengthOf(numbers.byte());
      l.sections.push(length);
      l.page.push(p);
      all += length;
    }
    l.first.push(l.sections.length);
    l.unit.push(l.unit[p] + Math.max(1, Math.floor((count + SEARCH.perUnit - 1) / SEARCH.perUnit)));
  }
  if (numbers.more) throw new Error('damaged index');
  l.pageMean = Math.max(1, total / Math.max(1, head.pages));
  l.sectionMean = Math.max(1, all / Math.max(1, l.sections.length));
  return l;
}

/** Finds the links of the head: where those to each page begin. Few are ever decoded. */
function linksOf(head) {
  const numbers = new Numbers(head.links);
  const starts = new Int32Array(head.pages + 1);
  for (let p = 0; p < head.pages; p++) {
    const size = numbers.next(numbers.data.length);
    starts[p + 1] = numbers.i += size;
  }
  if (numbers.i !== numbers.data.length) throw new Error('damaged index');
  return { numbers, starts };
}

/** Returns the file of the first single term of each group, by its members. */
function homesOf(head) {
  const homes = new Map();
  for (const group of head.synonyms ?? []) {
    const single = group.filter((member) => !member.includes(' '));
    for (const member of single) if (!homes.has(member)) homes.set(member, single[0]);
  }
  return homes;
}

// The natural logarithm, with operations that are rounded alike everywhere.
function ln(x) {
  let halvings = 0;
  for (; x >= 2; halvings++) x /= 2;
  const y = (x - 1) / (x + 1);
  const square = y * y;
  let sum = 0;
  for (let n = 15; n >= 1; n -= 2) sum = sum * square + 1 / n;
  return halvings * SEARCH.ln2 + 2 * y * sum;
}

function saturate(flatten, weight, length) {
  const norm = SEARCH.k1 * (1 - flatten + flatten * length);
  return (weight * (SEARCH.k1 + 1)) / (weight + norm);
}

const sumOf = (text) => parseInt(crc32(new TextEncoder().encode(text)), 16);

/** Returns the number of pages that postings begin with. */
function pagesWith(encoded) {
  try {
    return Math.min(new Numbers(encoded.slice(0, 8)).next(Number.MAX_SAFE_INTEGER), SEARCH.maxPages);
  } catch {
    return 0;
  }
}

export class Reader2 {
  constructor(files, head) {
    if (head.format !== SEARCH.format) throw new Error(`index of format ${head.format}`);
    if (!(head.spread > 0)) throw new Error('the head of the index has no spread: a development version of Slipway wrote it');
    Object.assign(this, { files, head, loaded: new Map() });
    head.layout ??= layoutOf(head);
    if (head.links) head.linked ??= linksOf(head);
    head.homes ??= homesOf(head);
  }

  async load(name) {
    const file = await loadOf(this.files, name);
    if (file.of !== this.head.of) {
      this.files.forget(name);
      throw new Stale(name);
    }
    return file;
  }

  /** Returns the files with the words that begin like a word. */
  wordFilesOf(word) {
    const { terms, spread } = this.head;
    if (terms <= 1) return [0];
    const first = sumOf(Array.from(word).slice(0, 2).join('')) % terms;
    return Array.from({ length: Math.min(spread, terms) }, (_, i) => (first + i) % terms);
  }

  /** Returns the file of a term. The term for a heading is in that of the heading's first term. */
  termFileOf(term) {
    const [key] = (this.head.homes.get(term) ?? term).split(SEARCH.headingJoint);
    const files = this.wordFilesOf(key);
    return files[sumOf(key) % files.length];
  }

  async fetch(terms) {
    if (this.head.terms === 0) return;
    const numbers = new Set(terms.map((t) => this.termFileOf(t.term)));
    await Promise.all([...numbers].filter((n) => !this.loaded.has(n)).map(async (n) => {
      this.loaded.set(n, await this.load(`terms-${n}.json`));
    }));
  }

  postings(term) {
    const file = this.loaded.get(this.termFileOf(term));
    if (!file || term === '' || /[ \n]/.test(term)) return '';
    const at = file.terms.indexOf(`\n${term} `);
    if (at < 0) return '';
    const start = at + term.length + 2;
    const end = file.terms.indexOf('\n', start);
    const line = file.terms.slice(start, end < 0 ? undefined : end);
    const space = line.indexOf(' ');
    const found = space < 0 ? '' : line.slice(space + 1);
    return found === SEARCH.elsewhere ? '' : found;
  }

  has(term) {
    return this.postings(term) !== '';
  }

  idf(term) {
    return this.idfOf(pagesWith(this.postings(term)));
  }

  idfOf(pages) {
    return ln(Math.max(1, (this.head.pages + 1) / (pages + 0.5)));
  }

  synonyms() {
    return { groups: this.head.synonyms ?? [], own: this.head.ownSynonyms ?? 0 };
  }

  pinned(terms) {
    return [...new Set((this.head.pins ?? []).filter((p) => findPhrase(terms, p.terms) >= 0).map((p) => p.page))];
  }

  /** Returns the words with the same first character that are not much shorter, most frequent first. */
  async words(word) {
    if (this.head.terms === 0) return [];
    const least = byteLength(word) - 4;
    const lists = await Promise.all(this.wordFilesOf(plain(word)).map(async (n) => {
      const file = await this.load(`terms-${n}.json`);
      file.vocabulary ??= vocabularyOf(file);
      return (file.vocabulary.get(Array.from(word)[0]) ?? []).filter((w) => w.size > least);
    }));
    const found = lists.flat().sort((a, b) => b.pages - a.pages || compareBytes(a.word, b.word));
    return [...new Set(found.map((w) => w.word))]; // one with synonyms may be in two files
  }

  inFolder(section) {
    const folders = this.head.folders ?? {};
    if (Object.hasOwn(folders, section)) return;
    const names = Object.keys(folders).sort(compareBytes);
    let near = nearest(section, names, 3);
    if (near.length === 0) near = names.filter((name) => !name.includes('/')).slice(0, 5);
    if (near.length === 0) throw new SectionError(format(TEXTS.searchSection, section));
    throw new SectionError(format(TEXTS.searchSectionMean, section, near.map(quote).join(', ')));
  }

  /** Returns the pages in and below a section, or undefined for all. */
  allowed(section) {
    if (section === '') return undefined;
    const numbers = new Numbers(this.head.folders[section]);
    const pages = new Set();
    for (let at = -1; numbers.more; ) pages.add((at += numbers.next(this.head.pages - 1 - at)));
    return pages;
  }

  /** Ranks pages by BM25 of the whole page, and of its two best sections. */
  rank(terms, groups, section) {
    const allowed = this.allowed(section);
    const pages = new Map();
    const sections = new Map();
    const frequent = this.mostFrequent(terms);
    for (const t of terms) this.addScores(t, frequent, allowed, pages, sections);
    const l = this.head.layout;
    for (const [at, score] of sections) {
      const y = pages.get(l.page[at]);
      if (y.best < 0 || score > y.first || (score === y.first && at < y.best)) {
        y.second = y.first;
        y.first = score;
        y.best = at;
      } else if (score > y.second) y.second = score;
    }
    const out = [];
    for (const [page, y] of pages) {
      y.score += SEARCH.bestSection * y.first;
      y.score += SEARCH.secondSection * y.second;
      y.score *= coverage(SEARCH.coverageBase, y.has, groups);
      y.score *= 1 + SEARCH.titleShare * Math.min(1, y.title);
      out.push({ page, section: y.best >= 0 ? y.best - l.first[page] : -1, score: y.score });
    }
    return this.addLinks(out.sort(byScore), pages);
  }

  /** Adds the share of links to the best pages. The order of the others stays, as no score becomes less. */
  addLinks(found, pages) {
    if (!this.head.linked) return found;
    const best = found.slice(0, SEARCH.withLinks);
    for (const c of best) c.score += SEARCH.linkShare * this.linking(c.page, pages);
    best.sort(byScore).forEach((c, i) => (found[i] = c));
    return found;
  }

  /** Returns the sum of the scores of the best pages that link to a page, the best first. */
  linking(page, pages) {
    const { numbers, starts } = this.head.linked;
    const best = new Array(SEARCH.bestLinks).fill(0); // falling
    numbers.i = starts[page];
    numbers.next(numbers.data.length); // the size
    for (let from = -1; numbers.i < starts[page + 1]; ) {
      from += numbers.next(this.head.pages - 1 - from);
      let score = pages.get(from)?.score ?? 0;
      for (let i = 0; i < best.length; i++) {
        if (score > best[i]) [score, best[i]] = [best[i], score];
      }
    }
    return best.reduce((sum, score) => sum + score, 0);
  }

  /**
   * Returns, for each word of the query, the number of pages with the most frequent of its terms, without those
   * that are one of several words of a synonym.
   */
  mostFrequent(terms) {
    const pages = new Array(32).fill(0);
    for (const t of terms) {
      const g = Math.min(t.group, 31);
      if (!t.compound && !t.part) pages[g] = Math.max(pages[g], pagesWith(this.postings(t.term)));
    }
    return pages;
  }

  addScores(t, frequent, allowed, pages, sections) {
    const encoded = this.postings(t.term);
    if (encoded === '') return;
    const l = this.head.layout;
    const all = pagesWith(encoded);
    let rarity = this.idfOf(all);
    if (!t.compound) {
      const common = this.idfOf(Math.max(all, frequent[Math.min(t.group, 31)]));
      rarity = (1 - SEARCH.frequentShare) * rarity + SEARCH.frequentShare * common;
    }
    const weight = t.weight * (rarity + SEARCH.rarityBase);
    const named = t.compound ? 0 : t.synonym ? SEARCH.titleSynonym : 1; // its part of a title
    const numbers = new Numbers(encoded);
    numbers.next(SEARCH.maxPages);
    for (let page = -1; numbers.more; ) {
      const step = numbers.next(this.head.pages);
      page += step;
      const coded = numbers.next(SEARCH.maxWeight * 2 ** SEARCH.postingShift);
      const own = Math.floor(coded / 2 ** SEARCH.postingShift);
      const title = coded & SEARCH.titleBit ? numbers.next(SEARCH.maxWeight) : 0;
      const flags = coded & SEARCH.sectionBits;
      const same = flags === SEARCH.sameWeight;
      const count = same ? 1 : flags;
      if (step === 0 || page >= this.head.pages || count > SEARCH.sections) throw new Error('damaged postings');
      const found = [];
      let at = 0;
      for (let i = 0; i < count; i++) {
        at += numbers.next(SEARCH.maxSections);
        found.push([at, same ? own : numbers.next(SEARCH.maxWeight)]);
        if (at >= l.first[page + 1] - l.first[page]) throw new Error('damaged postings');
      }
      if (allowed && !allowed.has(page)) continue;
      let y = pages.get(page);
      if (!y) pages.set(page, (y = { score: 0, title: 0, has: 0, best: -1, first: 0, second: 0 }));
      y.has |= 1 << Math.min(t.group, 31);
      let part = saturate(SEARCH.lengthPage, own, l.lengths[page] / l.pageMean);
      if (title > 0) {
        part += SEARCH.titleBonus / Math.sqrt(title);
        y.title += named / title;
      }
      y.score += weight * part;
      for (const [section, points] of found) {
        const n = l.first[page] + section;
        const score = weight * saturate(SEARCH.lengthSection, points, l.sections[n] / l.sectionMean);
        sections.set(n, (sections.get(n) ?? 0) + score);
      }
    }
  }

  rows(found) {
    const l = this.head.layout;
    return Promise.all(found.map(async (c) => {
      const { file, place } = this.rowFileOf(l.unit[c.page] + Math.floor(Math.max(0, c.section) / SEARCH.perUnit));
      const row = (await this.load(`pages-${file}.json`)).rows[place];
      if (!row) throw new Error('damaged index');
      return row;
    }));
  }

  /** The number of rows in a file doubles after each thousand files. */
  rowFileOf(unit) {
    let each = this.head.rowsPerFile;
    let file = 0;
    for (; unit >= SEARCH.sizeStep * each; each *= 2) {
      unit -= SEARCH.sizeStep * each;
      file += SEARCH.sizeStep;
    }
    return { file: file + Math.floor(unit / each), place: unit % each };
  }
}

/** Returns the words of a file of terms, by their first character. */
function vocabularyOf(file) {
  const words = new Map();
  for (const line of file.terms.split('\n')) {
    const [term, spelling, ...rest] = line.split(' ');
    if (rest.length === 0 || byteLength(term) < 3 || term.includes(SEARCH.headingJoint)) continue;
    const [, digits, ending] = /^(\d*)(.*)$/s.exec(spelling);
    const letters = Array.from(term);
    const word = letters.slice(0, Math.max(0, letters.length - Number(digits))).join('') + ending;
    const first = Array.from(word)[0];
    if (!words.has(first)) words.set(first, []);
    words.get(first).push({ word, size: byteLength(word), pages: pagesWith(rest.join(' ')) });
  }
  return words;
}
