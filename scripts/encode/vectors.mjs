// Writes the vectors the Go encoder is tested against:
//
//   encode-codepoints.txt  every code point, in runs of equal results
//   encode-names.jsonl     whole names, one JSON object a line
//
// A run is "LOW HIGH STANDARD SCALAR": two hexadecimal code points and what each
// of them becomes in the standard's form and in the form that counts Unicode
// scalar values; a dot stands for nothing. A lone surrogate is U+FFFD, which is
// what a JSON decoder makes of it.
//
// A name has "in", repeated "times" (1 if absent), and "out"; "out31" and
// "scalar" are the two other forms where they differ from "out".
//
// Usage: node vectors.mjs DIRECTORY

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeName, encodeName31, encodeNameScalar, requireUnicode } from './reference.mjs';
import { names } from './names.mjs';

const unicode = requireUnicode();
const directory = process.argv[2];
if (!directory) {
  console.error('usage: node vectors.mjs DIRECTORY');
  process.exit(2);
}

function codePointRuns() {
  const runs = [];
  for (let c = 0; c <= 0x10ffff; c++) {
    const text = String.fromCodePoint(c).toWellFormed();
    const out = encodeName(text);
    const scalar = encodeNameScalar(text);
    const last = runs.at(-1);
    if (last && last.out === out && last.scalar === scalar) last.high = c;
    else runs.push({ low: c, high: c, out, scalar });
  }
  return runs;
}

const hex = (c) => c.toString(16).toUpperCase().padStart(4, '0');
const codePoints = codePointRuns().map((r) => `${hex(r.low)} ${hex(r.high)} ${r.out || '.'} ${r.scalar || '.'}\n`);
writeFileSync(join(directory, 'encode-codepoints.txt'), `# Unicode ${unicode}\n` + codePoints.join(''));

// Marks and invisible characters are escaped, so that a reader sees them.
const escapeHidden = (json) => json.replace(/[\p{M}\p{C}\p{Zs}\p{Zl}\p{Zp}\u00ad]/gu, (c) =>
  c === ' ' ? c : Array.from({ length: c.length }, (_, i) => '\\u' + c.charCodeAt(i).toString(16).padStart(4, '0')).join(''));

function line([text, times]) {
  const title = text.repeat(times).toWellFormed();
  const vector = { in: text.toWellFormed() };
  if (times !== 1) vector.times = times;
  vector.out = encodeName(title);
  const out31 = encodeName31(title);
  if (out31 !== vector.out) vector.out31 = out31;
  const scalar = encodeNameScalar(title);
  if (scalar !== vector.out) vector.scalar = scalar;
  return escapeHidden(JSON.stringify(vector)) + '\n';
}

writeFileSync(join(directory, 'encode-names.jsonl'), names().map(line).join(''));
