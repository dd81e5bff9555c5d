// The endpoint: Streamable HTTP without sessions, for every version of the protocol.

import { byteLength, crc32, format, json } from './text.js';
import { elements, isID, isObject, member, members, unquote, whyInvalid } from './json.js';
import { RPCError, callTool, complete, didMean, getPrompt, openSite, readResource, textResult } from './site.js';
import { InvalidArguments } from './arguments.js';
import { newBudget } from './pattern.js';
import { CODES, ERROR_KINDS, LIMITS, META, METHODS, TEXTS, VERSIONS } from './tables.js';

const LATEST = VERSIONS.at(-1);
const LEGACY = VERSIONS.at(-2);

const invalidRequest = (message, status) => new RPCError(CODES.invalidRequest, TEXTS.invalidRequest + message, undefined, status);
const invalidParams = (message) => new RPCError(CODES.invalidParams, message);
const mismatch = (pattern, ...values) => new RPCError(CODES.headerMismatch, format(pattern, ...values), undefined, 400);
const isModern = (version) => version === LATEST;

/**
 * Returns a function that answers requests to the endpoint of a site.
 *
 *   files: the Files of the site
 *   page:  a function that returns the page for browsers as a promise of HTML, or undefined
 *   hosts: the values of the Host header to accept; all if it is not set
 *   local: whether only this machine may use it, so that web pages of other origins are refused
 */
export function createEndpoint({ files, page, hosts, local }) {
  return async (request) => {
    try {
      return await serve(request, files, page, hosts, local);
    } catch (e) {
      if (!(e instanceof RPCError)) console.error(e);
      return reject(e, 500);
    }
  };
}

/**
 * Returns why a request is refused because of its Host, against rebound DNS names, or of its Origin, if local; or undefined.
 * A site is public, so elsewhere any page may read it.
 */
export function whyForeign(request, hosts, local) {
  const host = request.headers.get('host') ?? new URL(request.url).host;
  if (hosts && !hosts.includes(host.replace(/:\d+$/, '').toLowerCase())) return TEXTS.hostBefore + quoted(host) + TEXTS.notAllowed;
  const origin = request.headers.get('origin');
  if (!local || origin === null || originAllowed(origin, host)) return undefined;
  return TEXTS.originBefore + quoted(origin) + TEXTS.notAllowed;
}

/** Reports whether pages of an origin may use an endpoint on loopback: those of loopback names, and its own. */
function originAllowed(origin, host) {
  let url;
  try {
    url = new URL(origin);
  } catch {
    return false;
  }
  if (!['http:', 'https:'].includes(url.protocol) || url.origin !== origin.toLowerCase()) return false;
  return ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname) || url.host === host.toLowerCase();
}

async function serve(request, files, page, hosts, local) {
  const foreign = whyForeign(request, hosts, local);
  if (foreign) return reject(invalidRequest(foreign), 403);
  if (request.method === 'OPTIONS') {
    return respond(204, null, {
      'Access-Control-Allow-Methods': 'POST, GET, OPTIONS',
      'Access-Control-Allow-Headers': '*, Authorization',
      'Access-Control-Max-Age': '600',
    });
  }
  const wantsPage = (request.method === 'GET' || request.method === 'HEAD') && /\btext\/html\b/.test(request.headers.get('accept') ?? '');
  const html = wantsPage && page ? await page(request) : undefined;
  if (html) return respond(200, html, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache', Vary: 'Accept' });
  if (request.method !== 'POST') return reject(invalidRequest(TEXTS.notPost), 405, { Allow: 'POST, OPTIONS' });
  return post(request, files);
}

function quoted(text) {
  return '"' + (text.length > 100 ? text.slice(0, 100) + '...' : text) + '"';
}

async function post(request, files) {
  const type = (request.headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase();
  if (type !== 'application/json') return reject(invalidRequest(TEXTS.contentType), 415);
  const encoding = request.headers.get('content-encoding') ?? '';
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    return reject(invalidRequest(format(TEXTS.contentEncoding, quoted(encoding))), 415, { 'Accept-Encoding': 'identity' });
  }
  const accept = accepts(request.headers.get('accept'));
  if (!accept.json && !accept.stream) return reject(invalidRequest(TEXTS.accept), 406);
  const body = await readAtMost(request, LIMITS.body);
  if (body === undefined) return reject(invalidRequest(format(TEXTS.bodyLarge, LIMITS.body)), 413, { Connection: 'close' });
  const exchange = { headers: request.headers, header: request.headers.get('mcp-protocol-version'), files, accept, budget: newBudget() };
  const why = whyNotJSON(body);
  if (why !== undefined) return answerError(exchange, { version: headerVersion(exchange) }, parseError(why), 400);
  const text = new TextDecoder().decode(body);
  return text.trimStart()[0] === '[' ? batch(exchange, text) : single(exchange, text);
}

/** Returns which forms of answers a client reads. A missing header means JSON. */
function accepts(header) {
  const accept = { json: header === null, stream: false, prefers: false };
  for (const part of (header ?? '').split(',')) {
    const [media, ...parameters] = part.split(';');
    if (/^q=0(\.0)?$/.test(parameters.join(';').replaceAll(' ', ''))) continue;
    switch (media.trim().toLowerCase()) {
      case '*/*':
        accept.json = accept.stream = true;
        break;
      case 'application/json':
      case 'application/*':
        accept.json = true;
        break;
      case 'text/event-stream':
      case 'text/*':
        accept.prefers ||= !accept.json;
        accept.stream = true;
    }
  }
  return accept;
}

/** Returns the bytes of the body of a request or a response, or undefined if they are more than limit. */
export async function readAtMost(message, limit) {
  if (Number(message.headers.get('content-length') ?? 0) > limit) {
    await message.body?.cancel();
    return undefined;
  }
  const parts = [];
  let size = 0;
  for (const reader = message.body?.getReader(); reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.length) > limit) {
      await reader.cancel();
      return undefined;
    }
    parts.push(value);
  }
  const body = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.length;
  }
  return body;
}

function whyNotJSON(body) {
  const why = whyInvalid(body);
  return why !== undefined && body.every((c) => c === 0x20 || (c >= 9 && c <= 13)) ? TEXTS.emptyMessage : why;
}

function parseError(why) {
  return new RPCError(CODES.parse, TEXTS.parseError + why);
}

/** Serves one message in the body of a POST. */
async function single(exchange, text) {
  const message = {};
  try {
    scan(message, text);
  } catch (e) {
    message.version = headerVersion(exchange);
    return answerError(exchange, message, e, 400);
  }
  try {
    admit(exchange, message);
  } catch (e) {
    return answerError(exchange, message, e, message.id === undefined || message.response ? 400 : 200);
  }
  if (message.id === undefined || message.response) return respond(202, null);
  if (message.method === 'subscriptions/listen' && isModern(message.version)) return listen(exchange, message);
  try {
    return deliver(exchange, success(message, await handle(exchange, message)));
  } catch (e) {
    return answerError(exchange, message, e, 200);
  }
}

/** Returns the best guess at the version of a message that cannot be read. */
function headerVersion(exchange) {
  return VERSIONS.includes(exchange.header) ? exchange.header : undefined;
}

function success(message, result) {
  return `{"jsonrpc":"2.0","id":${message.id},"result":${result}}`;
}

/** Serves an array of messages, which only 2025-03-26 allows. */
async function batch(exchange, text) {
  const probe = {};
  try {
    admit(exchange, probe);
    if (probe.version !== VERSIONS[1]) throw invalidRequest(format(TEXTS.notObject, VERSIONS[1]));
    const list = elements(text);
    if (list.length === 0) throw invalidRequest(TEXTS.batchEmpty);
    if (list.length > LIMITS.batch) throw invalidRequest(format(TEXTS.batchLong, list.length, LIMITS.batch));
    const answers = [];
    let held = 0;
    for (const element of list) {
      const one = await batched(exchange, element, held);
      if (one === undefined) continue;
      answers.push(one);
      held += byteLength(one);
    }
    return answers.length === 0 ? respond(202, null) : deliver(exchange, '[' + answers.join(',') + ']');
  } catch (e) {
    return answerError(exchange, probe, e, 400);
  }
}

async function batched(exchange, text, held) {
  const message = {};
  try {
    scan(message, text);
    admit(exchange, message);
    const isRequest = message.id !== undefined && !message.response;
    if (held > LIMITS.batchAnswers && isRequest) throw new RPCError(CODES.busy, format(TEXTS.batchBusy, LIMITS.batchAnswers));
    if (message.method === 'initialize') throw invalidRequest(TEXTS.batchInitialize);
    if (isModern(message.version)) throw invalidRequest(format(TEXTS.batchModern, message.version));
    return isRequest ? success(message, await handle(exchange, message)) : undefined;
  } catch (e) {
    return failure(message, e);
  }
}

const envelope = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
const parameters = ['name', 'uri', 'arguments', '_meta', 'cursor'];

const foldsTo = (key, names) => names.find((name) => name.toLowerCase() === key.toLowerCase());

/** Reads one message. A violation is thrown at the end, when the id is known. */
function scan(message, text) {
  if (!isObject(text)) throw invalidRequest(format(TEXTS.notObject, VERSIONS[1]));
  let wrong;
  const seen = new Map();
  for (const [key, value] of members(text)) {
    if (!envelope.includes(key)) {
      const meant = foldsTo(key, envelope);
      if (meant) wrong ??= format(TEXTS.memberUnknown, key, meant);
    } else if (seen.has(key)) {
      wrong ??= format(TEXTS.memberTwice, key);
      if (key === 'id') message.id = undefined;
    } else {
      seen.set(key, value);
      const problem = keep(message, key, value); // always, as the id may come last
      wrong ??= problem;
    }
  }
  wrong ??= shapeOf(message, seen);
  if (wrong !== undefined) throw invalidRequest(wrong);
}

/** Stores a member of the envelope, and returns what is wrong with it. */
function keep(message, key, value) {
  switch (key) {
    case 'jsonrpc':
      return value === '"2.0"' ? undefined : TEXTS.jsonrpc;
    case 'id':
      if (value !== 'null' && !isID(value)) return TEXTS.badID;
      message.id = value === 'null' ? undefined : value;
      return undefined;
    case 'method':
      message.method = unquote(value);
      return message.method === undefined ? TEXTS.methodString : undefined;
    case 'params':
      return isObject(value) ? keepParams(message, value) : value === 'null' ? undefined : TEXTS.paramsObject;
  }
  return undefined;
}

function keepParams(message, text) {
  message.params = text;
  message.param = new Map();
  let wrong;
  for (const [key, value] of members(text)) {
    const meant = parameters.includes(key) ? undefined : foldsTo(key, parameters);
    if (meant) wrong ??= format(TEXTS.paramUnknown, key, meant);
    if (message.param.has(key) && parameters.includes(key)) wrong ??= format(TEXTS.paramTwice, key);
    message.param.set(key, value);
  }
  return wrong;
}

/** Decides whether a message is a request, a notification or a response. */
function shapeOf(message, seen) {
  const result = seen.has('result');
  const error = seen.has('error');
  if (!seen.has('jsonrpc')) return TEXTS.jsonrpcMissing;
  if (seen.has('method')) {
    if (result || error) return TEXTS.methodAndResult;
    return seen.get('id') === 'null' ? TEXTS.badID : undefined;
  }
  if (!result && !error) return TEXTS.methodMissing;
  if (result && error) return TEXTS.resultAndError;
  if (result && message.id === undefined) return TEXTS.resultNoID;
  message.response = true;
  return undefined;
}

/** Determines the version of a message. */
function admit(exchange, message) {
  message.meta = new Map();
  const meta = message.param?.get('_meta');
  const modern = () => isModernMessage(exchange, message);
  if (meta !== undefined && meta !== 'null') {
    const fail = (text) => Object.assign(invalidParams(text), modern() ? { status: 400 } : {});
    if (!isObject(meta)) throw fail(TEXTS.metaObject);
    for (const [key, value] of members(meta)) {
      if (message.meta.has(key)) throw fail(format(TEXTS.metaTwice, key));
      message.meta.set(key, value);
    }
  }
  if (modern()) {
    message.version = LATEST;
    if (message.response) throw invalidRequest(format(TEXTS.noResponses, LATEST), 400);
    return;
  }
  message.version = VERSIONS[1];
  if (message.method === 'initialize' && message.id !== undefined) return;
  if (exchange.header === null) return;
  if (!VERSIONS.includes(exchange.header)) {
    throw Object.assign(invalidRequest(format(TEXTS.headerVersion, exchange.header), 400), { data: supported(exchange.header) });
  }
  if (isModern(exchange.header)) throw mismatch(TEXTS.headerOther, exchange.header);
  message.version = exchange.header;
}

/** Reports whether a message is of 2026-07-28. The body takes precedence over the header. */
function isModernMessage(exchange, message) {
  const said = message.meta.get(META.version);
  if (said !== undefined) {
    const name = unquote(said);
    return !VERSIONS.includes(name) || isModern(name);
  }
  return exchange.header !== null && exchange.header >= LATEST && message.method !== 'initialize';
}

function supported(requested) {
  const names = json([...VERSIONS].reverse().join('","')).replaceAll('\\"', '"');
  return requested ? `{"requested":${json(requested)},"supported":[${names}]}` : `{"supported":[${names}]}`;
}

/** Verifies what every request of 2026-07-28 states about itself. */
function checkEnvelope(exchange, message) {
  const requested = unquote(message.meta.get(META.version)) ?? '';
  const header = exchange.header;
  if (requested !== '' && header === null) throw mismatch(TEXTS.versionMissing, requested);
  if (requested !== '' && header !== requested) throw mismatch(TEXTS.versionDiffers, header, requested);
  const missing = (key, want) => Object.assign(invalidParams(format(TEXTS.metaMissing, key, want)), { data: supported(''), status: 400 });
  if (requested === '') throw missing(META.version, TEXTS.wantString);
  if (!isObject(message.meta.get(META.capabilities))) throw missing(META.capabilities, TEXTS.wantObject);
  if (!isModern(requested)) {
    throw new RPCError(CODES.unsupportedVersion, format(TEXTS.versionUnsupported, requested), supported(requested), 400);
  }
  checkMethodHeaders(exchange, message);
  const token = message.meta.get('progressToken');
  if (token !== undefined && !isID(token)) throw invalidParams(TEXTS.progressToken);
}

function checkMethodHeaders(exchange, message) {
  const method = exchange.headers.get('mcp-method');
  if (method === null) throw mismatch(TEXTS.methodHeader, message.method);
  if (method !== message.method) throw mismatch(TEXTS.methodDiffers, method, message.method);
  const key = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }[message.method];
  const want = key && unquote(message.param?.get(key));
  if (want === undefined) return;
  const name = exchange.headers.get('mcp-name');
  if (name === null) throw mismatch(TEXTS.nameMissing, want);
  if (headerValue(name) !== want) throw mismatch(TEXTS.nameDiffers, want);
}

/** Decodes a header, which may have the form =?base64?...?=, or returns undefined. */
function headerValue(value) {
  if (/[^\t\x20-\x7e]/.test(value)) return undefined;
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value);
  if (!encoded) return value;
  try {
    if (btoa(atob(encoded[1])) !== encoded[1]) return undefined;
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(atob(encoded[1]), (c) => c.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

/** Runs a request and returns its result as text. */
async function handle(exchange, message) {
  if (isModern(message.version)) checkEnvelope(exchange, message);
  const method = METHODS[message.method];
  const within = method && VERSIONS.indexOf(message.version) >= method[0] && VERSIONS.indexOf(message.version) <= method[1];
  const notFound = () => new RPCError(CODES.methodNotFound, format(TEXTS.methodNotFound, message.method));
  const serveMethod = within ? handlers[message.method] : undefined;
  if (!serveMethod) throw notFound();
  const site = await openSite(exchange.files);
  if (method[2] && !capabilitiesOf(site)[method[2]]) throw notFound();
  return serveMethod(site, message, exchange);
}

/** Returns which capabilities a site has. */
function capabilitiesOf(site) {
  return {
    completions: [...site.prompts.values()].some((p) => p.arguments.length > 0) ||
      [...site.templates.keys()].some((uri) => uri.includes('{')),
    prompts: site.prompts.size > 0,
    resources: site.resources.size + site.templates.size > 0,
    tools: site.tools.size > 0,
  };
}

function capabilitiesText(site, version) {
  const has = capabilitiesOf(site);
  if (version < VERSIONS[1]) has.completions = false;
  return '{' + Object.keys(has).filter((name) => has[name]).map((name) => `"${name}":{}`).join(',') + '}';
}

/** Returns serverInfo without the members that a version does not have. */
function serverInfo(site, version) {
  const { name, title, version: number, description, websiteUrl, icons } = site.server;
  const info = { name };
  if (title && version >= VERSIONS[2]) info.title = title;
  info.version = number;
  if (version >= VERSIONS[3]) {
    if (description) info.description = description;
    if (websiteUrl) info.websiteUrl = websiteUrl;
    if (icons?.length) info.icons = icons;
  }
  return goJSON(info);
}

// The separators of lines and paragraphs are escaped by Go's encoder of structures.
function goJSON(value) {
  return JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

const cacheHint = `"ttlMs":${LIMITS.ttl},"cacheScope":"public"`;

/** Adds to a result what 2026-07-28 requires of all. */
function complete2026(site, result, hint) {
  const info = `"${META.serverInfo}":${serverInfo(site, LATEST)}`;
  const list = members(result);
  const has = (name) => list.some(([key]) => key === name);
  const meta = list.find(([key]) => key === '_meta')?.[1];
  const parts = list.map(([key, value]) => json(key) + ':' + (key === '_meta' ? withInfo(value, info) : value));
  if (!has('resultType')) parts.push('"resultType":"complete"');
  if (hint && !has('ttlMs')) parts.push(`"ttlMs":${LIMITS.ttl}`);
  if (hint && !has('cacheScope')) parts.push('"cacheScope":"public"');
  if (meta === undefined) parts.push(`"_meta":{${info}}`);
  return '{' + parts.join(',') + '}';
}

function withInfo(meta, info) {
  if (member(meta, META.serverInfo) !== undefined) return meta;
  return meta === '{}' ? `{${info}}` : meta.slice(0, -1) + ',' + info + '}';
}

const inVersion = (site, message, result, hint) => (isModern(message.version) ? complete2026(site, result, hint) : result);

/** The functions of the methods, which return a result as text. */
const handlers = {
  initialize: (site, message) => {
    requireParams(message);
    const requested = stringParam(message.params, 'protocolVersion', 'params') ?? '';
    const version = VERSIONS.includes(requested) && !isModern(requested) ? requested : LEGACY;
    message.version = version;
    const instructions = site.instructions ? `,"instructions":${goJSON(site.instructions)}` : '';
    return `{"protocolVersion":"${version}","capabilities":${capabilitiesText(site, version)},` +
      `"serverInfo":${serverInfo(site, version)}${instructions}}`;
  },
  ping: () => '{}',
  'server/discover': (site, message) => {
    const instructions = site.instructions ? `"instructions":${goJSON(site.instructions)},` : '';
    const versions = [...VERSIONS].reverse().map((v) => `"${v}"`).join(',');
    return inVersion(site, message,
      `{"supportedVersions":[${versions}],"capabilities":${capabilitiesText(site, LATEST)},${instructions}${cacheHint}}`);
  },
  'tools/list': (site, message) => listPage(site, message, 0, 'tools', site.tools),
  'resources/list': (site, message) => listPage(site, message, 1, 'resources', site.resources),
  'resources/templates/list': (site, message) => listPage(site, message, 2, 'resourceTemplates', site.templates),
  'prompts/list': (site, message) => listPage(site, message, 3, 'prompts', site.prompts),
  'tools/call': async (site, message, exchange) => {
    const name = unquote(message.param?.get('name'));
    if (name === undefined) throw invalidParams(TEXTS.nameRequired);
    let given = message.param.get('arguments');
    if (given === 'null') given = undefined;
    if (!site.tools.has(name)) throw invalidParams(didMean(format(TEXTS.unknownTool, name), name, site.tools.keys()));
    if (given !== undefined && !isObject(given)) throw invalidParams(TEXTS.argumentsNotObject);
    try {
      return inVersion(site, message, await callTool(site, name, given, exchange.budget));
    } catch (e) {
      if (!(e instanceof InvalidArguments)) throw e;
      if (message.version < VERSIONS[3]) throw invalidParams(e.message);
      return inVersion(site, message, textResult(e.message, true));
    }
  },
  'resources/read': async (site, message) => {
    const uri = unquote(message.param?.get('uri'));
    if (!uri) throw invalidParams(TEXTS.uriRequired);
    return inVersion(site, message, await readResource(site, uri), true);
  },
  'prompts/get': async (site, message) => {
    const name = unquote(message.param?.get('name'));
    if (name === undefined) throw invalidParams(TEXTS.nameRequired);
    if (!site.prompts.has(name)) throw invalidParams(didMean(format(TEXTS.unknownPrompt, name), name, site.prompts.keys()));
    const given = strings(message.param.get('arguments'), 'params.arguments');
    return inVersion(site, message, await getPrompt(site, name, given));
  },
  'completion/complete': completion,
};

function requireParams(message) {
  if (message.params === undefined) throw invalidParams(TEXTS.paramsRequired);
}

/** Returns a member that is a string, or undefined if it is absent. */
function stringParam(object, name, where) {
  const found = members(object).filter(([key]) => key === name);
  if (found.length === 0) return undefined;
  if (found.length > 1) throw invalidParams(`${where}: ` + format(TEXTS.givenTwice, name));
  const text = unquote(found[0][1]);
  if (text === undefined) throw invalidParams(`${where}: ${name}: ${TEXTS.notString}`);
  return text;
}

function objectParam(object, name) {
  const value = member(object, name);
  if (value !== undefined && !isObject(value)) throw invalidParams(`params: ${name}: ${TEXTS.notObjectValue}`);
  return value ?? '{}';
}

/** Returns an object of strings as a map. */
function strings(text, where) {
  const found = new Map();
  if (text === undefined || text === 'null') return found;
  if (!isObject(text)) throw invalidParams(`${where}: ${TEXTS.notStrings}`);
  for (const [key, value] of members(text)) {
    if (found.has(key)) throw invalidParams(`${where}: ` + format(TEXTS.givenTwice, key));
    if (unquote(value) === undefined) throw invalidParams(`${where}: ${key}: ${TEXTS.notString}`);
    found.set(key, unquote(value));
  }
  return found;
}

async function completion(site, message) {
  requireParams(message);
  const ref = objectParam(message.params, 'ref');
  const about = objectParam(message.params, 'argument');
  const kind = stringParam(ref, 'type', 'params: ref');
  const argument = stringParam(about, 'name', 'params: argument') ?? '';
  const typed = stringParam(about, 'value', 'params: argument') ?? '';
  const chosen = strings(member(objectParam(message.params, 'context'), 'arguments'), 'params: context: arguments');
  let prompt;
  let template;
  if (kind === 'ref/prompt') {
    const name = stringParam(ref, 'name', 'params: ref') ?? '';
    prompt = site.prompts.get(name);
    if (!prompt) throw invalidParams(didMean(format(TEXTS.unknownPrompt, name), name, site.prompts.keys()));
    const names = prompt.arguments.map((a) => a.name);
    if (!names.includes(argument)) throw invalidParams(format(TEXTS.promptArgument, name, argument, names.sort().join(', ')));
  } else if (kind === 'ref/resource') {
    const uri = stringParam(ref, 'uri', 'params: ref') ?? '';
    template = site.templates.get(uri);
    if (!template) throw invalidParams(format(TEXTS.unknownTemplate, uri));
    if (!variables(uri).includes(argument)) throw invalidParams(format(TEXTS.noVariable, uri, argument));
  } else throw invalidParams(TEXTS.refType);
  const values = await complete(site, prompt, template, argument, typed, chosen);
  const shown = values.slice(0, LIMITS.completions);
  const more = values.length > shown.length ? `,"total":${values.length},"hasMore":true` : '';
  return inVersion(site, message, `{"completion":{"values":${goJSON(shown)}${more}}}`);
}

function variables(template) {
  return [...template.matchAll(/\{[+#./;?&=,!@|]*([^}]*)\}/g)]
    .flatMap((m) => m[1].split(',').map((v) => v.split(':')[0].replace(/\*$/, '')));
}

/** Returns a page of a list of definitions. */
function listPage(site, message, kind, name, definitions) {
  const raw = message.param?.get('cursor');
  const cursor = raw === undefined || raw === 'null' ? '' : unquote(raw) ?? '?';
  const offset = cursor === '' ? 0 : offsetOf(cursor, kind);
  if (offset === undefined) throw invalidParams(TEXTS.badCursor);
  const all = [...definitions.values()];
  const end = Math.min(all.length, offset + LIMITS.page);
  let result = `{"${name}":[${all.slice(Math.min(offset, all.length), end).map((d) => d.raw).join(',')}]`;
  if (end < all.length) result += `,"nextCursor":"${cursorOf(end, kind)}"`;
  if (!isModern(message.version)) return result + '}';
  return `${result},${cacheHint},"resultType":"complete","_meta":{"${META.serverInfo}":${serverInfo(site, LATEST)}}}`;
}

/** Returns the cursor of a position: format, kind, offset as varint and a checksum, in base64url. */
function cursorOf(offset, kind) {
  const bytes = [1, kind];
  for (let n = offset; ; n = Math.floor(n / 128)) {
    if (n < 128) {
      bytes.push(n);
      break;
    }
    bytes.push((n % 128) | 128);
  }
  const sum = crc32(bytes).match(/../g).map((pair) => parseInt(pair, 16));
  return btoa(String.fromCharCode(...bytes, ...sum)).replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
}

function offsetOf(cursor, kind) {
  try {
    const bytes = Array.from(atob(cursor.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const offset = bytes.slice(2, -4).reduce((sum, byte, i) => sum + (byte & 127) * 128 ** i, 0);
    return offset > 0 && offset < 2 ** 31 && cursorOf(offset, kind) === cursor ? offset : undefined;
  } catch {
    return undefined;
  }
}

/** Answers subscriptions/listen: nothing changes within a deployment, so the subscription ends at once. */
function listen(exchange, message) {
  try {
    checkEnvelope(exchange, message);
    const asked = message.param?.get('notifications');
    if (asked === undefined || !isObject(asked)) throw invalidParams(TEXTS.listenObject);
    if (!exchange.accept.stream) throw new RPCError(CODES.invalidRequest, TEXTS.listenStream);
  } catch (e) {
    return answerError(exchange, message, e, 200);
  }
  const meta = `"_meta":{"${META.subscription}":${message.id}}`;
  return stream([
    `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{${meta},"notifications":{}}}`,
    `{"jsonrpc":"2.0","id":${message.id},"result":{"resultType":"complete",${meta}}}`,
  ]);
}

/** Returns the response with one message, as a stream if the client prefers that. */
function deliver(exchange, text) {
  if (exchange.accept.prefers) return stream([text]);
  return respond(200, text, { 'Content-Type': 'application/json' });
}

function stream(messages) {
  const events = messages.map((text) => `event: message\ndata: ${text}\n\n`).join('');
  return respond(200, events, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
}

const modernStatus = { [CODES.methodNotFound]: 404 };

function answerError(exchange, message, error, status) {
  const e = asError(error);
  const own = e.status ?? (isModern(message.version) ? modernStatus[e.code] : undefined) ?? status;
  const text = failure(message, e);
  return own === 200 ? deliver(exchange, text) : respond(own, text, { 'Content-Type': 'application/json' });
}

/** Returns an error that the client may see. Others are logged. */
function asError(error) {
  if (error instanceof RPCError) return error;
  console.error(error);
  return new RPCError(CODES.internal, TEXTS.internal);
}

/** Returns the answer with an error. */
function failure(message, error) {
  const e = asError(error);
  const code = e.code === CODES.resourceNotFound && isModern(message.version) ? CODES.invalidParams : e.code;
  let id = '';
  if (message.id !== undefined && !message.response) id = `,"id":${message.id}`;
  else if (message.version === undefined || message.version < VERSIONS[3]) id = ',"id":null';
  const kind = ERROR_KINDS[e.code];
  const data = e.data ?? (kind ? `{"kind":"${kind}"}` : undefined);
  return `{"jsonrpc":"2.0"${id},"error":{"code":${code},"message":${json(e.message)}${data ? `,"data":${data}` : ''}}}`;
}

/** Answers with an error that does not belong to a request. */
function reject(error, status, headers) {
  const text = failure({ version: LATEST }, error);
  return respond(error.status ?? status, text, { 'Content-Type': 'application/json', ...headers });
}

function respond(status, body, headers) {
  return new Response(body, {
    status,
    headers: {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': 'Mcp-Session-Id, WWW-Authenticate, Retry-After',
      'X-Content-Type-Options': 'nosniff',
      ...headers,
    },
  });
}
