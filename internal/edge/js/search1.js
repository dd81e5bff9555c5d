// Indexes of format 1: files are verified by their checksums.

import { compareBytes, lastNotAfter } from './text.js';
import { NoFile, Stale, byScore, coverage, fields } from './search.js';
import { SEARCH } from './tables.js';

/** Reads the unsigned varints of postings. */
export class Numbers {
  constructor(encoded) {
    Object.assign(this, { data: atob(encoded), i: 0 });
  }

  get more() {
    return this.i < this.data.length;
  }

  byte() {
    return this.data.charCodeAt(this.i++);
  }

  next(limit) {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = this.byte();
      if (!(byte >= 0)) throw new Error('damaged postings');
      value += (byte & 127) * shift;
      if (byte < 128) break;
    }
    if (value > limit) throw new Error('damaged postings');
    return value;
  }
}

/** Loads a file of the build of the head. */
export async function loadOf(files, name, sum) {
  try {
    return await files.load(name, sum);
  } catch (e) {
    throw e instanceof NoFile ? new Stale(name) : e;
  }
}

export class Reader1 {
  constructor(files, head) {
    Object.assign(this, { files, head, shards: new Map() });
    head.starts ??= { terms: head.terms.map((s) => s[0]), rows: head.rows.map((s) => Number(s[0])) };
  }

  termFileOf(term) {
    return lastNotAfter(this.head.starts.terms, term, compareBytes);
  }

  async fetch(terms) {
    const numbers = new Set(terms.map((t) => this.termFileOf(t.term)));
    await Promise.all([...numbers].filter((n) => n >= 0 && !this.shards.has(n)).map(async (n) => {
      this.shards.set(n, await loadOf(this.files, `terms-${n}.json`, this.head.terms[n][1]));
    }));
  }

  postings(term) {
    const terms = this.shards.get(this.termFileOf(term))?.terms;
    return terms && Object.hasOwn(terms, term) ? terms[term] : '';
  }

  has(term) {
    return this.postings(term) !== '';
  }

  idf() {
    return 1;
  }

  async words() {
    const list = await loadOf(this.files, SEARCH.words1, this.head.words);
    list.split ??= fields(list.words);
    return list.split;
  }

  synonyms() {
    return { groups: [], own: 0 };
  }

  pinned() {
    return [];
  }

  inFolder() {
    throw new Error('the index cannot be limited to a section');
  }

  rank(terms, groups) {
    const scores = new Map();
    for (const t of terms) this.addScores(scores, t);
    for (const y of scores.values()) {
      let most = 0;
      for (const [section, score] of y.sections) {
        if (score > most || (score === most && y.section > section)) {
          y.section = section;
          most = score;
        }
      }
      y.score += 0.4 * most;
      y.score *= coverage(0.4, y.groups, groups);
    }
    return [...scores.values()].sort(byScore);
  }

  addScores(scores, t) {
    const numbers = new Numbers(this.postings(t.term));
    for (let page = -1; numbers.more; ) {
      const step = numbers.next(this.head.pages);
      page += step;
      if (step === 0 || page >= this.head.pages) throw new Error('damaged postings');
      let y = scores.get(page);
      if (!y) scores.set(page, (y = { page, section: -1, score: 0, groups: 0, sections: new Map() }));
      y.score += t.weight * numbers.next(1 << 24);
      y.groups |= 1 << Math.min(t.group, 31);
      let at = 0;
      for (let count = numbers.next(SEARCH.sections); count > 0; count--) {
        at += numbers.next(SEARCH.maxSections);
        y.sections.set(at, (y.sections.get(at) ?? 0) + t.weight * numbers.next(1 << 24));
      }
    }
  }

  rows(found) {
    return Promise.all(found.map(async ({ page }) => {
      const n = lastNotAfter(this.head.starts.rows, page, (a, b) => a - b);
      if (n < 0) throw new Error('damaged index');
      const shard = await loadOf(this.files, `pages-${n}.json`, this.head.rows[n][1]);
      const row = shard.pages[page - this.head.starts.rows[n]];
      if (!row) throw new Error('damaged index');
      return row;
    }));
  }
}
