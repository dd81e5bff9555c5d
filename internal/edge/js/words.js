// Words of texts: what the search index has for them. The rules are those of the Go analyzer.

import { byteLength, lower } from './text.js';
import { SEARCH } from './tables.js';
import { stem } from './stem.js';

const letterOrMark = /[\p{L}\p{N}\p{Mn}\p{Mc}]/u;
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const uppercase = /\p{Lu}/u;
const lowercase = /\p{Ll}/u;
const allLetters = /^\p{L}*$/u;
const connectors = "-_.:/@\u2010\u2011'’";
const ascii = /^[\x00-\x7f]*$/;

const accents = new Map(Array.from(SEARCH.accented, (c, i) => [c, Array.from(SEARCH.bare)[i]]));
accents.set('ß', 's');

const isWord = (c) => (c < '\x80' ? /[a-zA-Z0-9]/.test(c) : letterOrMark.test(c));
const isUnspaced = (c) => c >= '\u0e00' && unspaced.test(c);
const isConnector = (c) => connectors.includes(c);
const isApostrophe = (c) => c === "'" || c === '’';

/** Removes accents from a text in lower case. */
export function plain(text) {
  if (ascii.test(text)) return text;
  let out = '';
  for (const c of text) if (!(c >= '\u0300' && c <= '\u036f')) out += accents.get(c) ?? c;
  return out;
}

/**
 * Returns the related terms of a language by the first term of their phrase. Each line of the table has phrases, terms
 * joined by +, and after > the terms for all of them.
 */
function relationsOf(table) {
  const related = new Map();
  for (const line of table.split('\n')) {
    const [phrases, terms = ''] = line.split('>');
    for (const phrase of phrases.split(' ')) {
      const [first] = phrase.split('+');
      if (!related.has(first)) related.set(first, []);
      related.get(first).push({ phrase: phrase.replaceAll('+', ' '), terms: terms.split(' ') });
    }
  }
  return related;
}

/** Returns the analyzer of one language, {stops, weak, related, elides} of the tables, with its stemmer if it is not the main one. */
export function newAnalyzer(language) {
  const stops = new Set();
  for (const word of language.stops.split(' ')) {
    stops.add(word);
    stops.add(word.replaceAll("'", ''));
  }
  language.relations ??= relationsOf(language.related);
  return {
    stops,
    weak: new Set(language.weak.split(' ')),
    related: language.relations,
    elides: language.elides,
    stem: language.stem ?? stem,
    stems: new Map(),
  };
}

/** Returns the tokens of a text: {term, word, at, compound, stop}; at counts UTF-16 units. */
export function tokens(analyzer, text) {
  const found = [];
  const letters = Array.from(text);
  let at = 0;
  for (let i = 0; i < letters.length; ) {
    const c = letters[i];
    let end = i + 1;
    if (isUnspaced(c)) {
      while (end < letters.length && isUnspaced(letters[end])) end++;
      pairs(letters.slice(i, end), at, found);
    } else if (isWord(c)) {
      end = wordEnd(letters, i);
      splitWord(analyzer, letters.slice(i, end), at, found);
    }
    for (; i < end; i++) at += letters[i].length;
  }
  return found;
}

/** Returns the end of the word that begins at i: letters and digits, with connectors between them. */
function wordEnd(letters, i) {
  let end = i;
  for (let j = i; j < letters.length; j++) {
    const c = letters[j];
    if (isWord(c) && !isUnspaced(c)) end = j + 1;
    else if (j === end && isConnector(c)) continue;
    else if (j === end && (c === '+' || c === '#')) {
      let k = j;
      while (letters[k] === '+' || letters[k] === '#') k++;
      const first = byteLength(letters.slice(i, j).join(''));
      return k - j + first <= 4 && first === 1 && k - j <= 2 ? k : end;
    } else return end;
  }
  return end;
}

/** Adds the overlapping pairs of letters of a script without spaces. */
function pairs(letters, at, found) {
  if (letters.length === 1) found.push({ term: letters[0], word: letters[0], at });
  for (let i = 1; i < letters.length; i++) {
    const two = letters[i - 1] + letters[i];
    found.push({ term: two, word: two, at });
    at += letters[i - 1].length;
  }
}

/** Adds the parts of a word and, if there are several, the whole word. */
function splitWord(analyzer, letters, at, found) {
  let whole = '';
  let count = 0;
  for (const part of partsOf(analyzer, letters)) {
    const folded = lower(part.text);
    if (folded === '' || byteLength(folded) > SEARCH.maxWord) continue;
    count++;
    found.push({ ...tokenOf(analyzer, folded), at: at + part.at });
    whole += folded;
  }
  if (count < 2 || count > SEARCH.maxParts || byteLength(whole) > SEARCH.maxWord ||
      (analyzer.elides && letters.some(isApostrophe))) return;
  found.push({ term: plain(whole), word: whole, at, compound: true });
}

/** Splits a word at its connectors and humps. */
function partsOf(analyzer, letters) {
  const parts = [];
  let start = 0;
  let at = 0;
  let startAt = 0;
  const cut = (end, next, nextAt) => {
    if (end > start) parts.push({ text: letters.slice(start, end).join(''), at: startAt });
    start = next;
    startAt = nextAt;
  };
  let last = '';
  letters.forEach((c, i) => {
    const after = at + c.length;
    if (isApostrophe(c)) {
      if (analyzer.elides) cut(i, i + 1, after);
    } else if (isConnector(c)) cut(i, i + 1, after);
    else if (uppercase.test(c) &&
        (lowercase.test(last) || (i > start && uppercase.test(last) && lowerFollows(letters, i + 1)))) cut(i, i, at);
    last = c;
    at = after;
  });
  cut(letters.length, letters.length, at);
  return parts;
}

// A plural s, as in URLs, does not begin a word.
function lowerFollows(letters, i) {
  return i < letters.length && lowercase.test(letters[i]) && (letters[i] !== 's' || letters.length > i + 1);
}

function tokenOf(analyzer, word) {
  if (analyzer.stops.has(word)) return { term: plain(word), word, stop: true };
  let bare = word.replaceAll('’', "'").replaceAll("'s", '');
  if (bare.endsWith("'")) bare = bare.slice(0, -1);
  bare = bare.replaceAll("'", '') || word;
  return { term: termOf(analyzer, bare), word: bare, stop: analyzer.stops.has(bare) };
}

const maxStems = 20000;

function termOf(analyzer, word) {
  let term = analyzer.stems.get(word);
  if (term === undefined) {
    term = plain(allLetters.test(word) ? analyzer.stem(word) : word) || word;
    if (analyzer.stems.size >= maxStems) analyzer.stems.clear();
    analyzer.stems.set(word, term);
  }
  return term;
}
