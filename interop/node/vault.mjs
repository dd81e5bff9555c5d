// A gateway in front of a server that each caller uses with a login of their own: two
// oidc-providers, two users in Chromium, and clients of the TypeScript SDK.
//
// usage: node vault.mjs SLIPWAY CHROMIUM SITE FOLDER

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import assert from 'node:assert/strict';

import { startBrowser } from './browser.mjs';
import { freePort } from './programs.mjs';

const require = createRequire(join(process.env.SLIPWAY_INTEROP_TOOLS, 'package.json'));
const { Provider } = require('oidc-provider');
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { ElicitRequestSchema, ListToolsResultSchema } = require('@modelcontextprotocol/sdk/types.js');

const [slipway, chromium, site, folder] = process.argv.slice(2);
const children = [];

// startProvider starts a provider whose access tokens are for resource, and expire soon.
async function startProvider(resource, life) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const info = { scope: 'read', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: life, jwt: { sign: { alg: 'RS256' } } };
  const provider = new Provider(issuer, {
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: { enabled: true, useGrantedResource: () => true, getResourceServerInfo: () => info },
    },
    scopes: ['openid', 'offline_access', 'read'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    ttl: { AccessToken: life, Grant: 3600, Session: 3600, Interaction: 600, RefreshToken: 3600 },
    clients: [{ client_id: 'mcp-client', token_endpoint_auth_method: 'none', redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native' }],
  });
  const server = provider.listen(port, '127.0.0.1');
  // A token of a user for the gateway, as a client would have obtained it.
  const token = async (user) => {
    const client = await provider.Client.find('mcp-client');
    const grant = new provider.Grant({ accountId: user, clientId: client.clientId });
    grant.addResourceScope(resource, 'read');
    const access = new provider.AccessToken({ accountId: user, client, grantId: await grant.save(), gty: 'authorization_code', scope: 'read' });
    access.resourceServer = new provider.ResourceServer(resource, { ...info, accessTokenTTL: 3600 });
    return access.save();
  };
  return { issuer, token, close: () => server.close() };
}

// start starts slipway, and returns its log once it serves.
async function start(...args) {
  const child = spawn(slipway, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: folder, SLIPWAY_STATE_DIR: join(folder, 'state') } });
  children.push(child);
  const log = { text: '' };
  await new Promise((done, failed) => {
    child.stderr.on('data', (chunk) => {
      log.text += chunk;
      if (/http:\/\/127\.0\.0\.1:\d+\/mcp/.test(log.text)) done();
    });
    child.on('exit', (code) => failed(new Error(`slipway ${args.join(' ')} ended with ${code}:\n${log.text}`)));
  });
  return log;
}

// openAs opens an address as a user: the page, the login pages of both providers, their consent.
async function openAs(browser, address, user, name) {
  const page = await browser.newPage();
  const seen = [];
  await page.goto(address);
  for (let n = 0; n < 12; n++) {
    seen.push(await page.textContent('body'));
    if (/You are logged in|Not connected/.test(seen.at(-1))) break;
    if (await page.locator('input[name=login]').count()) {
      const own = page.url().startsWith(name.issuer) ? name.login : user;
      await page.fill('input[name=login]', own);
      await page.fill('input[name=password]', 'any');
    }
    await Promise.all([page.waitForNavigation(), page.click('button, [type=submit]')]);
  }
  await page.close();
  return seen;
}

// connect returns a client of a user. open handles the addresses that it is asked to open.
async function connect(gateway, token, open) {
  const client = new Client({ name: 'vault', version: '1' }, { capabilities: open ? { elicitation: { url: {} } } : {} });
  if (open) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      assert.equal(params.mode, 'url');
      try {
        await open(params.url);
      } catch (error) {
        console.error(error); // the client would only answer with an error
        throw error;
      }
      return { action: 'accept' };
    });
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  }));
  return client;
}

const names = async (client) => (await client.request({ method: 'tools/list' }, ListToolsResultSchema)).tools.map((t) => t.name);

try {
  const gatewayPort = await freePort();
  const gateway = `http://127.0.0.1:${gatewayPort}`;
  const upstreamPort = await freePort();
  const upstream = `http://127.0.0.1:${upstreamPort}`;
  const company = await startProvider(`${gateway}/mcp`, 300);
  const id = await startProvider(`${upstream}/mcp`, 4); // due to be refreshed after 3 seconds
  await start('serve', site, '--addr', `127.0.0.1:${upstreamPort}`, '--public-url', upstream, '--auth-issuer', id.issuer,
    '--require-scope', 'read', '--audit-log', join(folder, 'audit.jsonl'));
  const file = join(folder, 'servers.json');
  writeFileSync(file, JSON.stringify({
    servers: { site: { url: `${upstream}/mcp`, transport: 'http', auth: { kind: 'oauth', by: 'user' } } },
  }));
  await start('serve', file, '--addr', `127.0.0.1:${gatewayPort}`, '--public-url', gateway, '--auth-issuer', company.issuer,
    '--connect-scope', 'read'); // without a scope, the provider grants nothing

  const browsers = {};
  for (const user of ['alice', 'bob']) {
    browsers[user] = await startBrowser({ chromium, profile: join(folder, user) });
  }
  // Alice is asked by her client, and opens the address in her browser.
  let pages;
  const alice = await connect(gateway, await company.token('alice'), async (address) => {
    pages = await openAs(browsers.bob, address, 'bob', { issuer: id.issuer, login: 'up-bob' });
    assert.match(pages.at(-1), /Not connected.*another user/s, 'bob opens the address of alice');
    assert.ok(!pages.join().includes('Log in to 127.0.0.1'), 'bob sees the server');
    pages = await openAs(browsers.alice, address, 'alice', { issuer: id.issuer, login: 'up-alice' });
    assert.match(pages.at(-1), /You are logged in/, pages.join('\n---\n'));
  });
  assert.deepEqual(await names(alice), ['connect_site']);
  let result = await alice.callTool({ name: 'connect_site', arguments: {} });
  assert.ok(!result.isError, JSON.stringify(result));
  assert.ok(pages.some((text) => text.includes('site') && text.includes('alice')), 'the page names server and caller');
  assert.ok((await names(alice)).includes('get_status'));
  console.log('elicitation by URL, another user refused');

  // Bob's client cannot be asked.
  const bob = await connect(gateway, await company.token('bob'));
  assert.deepEqual(await names(bob), ['connect_site']);
  result = await bob.callTool({ name: 'connect_site', arguments: {} });
  const address = result.content[0].text.match(/http:\S+\/connect\/\w+/)[0];
  pages = await openAs(browsers.bob, address, 'bob', { issuer: id.issuer, login: 'up-bob' });
  assert.match(pages.at(-1), /You are logged in/, pages.join('\n---\n'));
  assert.ok(!(await bob.callTool({ name: 'connect_site', arguments: {} })).isError);
  console.log('address in the error of a call');

  // Both call while their tokens expire and rotate. The upstream records who calls.
  const before = Date.now();
  while (Date.now() - before < 9000) {
    const calls = [alice, bob].map((c) => c.callTool({ name: 'get_status', arguments: { code: 404 } }));
    for (const called of await Promise.all(calls)) assert.ok(!called.isError, JSON.stringify(called));
    await new Promise((done) => setTimeout(done, 100));
  }
  console.log('tokens refreshed');
  await Promise.all([alice.close(), bob.close()]);
  await Promise.all(Object.values(browsers).map((b) => b.close()));
  company.close();
  id.close();
} finally {
  for (const child of children) child.kill();
}
process.exit(0); // the providers keep connections
