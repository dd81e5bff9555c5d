// JSON as text: members and elements as they are written, so that ids, arguments and stored
// answers keep their bytes. The functions expect valid JSON, which JSON.parse has verified.

import { format, json } from './text.js';
import { TEXTS, LIMITS } from './tables.js';

/** Returns the index of the first character from i on that is not white space. */
function space(text, i) {
  for (;;) {
    const c = text.charCodeAt(i);
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return i;
    i++;
  }
}

function stringEnd(text, i) {
  for (i++; ; i++) {
    i = nextQuote(text, i);
    if (text[i] === '"') return i + 1;
    i++;
  }
}

function nextQuote(text, i) {
  for (; ; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22 || c === 0x5c) return i;
  }
}

/** Returns the index after the value at i. */
function valueEnd(text, i) {
  const first = text[i];
  if (first === '"') return stringEnd(text, i);
  if (first !== '{' && first !== '[') {
    while (i < text.length && !',]} \n\r\t'.includes(text[i])) i++;
    return i;
  }
  let depth = 0;
  for (; ; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) i = stringEnd(text, i) - 1;
    else if (c === 0x7b || c === 0x5b) depth++;
    else if ((c === 0x7d || c === 0x5d) && --depth === 0) return i + 1;
  }
}

/** Returns the members of an object as pairs of a name and a value as written. */
export function members(text) {
  const list = [];
  let i = space(text, space(text, 0) + 1);
  while (text[i] !== '}') {
    const keyEnd = stringEnd(text, i);
    const key = JSON.parse(text.slice(i, keyEnd));
    const start = space(text, space(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    list.push([key, text.slice(start, end)]);
    i = space(text, end);
    if (text[i] === ',') i = space(text, i + 1);
  }
  return list;
}

/** Returns the value of a member as written, or undefined. The last of several counts. */
export function member(text, name) {
  let found;
  if (isObject(text)) for (const [key, value] of members(text)) if (key === name) found = value;
  return found;
}

/** Returns the elements of an array as written. */
export function elements(text) {
  const list = [];
  let i = space(text, space(text, 0) + 1);
  while (text[i] !== ']') {
    const end = valueEnd(text, i);
    list.push(text.slice(i, end));
    i = space(text, end);
    if (text[i] === ',') i = space(text, i + 1);
  }
  return list;
}

export function isObject(text) {
  return typeof text === 'string' && text[space(text, 0)] === '{';
}

/** Returns a JSON string decoded, or undefined for any other value. */
export function unquote(text) {
  return typeof text === 'string' && text[0] === '"' ? JSON.parse(text) : undefined;
}

/** Returns text without white space between tokens. */
export function compact(text) {
  let out = '';
  let start = 0;
  for (let i = 0; i < text.length; ) {
    const c = text.charCodeAt(i);
    if (c === 0x22) i = stringEnd(text, i);
    else if (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) {
      out += text.slice(start, i);
      while (i < text.length && ' \n\r\t'.includes(text[i])) i++;
      start = i;
    } else i++;
  }
  return start === 0 ? text : out + text.slice(start);
}

/** Returns the object text without the members called name. */
export function without(text, name) {
  const kept = members(text).filter(([key]) => key !== name);
  return '{' + kept.map(([key, value]) => json(key) + ':' + value).join(',') + '}';
}

/** Returns a value in the form of RFC 8785, except that numbers beyond a double keep their digits. */
export function canonical(text) {
  text = text.trim();
  switch (text[0]) {
    case '{': {
      const list = members(text).map(([key, value]) => [key, json(key) + ':' + canonical(value)]);
      list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      return '{' + list.map((m) => m[1]).join(',') + '}';
    }
    case '[':
      return '[' + elements(text).map(canonical).join(',') + ']';
    case '"':
      return text.includes('\\') ? json(JSON.parse(text)) : text;
    case 't':
    case 'f':
    case 'n':
      return text;
  }
  const number = Number(text);
  const written = String(number + 0);
  return Number.isFinite(number) && sameNumber(written, text) ? written : text;
}

/** Reports whether two decimal numbers are equal, whatever their size. */
export function sameNumber(a, b) {
  const x = decimal(a);
  const y = decimal(b);
  return x.digits === y.digits && (x.digits === '' || (x.sign === y.sign && x.exponent === y.exponent));
}

/** Splits a number into 0.digits times ten to the exponent. */
export function decimal(text) {
  const [, sign, whole, part = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text);
  const all = whole + part;
  const digits = all.replace(/^0+/, '');
  const scale = whole.length - (all.length - digits.length) + Math.max(-1e15, Math.min(1e15, Number(exponent)));
  return { sign, digits: digits.replace(/0+$/, ''), exponent: scale };
}

/** Reports whether a value is a string or an integer, as an id must be. */
export function isID(text) {
  return text[0] === '"' || /^-?\d+$/.test(text);
}

/** Returns why bytes are not JSON, in the words of the Go scanner, or undefined if they are. */
export function whyInvalid(bytes) {
  try {
    const i = scanSpace(bytes, scanValue(bytes, 0, 0));
    if (i < bytes.length) throw problem(TEXTS.jsonAfter, i);
  } catch (e) {
    if (e.offset === undefined) throw e;
    return e.message;
  }
  return undefined;
}

function problem(reason, offset) {
  return Object.assign(new Error(format(TEXTS.jsonAt, reason, offset)), { offset });
}

function unexpected(b, i) {
  if (i >= b.length) return problem(TEXTS.jsonEnd, b.length);
  const c = b[i];
  if (c < 0x20 || c >= 0x7f) return problem(format(TEXTS.jsonByte.replace('%02x', '%s'), c.toString(16).padStart(2, '0')), i);
  const shown = c === 0x27 ? "'\\''" : c === 0x5c ? "'\\\\'" : `'${String.fromCharCode(c)}'`;
  return problem(TEXTS.jsonCharacter.replace('%q', () => shown), i);
}

function scanSpace(b, i) {
  while (b[i] === 0x20 || b[i] === 0x0a || b[i] === 0x0d || b[i] === 0x09) i++;
  return i;
}

function scanValue(b, i, depth) {
  i = scanSpace(b, i);
  switch (b[i]) {
    case 0x22:
      return scanString(b, i);
    case 0x7b:
    case 0x5b:
      return scanNested(b, i, depth + 1);
    case 0x74:
      return scanWord(b, i, 'true');
    case 0x66:
      return scanWord(b, i, 'false');
    case 0x6e:
      return scanWord(b, i, 'null');
  }
  if (b[i] === 0x2d || isDigit(b[i])) return scanNumber(b, i);
  throw unexpected(b, i);
}

function scanNested(b, i, depth) {
  if (depth > LIMITS.jsonDepth) throw problem(TEXTS.jsonDepth, i);
  const object = b[i] === 0x7b;
  const close = object ? 0x7d : 0x5d;
  i = scanSpace(b, i + 1);
  if (b[i] === close) return i + 1;
  for (;;) {
    if (object) {
      if (b[i] !== 0x22) throw unexpected(b, i);
      i = scanSpace(b, scanString(b, i));
      if (b[i] !== 0x3a) throw unexpected(b, i);
      i++;
    }
    i = scanSpace(b, scanValue(b, i, depth));
    if (b[i] === close) return i + 1;
    if (b[i] !== 0x2c) throw unexpected(b, i);
    i = scanSpace(b, i + 1);
  }
}

function scanWord(b, i, word) {
  for (let k = 0; k < word.length; k++) if (b[i + k] !== word.charCodeAt(k)) throw unexpected(b, i + k);
  return i + word.length;
}

function isDigit(c) {
  return c >= 0x30 && c <= 0x39;
}

function scanDigits(b, i) {
  if (!isDigit(b[i])) throw unexpected(b, i);
  while (isDigit(b[i])) i++;
  return i;
}

function scanNumber(b, i) {
  if (b[i] === 0x2d) i++;
  i = b[i] === 0x30 ? i + 1 : scanDigits(b, i);
  if (b[i] === 0x2e) i = scanDigits(b, i + 1);
  if (b[i] === 0x65 || b[i] === 0x45) {
    i++;
    if (b[i] === 0x2b || b[i] === 0x2d) i++;
    i = scanDigits(b, i);
  }
  return i;
}

function scanString(b, i) {
  for (i++; ; ) {
    const c = b[i];
    if (i >= b.length) throw unexpected(b, i);
    if (c === 0x22) return i + 1;
    if (c === 0x5c) i = scanEscape(b, i + 1);
    else if (c < 0x20) throw problem(TEXTS.jsonControl, i);
    else i += c < 0x80 ? 1 : scanCharacter(b, i);
  }
}

function scanEscape(b, i) {
  const c = String.fromCharCode(b[i] ?? 0);
  if (c !== 'u' && !'"\\/bfnrt'.includes(c)) throw unexpected(b, i);
  if (c !== 'u') return i + 1;
  for (let k = 1; k <= 4; k++) {
    if (!/[0-9a-fA-F]/.test(String.fromCharCode(b[i + k] ?? 0))) throw unexpected(b, i + k);
  }
  return i + 5;
}

// The limits of the second byte of a character, which exclude overlong forms and surrogates.
function scanCharacter(b, i) {
  const c = b[i];
  const n = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
  const low = c === 0xe0 ? 0xa0 : c === 0xf0 ? 0x90 : 0x80;
  const high = c === 0xed ? 0x9f : c === 0xf4 ? 0x8f : 0xbf;
  if (n === 0 || !(b[i + 1] >= low && b[i + 1] <= high)) throw problem(TEXTS.jsonUTF8, i);
  for (let k = 2; k < n; k++) if ((b[i + k] & 0xc0) !== 0x80) throw problem(TEXTS.jsonUTF8, i);
  return n;
}
