// Texts as the Go implementation sees them: in UTF-8, with its quoting and formatting.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const notASCII = /[^\x00-\x7f]/;

/** Returns the number of bytes of text in UTF-8. */
export function byteLength(text) {
  return notASCII.test(text) ? encoder.encode(text).length : text.length;
}

/** Returns at most n bytes of text, without splitting a character. */
export function clip(text, n) {
  if (!notASCII.test(text)) return text.slice(0, n);
  const bytes = encoder.encode(text);
  if (bytes.length <= n) return text;
  while (n > 0 && (bytes[n] & 0xc0) === 0x80) n--;
  return decoder.decode(bytes.subarray(0, n));
}

/** Orders texts as their bytes in UTF-8 are ordered. */
export function compareBytes(a, b) {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return unitOrder(x) - unitOrder(y);
  }
  return a.length - b.length;
}

// Surrogates are halves of the code points beyond all others.
function unitOrder(unit) {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Returns the index of the last element of a sorted list that is not greater than key, or -1. */
export function lastNotAfter(list, key, compare) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(list[middle], key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns text in lower case, each character alone: no sigma at the end of a word, and no dot for I. */
export function lower(text) {
  if (!notASCII.test(text)) return text.toLowerCase();
  let out = '';
  for (const c of text) out += c === '\u0130' ? 'i' : c.toLowerCase();
  return out;
}

const named = { '\x07': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' };
const printable = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** Quotes text as the verb %q of Go. */
export function quote(text) {
  let out = '"';
  for (const c of text) {
    const code = c.codePointAt(0);
    if (c === '"' || c === '\\') out += '\\' + c;
    else if (code === 0xfffd || printable.test(c)) out += c;
    else if (named[c]) out += named[c];
    else if (code < 0x20 || code === 0x7f) out += '\\x' + code.toString(16).padStart(2, '0');
    else if (code > 0xffff) out += '\\U' + code.toString(16).padStart(8, '0');
    else out += '\\u' + code.toString(16).padStart(4, '0');
  }
  return out + '"';
}

/** Fills in the verbs of a message in Go's notation: %q quotes, %.64s cuts, all others print. */
export function format(pattern, ...values) {
  let i = 0;
  return pattern.replace(/%(%|\.?\d*[qsdv])/g, (_, verb) => {
    if (verb === '%') return '%';
    const value = String(values[i++]);
    return verb === 'q' ? quote(value) : value;
  });
}

/** Joins names as in "a", "b" or "c". */
export function alternatives(names) {
  const quoted = names.map(quote);
  const last = quoted.pop();
  return quoted.length ? quoted.join(', ') + ' or ' + last : last;
}

/** Returns text as a JSON string, in which only quotes, backslashes and controls are escaped. */
export function json(text) {
  return JSON.stringify(wellFormed(text));
}

/** Returns text with each half of a surrogate pair replaced. */
function wellFormed(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');
}

let crcTable;

/** Returns the CRC-32 of bytes in hexadecimal. */
export function crc32(bytes) {
  crcTable ??= Uint32Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n >>> 0;
  });
  let c = ~0;
  for (const byte of bytes) c = crcTable[(c ^ byte) & 255] ^ (c >>> 8);
  return (~c >>> 0).toString(16).padStart(8, '0');
}
