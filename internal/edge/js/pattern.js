// The patterns of schemas, as internal/schema/pattern.go checks them. With a RegExp, a client could choose a text for which
// a pattern such as (a+)+$ takes years, and all other requests wait. Here the matcher simulates an NFA, so time is linear in
// the text. It supports what Go supports beyond ECMA-262, such as (?i), [:alpha:], \Q...\E and \p{greek}.

import { CATEGORIES, LIMITS, SCRIPTS } from './tables.js';

/** Thrown for patterns that Go does not support, or that exceed a limit. */
class Unchecked extends Error {}

/** Thrown when the budget of a request is spent. */
export class TooMuchWork extends Error {}

/** Returns the steps that all patterns of one HTTP request may take together. */
export const newBudget = () => ({ steps: LIMITS.patternSteps });

/**
 * Reports whether a text has a part that matches a pattern. A pattern that cannot be checked matches every text, as in
 * internal/schema: one with lookaheads, lookbehinds or references, and one that is too large. When the budget is spent, it
 * throws TooMuchWork. It differs from Go in rare cases:
 *
 * - Go factors out common prefixes of alternatives before it counts instructions. Some large patterns that it checks are
 *   not checked here, such as (?:abcdef|abcdeg){900}.
 * - Go limits the height of its syntax tree to 1,000. Here the limit is 1,000 nested groups.
 * - Properties and letter case are those of the runtime's version of Unicode.
 */
export function matchesPattern(pattern, text, budget) {
  if (budget.steps <= 0) throw new TooMuchWork();
  return compiledPattern(pattern, budget)?.test(text, budget) ?? true;
}

/** The compiled patterns, oldest first; null for those that cannot be checked. */
const programs = new Map();
let programStates = 0;

function compiledPattern(pattern, budget) {
  let program = programs.get(pattern);
  if (program !== undefined) return program;
  budget.steps -= LIMITS.patternCost;
  try {
    program = new PatternProgram(pattern);
  } catch (e) {
    if (!(e instanceof Unchecked || e instanceof SyntaxError || e instanceof RangeError)) throw e;
    program = null;
  }
  programs.set(pattern, program);
  programStates += statesOf(pattern, program);
  for (const [oldest, old] of programs) {
    if (programStates <= LIMITS.patternStates) break;
    programs.delete(oldest);
    programStates -= statesOf(oldest, old);
  }
  return program;
}

/** Returns the memory of a program and its pattern, in states. */
const statesOf = (pattern, program) => 10 + (pattern.length >> 4) + (program?.size ?? 0);

/**
 * The characters that one of some sets accepts. A set accepts those in positive and those outside one of negatives, or if it
 * is negated, all others. positive and each of negatives are the inside of a class of a RegExp with the flag u.
 */
class Characters {
  constructor(sets) {
    this.sets = sets.map(({ positive, negatives, fold, negated }) => {
      const test = (inside) => new RegExp(`^[${inside}]$`, fold ? 'iu' : 'u');
      return { positive: test(positive), negatives: negatives.map(test), negated };
    });
    // The last result for each remainder of a code point c: 2 * (c + 1), plus 1 if it is accepted.
    this.results = new Int32Array(128);
  }

  accepts(code) {
    const i = code % this.results.length;
    if (this.results[i] >> 1 !== code + 1) this.results[i] = 2 * (code + 1) + (this.matches(code) ? 1 : 0);
    return this.results[i] % 2 === 1;
  }

  matches(code) {
    const c = String.fromCodePoint(code);
    return this.sets.some((set) =>
      (set.positive.test(c) || set.negatives.some((inside) => !inside.test(c))) !== set.negated);
  }
}

/** How many states take as much memory as one object of Characters. */
const statesOfCharacters = 20;

const characterSet = (positive, fold, negated = false) => ({ positive, negatives: [], fold, negated });
const escapedCode = (code) => `\\u{${code.toString(16)}}`;
const isSurrogate = (code) => code >= 0xd800 && code <= 0xdfff;

/** Returns the code points of a text. Halves of surrogate pairs become U+FFFD, as in Go. */
function codePoints(text) {
  return Array.from(text, (c) => (isSurrogate(c.codePointAt(0)) ? 0xfffd : c.codePointAt(0)));
}

const patternTokens = {
  ordinary: /[^\\([.^$]/uy, // where neither a quantifier, nor | or ) can be
  flags: /\(\?([imsU]*)(?:-([imsU]+))?([:)])/y,
  capture: /\((?:\?P?<\w+>|(?!\?))/y,
  quantifier: /([*+?]|\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\})(\??)/y,
  mark: /[$^]|\\[bBAz]/y,
  quoted: /\\Q([^]*?)(?:\\E|$)/y,
  characterClass: /\\(?:([dswDSW])|([pP])(?:\{([^}]*)\}|([^{])))/uy,
  namedClass: /\[:(\^?)([^]*?):\]/y,
  character: new RegExp([
    String.raw`\\[ux]\{(?<braces>[\da-fA-F]+)\}`,
    String.raw`\\u(?<high>[dD][89abAB][\da-fA-F]{2})\\u(?<low>[dD][c-fC-F][\da-fA-F]{2})`,
    String.raw`\\(?:u(?<unit>[\da-fA-F]{4})|x(?<byte>[\da-fA-F]{2})|c(?<control>[a-zA-Z])|(?<letter>[afnrtv0]))`,
    String.raw`\\(?<escaped>[^a-zA-Z\d])|(?<plain>[^\\])`,
  ].join('|'), 'uy'),
};

const patternLetters = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11, 0: 0 };

const namedClasses = new Map(Object.entries({
  alnum: '0-9A-Za-z', alpha: 'A-Za-z', ascii: String.raw`\0-\x7f`, blank: String.raw`\t `, cntrl: String.raw`\0-\x1f\x7f`,
  digit: '0-9', graph: '!-~', lower: 'a-z', print: ' -~', punct: String.raw`!-\/:-@\[-\x60\{-~`,
  space: String.raw`\t-\r `, upper: 'A-Z', word: '0-9A-Z_a-z', xdigit: '0-9A-Fa-f',
}));

/** Returns a property such as L, Letter, greek, sc=Greek or gc=Lu in the notation of a RegExp. */
function patternProperty(name) {
  const [, key, value] = /^(?:(\w+)=)?([A-Za-z_ -]+)$/.exec(name) ?? [];
  if (value === undefined) throw new Unchecked();
  const loose = (text) => text.replace(/[_ -]/g, '').toLowerCase();
  const find = (names, ...keys) => (key !== undefined
    ? keys.includes(key) && names.split(' ').includes(value) && value
    : names.split(' ').find((known) => loose(known) === loose(value)));
  const category = find(CATEGORIES, 'gc', 'General_Category');
  const script = find(SCRIPTS, 'sc', 'Script');
  const special = find('Any ASCII Assigned');
  if (!category && !script && !special) throw new Unchecked();
  return `\\p{${category ? `gc=${category}` : script ? `sc=${script}` : special}}`;
}

const LITERAL = 0; // accepts the character that is its value, then goes to the next state
const CHARACTER = 1; // accepts one of its Characters, then goes to the next state
const WAYS = 2; // goes to several states
const MARK = 3; // goes to the next state if an assertion holds
const END = 4;

/** A pattern as numbered states, each of which has those that may follow. */
class PatternProgram {
  constructor(pattern) {
    this.pattern = pattern.replace(/\p{Cs}/gu, '\ufffd');
    Object.assign(this, { at: 0, depth: 0, fold: false, lines: false });
    Object.assign(this, { cost: 1, kinds: [], values: [], next: [], characters: new Map() });
    const whole = this.alternatives();
    if (this.at < this.pattern.length) throw new Unchecked();
    this.start = whole.add(this.state(END));
    this.seen = new Float64Array(this.kinds.length); // the round in which a state was last reached
    this.round = 0;
    this.size = this.kinds.length + statesOfCharacters * this.characters.size;
    this.characters = undefined;
  }

  /** Adds a state and returns its number. */
  state(kind, value, next) {
    this.spend(1);
    this.kinds.push(kind);
    this.values.push(value);
    return this.next.push(next) - 1;
  }

  /** Counts instructions, as Go does. */
  spend(n) {
    this.cost += n;
    if (this.cost > LIMITS.patternCost) throw new Unchecked();
  }

  /** Returns what a token matches at the current position and moves past it, or returns null. */
  take(token) {
    token.lastIndex = this.at;
    const found = token.exec(this.pattern);
    if (found) this.at = token.lastIndex;
    return found;
  }

  // A part of a pattern has a function add, which adds its states before a following one, and returns the first. times is
  // the product of the counts inside it, and nullable says whether Go assumes that it can match nothing. Parts of one
  // character have sets, simple repetitions have op and lazy, and a part that matches only nothing may be empty.

  alternatives() {
    const all = [];
    do {
      const part = this.sequence();
      const last = all.at(-1);
      if (part.sets && last?.sets) all[all.length - 1] = this.either(last, part);
      else if (!part.empty || !last?.empty) all.push(part);
    } while (this.take(/\|/y));
    if (all.length === 1) return all[0];
    const add = (next) => {
      this.spend(all.length - 2);
      return this.state(WAYS, all.map((part) => part.add(next)));
    };
    return { add, times: Math.max(...all.map((part) => part.times)), nullable: all.some((part) => part.nullable) };
  }

  /** Returns the part for one of two characters, which is the first one if that is merged already. */
  either(one, other) {
    const first = one.merged ? one : this.either({ ...this.character([]), merged: {} }, one);
    for (const set of other.sets) {
      const same = set.negated ? undefined : first.merged[set.fold];
      if (same) {
        same.positive += set.positive;
        same.negatives.push(...set.negatives);
        continue;
      }
      const copy = { ...set, negatives: [...set.negatives] };
      first.sets.push(copy);
      if (!set.negated) first.merged[set.fold] = copy;
    }
    return first;
  }

  sequence() {
    const parts = [];
    let repeated = false;
    while (this.at < this.pattern.length && !'|)'.includes(this.pattern[this.at])) {
      const quantifier = this.take(patternTokens.quantifier);
      if (quantifier) {
        if (repeated || parts.length === 0) throw new Unchecked();
        parts.push(this.repeated(parts.pop(), quantifier));
      } else for (const part of this.atoms()) parts.push(part);
      repeated = quantifier !== null;
    }
    if (parts.length === 0) return this.nothing();
    if (parts.length === 1) return parts[0];
    const add = (next) => parts.reduceRight((following, part) => part.add(following), next);
    const times = parts.reduce((most, part) => Math.max(most, part.times), 1);
    return { add, times, nullable: parts.every((part) => part.nullable) };
  }

  nothing() {
    const add = (next) => {
      this.spend(1);
      return next;
    };
    return { add, times: 1, nullable: true, empty: true };
  }

  /** Takes a group, a mark, a class, a character, several quoted characters, or flags, and returns its parts. */
  atoms() {
    const ordinary = this.take(patternTokens.ordinary);
    if (ordinary) return [this.literal(ordinary[0].codePointAt(0))];
    const flags = this.take(patternTokens.flags);
    if (flags) return this.flagged(flags);
    if (this.take(patternTokens.capture)) return [this.captured()];
    const mark = this.take(patternTokens.mark);
    if (mark) return [this.mark(mark[0])];
    const quoted = this.take(patternTokens.quoted);
    if (quoted) return codePoints(quoted[1]).map((code) => this.literal(code));
    if (this.take(/\./y)) return [this.character([characterSet(String.raw`\n\r\u2028\u2029`, false, true)])];
    if (this.take(/\[/y)) return [this.character([this.bracketed()])];
    const set = characterSet('', this.fold);
    if (this.takeClass(set)) return [this.character([set])];
    if (this.pattern[this.at] === '(') throw new Unchecked();
    return [this.literal(this.takeCharacter())];
  }

  /** Sets flags, for a group or until the end of the current one. The flags s and U make no difference. */
  flagged([, on, off = '', end]) {
    const before = { fold: this.fold, lines: this.lines };
    const flag = (letter, value) => (value || on.includes(letter)) && !off.includes(letter);
    Object.assign(this, { fold: flag('i', this.fold), lines: flag('m', this.lines) });
    return end === ':' ? [this.group(before)] : [];
  }

  /** Takes the rest of a group, after which some flags apply. */
  group({ fold, lines }) {
    if (++this.depth > LIMITS.patternDepth) throw new Unchecked();
    const inner = this.alternatives();
    if (!this.take(/\)/y)) throw new Unchecked();
    this.depth--;
    Object.assign(this, { fold, lines });
    return inner;
  }

  captured() {
    const inner = this.group(this);
    const add = (next) => {
      this.spend(2);
      return inner.add(next);
    };
    return { add, times: inner.times, nullable: inner.nullable };
  }

  mark(text) {
    const lines = { '^': 'lineStart', $: 'lineEnd' };
    const texts = { '^': 'start', '\\A': 'start', $: 'end', '\\z': 'end' };
    const value = (this.lines && lines[text]) || (texts[text] ?? text);
    return { add: (next) => this.state(MARK, value, next), times: 1, nullable: true };
  }

  literal(code) {
    const c = String.fromCodePoint(code);
    const fold = this.fold && (c.toLowerCase() !== c || c.toUpperCase() !== c);
    const part = this.character([characterSet(escapedCode(code), fold)]);
    return fold ? part : { ...part, add: (next) => this.state(LITERAL, code, next) };
  }

  character(sets) {
    let value;
    const add = (next) => this.state(CHARACTER, (value ??= this.sharedCharacters(sets)), next);
    return { add, times: 1, nullable: false, sets };
  }

  sharedCharacters(sets) {
    const key = JSON.stringify(sets);
    if (!this.characters.has(key)) this.characters.set(key, new Characters(sets));
    return this.characters.get(key);
  }

  /** Takes the rest of a class in brackets and returns its set. */
  bracketed() {
    const set = characterSet('', this.fold, this.take(/\^/y) !== null);
    while (!this.take(/\]/y)) {
      const named = this.take(patternTokens.namedClass);
      if (named) {
        if (!namedClasses.has(named[2])) throw new Unchecked();
        this.include(set, namedClasses.get(named[2]), named[1] !== '');
      } else if (!this.takeClass(set)) {
        const low = this.take(/\\b/y) ? 8 : this.takeCharacter();
        const high = !this.take(/-(?=[^\]])/y) ? low : this.take(/\\b/y) ? 8 : this.takeCharacter();
        if (low > high) throw new Unchecked();
        set.positive += `${escapedCode(low)}-${escapedCode(high)}`;
      }
    }
    return set;
  }

  include(set, inside, negated) {
    if (negated) set.negatives.push(inside);
    else set.positive += inside;
  }

  /** Takes a class such as \s or \p{L} and includes it in a set. Reports whether there is one. */
  takeClass(set) {
    const found = this.take(patternTokens.characterClass);
    if (!found) return false;
    const [, letter, p, braces, single] = found;
    if (letter) this.include(set, '\\' + letter.toLowerCase(), letter < 'a');
    else {
      const [, not, name] = /^(\^(?!.*=))?([^]*)$/.exec(braces ?? single);
      this.include(set, patternProperty(name), (p === 'P') !== (not !== undefined));
    }
    return true;
  }

  /** Takes a character or its escape and returns the code point. */
  takeCharacter() {
    const found = this.take(patternTokens.character)?.groups;
    if (!found) throw new Unchecked();
    const { braces, high, low, unit, byte, control, letter, escaped, plain } = found;
    if (escaped ?? plain) return (escaped ?? plain).codePointAt(0);
    if (letter) return patternLetters[letter];
    if (control) return control.charCodeAt(0) % 32;
    if (high) return String.fromCharCode(parseInt(high, 16), parseInt(low, 16)).codePointAt(0);
    const code = parseInt(braces ?? unit ?? byte, 16);
    if (code > 0x10ffff || isSurrogate(code)) throw new Unchecked();
    return code;
  }

  /** Repeats a part as Go does: {2,} is xx+, and {2,4} is xx(x(x)?)?. */
  repeated(part, [, quantifier, least, more, most, lazy]) {
    const op = quantifier[0];
    const min = op === '+' ? 1 : Number(least ?? 0);
    const max = op === '?' ? 1 : op !== '{' || (more && most === undefined) ? Infinity : Number(most ?? least);
    const times = part.times * Math.max(1, max === Infinity ? min : max);
    if (min > max || (max > 0 && times > LIMITS.patternCount)) throw new Unchecked();
    if (max === 0) return this.nothing();
    if (min === 1 && max === 1) return part;
    if (max === Infinity && min < 2) return this.simple(min === 0 ? '*' : '+', part, lazy);
    const last = max > min && this.simple(max === Infinity ? '+' : '?', part, lazy);
    const add = (next) => {
      let first = last ? last.add(next) : next;
      const optional = max === Infinity ? 0 : max - min - 1;
      for (let n = 0; n < optional; n++) first = this.state(WAYS, [next, part.add(first)]);
      for (let n = max === Infinity ? 1 : 0; n < min; n++) first = part.add(first);
      return first;
    };
    return { add, times, nullable: min === 0 || part.nullable };
  }

  /** Returns a part for x*, x+ or x?. */
  simple(op, part, lazy) {
    if (part.empty || (part.op === op && part.lazy === lazy)) return part;
    const loop = (next, starts) => {
      const choice = this.state(WAYS, [next]);
      const first = part.add(choice);
      this.values[choice].push(first);
      return starts ? first : choice;
    };
    const add = (next) => {
      if (op === '?') return this.state(WAYS, [next, part.add(next)]);
      if (op === '+') return loop(next, true);
      return part.nullable ? this.state(WAYS, [next, loop(next, true)]) : loop(next, false);
    };
    return { add, times: part.times, nullable: op !== '+' || part.nullable, op, lazy };
  }

  test(text, budget) {
    const codes = codePoints(text);
    let now = [];
    this.round++;
    for (let i = 0; ; i++) {
      if (this.reach(now, this.start, codes, i, budget)) return true;
      if (i === codes.length) return false;
      const then = [];
      this.round++;
      for (const number of now) {
        const value = this.values[number];
        if (this.kinds[number] === LITERAL ? value !== codes[i] : !value.accepts(codes[i])) continue;
        if (this.reach(then, this.next[number], codes, i + 1, budget)) return true;
      }
      now = then;
    }
  }

  /** Adds to a list the characters that follow a state at position i. Reports whether the end follows it. */
  reach(list, number, codes, i, budget) {
    for (const waiting = [number]; waiting.length > 0; ) {
      const n = waiting.pop();
      if (--budget.steps < 0) throw new TooMuchWork();
      if (this.seen[n] === this.round) continue;
      this.seen[n] = this.round;
      switch (this.kinds[n]) {
        case LITERAL:
        case CHARACTER:
          list.push(n);
          break;
        case WAYS:
          for (const way of this.values[n]) waiting.push(way);
          break;
        case MARK:
          if (patternMarks[this.values[n]](codes, i)) waiting.push(this.next[n]);
          break;
        default:
          return true;
      }
    }
    return false;
  }
}

const isWordCode = (code) => code !== undefined && /^\w$/.test(String.fromCodePoint(code));

/** Whether each mark holds before the code point i. */
const patternMarks = {
  start: (codes, i) => i === 0,
  end: (codes, i) => i === codes.length,
  lineStart: (codes, i) => i === 0 || codes[i - 1] === 10,
  lineEnd: (codes, i) => i === codes.length || codes[i] === 10,
  '\\b': (codes, i) => isWordCode(codes[i - 1]) !== isWordCode(codes[i]),
  '\\B': (codes, i) => isWordCode(codes[i - 1]) === isWordCode(codes[i]),
};
