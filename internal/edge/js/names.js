// File names of a site: section 3 of the StaticMCP standard.

import { compareBytes, byteLength, lastNotAfter } from './text.js';
import { NAMES, LIMITS } from './tables.js';

const starts = NAMES.runs.map((run) => run[0]);

/** Returns the encoding of one code point. */
function runeName(c) {
  if (c < NAMES.latin.length) return NAMES.latin[c];
  if (c >= 0x1e00 && c < 0x1e00 + NAMES.latinAdditional.length) return NAMES.latinAdditional[c - 0x1e00];
  if (c >= 0xac00 && c <= 0xd7a3) return (c - 0xac00) % 28 === 0 ? '__' : '___';
  if (c >= 0xd800 && c <= 0xdfff) return '_';
  const at = lastNotAfter(starts, c, (a, b) => a - b);
  if (at >= 0 && c <= NAMES.runs[at][1]) return NAMES.runs[at][2];
  return c > 0xffff ? '__' : '_';
}

const safe = /^[a-z0-9_-]*$/;

/** Returns the encoding of text before its length is limited. */
function encoded(text) {
  let out = '';
  for (const c of text) {
    out += runeName(c.codePointAt(0));
    if (out.length > LIMITS.name) break;
  }
  return out;
}

/** Returns the file name, without extension, of a segment of a URI or an argument. */
export function encodeName(text) {
  if (text.length <= LIMITS.name && safe.test(text)) return text;
  const name = encoded(text);
  return name.length > LIMITS.name ? longName(name, text) : name;
}

/** Returns the long form of a name, whatever its length: it differs where the encoding does not. */
export function distinctName(text, hashed = text) {
  return longName(encoded(text), hashed);
}

function longName(name, hashed) {
  return name.slice(0, LIMITS.longPrefix) + '_' + hash64(hashed).toString(16).padStart(16, '0');
}

const mask = 0xffffffffffffffffn;
const rotate = (x, n) => ((x << n) | (x >> (64n - n))) & mask;

/** SipHash-1-3 with a zero key over the UTF-8 of text and a final byte 0xff. */
export function hash64(text) {
  const bytes = new TextEncoder().encode(text);
  const data = new Uint8Array(((bytes.length + 1) >> 3) * 8 + 8);
  data.set(bytes);
  data[bytes.length] = 0xff;
  data[data.length - 1] = bytes.length + 1;
  const words = new DataView(data.buffer);
  let [a, b, c, d] = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];
  const round = () => {
    a = (a + b) & mask;
    b = rotate(b, 13n) ^ a;
    a = rotate(a, 32n);
    c = (c + d) & mask;
    d = rotate(d, 16n) ^ c;
    a = (a + d) & mask;
    d = rotate(d, 21n) ^ a;
    c = (c + b) & mask;
    b = rotate(b, 17n) ^ c;
    c = rotate(c, 32n);
  };
  for (let i = 0; i < data.length; i += 8) {
    const word = words.getBigUint64(i, true);
    d ^= word;
    round();
    a ^= word;
  }
  c ^= 0xffn;
  round();
  round();
  round();
  return a ^ b ^ c ^ d;
}

/** Returns the parts of text between slashes, without empty ones. */
export function splitSlashes(text) {
  return text.split('/').filter((part) => part !== '');
}

/** Returns the part of a URI after the first "://". A URI is cut, never parsed. */
export function uriRest(uri) {
  const at = uri.indexOf('://');
  return at < 0 ? uri : uri.slice(at + 3);
}

/** Reports whether a path stays below the root of a site on every system. */
export function isSafePath(path) {
  return byteLength(path) <= LIMITS.path && !/[\x00-\x1f\x7f\\]/.test(path) &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Returns the path of an answer, or undefined if no file can have it. */
export function answerPath(folder, names) {
  if (names.some((name) => name === '' || name.length > LIMITS.segment - 5)) return undefined;
  const path = [folder, ...names].join('/') + '.json';
  return isSafePath(path) ? path : undefined;
}

/** Returns the part of a sorted list of pairs around the one that would contain key. */
export function shardsAround(shards, key, around) {
  const at = lastNotAfter(shards, { first: key }, (a, b) => compareBytes(a.first, b.first));
  return shards.slice(Math.max(0, at - around), Math.min(shards.length, at + around + 1));
}
