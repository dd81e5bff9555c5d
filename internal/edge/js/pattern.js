// The patterns of schemas, as internal/schema/pattern.go checks them. With a RegExp, a client could choose a text for which
// a pattern such as (a+)+$ takes years, and all other requests wait. Here all ways to match are followed at once, as in Go.

import { LIMITS } from './tables.js';

/** Thrown for patterns that Go does not support, or that exceed a limit. */
class Unchecked extends Error {}

/** Thrown when the budget of a request is spent. */
export class TooMuchWork extends Error {}

/** Returns the steps that all patterns of one HTTP request may take together. */
export const newBudget = () => ({ steps: LIMITS.patternSteps });

/**
 * Reports whether a text has a part that matches a pattern. A pattern that cannot be checked matches every text, as in
 * internal/schema: one with lookaheads, lookbehinds or references, and one that is too large. Classes such as [:alpha:],
 * which only Go has, are not checked here. When the budget is spent, it throws TooMuchWork.
 */
export function matchesPattern(pattern, text, budget) {
  if (budget.steps <= 0) throw new TooMuchWork();
  try {
    return compiled(pattern, budget)?.test(text, budget) ?? true;
  } catch (e) {
    if (e instanceof Unchecked) return true;
    throw e;
  }
}

/** The compiled patterns; null for those that cannot be checked. */
const programs = new Map();

function compiled(pattern, budget) {
  let program = programs.get(pattern);
  if (program !== undefined) return program;
  budget.steps -= LIMITS.patternCost;
  try {
    program = new PatternProgram(pattern);
  } catch (e) {
    if (!(e instanceof Unchecked || e instanceof SyntaxError || e instanceof RangeError)) throw e;
    program = null;
  }
  if (programs.size >= LIMITS.patterns) programs.delete(programs.keys().next().value);
  programs.set(pattern, program);
  return program;
}

/** The characters that one of some atoms accepts: classes, escapes and single characters. */
class Characters {
  constructor(atoms) {
    this.atoms = atoms;
    this.pattern = new RegExp(`^(?:${atoms.join('|')})$`, 'u');
    this.ascii = new Uint8Array(128); // 1: no, 2: yes
    this.others = new Map();
  }

  accepts(code) {
    if (code < 128) return (this.ascii[code] ||= this.matches(code) ? 2 : 1) === 2;
    let yes = this.others.get(code);
    if (yes === undefined) {
      if (this.others.size >= LIMITS.patternCharacters) this.others.clear();
      this.others.set(code, (yes = this.matches(code)));
    }
    return yes;
  }

  matches(code) {
    return this.pattern.test(String.fromCodePoint(code));
  }
}

const patternTokens = new RegExp([
  String.raw`(?<quantifier>(?:[*+?]|\{(?<least>0|[1-9]\d*)(?<more>,(?<most>0|[1-9]\d*)?)?\})\??)`,
  String.raw`(?<group>\((?:(?<free>\?:)|\?<\w+>|(?!\?)))`,
  String.raw`(?<mark>[|)^$]|\\[bB])`,
  String.raw`(?<atom>\[(?:\\.|[^\]\\])*\]|\\(?:u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|[pP]\{[^}]*\}|c.|[^1-9])|[^\\()[*+?|^$])`,
].join('|'), 'suy');

/** Returns an atom in the notation of a RegExp with the flag u, which allows less than others. */
function spelled(atom) {
  if (/^\[.*\[:.*:\]/s.test(atom)) throw new Unchecked();
  for (const [, name] of atom.matchAll(/\\[pP]\{([^}=]*)\}/g)) {
    if (!/^(Any|ASCII|Assigned)$/.test(name)) new RegExp(`\\p{gc=${name}}`, 'u');
  }
  const code = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;
  if (atom[0] !== '[' && atom[0] !== '\\') return atom === '.' ? atom : code(atom);
  atom = atom.replace(/\\([^])/gu, (escape, c) => (/[A-Za-z0-9]/.test(c) ? escape : code(c)));
  const pairs = /\\u[dD][89abAB]..\\u[dD][c-fC-F]../g;
  if (/\\u[dD][89a-fA-F]/.test(atom.replace(pairs, ''))) throw new Unchecked(); // half of a surrogate pair
  return atom[0] === '[' ? atom.replace(/(\\(?:[dDsSwW]|[pP]\{[^}]*\}))-(?!\]$)/g, '$1\\-') : atom;
}

const CHARACTER = 0; // accepts one, then goes to the next state
const WAYS = 1; // goes to several states
const MARK = 2; // goes to the next state if an assertion holds
const END = 3;

/** A pattern as numbered states, each of which has those that may follow. */
class PatternProgram {
  constructor(pattern) {
    Object.assign(this, { pattern, at: 0, depth: 0, cost: 1, kinds: [], values: [], next: [] });
    const whole = this.alternatives();
    if (this.at < pattern.length) throw new Unchecked();
    this.start = whole.add(this.state(END));
    this.seen = new Float64Array(this.kinds.length); // the round in which a state was last reached
    this.round = 0;
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

  /** Returns the groups of the next token, or undefined at the end. */
  token() {
    patternTokens.lastIndex = this.at;
    const found = patternTokens.exec(this.pattern);
    if (!found && this.at < this.pattern.length) throw new Unchecked();
    return found?.groups;
  }

  take(token) {
    this.at += (token.quantifier ?? token.group ?? token.mark ?? token.atom).length;
  }

  // A part of a pattern has a function add, which adds its states before a following one, and returns the first. times is
  // the product of the counts inside it, atoms are those of a part of one character.

  alternatives() {
    const all = [this.sequence()];
    for (let token; (token = this.token())?.mark === '|'; ) {
      this.take(token);
      all.push(this.sequence());
    }
    if (all.length === 1) return all[0];
    if (all.every((part) => part.atoms)) return this.character(all.flatMap((part) => part.atoms));
    const add = (next) => {
      this.spend(all.length - 2);
      return this.state(WAYS, all.map((part) => part.add(next)));
    };
    return { add, times: Math.max(...all.map((part) => part.times)) };
  }

  sequence() {
    const parts = [];
    let quantified = true;
    for (let token; (token = this.token()) && token.mark !== '|' && token.mark !== ')'; ) {
      this.take(token);
      if (token.quantifier) {
        if (quantified) throw new Unchecked();
        parts.push(this.repeated(parts.pop(), token));
      } else if (token.group) parts.push(this.grouped(token));
      else if (token.mark) parts.push({ add: (next) => this.state(MARK, token.mark, next), times: 1 });
      else parts.push(this.character([spelled(token.atom)]));
      quantified = token.quantifier !== undefined;
    }
    if (parts.length === 1) return parts[0];
    const add = (next) => parts.reduceRight((following, part) => part.add(following), next);
    return { add, times: parts.reduce((most, part) => Math.max(most, part.times), 1) };
  }

  grouped({ free }) {
    if (++this.depth > LIMITS.patternDepth) throw new Unchecked();
    const inner = this.alternatives();
    const end = this.token();
    if (end === undefined) throw new Unchecked();
    this.take(end);
    this.depth--;
    if (free) return inner;
    const add = (next) => {
      this.spend(2);
      return inner.add(next);
    };
    return { add, times: inner.times };
  }

  character(atoms) {
    const accepted = new Characters(atoms);
    return { add: (next) => this.state(CHARACTER, accepted, next), times: 1, atoms };
  }

  repeated(part, { quantifier, least, more, most }) {
    const min = quantifier[0] === '+' ? 1 : Number(least ?? 0);
    const max = quantifier[0] === '?' ? 1 : least === undefined || (more && most === undefined) ? Infinity : Number(most ?? least);
    const times = max === 0 ? 1 : part.times * Math.max(1, max === Infinity ? min : max);
    if (min > max || times > LIMITS.patternCount) throw new Unchecked();
    const add = (next) => {
      let first = next;
      const repeat = (n, one) => {
        for (const end = this.cost; n > 0; n--) {
          first = one();
          if (this.cost === end) return; // an empty part
        }
      };
      if (max === Infinity) {
        first = this.state(WAYS, [next]);
        this.values[first].push(part.add(first));
      } else repeat(max - min, () => this.state(WAYS, [next, part.add(first)]));
      repeat(min, () => part.add(first));
      return first;
    };
    return { add, times };
  }

  test(text, budget) {
    const codes = Array.from(text, (c) => c.codePointAt(0));
    let now = [];
    this.round++;
    for (let i = 0; ; i++) {
      if (this.reach(now, this.start, codes, i, budget)) return true;
      if (i === codes.length) return false;
      const then = [];
      this.round++;
      for (const number of now) {
        if (!this.values[number].accepts(codes[i])) continue;
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
        case CHARACTER:
          list.push(n);
          break;
        case WAYS:
          for (const way of this.values[n]) waiting.push(way);
          break;
        case MARK:
          if (holds(this.values[n], codes, i)) waiting.push(this.next[n]);
          break;
        default:
          return true;
      }
    }
    return false;
  }
}

function holds(mark, codes, i) {
  if (mark === '^') return i === 0;
  if (mark === '$') return i === codes.length;
  const isWord = (code) => code !== undefined && /^\w$/.test(String.fromCodePoint(code));
  return (isWord(codes[i - 1]) !== isWord(codes[i])) === (mark === '\\b');
}
