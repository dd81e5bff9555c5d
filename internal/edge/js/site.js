// A site: its manifest, and the stored answers to calls, reads and prompts.

import { alternatives, byteLength, clip, compareBytes, crc32, format, json, lastNotAfter, lower, quote } from './text.js';
import { canonical, compact, elements, isObject, member, members, unquote, without } from './json.js';
import { answerPath, distinctName, encodeName, isSafePath, splitSlashes, uriRest } from './names.js';
import { didYouMean, nearest } from './nearest.js';
import { isAbsent, plainText, readArguments, readParams } from './arguments.js';
import { NoFile, SectionError, Stale, resultText, search } from './search.js';
import { CODES, LIMITS, META, TEXTS } from './tables.js';

/** An error for the client: a JSON-RPC code, a message, and data as JSON text or undefined. */
export class RPCError extends Error {
  constructor(code, message, data, status) {
    super(message);
    Object.assign(this, { code, data, status });
  }
}

/** A file that the site does not have. */
class Missing extends Error {}

/**
 * The files of a site. read(path) returns a promise of the bytes of a file, or of undefined if
 * there is none. seconds is how long what was read is used again, and checksums whether the
 * files of an index may be of different builds.
 */
export class Files {
  constructor(read, { seconds = Infinity, checksums = false } = {}) {
    Object.assign(this, { read, seconds, checksums, kept: new Map(), bytes: 0 });
  }

  /** Returns what parse makes of a file, and keeps it. */
  async load(path, parse) {
    const known = this.kept.get(path);
    if (known && known.until > Date.now()) return known.value;
    const bytes = await this.bytesOf(path);
    const value = bytes && parse(bytes);
    if (bytes && bytes.length <= LIMITS.keptFile) this.keep(path, { value, size: bytes.length * 4, until: Date.now() + this.seconds * 1000 });
    return value;
  }

  /** Returns the bytes of a file, or undefined. Some hosts send a web page for a missing one. */
  async bytesOf(path) {
    const bytes = await this.read(path);
    if (bytes === undefined || bytes.length === 0 || bytes[firstOf(bytes)] === 0x3c) return undefined;
    if (bytes.length > LIMITS.file) throw new Error(`${path} is larger than ${LIMITS.file} bytes`);
    return bytes;
  }

  keep(path, item) {
    this.forget(path);
    this.kept.set(path, item);
    this.bytes += item.size;
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= LIMITS.kept) break;
      this.forget(oldest);
    }
  }

  forget(path) {
    const item = this.kept.get(path);
    if (!item) return;
    this.kept.delete(path);
    this.bytes -= item.size;
  }
}

function firstOf(bytes) {
  let i = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (i < bytes.length && ' \n\r\t'.includes(String.fromCharCode(bytes[i]))) i++;
  return i;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const parseText = (bytes) => { // or text
  const text = compact(typeof bytes === 'string' ? bytes : utf8.decode(bytes));
  JSON.parse(text); // throws if it is not JSON
  return text;
};

/** Opens the site in files: reads and interprets its manifest. */
export async function openSite(files) {
  const site = await files.load('mcp.json', (bytes) => readManifest(utf8.decode(bytes)));
  if (!site) throw new Error('the site has no mcp.json');
  return { ...site, files };
}

function readManifest(text) {
  const manifest = JSON.parse(text);
  const capabilities = member(text, 'capabilities') ?? '{}';
  const server = { ...pick(manifest, serverMembers), ...pick(manifest.serverInfo ?? {}, serverMembers) };
  server.name ||= 'site';
  server.version ||= '0.0.0';
  const site = { server, instructions: manifest.instructions || manifest.serverInfo?.instructions || '' };
  site.resources = listOf(capabilities, 'resources', readNamed('uri'), 'uri');
  site.tools = listOf(capabilities, 'tools', readTool, 'name');
  site.templates = listOf(capabilities, 'resourceTemplates', readNamed('uriTemplate'), 'uriTemplate');
  site.packs = manifest._meta?.[META.packs]?.starts;
  site.prompts = listOf(capabilities, 'prompts', readPrompt, 'name');
  return site;
}

const serverMembers = ['name', 'title', 'version', 'description', 'websiteUrl', 'icons'];

function pick(object, names) {
  return Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]));
}

/** Returns a list of the manifest as a map from its key to definitions, without those that cannot be used. */
function listOf(capabilities, name, read, key) {
  const list = member(capabilities, name);
  const found = new Map();
  if (list?.[0] !== '[') return found;
  for (const raw of elements(list)) {
    if (!isObject(raw)) continue;
    const definition = read(compact(raw), JSON.parse(raw));
    if (definition && typeof definition[key] === 'string' && definition[key] !== '' && !found.has(definition[key])) {
      found.set(definition[key], definition);
    }
  }
  return found;
}

/** Adds a member that the author left out, in front. */
function splice(raw, name, value) {
  return raw === '{}' ? `{"${name}":${value}}` : `{"${name}":${value},` + raw.slice(1);
}

const readNamed = (key) => (raw, value) => {
  if (value.name === undefined && value[key]) raw = splice(raw, 'name', json(value[key]));
  return { ...pick(value, [key, 'mimeType']), values: value._meta?.[META.values], raw };
};

const searchOptions = ['queries', 'limit', 'offset', 'section'];

function readTool(raw, value) {
  if (value.inputSchema === undefined) raw = splice(raw, 'inputSchema', '{"type":"object"}');
  else if (value.inputSchema === null || typeof value.inputSchema !== 'object') return undefined;
  if (value.annotations === undefined) raw = splice(raw, 'annotations', TEXTS.readOnly);
  const inputSchema = member(raw, 'inputSchema');
  const tool = { name: value.name, inputSchema, params: readParams(inputSchema), raw };
  tool.searches = readSearches(tool, value._meta?.[META.search]);
  const page = value._meta?.[META.page];
  const at = page ? tool.params.findIndex((p) => p.name === page.argument) : -1;
  if (at >= 0) tool.page = { at, home: page.home ?? '', bases: page.bases ?? [] };
  return tool;
}

/** Returns the search indexes that a tool declares: {folder, choices, variants}, or undefined. */
function readSearches(tool, said) {
  const variants = said?.variants ?? [];
  const choices = new Set(variants.flatMap((v) => Object.keys(v.arguments ?? {})));
  const names = tool.params.map((p) => p.name);
  const isOption = (name) => searchOptions.includes(name) || choices.has(name);
  const fits = said && names.includes(said.argument) && !isOption(said.argument) &&
    names.every((name) => name === said.argument || isOption(name)) &&
    [...choices].every((name) => names.includes(name) && !searchOptions.includes(name)) &&
    variants.every((v) => Object.keys(v.arguments ?? {}).length > 0 && isSafePath(v.index ?? '')) &&
    isSafePath(said.index ?? '');
  return fits ? { folder: said.index, choices, variants } : undefined;
}

/** Returns the folder of the index for the values of choices that are not their default. */
function chooseIndex(searches, chosen) {
  const names = Object.keys(chosen);
  if (names.length === 0) return searches.folder;
  const same = (v) => Object.keys(v.arguments).length === names.length &&
    names.every((name) => v.arguments[name] === chosen[name]);
  return searches.variants.find(same)?.index;
}

function readPrompt(raw, value) {
  const list = Array.isArray(value.arguments) ? value.arguments : [];
  const values = { ...value._meta?.[META.values] };
  for (const a of list) if (a.enum) values[a.name] = a.enum;
  return { name: value.name, arguments: list, values, raw };
}

/** Returns the stored answer at a path as compact text, or throws Missing. */
async function document(site, folder, names) {
  const path = answerPath(folder, names);
  const packed = path && (await packedAnswer(site, path));
  const bytes = path && ((packed !== incomplete && packed) || (await site.files.bytesOf(path)));
  if (!bytes && packed !== incomplete) throw new Missing(path);
  try {
    return parseText(bytes); // throws if the pack is incomplete and bytes are undefined
  } catch {
    throw new RPCError(CODES.internal, TEXTS.fileInvalid, '{"kind":"invalid-file"}');
  }
}

/** The pack of an answer is missing or damaged, as in a site that was published in part. */
const incomplete = Symbol('incomplete');

/** Returns the answer of a tool from its pack as text, undefined if no pack has it, or incomplete. */
async function packedAnswer(site, path) {
  const names = path.slice('tools/'.length, -'.json'.length).split('/');
  if (!site.packs || !path.startsWith('tools/') || names.length < 2) return undefined;
  const key = crc32(utf8Bytes.encode(names[1])) + crc32(utf8Bytes.encode(path));
  let at = Math.max(0, lastNotAfter(site.packs, key, compareBytes));
  let start = site.packs[at];
  let unknown;
  // Packs next to it are tried because a new version of the site may be being published.
  for (let hop = 0; hop < 3; hop++) {
    const pack = await site.files.load(`packs/${start}.json`, (bytes) => utf8.decode(bytes));
    if (pack === undefined) {
      if (at === 0) return incomplete;
      unknown = incomplete; // unless the pack was merged into the one before
      start = site.packs[--at];
      continue;
    }
    const head = `\n"${path}":`;
    const found = pack.indexOf(head);
    if (found >= 0) {
      const line = pack.slice(found + head.length, pack.indexOf('\n', found + 1));
      return line.endsWith(',') ? line.slice(0, -1) : line;
    }
    start = /^\{"next":"([0-9a-f]*)"/.exec(pack)?.[1];
    if (start === undefined) return incomplete;
    if (start === '' || key < start) return undefined;
  }
  return unknown;
}

const utf8Bytes = new TextEncoder();

/** Returns the document that a shared file leads to, or the file itself if it is the only one. */
async function find(site, folder, texts, uri, accept) {
  const names = texts.map(encodeName);
  const text = await document(site, folder, names);
  const mark = member(member(text, '_meta'), META.disambiguation);
  if (mark !== undefined) {
    try {
      const other = await document(site, folder, distinctNames(texts, names, mark, uri));
      if (accept(other)) return other;
    } catch (e) {
      if (!(e instanceof Missing)) throw e;
    }
  }
  if (!accept(text)) throw new Missing(folder);
  return text;
}

function distinctNames(texts, names, mark, uri) {
  const last = texts.length - 1;
  if (mark[0] === '"') return names.map((name, i) => (i === last ? distinctName(texts[i], uri) : name));
  const places = mark === 'true' ? [last] : mark[0] === '[' ? JSON.parse(mark) : [];
  return names.map((name, i) => (places.includes(i) ? distinctName(texts[i]) : name));
}

/** Calls a tool and returns the result as text. Its patterns spend budget. */
export async function callTool(site, name, argumentsText, budget) {
  const tool = site.tools.get(name);
  if (!tool) throw new RPCError(CODES.invalidParams, didMean(format(TEXTS.unknownTool, name), name, site.tools.keys()));
  const values = readArguments(tool, argumentsText, budget).filter((v) => !isAbsent(v));
  let broken = false;
  const query = tool.searches ? queryOf(tool, values) : undefined;
  if (query) {
    try {
      return textResult(resultText(await search(indexFiles(site, query.folder), query)), false);
    } catch (e) {
      if (e instanceof SectionError) return textResult(e.message, true);
      broken = !(e instanceof NoFile);
      if (broken) console.error(`search index broken, using stored answers alone: ${e.message}`);
    }
  }
  try {
    return await answer(site, tool, values);
  } catch (e) {
    if (!(e instanceof Missing)) throw e;
  }
  if (broken) return textResult(tool.name + TEXTS.searchBroken, true);
  return textResult(await noAnswer(site, tool, values), true);
}

/** Returns the query of a call, or undefined if it has none. */
function queryOf(tool, values) {
  const query = { phrasings: [], limit: 0, offset: 0, section: '' };
  const chosen = {};
  let others = [];
  for (const v of values) {
    const { name, fallback } = tool.params[v.at];
    const value = JSON.parse(v.raw);
    if (tool.searches.choices.has(name)) {
      if (fallback === undefined || canonical(v.raw) !== canonical(fallback)) chosen[name] = v.text;
      continue;
    }
    if (name === 'queries') {
      if (!Array.isArray(value) || !value.every((text) => typeof text === 'string' || text === null)) return undefined;
      others = value.map((text) => text ?? '');
    } else if (name === 'limit' || name === 'offset') {
      if (!/^-?\d+$/.test(v.raw) || !Number.isSafeInteger(value)) return undefined;
      query[name] = value;
    } else if (typeof value !== 'string') return undefined;
    else if (name === 'section') query.section = value;
    else query.phrasings.push(value);
  }
  query.folder = chooseIndex(tool.searches, chosen);
  if (query.phrasings.length !== 1 || query.folder === undefined) return undefined;
  query.phrasings.push(...others);
  return query;
}

/** Adds the name that was probably meant to a message. */
export function didMean(message, name, known) {
  const near = didYouMean(name, known);
  return near === undefined ? message : message + format(TEXTS.didYouMean, near);
}

export function textResult(text, isError) {
  return `{"content":[{"type":"text","text":${json(text)}}],"isError":${isError}}`;
}

/** Returns the stored answer to a call, also if it spells the path of a page in another way. */
async function answer(site, tool, values) {
  try {
    return await stored(site, tool, values);
  } catch (e) {
    if (!(e instanceof Missing)) throw e;
  }
  const respelled = respell(tool, values);
  if (!respelled) throw new Missing(tool.name);
  return stored(site, tool, respelled);
}

/** Tries a call as sent, with the defaults of arguments left out, and without those given as default. */
async function stored(site, tool, values) {
  for (const variant of variants(tool, values)) {
    try {
      const texts = variant.map((v) => v.text);
      const found = await find(site, 'tools/' + tool.name, texts, '', (text) => isFor(tool, text, values));
      return result(found);
    } catch (e) {
      if (!(e instanceof Missing)) throw e;
    }
  }
  throw new Missing(tool.name);
}

function variants(tool, values) {
  const list = [values];
  const same = (v, p) => p.fallback !== undefined && canonical(v.raw) === canonical(p.fallback);
  const missing = tool.params.map((p, at) => ({ at, p })).filter(({ at, p }) => p.fallback !== undefined && !values.some((v) => v.at === at));
  const added = missing.map(({ at, p }) => ({ at, raw: p.fallback, text: plainText(p.fallback) }));
  if (added.length > 0) list.push([...values, ...added].sort((a, b) => a.at - b.at));
  const bare = values.filter((v) => !same(v, tool.params[v.at]));
  if (bare.length < values.length) list.push(bare);
  return list;
}

/** Reports whether the arguments that an answer states, if any, are those of the call. */
function isFor(tool, text, values) {
  const stated = member(member(text, 'staticmcp'), 'parameters');
  if (!isObject(stated)) return true;
  return tool.params.every((p, at) => {
    const given = values.find((v) => v.at === at)?.raw ?? p.fallback;
    let answered = member(stated, p.name);
    if (answered === undefined || answered === 'null') answered = p.fallback;
    if (given === undefined || answered === undefined) return given === answered;
    return canonical(given) === canonical(answered) || plainText(given) === plainText(answered);
  });
}

/** Returns a file as a result of tools/call. */
function result(text) {
  if (isObject(text)) {
    const content = member(text, 'content');
    if (content?.[0] === '[') return member(text, 'staticmcp') === undefined ? text : without(text, 'staticmcp');
    const contents = member(text, 'contents');
    if (contents?.[0] === '[') {
      return '{"content":[' + elements(contents).map((e) => `{"type":"resource","resource":${e}}`).join(',') + ']}';
    }
  }
  return `{"content":[{"type":"text","text":${json(text)}}]}`;
}

/** Returns the call with the path of a page as the site spells it, or undefined. */
function respell(tool, values) {
  if (!tool.page) return undefined;
  let changed = false;
  const list = values.map((v) => {
    const path = v.at === tool.page.at && v.raw[0] === '"' ? pagePath(tool.page, v.text) : v.text;
    if (path === v.text || path === '') return v;
    changed = true;
    return { at: v.at, raw: json(path), text: path };
  });
  return changed ? list : undefined;
}

/** Returns the path of a page that a text means, or the text if it is an address elsewhere. */
function pagePath(page, text) {
  let path = text;
  if (text.includes('://')) {
    path = below(page, text);
    if (path === undefined) return text;
  }
  path = path.replace(/^\.\//, '').replace(/^\/+|\/+$/g, '');
  for (const ending of ['.md', '.mdx', '.markdown']) {
    const bare = path.slice(0, -ending.length);
    if (path.endsWith(ending) && bare !== '' && !bare.endsWith('/')) {
      path = bare;
      break;
    }
  }
  return path === '' ? page.home : path;
}

/** Returns the part of an address after one of the bases, without query and fragment. */
function below(page, address) {
  const [bare] = address.split(/[?#]/);
  const parts = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/]*)(.*)$/.exec(bare);
  if (!parts) return undefined;
  const [, scheme, host, rest] = parts;
  try {
    for (const base of page.bases) {
      const [, baseScheme, baseHost, baseRest] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/]*)(.*)$/.exec(base) ?? [];
      const web = /^https?$/i;
      if (!web.test(baseScheme ?? '')) {
        if (scheme === baseScheme) return decodeURIComponent(bare.startsWith(base) ? bare.slice(base.length) : bare);
        continue;
      }
      const path = decodeURIComponent(rest) + '/';
      const folder = decodeURIComponent(baseRest).replace(/\/$/, '') + '/';
      if (!web.test(scheme) || lower(host) !== lower(baseHost) || !path.startsWith(folder)) continue;
      const inside = path.slice(folder.length).replace(/\/$/, '');
      return inside.endsWith('.html') ? ('/' + inside.slice(0, -5)).replace(/\/index$/, '') : inside;
    }
  } catch {
    // not percent-encoded text
  }
  return undefined;
}

/** Returns the files of a search index. */
function indexFiles(site, folder) {
  return {
    async load(name, sum) {
      const file = await site.files.load(`${folder}/${name}`, (bytes) => ({
        value: JSON.parse(utf8.decode(bytes)),
        sum: site.files.checksums ? crc32(bytes) : undefined,
      }));
      if (!file) throw new NoFile(name);
      if (sum !== undefined && file.sum !== undefined && file.sum !== sum) {
        this.forget(name);
        throw new Stale(name);
      }
      return file.value;
    },
    forget: (name) => site.files.forget(`${folder}/${name}`),
  };
}

/** Returns the text for a call without a stored answer. */
async function noAnswer(site, tool, values) {
  const names = values.map((v) => tool.params[v.at].name);
  let text = tool.name + TEXTS.noAnswer;
  if (values.length > 0) text += TEXTS.noAnswerFor + values.map((v, i) => names[i] + '=' + cutText(v.raw)).join(', ');
  return text + '.' + ((await knownValues(site, tool, values)) || otherArguments(tool, names));
}

function cutText(text) {
  return byteLength(text) <= LIMITS.shownText ? text : clip(text, LIMITS.shownText) + '…';
}

function otherArguments(tool, given) {
  const left = tool.params.map((p) => p.name).filter((name) => !given.includes(name));
  if (left.length === 0) return TEXTS.onlySome;
  return given.length > 0 ? TEXTS.onlySomeTakes + left.join(', ') + '.' : TEXTS.tryWith + left.join(', ') + '.';
}

/** Describes the first argument for which the site has no answer, and the values that have one. */
async function knownValues(site, tool, values) {
  if (values.length === 0) return '';
  const path = answerPath('tools/' + tool.name, values.map((v) => encodeName(v.text)));
  let calls = path ? await storedCalls(site, tool, path) : [];
  for (const v of values) {
    const name = tool.params[v.at].name;
    let want = plainText(v.raw);
    const matching = calls.filter((c) => c.get(name) === want);
    if (matching.length === 0) {
      if (tool.page?.at === v.at) want = pagePath(tool.page, want);
      return describeKnown(name, want, distinctTexts(calls, name));
    }
    calls = matching;
  }
  for (const [at, p] of tool.params.entries()) {
    if (values.some((v) => v.at === at)) continue;
    const known = describeKnown(p.name, '', distinctTexts(calls, p.name));
    if (known) return known;
  }
  return '';
}

/** Returns the calls of a tool with an answer, by the index of the site. */
async function storedCalls(site, tool, path) {
  let head;
  try {
    head = await site.files.load('.staticmcp/index.json', (bytes) => indexPart(JSON.parse(utf8.decode(bytes)), true));
    if (!head) return [];
    if (head.shards.length === 0) return head.calls.get(tool.name) ?? [];
    const at = lastNotAfter(head.shards, path, (shard, key) => compareBytes(shard.first, key));
    const calls = [];
    for (const shard of head.shards.slice(Math.max(0, at - 1), at + 2)) {
      const part = await site.files.load(shard.path, (bytes) => indexPart({ format: 1, files: JSON.parse(utf8.decode(bytes)) }));
      if (part) calls.push(...(part.calls.get(tool.name) ?? []));
    }
    return calls;
  } catch {
    return [];
  }
}

function indexPart(index) {
  const calls = new Map();
  const shards = (index.shards ?? []).filter((s) => s.path.startsWith('.staticmcp/index/') && isSafePath(s.path));
  if (index.format !== 1) return { calls, shards: [] };
  for (const file of index.files ?? []) {
    if (!file.tool || file.alias || !file.arguments || typeof file.arguments !== 'object') continue;
    if (!calls.has(file.tool)) calls.set(file.tool, []);
    const texts = Object.entries(file.arguments).map(([name, v]) => [name, typeof v === 'string' ? v : JSON.stringify(v)]);
    calls.get(file.tool).push(new Map(texts));
  }
  return { calls, shards };
}

function distinctTexts(calls, name) {
  return [...new Set(calls.map((c) => c.get(name)).filter((text) => text !== undefined))].sort(compareBytes);
}

/** Lists the values near want and some of the others, nearest first. */
function describeKnown(name, want, known) {
  if (known.length === 0) return '';
  const near = nearNames(want, known);
  let text = near.length > 0 ? format(TEXTS.knownMean, alternatives(near)) : '';
  const listed = rankKnown(want, near, known).map(plainShown);
  text += format(TEXTS.knownValues, name, listed.join(', '));
  if (known.length > listed.length) text += format(TEXTS.knownMore, known.length - listed.length);
  return text + '.';
}

function nearNames(want, sorted) {
  if (sorted.length > LIMITS.compared) {
    const at = lastNotAfter(sorted, want, (a, b) => compareBytes(a, b) - (a === b ? 0 : 0.5)) ;
    const first = Math.max(0, Math.max(at, 0) - LIMITS.compared / 2);
    sorted = sorted.slice(first, first + LIMITS.compared);
  }
  return nearest(want, sorted, 3);
}

/** Returns the values to list: near ones, then those with the last part of want, then those that begin like it. */
function rankKnown(want, near, known) {
  want = lower(want);
  const last = want.slice(want.lastIndexOf('/') + 1);
  const scored = known.map((text) => {
    const folded = lower(text);
    let score = commonPrefix(want, folded);
    if (byteLength(last) >= 3 && folded.includes(last)) score += LIMITS.text;
    const i = near.indexOf(text);
    if (i >= 0) score += 2 * LIMITS.text + near.length - i;
    return { score, text };
  });
  scored.sort((a, b) => b.score - a.score);
  return scored.slice(0, LIMITS.known).map((s) => s.text);
}

function commonPrefix(a, b) {
  const x = new TextEncoder().encode(a);
  const y = new TextEncoder().encode(b);
  let n = 0;
  while (n < x.length && n < y.length && x[n] === y[n]) n++;
  return n;
}

/** Returns a value as a message shows it: quoted if it would not be read as a single value. */
function plainShown(text) {
  text = cutText(text);
  return text === '' || text.trim() !== text || /[,"]|[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]/u.test(text) ? quote(text) : text;
}

/** Reads a resource and returns the result as text. */
export async function readResource(site, uri) {
  const listed = site.resources.get(uri);
  const parts = splitSlashes(uriRest(uri));
  let text;
  try {
    if (parts.length === 0 || byteLength(uri) > LIMITS.text) throw new Missing(uri);
    text = await find(site, 'resources', parts, uri, (doc) => {
      const said = unquote(uriOf(doc));
      return said === uri || (said === undefined && listed !== undefined);
    });
  } catch (e) {
    if (!(e instanceof Missing)) throw e;
    throw new RPCError(CODES.resourceNotFound, missingResource(site, uri, listed), `{"uri":${json(uri)}}`);
  }
  return contents(text, uri, listed?.mimeType);
}

const isText = (text) => text !== undefined && text[0] === '"';

function uriOf(text) {
  if (text[0] === '[') return member(elements(text)[0], 'uri');
  const list = member(text, 'contents');
  const flat = isText(member(text, 'text')) || isText(member(text, 'blob'));
  return flat || list?.[0] !== '[' ? member(text, 'uri') : member(elements(list)[0], 'uri');
}

/** Returns a file as a result of resources/read. */
function contents(text, uri, mimeType) {
  const named = (item) => (isText(member(item, 'uri')) ? item : splice(without(item, 'uri'), 'uri', json(uri)));
  if (text[0] === '[') return `{"contents":[${elements(text).map(named).join(',')}]}`;
  if (isText(member(text, 'text')) || isText(member(text, 'blob'))) return `{"contents":[${named(text)}]}`;
  const list = member(text, 'contents');
  if (list?.[0] !== '[') {
    return `{"contents":[{"uri":${json(uri)},"mimeType":${json(mimeType || 'application/json')},"text":${json(text)}}]}`;
  }
  if (elements(list).every((item) => isText(member(item, 'uri')))) {
    return member(text, 'staticmcp') === undefined ? text : without(text, 'staticmcp');
  }
  return `{"contents":[${elements(list).map(named).join(',')}]}`;
}

function missingResource(site, uri, listed) {
  if (listed) return TEXTS.resourceListed;
  const folder = uri.slice(0, uri.lastIndexOf('/') + 1);
  let list = [...site.resources.keys()];
  if (list.length > LIMITS.compared) list = list.filter((known) => known.startsWith(folder)).slice(0, LIMITS.compared);
  const near = nearest(uri, list, 3);
  return near.length > 0 ? TEXTS.resourceMean + alternatives(near) + '?' : TEXTS.resourceNotFound;
}

/** Fills in a prompt and returns the result as text. given is a map of texts. */
export async function getPrompt(site, name, given) {
  const prompt = site.prompts.get(name);
  if (!prompt) throw new RPCError(CODES.invalidParams, didMean(format(TEXTS.unknownPrompt, name), name, site.prompts.keys()));
  checkPrompt(prompt, given);
  const texts = prompt.arguments.map((a) => given.get(a.name) ?? '').filter((text) => encodeName(text) !== '');
  const noPrompt = () => new RPCError(CODES.invalidParams, format(TEXTS.promptMissing, name, ''));
  let text;
  try {
    text = await findPrompt(site, name, texts, () => true);
  } catch (e) {
    if (!(e instanceof Missing)) throw e;
    try {
      if (texts.length === 0) throw e;
      text = await findPrompt(site, name, [], isTemplate);
    } catch (again) {
      throw again instanceof Missing ? noPrompt() : again;
    }
  }
  if (isTemplate(text)) text = fill(prompt, text, given, noPrompt);
  else if (member(text, 'staticmcp') !== undefined) text = without(text, 'staticmcp');
  return text.replaceAll('"role":"system"', '"role":"user"');
}

const findPrompt = (site, name, texts, accept) => find(site, 'prompts/' + name, texts, '', accept);
const isTemplate = (text) => member(member(text, '_meta'), META.template) === 'true';

function checkPrompt(prompt, given) {
  const names = prompt.arguments.map((a) => a.name);
  const missing = prompt.arguments.filter((a) => a.required && !given.has(a.name)).map((a) => a.name);
  const invalid = (message) => new RPCError(CODES.invalidParams, message);
  if (missing.length > 0) throw invalid(format(TEXTS.promptRequired, prompt.name, missing.join(', ')));
  for (const [name, value] of given) {
    if (names.includes(name) && byteLength(value) <= LIMITS.text) continue;
    if (names.includes(name)) throw invalid(format(TEXTS.promptLong, prompt.name, name, LIMITS.text));
    if (names.length === 0) throw invalid(format(TEXTS.promptNoArguments, prompt.name));
    const near = didYouMean(name, names);
    const hint = near === undefined ? '' : format(TEXTS.hintMean, near);
    throw invalid(format(TEXTS.promptUnknown, prompt.name, name, hint, names.join(', ')));
  }
}

/** Returns a template with the arguments in place of {{name}}. Braces in a value stay as they are. */
function fill(prompt, text, given, noPrompt) {
  const meta = member(text, '_meta');
  const variants = member(meta, META.variants);
  let template = without(without(text, '_meta'), 'staticmcp');
  const rest = without(without(meta, META.template), META.variants);
  if (rest !== '{}') template = template.slice(0, -1) + ',"_meta":' + rest + '}';
  if (variants !== undefined && given.size < prompt.arguments.length) {
    const key = (names) => [...names].sort(compareBytes).join('\0');
    const found = elements(variants).find((v) => key(JSON.parse(member(v, 'arguments'))) === key(given.keys()));
    if (found === undefined) throw noPrompt();
    template = compact(member(found, 'result'));
  }
  const known = new Set(prompt.arguments.map((a) => a.name));
  return template.replace(/\{\{(.*?)\}\}/g, (whole, name) => {
    name = name.trim();
    return known.has(name) ? json(given.get(name) ?? '').slice(1, -1) : whole;
  });
}

/** Returns the suggested values of an argument of a prompt or a variable of a template. */
export async function complete(site, prompt, template, argument, typed, chosen) {
  const owner = prompt ?? template;
  const folder = prompt ? ['prompts', encodeName(prompt.name)]
    : ['resources', ...splitSlashes(uriRest(template.uriTemplate)).map(encodeName)];
  let values = owner.values?.[argument] ?? (await storedValues(site, [...folder, encodeName(argument)]));
  if (!values && template) values = valuesInURIs(site, template, argument, chosen);
  const found = new Set();
  const prefix = lower(typed);
  for (const value of values ?? []) {
    if (typeof value === 'string' && value !== '' && lower(value).startsWith(prefix) && found.size < LIMITS.suggested) found.add(value);
  }
  return [...found];
}

async function storedValues(site, names) {
  try {
    const list = JSON.parse(await document(site, 'completions', names));
    return Array.isArray(list) ? list : list.completion?.values;
  } catch (e) {
    if (e instanceof Missing) return undefined;
    throw e;
  }
}

/** Returns the values of a variable in the listed URIs that a template describes. */
function valuesInURIs(site, template, argument, chosen) {
  const names = [];
  let pattern = '^';
  let rest = template.uriTemplate;
  for (let found; (found = /\{([+#./]?)([A-Za-z0-9_.%]+)\}/.exec(rest)); rest = rest.slice(found.index + found[0].length)) {
    const literal = rest.slice(0, found.index);
    if (/[{}]/.test(literal)) return [];
    pattern += escapePattern(literal);
    pattern += found[1] === '' ? '([^/?#]+)' : found[1] === '+' ? '(.+)' : escapePattern(found[1]) + '([^?#]+)';
    names.push(found[2]);
  }
  if (/[{}]/.test(rest)) return [];
  const uris = new RegExp(pattern + escapePattern(rest) + '$');
  const values = [];
  for (const uri of site.resources.keys()) {
    const match = uris.exec(uri);
    if (!match) continue;
    const texts = match.slice(1).map(decoded);
    if (names.some((name, i) => name !== argument && chosen.has(name) && chosen.get(name) !== texts[i])) continue;
    const at = names.lastIndexOf(argument);
    if (at >= 0) values.push(texts[at]);
  }
  return values;
}

function escapePattern(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
