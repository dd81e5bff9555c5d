// A gateway whose issuer is an oidc-provider with opaque tokens, about which it asks there (RFC 7662):
// slipway as the client, Chromium as the browser.
//
// usage: node opaque.mjs SLIPWAY CHROMIUM SITE FOLDER

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import assert from 'node:assert/strict';

import { startBrowser } from './browser.mjs';
import { answerPages, children, freePort, signIn, start } from './programs.mjs';

const require = createRequire(join(process.env.SLIPWAY_INTEROP_TOOLS, 'package.json'));
const { Provider } = require('oidc-provider');

const [slipway, chromium, site, folder] = process.argv.slice(2);
const serving = [];

// startProvider starts a provider whose access tokens are opaque, and mean resource.
async function startProvider(resource, groups) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const info = { scope: 'read', audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: 3600 };
  const provider = new Provider(issuer, {
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      deviceFlow: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: { enabled: true, useGrantedResource: () => true, getResourceServerInfo: () => info },
    },
    scopes: ['openid', 'offline_access', 'read'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: (_, token) => ({ groups: groups[token.accountId] ?? [] }),
    ttl: { AccessToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, RefreshToken: 3600 },
    clients: [
      { client_id: 'gateway', client_secret: 'a-secret-of-the-gateway', redirect_uris: [], response_types: [], grant_types: [] },
      { client_id: 'other', token_endpoint_auth_method: 'none', redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native' },
    ],
  });
  const seen = { questions: 0, revocations: 0 };
  provider.use(async (ctx, next) => {
    if (ctx.path === '/token/introspection') seen.questions++;
    if (ctx.path === '/token/revocation') seen.revocations++;
    await next();
  });
  const server = provider.listen(port, '127.0.0.1');
  // A token of a user that was obtained with another client, and what is wrong with it.
  const token = async (user, wrong = {}) => {
    const client = await provider.Client.find('other');
    const grant = new provider.Grant({ accountId: user, clientId: client.clientId });
    grant.addResourceScope(resource, 'read');
    const access = new provider.AccessToken({ accountId: user, client, grantId: await grant.save(), gty: 'authorization_code', scope: wrong.scope ?? 'read', extra: { groups: groups[user] } });
    access.resourceServer = new provider.ResourceServer(wrong.audience ?? resource, { ...info, audience: wrong.audience ?? resource, accessTokenTTL: wrong.life ?? 3600 });
    return access.save();
  };
  const revoke = async (value) => {
    const answer = await fetch(`${issuer}/token/revocation`, { method: 'POST', body: new URLSearchParams({ token: value, client_id: 'other' }) });
    assert.equal(answer.status, 200);
  };
  return { issuer, token, revoke, seen, close: () => server.close() };
}

// serve starts a gateway that has a secret at the provider.
async function serve(issuer, port, secret) {
  const file = join(folder, `secret-${port}`);
  writeFileSync(file, `${secret}\n`);
  const log = start(slipway, ['serve', site, '--addr', `127.0.0.1:${port}`, '--public-url', `http://127.0.0.1:${port}`,
    '--auth-issuer', issuer, '--auth-introspection-url', `${issuer}/token/introspection`, '--auth-introspection-client-id', 'gateway',
    '--auth-introspection-secret-file', file, '--auth-claim', 'groups=groups', '--require-scope', 'read', '--log-level', 'info',
    '--policy', join(folder, 'rules.cedar'), '--audit-log', join(folder, `audit-${port}.jsonl`)], { SLIPWAY_STATE_DIR: join(folder, 'gateway') });
  serving.push(log);
  await log.until(/http:\/\/127\.0\.0\.1:\d+\/mcp/);
  return log;
}

// call calls a tool with a token, and returns the response.
async function call(url, token) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18', ...(token && { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_status', arguments: { code: 404 } } }),
  });
  return { status: response.status, challenge: response.headers.get('www-authenticate') ?? '', text: await response.text() };
}

// run runs a command of slipway as a user, and returns what it printed.
async function run(user, ...args) {
  const log = start(slipway, args, { HOME: folder, SLIPWAY_STATE_DIR: join(folder, user), BROWSER: 'false' });
  const code = await log.ended;
  return { code, text: log.text };
}

try {
  writeFileSync(join(folder, 'rules.cedar'), '@id("staff")\npermit (principal in Group::"staff", action, resource);\n');
  const port = await freePort();
  const resource = `http://127.0.0.1:${port}/mcp`;
  const provider = await startProvider(resource, { alice: ['staff'], dave: ['staff'], eve: ['guests'] });
  await serve(provider.issuer, port, 'a-secret-of-the-gateway');

  const unknown = await call(resource);
  assert.equal(unknown.status, 401);
  assert.match(unknown.challenge, /resource_metadata=/);
  assert.equal(provider.seen.questions, 0);

  // Users log in with the command, whose tokens the gateway cannot read.
  for (const user of ['alice', 'eve']) {
    const port = String(await freePort());
    const login = start(slipway, ['login', resource, '--no-browser', '--callback-port', port], { HOME: folder, SLIPWAY_STATE_DIR: join(folder, user) });
    const [, address] = await login.until(/(http:\/\/127\.0\.0\.1:\d+\/auth\?\S+)/);
    const redirect = new URL(new URL(address).searchParams.get('redirect_uri'));
    assert.equal(redirect.port, port);
    const browser = await startBrowser({ chromium, profile: join(folder, `browser-${user}`) });
    const pages = await signIn(browser, address, user);
    assert.equal(await login.ended, 0, `${login.text}\n${pages.join('\n---\n')}`);
    await browser.close();
  }
  for (let n = 0; n < 2; n++) {
    const called = await run('alice', 'call', resource, 'get_status', 'code=404');
    assert.equal(called.code, 0, called.text);
  }
  assert.equal(provider.seen.questions, 1); // the answer is remembered
  const denied = await run('eve', 'call', resource, 'get_status', 'code=404');
  assert.equal(denied.code, 4, denied.text);
  assert.match(denied.text, /denied by policy[^]*hint: .*log in as another one: slipway login http/);
  console.log('users logged in, and the provider told the gateway who they are');

  // A user without a browser on this machine opens an address on another one, and compares the code there.
  const device = start(slipway, ['login', resource, '--device', '--no-browser'], { HOME: folder, SLIPWAY_STATE_DIR: join(folder, 'dave') });
  const [, page] = await device.until(/(http:\/\/127\.0\.0\.1:\d+\/device\S*)/);
  const [, code] = await device.until(/enter the code (\S+)/);
  const other = await startBrowser({ chromium, profile: join(folder, 'browser-dave') });
  assert.equal(new URL(page).searchParams.get('user_code'), code);
  const opened = await other.newPage();
  await opened.goto(page);
  await opened.locator('button:not([name=abort])').click(); // the code is the right one
  await opened.waitForSelector('input[name=login]');
  const shown = await answerPages(opened, 'dave');
  assert.equal(await device.ended, 0, `${device.text}\n${shown.join('\n---\n')}`);
  await other.close();
  const byDevice = await run('dave', 'call', resource, 'get_status', 'code=404');
  assert.equal(byDevice.code, 0, byDevice.text);
  assert.ok(!serving.some(({ text }) => text.includes(code)), 'the code is in a log');
  console.log('a user logged in on another device');

  // What the provider or the gateway refuses.
  const good = await provider.token('alice');
  assert.equal((await call(resource, good)).status, 200);
  const revoked = await provider.token('alice');
  await provider.revoke(revoked);
  const refused = { 'an unknown token': 'x'.repeat(43), 'a revoked token': revoked, 'a token for another server': await provider.token('alice', { audience: 'http://127.0.0.1:1/mcp' }) };
  for (const [what, token] of Object.entries(refused)) {
    const answer = await call(resource, token);
    assert.equal(answer.status, 401, `${what}: ${answer.text}`);
    assert.match(answer.challenge, /error="invalid_token"/, what);
  }
  const narrow = await call(resource, await provider.token('alice', { scope: 'openid' }));
  assert.equal(narrow.status, 403, narrow.text);
  assert.match(narrow.challenge, /insufficient_scope/);
  console.log('unknown, revoked, foreign and narrow tokens were refused');

  // A gateway that the provider does not know cannot tell whether a token is valid.
  const wrongPort = await freePort();
  const log = await serve(provider.issuer, wrongPort, 'another-secret');
  const unsure = await call(`http://127.0.0.1:${wrongPort}/mcp`, good);
  assert.equal(unsure.status, 503, unsure.text);
  await log.until(/tokens cannot be verified/);
  for (const { text } of serving) assert.ok(![good, revoked, 'a-secret-of-the-gateway', 'another-secret'].some((secret) => text.includes(secret)), text);
  console.log('a gateway with a wrong secret refuses a caller only until it is repaired, and logs no secret');

  // Logging out revokes the token at the provider.
  const list = await run('alice', 'login', '--list');
  assert.ok(list.text.includes(resource), list.text);
  const before = provider.seen.revocations;
  const out = await run('alice', 'logout', resource);
  assert.equal(out.code, 0, out.text);
  assert.match(out.text, /and revoked its tokens/);
  assert.ok(provider.seen.revocations > before, 'the provider was not asked to revoke a token');
  console.log('logged out');
  provider.close();
} catch (error) {
  for (const log of serving) console.error(log.text);
  throw error;
} finally {
  for (const child of children) child.kill();
}
process.exit(0); // the provider keeps connections
