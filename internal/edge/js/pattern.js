// The patterns of schemas. With a RegExp, a client could choose a text for which a pattern such as (a+)+$ takes years,
// and all other requests wait. Here all ways to match are followed at once, as in Go, so that the time is limited.

import { LIMITS } from './tables.js';

/** Is thrown for patterns that Go does not have either, or that would take too long. */
class Unchecked extends Error {}

/** Reports whether a text has a part that matches a pattern. A pattern that cannot be checked matches every text. */
export function matchesPattern(pattern, text) {
  try {
    new RegExp(pattern, 'u');
    return new PatternProgram(pattern).test(text);
  } catch (e) {
    if (e instanceof Unchecked || e instanceof SyntaxError || e instanceof RangeError) return true;
    throw e;
  }
}

const patternTokens = new RegExp([
  String.raw`(?<quantifier>[*+?]\??|\{(?<least>\d+)(?<more>,(?<most>\d*))?\}\??)`,
  String.raw`(?<group>\((?:\?:|\?<(?![=!])[^>]*>|(?!\?)))`,
  String.raw`(?<mark>[|)^$]|\\[bB])`,
  String.raw`(?<atom>\[(?:\\.|[^\]\\])*\]|\\(?:u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|[pP]\{[^}]*\}|c.|[^1-9k])|[^\\()[\]{}*+?|^$])`,
].join('|'), 'suy');

/** A valid pattern as states, each of which names those that may follow. */
class PatternProgram {
  constructor(pattern) {
    Object.assign(this, { pattern, at: 0, states: [], steps: 0 });
    const whole = this.alternatives();
    if (this.at < pattern.length) throw new Unchecked();
    this.end = this.state({});
    this.start = whole(this.end);
  }

  /** Adds a state and returns its number. */
  state(of) {
    if (this.states.length >= LIMITS.patternStates) throw new Unchecked();
    return this.states.push(of) - 1;
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

  // A part of a pattern is a function that adds its states before a following one, and returns the first.

  alternatives() {
    const all = [this.sequence()];
    for (let token; (token = this.token())?.mark === '|'; ) {
      this.take(token);
      all.push(this.sequence());
    }
    return (next) => (all.length === 1 ? all[0](next) : this.state({ ways: all.map((part) => part(next)) }));
  }

  sequence() {
    const parts = [];
    for (let token; (token = this.token()) && token.mark !== '|' && token.mark !== ')'; ) {
      this.take(token);
      if (token.quantifier) parts.push(this.repeated(parts.pop(), token));
      else if (token.group) parts.push(this.grouped());
      else if (token.mark) parts.push((next) => this.state({ mark: token.mark, ways: [next] }));
      else parts.push(this.character(token.atom));
    }
    return (next) => parts.reduceRight((following, part) => part(following), next);
  }

  grouped() {
    const inner = this.alternatives();
    this.take(this.token()); // the parenthesis that ends it
    return inner;
  }

  character(atom) {
    const one = new RegExp(`^${atom}$`, 'u');
    return (next) => this.state({ one, known: new Map(), next });
  }

  repeated(part, { quantifier, least, more, most }) {
    const min = quantifier[0] === '+' ? 1 : Number(least ?? 0);
    const max = quantifier[0] === '?' ? 1 : least === undefined || (more && most === '') ? Infinity : Number(most ?? least);
    return (next) => {
      let first = next;
      if (max === Infinity) {
        first = this.state({ ways: [next] });
        this.states[first].ways.push(part(first));
      } else for (let i = min; i < max; i++) first = this.state({ ways: [next, part(first)] });
      for (let i = 0; i < min; i++) first = part(first);
      return first;
    };
  }

  test(text) {
    const characters = Array.from(text);
    let now = new Set();
    for (let i = 0; ; i++) {
      this.reach(now, this.start, characters, i);
      if (now.has(this.end)) return true;
      if (i === characters.length) return false;
      const then = new Set();
      for (const number of now) {
        const { one, known, next } = this.states[number];
        if (one && this.accepts(one, known, characters[i])) this.reach(then, next, characters, i + 1);
      }
      now = then;
    }
  }

  accepts(one, known, character) {
    let yes = known.get(character);
    if (yes === undefined) known.set(character, (yes = one.test(character)));
    return yes;
  }

  /** Adds a state, and those that follow it before the character at i, to a set. */
  reach(set, number, characters, i) {
    for (const waiting = [number]; waiting.length > 0; ) {
      const n = waiting.pop();
      if (set.has(n)) continue;
      if (++this.steps > LIMITS.patternSteps) throw new Unchecked();
      set.add(n);
      const { mark, ways } = this.states[n];
      if (ways && (!mark || this.holds(mark, characters, i))) waiting.push(...ways);
    }
  }

  holds(mark, characters, i) {
    if (mark === '^') return i === 0;
    if (mark === '$') return i === characters.length;
    const isWord = (c) => c !== undefined && /^\w$/.test(c);
    return (isWord(characters[i - 1]) !== isWord(characters[i])) === (mark === '\\b');
  }
}
