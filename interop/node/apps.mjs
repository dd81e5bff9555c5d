// Shows what a server offers to users: reads its metadata with the official SDKs,
// holds it against the official schema, and opens its documents in Chromium, in
// a host page around the official app-bridge.
//
// The plan comes as one JSON object on stdin: endpoint, proxied (whether that is a
// proxy), chromium, profile (an empty folder), declare (whether the host of the
// documents declares the extension; basic-host of the extension does not) and show,
// the name of what is checked here. Output is that of suite.mjs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { fails, heard, openHost, startBrowser, startHost, told } from './browser.mjs';

const tools = process.env.SLIPWAY_INTEROP_TOOLS;
const require = createRequire(join(tools, 'package.json'));
const load = (path) => import(pathToFileURL(join(tools, 'node_modules', path)));
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const bridge = await load('@modelcontextprotocol/ext-apps/dist/src/app-bridge.js');
const { App } = await load('@modelcontextprotocol/ext-apps/dist/src/app-with-deps.js');
const plan = JSON.parse(await text(process.stdin));

const extension = 'io.modelcontextprotocol/ui';
const mimeType = bridge.RESOURCE_MIME_TYPE;
const pageURI = 'ui://fixture/page';

async function check(name, body) {
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`not ok ${name}`);
    console.log(String(error?.stack ?? error).slice(0, 4000).replace(/^/gm, '# '));
  }
}

// connect returns a client of one era, with the extension or, like basic-host, without
// any capabilities.
async function connect(mode, withApps) {
  const capabilities = withApps ? { extensions: { [extension]: { mimeTypes: [mimeType] } } } : {};
  const client = new Client({ name: 'interop-apps', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(plan.endpoint)));
  return client;
}

// fits compiles a definition of the extension's schema.
function fits(definition) {
  const Ajv = require('ajv/dist/2020').default;
  const path = join(tools, 'node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json');
  const { $defs } = JSON.parse(readFileSync(path, 'utf8'));
  const validate = new Ajv({ strict: false }).compile($defs[definition]);
  return (value, what) => assert(validate(value), `${what}: ${JSON.stringify(value)}: ${JSON.stringify(validate.errors)}`);
}

// textFor is what a tool says to a client that declares the extension, or does not.
// A proxy connects once for all clients, and declares it.
const textFor = (declared) => (declared || plan.proxied ? 'inspect the page' : 'read this');

async function metadata(mode) {
  const client = await connect(mode, true);
  const plain = await connect(mode, false);
  const named = async (c) => (await c.listTools()).tools.map((tool) => tool.name);
  await check(`${mode} server declares the extension`, () => {
    assert.deepEqual(client.getServerCapabilities().extensions[extension], { mimeTypes: [mimeType] });
  });
  await check(`${mode} tools fit the schema`, async () => {
    const fit = fits('McpUiToolMeta');
    const all = (await client.listTools()).tools;
    for (const tool of all) fit(tool._meta.ui, tool.name);
    const links = Object.fromEntries(all.map((tool) => [tool.name, bridge.getToolUiResourceUri(tool)]));
    assert.deepEqual(links, { show: pageURI, echo: undefined, think: undefined, old: pageURI });
    assert.deepEqual(all.filter(bridge.isToolVisibilityAppOnly).map((tool) => tool.name), ['echo']);
    assert.deepEqual(all.filter(bridge.isToolVisibilityModelOnly).map((tool) => tool.name), ['think']);
    assert.deepEqual(all.filter((tool) => tool._meta['ui/resourceUri']).map((tool) => tool.name), ['old']);
  });
  await check(`${mode} page fits the schema in both places`, async () => {
    const fit = fits('McpUiResourceMeta');
    const [listed] = (await client.listResources()).resources;
    const [read] = (await client.readResource({ uri: pageURI })).contents;
    fit(listed._meta.ui, 'list');
    assert.deepEqual(read._meta.ui, listed._meta.ui);
    assert.deepEqual([listed.mimeType, read.mimeType, read.uri], [mimeType, mimeType, pageURI]);
    assert.equal(bridge.buildAllowAttribute(read._meta.ui.permissions), 'camera; microphone; geolocation; clipboard-write');
  });
  await check(`${mode} tools for pages are for every client`, async () => {
    for (const each of [client, plain]) {
      assert.deepEqual(await named(each), ['show', 'echo', 'think', 'old']);
      assert((await each.callTool({ name: 'echo', arguments: {} })).structuredContent);
    }
  });
  await check(`${mode} text for clients that have no pages`, async () => {
    const said = async (c) => (await c.callTool({ name: 'show', arguments: {} })).content[0].text;
    assert.deepEqual([await said(client), await said(plain)], [textFor(true), textFor(false)]);
  });
  await client.close();
  await plain.close();
}

const context = {
  theme: 'dark', displayMode: 'inline', availableDisplayModes: ['inline', 'fullscreen'], locale: 'fr-FR',
  styles: { variables: { '--color-text-primary': 'rgb(1, 2, 3)' }, css: { fonts: '@font-face { font-family: Host; src: local("x"); }' } },
};

async function handshake(view, where) {
  await check(`${where}: handshake`, async () => {
    const answer = await view.app(() => host);
    assert.equal(answer.protocolVersion, '2026-01-26');
    assert.deepEqual(answer.hostInfo, { name: 'interop-host', version: '4.5.6' });
    assert.equal(await view.app(() => app.hostContext.locale), 'fr-FR');
    assert.deepEqual(await view.app(() => app.hostCapabilities.serverTools), {});
    const about = await view.host(() => [stage.bridge.getAppVersion(), stage.bridge.getAppCapabilities()]);
    assert.deepEqual(about[0], { name: 'fixture', version: '1.2.3' });
    assert.deepEqual(about[1], { tools: { listChanged: true }, availableDisplayModes: ['inline', 'fullscreen'] });
    const [first] = await view.host(() => stage.wire.map((m) => m.method));
    assert.equal(first, 'ui/initialize');
  });
  await check(`${where}: theme, variables and fonts of the host`, async () => {
    const look = () => view.app(() => {
      const { dataset, style } = document.documentElement;
      return [dataset.theme, style.colorScheme, style.getPropertyValue('--color-text-primary'), document.head.lastChild.textContent.slice(0, 10)];
    });
    assert.deepEqual(await look(), ['dark', 'dark', 'rgb(1, 2, 3)', '@font-face']);
    await view.host(() => stage.bridge.sendHostContextChange({ theme: 'light', styles: { variables: { '--color-text-primary': 'red' } } }));
    assert.deepEqual((await told(view, 'hostcontextchanged'))[0].theme, 'light');
    assert.deepEqual(await look(), ['light', 'light', 'red', '@font-face']);
    assert.equal(await view.app(() => app.hostContext.locale), 'fr-FR');
  });
}

async function delivery(view, where, client) {
  await check(`${where}: tool input and result delivered`, async () => {
    const input = { city: 'Lyon' };
    const result = await client.callTool({ name: 'show', arguments: input });
    await view.host(async ({ input, result }) => {
      await stage.bridge.sendToolInputPartial({ arguments: { city: 'Ly' } });
      await stage.bridge.sendToolInput({ arguments: input });
      await stage.bridge.sendToolResult(result);
    }, { input, result });
    assert.deepEqual((await told(view, 'toolresult'))[0].structuredContent, { tool: 'show', told: input });
    assert.deepEqual((await told(view, 'toolresult heard'))[0].content, [{ type: 'text', text: textFor(plan.declare) }]);
    assert.deepEqual(await told(view, 'toolinputpartial'), [{ city: 'Ly' }, { arguments: { city: 'Ly' } }]);
    assert.deepEqual(await told(view, 'toolinput'), [input, { arguments: input }]);
    assert.deepEqual(await told(view, 'toolinput heard'), [{ arguments: input }]);
  });
  await check(`${where}: tool cancelled delivered`, async () => {
    await view.host(() => stage.bridge.sendToolCancelled({ reason: 'the user said no' }));
    assert.deepEqual(await told(view, 'toolcancelled'), ['the user said no', { reason: 'the user said no' }]);
  });
}

async function toTheServer(view, where) {
  await check(`${where}: callServerTool round trip`, async () => {
    const said = await view.app(async () => [
      await app.callServerTool('echo', { n: 1 }),
      await app.callServerTool({ name: 'echo', arguments: { n: 2 } }),
      await app.callServerTool('echo'),
    ]);
    assert.deepEqual(said.map((result) => result.structuredContent.told), [{ n: 1 }, { n: 2 }, {}]);
  });
  await check(`${where}: an error of the server's rejects`, async () => {
    const { code, message } = await fails(view, () => app.callServerTool('nowhere'));
    assert.deepEqual([code, /nowhere/.test(message)], [-32602, true]);
  });
  await check(`${where}: resources of the server`, async () => {
    const read = await view.app(async (uri) => [
      await app.readServerResource(uri), await app.readServerResource({ uri }), await app.listServerResources(),
    ], pageURI);
    assert.deepEqual([read[0].contents[0].uri, read[1].contents[0].uri, read[2].resources[0].uri], [pageURI, pageURI, pageURI]);
  });
  await check(`${where}: no answer in time`, async () => {
    const { message } = await fails(view, () => app.callServerTool('never', {}, { timeout: 20 }));
    assert.equal(message, 'tools/call: no answer within 20 ms');
    const { name } = await fails(view, () => app.callServerTool({ name: 'never' }, { signal: AbortSignal.timeout(20) }));
    assert.equal(name, 'TimeoutError');
    await view.page.waitForFunction(() => stage.wire.filter((m) => m.method === 'notifications/cancelled').length === 2);
    const aborted = await fails(view, () => app.callServerTool('echo', {}, { signal: AbortSignal.abort() }));
    assert.equal(aborted.name, 'AbortError');
  });
}

async function toTheHost(view, where) {
  const said = { type: 'text', text: 'hello' };
  await check(`${where}: sendMessage accepted`, async () => {
    await view.app(async (said) => {
      await app.sendMessage('user', [said]);
      await app.sendMessage('user', said);
      await app.sendMessage('user', 'hello');
      await app.sendMessage({ role: 'user', content: [said] });
    }, said);
    assert.deepEqual(await heard(view, 'onmessage'), Array(4).fill({ role: 'user', content: [said] }));
  });
  await check(`${where}: updateModelContext accepted`, async () => {
    await view.app(async (said) => {
      await app.updateModelContext([said], { chosen: 1 });
      await app.updateModelContext(null, { chosen: 2 });
      await app.updateModelContext({ content: [said] });
      await app.updateModelContext(said);
    }, said);
    assert.deepEqual(await heard(view, 'onupdatemodelcontext'), [
      { content: [said], structuredContent: { chosen: 1 } }, { structuredContent: { chosen: 2 } }, { content: [said] }, { content: [said] },
    ]);
  });
  await check(`${where}: openLink, requestDisplayMode, downloadFile`, async () => {
    const file = { type: 'resource', resource: { uri: 'file:///a.txt', text: 'a' } };
    const got = await view.app(async (file) => [
      await app.openLink('https://example.com/'), await app.openLink({ url: 'ftp://example.com/' }),
      await app.requestDisplayMode('fullscreen'), await app.requestDisplayMode({ mode: 'inline' }), await app.downloadFile(file),
    ], file);
    assert.deepEqual(got, [{}, { isError: true }, { mode: 'fullscreen' }, { mode: 'inline' }, {}]);
    assert.deepEqual(await heard(view, 'ondownloadfile'), [{ contents: [file] }]);
  });
  await check(`${where}: log lines, wish to end`, async () => {
    await view.app(() => (app.sendLog('info', { a: 1 }, 'page'), app.requestTeardown()));
    assert.deepEqual(await heard(view, 'onloggingmessage'), [{ level: 'info', data: { a: 1 }, logger: 'page' }]);
    await heard(view, 'onrequestteardown');
  });
  await check(`${where}: size changes`, async () => {
    assert.deepEqual((await heard(view, 'onsizechange'))[0], { width: 400, height: 120 });
    await view.app(() => { document.getElementById('box').style.height = '345.5px'; });
    await view.page.waitForFunction(() => stage.seen.some((s) => s.event === 'onsizechange' && s.params.height === 346));
    await view.app(() => { document.getElementById('box').style.height = '80px'; });
    await view.page.waitForFunction(() => stage.seen.some((s) => s.event === 'onsizechange' && s.params.height === 80));
    await view.app(() => app.reportSizeChanged(7, 8));
    assert.deepEqual((await heard(view, 'onsizechange')).at(-1), { width: 7, height: 8 });
  });
}

async function fromTheHost(view, where) {
  await check(`${where}: tools of the document`, async () => {
    const { tools } = await view.host(() => stage.bridge.listTools({}));
    assert.deepEqual(tools.map((tool) => [tool.name, tool.description, tool.inputSchema]),
      [['double', 'Doubles n.', { type: 'object' }], ['fail', undefined, { type: 'object' }]]);
    const call = (name, args) => view.host((params) => stage.bridge.callTool(params), { name, arguments: args });
    assert.deepEqual(await call('double', { n: 21 }), { content: [{ type: 'text', text: '{"twice":42}' }], structuredContent: { twice: 42 } });
    assert.deepEqual(await call('fail', {}), { content: [{ type: 'text', text: 'it does not work' }], isError: true });
    await assert.rejects(call('none', {}), /no tool none/);
    await view.app(() => app.registerTool('late', {}, () => 'late').remove());
    await view.page.waitForFunction(() => stage.wire.filter((m) => m.method === 'notifications/tools/list_changed').length === 2);
  });
  await check(`${where}: ping, and an unknown method`, async () => {
    assert.deepEqual((await view.host(() => stage.ask({ id: 'asked 1', method: 'ping' }))).result, {});
    assert.equal((await view.host(() => stage.ask({ id: 'asked 2', method: 'ui/unheard-of' }))).error.code, -32601);
    await view.host(() => stage.frame.contentWindow.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/unheard-of' }, '*'));
  });
  await check(`${where}: strangers are not heard`, async () => {
    await view.app(() => postMessage({ jsonrpc: '2.0', method: 'ui/notifications/tool-cancelled', params: { reason: 'self' } }, '*'));
    // A frame beside the document has the origin of the host, but is not its parent.
    await view.host(() => {
      const stranger = document.body.appendChild(document.createElement('iframe')).contentWindow;
      const message = { jsonrpc: '2.0', method: 'ui/notifications/tool-cancelled', params: { reason: 'stranger' } };
      stranger.Function('view', 'message', 'view.postMessage(message, "*")')(stage.frame.contentWindow, message);
      return stage.bridge.sendToolCancelled({ reason: 'last' });
    });
    const reasons = () => seen.filter(({ event }) => event === 'toolcancelled').map(({ given }) => given[0]);
    await view.frame.waitForFunction(() => seen.some(({ given }) => given[0] === 'last'));
    assert.deepEqual(await view.app(reasons), ['the user said no', 'last']);
  });
  await check(`${where}: teardown`, async () => {
    assert.deepEqual(await view.host(() => stage.bridge.teardownResource({ reason: 'done' })), {});
    assert.deepEqual(await told(view, 'teardown'), ['done', { reason: 'done' }]);
  });
  await check(`${where}: nothing to complain of`, async () => {
    assert.deepEqual(view.trouble, []);
    assert.deepEqual(await view.app(() => seen.filter(({ event }) => ['violation', 'failed'].includes(event))), []);
    const got = await view.host(() => stage.seen.filter(({ event }) => event === 'error').map((s) => s.params));
    assert.deepEqual(got, []);
  });
  await check(`${where}: disconnect`, async () => {
    const { message } = await fails(view, () => {
      const waiting = app.callServerTool('never');
      app.disconnect();
      return waiting;
    });
    assert.equal(message, 'disconnected');
    assert.equal((await fails(view, () => app.callServerTool('echo'))).message, 'not connected');
    assert.equal((await fails(view, () => app.connect().then(() => 'again'))).value, 'again');
  });
}

// pair returns two ends of a connection between a host and its document.
function pair() {
  const end = () => ({ start: async () => {}, close: async () => {} });
  const [host, app] = [end(), end()];
  host.send = async (message) => { queueMicrotask(() => app.onmessage?.(message)); };
  app.send = async (message) => { queueMicrotask(() => host.onmessage?.(message)); };
  return [host, app];
}

// button calls a tool as a document does through a host that, like basic-host,
// gives the bridge a client without any capabilities.
async function button(mode) {
  await check(`${mode} a button's tool works in a host that declares nothing`, async () => {
    const client = await connect(mode, false);
    const host = new bridge.AppBridge(client, { name: 'interop-host', version: '1.0.0' }, { serverTools: {} });
    const app = new App({ name: 'board', version: '1.0.0' }, {}, { autoResize: false });
    const [ours, theirs] = pair();
    await host.connect(ours);
    await app.connect(theirs);
    const { isError, structuredContent } = await app.callServerTool({ name: 'echo', arguments: { n: 1 } });
    assert.deepEqual([isError ?? false, structuredContent.told], [false, { n: 1 }]);
    await client.close();
  });
}

// official opens an app of the specification's authors as basic-host does: a client
// without capabilities, the link of the tool, the page with its type, and a bridge over
// which the page reads resources and calls tools. It needs no browser.
async function official() {
  for (const mode of ['legacy', 'auto']) {
    const client = await connect(mode, false);
    const tool = (await client.listTools()).tools.find(bridge.getToolUiResourceUri);
    await check(`${mode} the tool names its page`, () => {
      assert.equal(bridge.getToolUiResourceUri(tool), plan.page);
      assert(!bridge.isToolVisibilityAppOnly(tool));
    });
    await check(`${mode} the page is a document of an app`, async () => {
      const { contents } = await client.readResource({ uri: plan.page });
      assert.deepEqual(contents.map((c) => [c.uri, c.mimeType]), [[plan.page, mimeType]]);
      assert.match(contents[0].text ?? Buffer.from(contents[0].blob, 'base64').toString(), /<html/);
    });
    await check(`${mode} the page is given the result, and calls the tool`, async () => {
      const { tools, resources } = client.getServerCapabilities();
      const host = new bridge.AppBridge(client, { name: 'basic-host', version: '1.0.0' }, { serverTools: tools, serverResources: resources });
      const app = new App({ name: 'page', version: '1.0.0' }, {}, { autoResize: false });
      const told = [];
      app.ontoolinput = (params) => told.push(params.arguments);
      app.ontoolresult = (result) => told.push(result.structuredContent);
      const [ours, theirs] = pair();
      await host.connect(ours);
      await app.connect(theirs);
      const result = await client.callTool({ name: tool.name, arguments: {} });
      assert(result.structuredContent && !result.isError);
      await host.sendToolInput({ arguments: {} });
      await host.sendToolResult(result);
      assert.deepEqual((await app.callServerTool({ name: tool.name, arguments: {} })).structuredContent, result.structuredContent);
      assert.equal((await app.readServerResource({ uri: plan.page })).contents.length, 1);
      assert.deepEqual(told, [{}, result.structuredContent]);
    });
    await client.close();
  }
}

// listing needs no browser.
async function listing() {
  for (const mode of ['legacy', 'auto']) {
    await metadata(mode);
    await button(mode);
  }
}

async function fixture() {
  await listing();
  const client = await connect('auto', plan.declare);
  const host = await startHost(client, pageURI);
  const browser = await startBrowser(plan);
  try {
    for (const where of ['no origin', 'own origin']) {
      const view = await openHost(browser, host, client, where, context);
      await handshake(view, where);
      await delivery(view, where, client);
      await toTheServer(view, where);
      await toTheHost(view, where);
      await fromTheHost(view, where);
      await view.page.close();
    }
    const view = await openHost(browser, host, client, 'host without origin', context);
    await delivery(view, 'host without origin', client);
    await toTheServer(view, 'host without origin');
    await check('a document without a host', async () => {
      const page = await browser.newPage();
      await page.goto(host.app);
      assert.equal((await told({ frame: page.mainFrame(), app: (f, given) => page.evaluate(f, given) }, 'failed'))[0],
        'no host: this document is not in a frame');
    });
  } finally {
    await browser.close();
    host.close();
    await client.close();
  }
}

// weather is the example server: a tool, and a dashboard that shows its result.
async function weather() {
  const client = await connect('auto', plan.declare);
  const tool = (await client.listTools()).tools.find(bridge.getToolUiResourceUri);
  const host = await startHost(client, bridge.getToolUiResourceUri(tool));
  const browser = await startBrowser(plan);
  try {
    const view = await openHost(browser, host, client, 'own origin', { theme: 'light' });
    const shown = () => view.app(() => [document.getElementById('city').textContent, document.getElementById('temperature').textContent]);
    await check('the dashboard shows a report', async () => {
      const input = { city: 'Lyon', unit: 'celsius' };
      const result = await client.callTool({ name: tool.name, arguments: input });
      await view.host(async ({ input, result }) => {
        await stage.bridge.sendToolInput({ arguments: input });
        await stage.bridge.sendToolResult(result);
      }, { input, result });
      await view.frame.waitForFunction(() => document.getElementById('city').textContent === 'Lyon');
      assert.deepEqual(await shown(), ['Lyon', `${Math.round(result.structuredContent.temperature)}° celsius`]);
    });
    await check('the dashboard asks the server again', async () => {
      await view.frame.click('#again');
      const [call] = await heard(view, 'oncalltool');
      assert.deepEqual(call, { name: tool.name, arguments: { city: 'Lyon', unit: 'celsius' } });
      assert.equal((await shown())[0], 'Lyon');
    });
    await check('nothing to complain of', () => assert.deepEqual(view.trouble, []));
  } finally {
    await browser.close();
    host.close();
    await client.close();
  }
}

await { listing, official, fixture, weather }[plan.show]();
