// Names that were probably meant: those a few edits away, or with a common beginning.

import { lower, byteLength } from './text.js';
import { LIMITS } from './tables.js';

/** Returns the candidate nearest to name, or undefined. */
export function didYouMean(name, candidates) {
  return nearest(name, candidates, 1)[0];
}

/** Returns at most max candidates that are near name, the nearest first. */
export function nearest(name, candidates, max) {
  if (byteLength(name) > LIMITS.nearRunes * 4) return [];
  const want = fold(name);
  if (want.letters.length === 0 || want.letters.length > LIMITS.nearRunes || max <= 0) return [];
  const hits = [];
  const comparer = { want, work: LIMITS.nearWork, rows: [[], [], []] };
  for (const candidate of candidates) {
    if (candidate === name || candidate.length > LIMITS.nearRunes * 4) continue;
    const size = byteLength(candidate);
    if (size > LIMITS.nearRunes * 4) continue;
    if (comparer.work <= 0) break;
    comparer.work -= size;
    const cutoff = hits.length === max ? hits[max - 1].distance - 1 : LIMITS.nearRunes;
    const distance = distanceOf(comparer, candidate, cutoff);
    if (distance < 0 || distance > cutoff) continue;
    let at = hits.length;
    while (at > 0 && hits[at - 1].distance > distance) at--;
    hits.splice(at, 0, { distance, name: candidate });
    if (hits.length > max) hits.pop();
  }
  return hits.map((hit) => hit.name);
}

/** Returns the significant letters of a name in lower case, and 64 bits of which there are. */
function fold(name) {
  const letters = [];
  let low = 0;
  let high = 0;
  for (const c of name) {
    if (c === '_' || c === '-' || c === '.' || c === ' ') continue;
    const letter = lower(c).codePointAt(0);
    letters.push(letter);
    if (letter & 32) high |= 1 << (letter & 31);
    else low |= 1 << (letter & 31);
  }
  return { letters, low, high };
}

function bits(n) {
  let count = 0;
  for (; n !== 0; n &= n - 1) count++;
  return count;
}

/** Returns the distance of candidate, or -1 if it is not near. */
function distanceOf(comparer, candidate, cutoff) {
  const want = comparer.want;
  const got = fold(candidate);
  if (got.letters.length === 0 || got.letters.length > LIMITS.nearRunes) return -1;
  const [short, long] = want.letters.length > got.letters.length
    ? [got.letters, want.letters] : [want.letters, got.letters];
  const limit = Math.min(4, Math.max(1, Math.floor(long.length / 3)));
  const most = Math.min(limit, cutoff);
  if (long.length - short.length <= most &&
      bits(want.low ^ got.low) + bits(want.high ^ got.high) <= 2 * most) {
    const d = edits(comparer, want.letters, got.letters, most);
    if (d <= most && d < short.length) return d;
  }
  if (short.length >= 3 && short.every((letter, i) => letter === long[i])) return limit + 1;
  return -1;
}

/** Returns the optimal string alignment distance, or some value above most. */
function edits(comparer, a, b, most) {
  const n = b.length + 1;
  let [older, previous, row] = comparer.rows;
  for (let j = 0; j < n; j++) previous[j] = j;
  for (let i = 1; i <= a.length; i++) {
    comparer.work -= n;
    row[0] = i;
    let least = i;
    for (let j = 1; j < n; j++) {
      let best = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      best = Math.min(best, previous[j] + 1, row[j - 1] + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, older[j - 2] + 1);
      row[j] = best;
      least = Math.min(least, best);
    }
    if (least > most) return least;
    [older, previous, row] = [previous, row, older];
  }
  return previous[n - 1];
}
