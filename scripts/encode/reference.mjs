// The file-name encoding of the StaticMCP standard, section 3, as its reference
// implementation states it, with the one piece the standard leaves open filled
// in: the hash of a long name is SipHash-1-3 with a zero key over the UTF-8 of
// the name followed by the byte 0xff. Beside it stand the two other spellings of
// long and non-Latin names that published sites use.
//
// The Go encoder is generated from and tested against this file, so it is the
// only place where the rules are written in JavaScript.

const requiredUnicode = '17.0';

// Normalization data comes with the JavaScript engine; another version would
// quietly change the names of files.
export function requireUnicode() {
  if (process.versions.unicode !== requiredUnicode) {
    console.error(`need a Node.js with Unicode ${requiredUnicode}, this one has ${process.versions.unicode}`);
    process.exit(1);
  }
  return requiredUnicode;
}

// safeName is the encoding without its length limit.
export function safeName(title) {
  const normalized = title.normalize('NFD').replace(/[\u0300-\u036f]/g, '');
  return normalized.toLowerCase().replace(/[^a-z0-9\-_]/g, '_').replace(/\s+/g, '_');
}

export function encodeName(title) {
  return limit(safeName(title), () => sipHash13(utf8WithEnd(title)));
}

// encodeName31 differs for long names only: 32 bits of hash, h = h*31 + unit.
export function encodeName31(title) {
  return limit(safeName(title), () => BigInt(hash31(title)));
}

// encodeNameScalar is the form of a generator that counts Unicode scalar values
// where JavaScript counts UTF-16 units, and drops four more blocks of marks.
export function encodeNameScalar(title) {
  const kept = title.normalize('NFD')
    .replace(/[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/gu, '');
  const safe = kept.toLowerCase().replace(/[^a-z0-9\-_]/gu, '_');
  return limit(safe, () => sipHash13(utf8WithEnd(title)));
}

function limit(safe, hash) {
  if (safe.length <= 200) return safe;
  return safe.substring(0, 183) + '_' + hash().toString(16).padStart(16, '0');
}

export function hash31(title) {
  let hash = 0;
  for (let i = 0; i < title.length; i++) {
    hash = (Math.imul(hash, 31) + title.charCodeAt(i)) | 0;
  }
  return Math.abs(hash);
}

function utf8WithEnd(title) {
  return Buffer.concat([Buffer.from(title, 'utf8'), Buffer.from([0xff])]);
}

const mask = (1n << 64n) - 1n;
const rotl = (x, n) => ((x << n) | (x >> (64n - n))) & mask;

export function sipHash13(bytes) {
  const v = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];
  const round = () => {
    v[0] = (v[0] + v[1]) & mask; v[1] = rotl(v[1], 13n) ^ v[0]; v[0] = rotl(v[0], 32n);
    v[2] = (v[2] + v[3]) & mask; v[3] = rotl(v[3], 16n) ^ v[2];
    v[0] = (v[0] + v[3]) & mask; v[3] = rotl(v[3], 21n) ^ v[0];
    v[2] = (v[2] + v[1]) & mask; v[1] = rotl(v[1], 17n) ^ v[2]; v[2] = rotl(v[2], 32n);
  };
  const whole = bytes.length - (bytes.length % 8);
  for (let i = 0; i < whole; i += 8) {
    const word = bytes.readBigUInt64LE(i);
    v[3] ^= word;
    round();
    v[0] ^= word;
  }
  let last = BigInt(bytes.length & 0xff) << 56n;
  for (let i = whole; i < bytes.length; i++) last |= BigInt(bytes[i]) << BigInt(8 * (i - whole));
  v[3] ^= last;
  round();
  v[0] ^= last;
  v[2] ^= 0xffn;
  round(); round(); round();
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
