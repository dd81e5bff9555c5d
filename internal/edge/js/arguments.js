// The arguments of a call: checked against the tool's schema, and as the texts of a path.

import { byteLength, format, json } from './text.js';
import { canonical, compact, decimal, elements, isObject, member, members, unquote } from './json.js';
import { didYouMean } from './nearest.js';
import { encodeName } from './names.js';
import { matchesPattern, TooMuchWork } from './pattern.js';
import { LIMITS, TEXTS } from './tables.js';

/** An error about arguments, which from 2025-11-25 on is a result for the model. */
export class InvalidArguments extends Error {}

/** Reads from an inputSchema the arguments in path order: {name, required, fallback}. */
export function readParams(schema) {
  const params = [];
  const param = (name) => params.find((p) => p.name === name);
  const parts = schemaParts(schema, schema, []);
  for (const part of parts) {
    const list = member(part, 'required');
    if (list?.[0] !== '[') continue;
    for (const element of elements(list)) {
      const name = unquote(element);
      if (name !== undefined && !param(name)) params.push({ name, required: true });
    }
  }
  for (const part of parts) {
    const properties = member(part, 'properties');
    if (!isObject(properties)) continue;
    for (const [name, property] of members(properties)) {
      let p = param(name);
      if (!p) params.push((p = { name, required: false }));
      const fallback = member(property, 'default');
      if (fallback !== undefined && fallback !== 'null') p.fallback = fallback;
    }
  }
  return params;
}

/** Returns the object schemas that every call must satisfy. */
function schemaParts(schema, root, found) {
  if (!isObject(schema) || found.length >= LIMITS.schemaParts) return found;
  found.push(schema);
  for (const [name, value] of members(schema)) {
    if (name === '$ref') schemaParts(pointed(root, unquote(value) ?? ''), root, found);
    else if (name === 'allOf' && value[0] === '[') for (const e of elements(value)) schemaParts(e, root, found);
  }
  return found;
}

function pointed(root, ref) {
  if (!ref.startsWith('#/')) return undefined;
  let at = root;
  for (const step of ref.slice(2).split('/')) at = member(at, step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return at;
}

/** Checks the arguments of a call, a JSON object or undefined, and returns their values in path order. Patterns spend budget. */
export function readArguments(tool, text, budget) {
  if (text === undefined || text.trim() === '') text = '{}';
  if (!isObject(text)) throw new InvalidArguments(TEXTS.argumentsObject);
  let values = [];
  for (const [name, raw] of members(text)) {
    const at = tool.params.findIndex((p) => p.name === name);
    if (at < 0) throw new InvalidArguments(unknownArgument(tool, name));
    if (values.some((v) => v.at === at)) throw new InvalidArguments(format(TEXTS.argumentTwice, name));
    if (byteLength(raw) > LIMITS.text) throw new InvalidArguments(format(TEXTS.argumentLong, name, LIMITS.text));
    values.push({ at, raw });
  }
  checkArguments(tool, values, budget);
  values.sort((a, b) => a.at - b.at);
  for (const v of values) v.text = spelling(v.raw);
  return values;
}

/** Returns the text of a value in a path, or undefined for null. */
function spelling(raw) {
  if (raw === 'null') return undefined;
  return unquote(raw) ?? canonical(raw);
}

/** Reports whether a value counts as omitted. */
export function isAbsent(value) {
  return value.text === undefined || encodeName(value.text) === '';
}

/** Returns the text of a value, as messages and comparisons use it. */
export function plainText(raw) {
  return unquote(raw) ?? canonical(raw);
}

function unknownArgument(tool, name) {
  if (tool.params.length === 0) return format(TEXTS.argumentNone, name, tool.name);
  const names = tool.params.map((p) => p.name);
  const near = didYouMean(name, names);
  const accepted = tool.params.map((p) => (p.required ? p.name + TEXTS.argumentRequired : p.name));
  const hint = near === undefined ? '' : format(TEXTS.hintMean, near);
  return format(TEXTS.argumentUnknown, name, hint, tool.name, accepted.join(', '));
}

/** Checks the values against the schema: first as sent, then without nulls, which clients send for unused ones. */
function checkArguments(tool, values, budget) {
  const schema = JSON.parse(tool.inputSchema);
  let problems = validate(schema, tool, values, budget);
  if (problems !== '' && values.some((v) => v.raw === 'null')) {
    problems = validate(schema, tool, values.filter((v) => v.raw !== 'null'), budget);
  }
  if (problems !== '') throw new InvalidArguments(TEXTS.argumentsInvalid + tool.name + ': ' + problems);
}

/**
 * Returns the problems of all values as a text. If checking them takes too much work, that comes after the problems that
 * are shown, as in internal/schema.
 */
function validate(schema, tool, values, budget) {
  const found = { problems: [], budget };
  const work = [];
  try {
    checkAll(schema, tool, values, found);
  } catch (e) {
    if (!(e instanceof TooMuchWork)) throw e;
    work.push(TEXTS.schemaWork);
  }
  const more = found.problems.length - LIMITS.problems;
  const shown = [...found.problems.slice(0, LIMITS.problems), ...work].join('; ');
  return more > 0 ? shown + format(TEXTS.schemaMore, more) : shown;
}

function checkAll(schema, tool, values, found) {
  const given = new Map(values.map((v) => [tool.params[v.at].name, v.raw]));
  for (const v of values) {
    const name = tool.params[v.at].name;
    const property = schema.properties?.[name];
    if (property !== undefined) check(property, v.raw, pathName(name), found, propertyText(tool, name), 0);
  }
  // In the order in which the text of the schema first names them.
  const named = Object.entries(schema).flatMap(([key, value]) =>
    key === 'properties' ? Object.keys(value) : key === 'required' ? value : []);
  for (const name of new Set(named)) {
    if (schema.required?.includes(name) && !given.has(name)) found.problems.push(pathName(name) + ': ' + TEXTS.schemaRequired);
  }
}

function propertyText(tool, name) {
  return member(member(tool.inputSchema, 'properties'), name);
}

function pathName(name) {
  return /^[A-Za-z_$][A-Za-z0-9_$-]*$/.test(name) && name.length <= LIMITS.shown ? name : '[' + shorten(json(name)) + ']';
}

/** Returns a JSON string or number, cut if it is long. */
function shorten(raw) {
  const bytes = new TextEncoder().encode(raw);
  if (bytes.length <= LIMITS.shown) return raw;
  let end = LIMITS.shown;
  while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
  const cut = new TextDecoder().decode(bytes.subarray(0, end)).replace(/\\+$/, '') + '…';
  return raw[0] === '"' ? cut + '"' : cut;
}

function describe(raw) {
  return raw[0] === '{' ? TEXTS.kindObject : raw[0] === '[' ? TEXTS.kindArray : shorten(raw);
}

const kinds = {
  object: (raw) => raw[0] === '{',
  array: (raw) => raw[0] === '[',
  string: (raw) => raw[0] === '"',
  integer: (raw) => isNumber(raw) && isInteger(raw),
  number: isNumber,
  boolean: (raw) => raw === 'true' || raw === 'false',
  null: (raw) => raw === 'null',
};
const kindTexts = () => [
  ['object', TEXTS.kindObject], ['array', TEXTS.kindArray], ['string', TEXTS.kindString],
  ['integer', TEXTS.kindInteger], ['number', TEXTS.kindNumber], ['boolean', TEXTS.kindBoolean], ['null', 'null'],
];

function isNumber(raw) {
  return raw[0] === '-' || (raw[0] >= '0' && raw[0] <= '9');
}

function isInteger(raw) {
  const n = decimal(raw);
  return n.digits === '' || n.exponent >= n.digits.length;
}

function orTexts(texts) {
  return texts.length < 2 ? texts.join('') : texts.slice(0, -1).join(', ') + ' or ' + texts.at(-1);
}

/** Adds the problems of a value with the keywords that definitions of stored answers use. */
function check(schema, raw, path, found, text, depth) {
  const fail = (message) => found.problems.push(path + ': ' + message);
  if (schema === true || depth > 16) return;
  if (schema === false) return void fail(TEXTS.schemaNever);
  const types = schema.type === undefined ? [] : [schema.type].flat();
  const values = 'const' in schema && !schema.enum ? [member(text, 'const')]
    : schema.enum ? elements(member(text, 'enum')) : undefined;
  const rightType = types.length === 0 || types.some((t) => kinds[t]?.(raw) ?? true);
  if (!rightType && !values) {
    const known = kindTexts().filter(([kind]) => types.includes(kind)).map(([, words]) => words);
    return void fail(format(TEXTS.schemaType, orTexts(known), describe(raw)));
  }
  if (rightType) checkScalar(schema, raw, text, found.budget, fail);
  if (rightType && raw[0] === '[' && schema.items && !Array.isArray(schema.items)) {
    const items = member(text, 'items');
    elements(raw).forEach((e, i) => check(schema.items, compact(e), `${path}[${i}]`, found, items, depth + 1));
  }
  if (values && !values.some((v) => canonical(v) === canonical(raw))) fail(notListed(values.map(compact), raw));
}

function checkScalar(schema, raw, text, budget, fail) {
  if (raw[0] === '"') {
    const length = Array.from(JSON.parse(raw)).length;
    const { minLength = 0, maxLength = -1 } = schema;
    if (length === 0 && minLength === 1) fail(TEXTS.schemaEmpty);
    else checkCount(length, minLength, maxLength, 'character', fail);
    if (typeof schema.pattern === 'string' && !matchesPattern(schema.pattern, JSON.parse(raw), budget)) {
      fail(format(TEXTS.schemaPattern, shorten(member(text, 'pattern')), describe(raw)));
    }
  } else if (raw[0] === '[') checkCount(elements(raw).length, schema.minItems ?? 0, schema.maxItems ?? -1, 'item', fail);
  else if (isNumber(raw)) {
    const n = Number(raw);
    const bounds = { minimum: (b) => n < b, maximum: (b) => n > b, exclusiveMinimum: (b) => n <= b, exclusiveMaximum: (b) => n >= b };
    const words = { minimum: TEXTS.atLeast, maximum: TEXTS.atMost, exclusiveMinimum: TEXTS.greater, exclusiveMaximum: TEXTS.less };
    for (const [key, limit] of members(text)) {
      if (bounds[key]?.(Number(limit))) fail(format(TEXTS.schemaBound, words[key], shorten(limit), describe(raw)));
    }
  }
}

function checkCount(n, least, most, noun, fail) {
  const counted = (count) => (count === 1 ? `1 ${noun}` : `${count} ${noun}s`);
  if (n < least) fail(format(TEXTS.schemaAtLeast, counted(least), '', n));
  if (most >= 0 && n > most) fail(format(TEXTS.schemaAtMost, counted(most), '', n));
}

function notListed(values, raw) {
  const shown = values.map(shorten);
  let found = describe(raw);
  const text = unquote(raw);
  const near = text === undefined ? undefined
    : didYouMean(text, values.filter((v) => v[0] === '"').map((v) => JSON.parse(v)));
  if (near !== undefined) found += TEXTS.schemaMean.replace('%s', () => shorten(json(near)));
  if (values.length === 0) return TEXTS.schemaNoValue + found + ')';
  if (values.length === 1) return format(TEXTS.schemaMust, shown[0], found);
  const list = shown.length <= LIMITS.listed ? shown.join(', ')
    : format(TEXTS.schemaListed, shown.slice(0, LIMITS.listed).join(', '), shown.length - LIMITS.listed);
  return format(TEXTS.schemaOneOf, list, found);
}
