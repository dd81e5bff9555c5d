// A gateway that signs users in at an oidc-provider without client registration: mcp-remote as the
// client and Chromium as the user, then the authorization scenarios of the official suite.
//
// usage: node signin.mjs SLIPWAY CHROMIUM SITE FOLDER

import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import assert from 'node:assert/strict';

import { startBrowser } from './browser.mjs';
import { children, freePort, printed, signIn, start } from './programs.mjs';

const tools = process.env.SLIPWAY_INTEROP_TOOLS;
const require = createRequire(join(tools, 'package.json'));
const { Provider } = require('oidc-provider');
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');

const [slipway, chromium, site, folder] = process.argv.slice(2);
let serving;

try {
  const port = await freePort();
  const gateway = `http://127.0.0.1:${port}`;
  const idPort = await freePort();
  const issuer = `http://127.0.0.1:${idPort}`;
  const groups = { alice: ['staff'], eve: [] };
  const provider = new Provider(issuer, {
    // No registration, and opaque access tokens that are for no resource: as with Google.
    features: { devInteractions: { enabled: true } },
    scopes: ['openid', 'profile', 'offline_access'],
    claims: { openid: ['sub'], profile: ['groups'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: (_, client, code) => client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: groups[id] }) }),
    ttl: { AccessToken: 4, Grant: 3600, Session: 3600, Interaction: 600, RefreshToken: 3600, IdToken: 600 },
    clients: [{
      client_id: 'gateway', client_secret: 'a-secret-of-the-gateway', token_endpoint_auth_method: 'client_secret_basic',
      redirect_uris: [`${gateway}/oauth/callback`], grant_types: ['authorization_code', 'refresh_token'], application_type: 'native',
    }],
  });
  const server = provider.listen(idPort, '127.0.0.1');
  let refreshed = 0;
  provider.on('grant.success', (ctx) => { if (ctx.oidc.params.grant_type === 'refresh_token') refreshed++; });

  const secret = join(folder, 'secret');
  writeFileSync(secret, 'a-secret-of-the-gateway\n');
  const rules = join(folder, 'rules.cedar');
  writeFileSync(rules, '@id("staff")\npermit (principal in Group::"staff", action, resource);\n');
  serving = start(slipway, ['serve', site, '--addr', `127.0.0.1:${port}`, '--public-url', gateway, '--sign-in', issuer,
    '--sign-in-client-id', 'gateway', '--sign-in-client-secret-file', secret, '--require-scope', 'read',
    '--auth-claim', 'groups=groups', '--log-level', 'info', '--policy', rules, '--audit-log', join(folder, 'audit.jsonl')],
  { HOME: folder, SLIPWAY_STATE_DIR: join(folder, 'state') });
  await serving.until(/http:\/\/127\.0\.0\.1:\d+\/mcp/);
  const alice = await startBrowser({ chromium, profile: join(folder, 'alice') });
  const eve = await startBrowser({ chromium, profile: join(folder, 'eve') });

  // connect starts mcp-remote, which registers and asks to open an address in the browser.
  const connect = async (user, browser) => {
    const home = join(folder, `remote-${user}`);
    mkdirSync(home);
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [join(tools, 'node_modules', 'mcp-remote', 'dist', 'proxy.js'), `${gateway}/mcp`, '--allow-http'],
      env: { ...process.env, HOME: home, MCP_REMOTE_CONFIG_DIR: home, BROWSER: 'true', DISPLAY: '' },
      stderr: 'pipe',
    });
    const log = printed(transport.stderr);
    const client = new Client({ name: 'sign-in', version: '1' });
    const connected = client.connect(transport, { timeout: 60_000 }).catch((error) => error);
    const asked = (await log.until(address))[1];
    const pages = await signIn(browser, asked, user);
    return { client, asked, pages, failure: await connected, log };
  };
  const address = /(http:\/\/127\.0\.0\.1:\d+\/oauth\/authorize\?\S+)/;
  const names = async (client) => (await client.listTools()).tools.map((tool) => tool.name);
  const mine = await connect('alice', alice);
  const { asked } = mine;
  assert.ok(!mine.failure, `${mine.failure}\n${mine.pages.join('\n---\n')}\n${mine.log.text}`);
  for (const part of ['code_challenge_method=S256', `resource=${encodeURIComponent(`${gateway}/mcp`)}`]) assert.ok(asked.includes(part), asked);
  assert.match(mine.pages[0], /is not verified.*Permissionsread.*You sign in at127/s, mine.pages[0]);
  assert.ok((await names(mine.client)).includes('get_status'));
  // The tokens of the provider, and so those of the gateway, live 4 seconds.
  const before = Date.now();
  while (Date.now() - before < 9000) {
    const called = await mine.client.callTool({ name: 'get_status', arguments: { code: 404 } });
    assert.ok(!called.isError, JSON.stringify(called));
    await new Promise((done) => setTimeout(done, 500));
  }
  assert.ok(refreshed >= 2, `${refreshed} refreshes at the provider`);
  await mine.client.close();
  console.log('mcp-remote signed in, called tools and refreshed');

  // A user without the group signs in, and no rule permits anything.
  const other = await connect('eve', eve);
  assert.match(other.log.text, /denied by policy/);
  console.log('groups of the provider reach the policy');

  // The address of one browser is opened in another: nothing is signed in.
  const page = await alice.newPage();
  await page.goto(asked.replace(/state=[^&]*/, 'state=other'));
  const form = await page.inputValue('input[name=request]');
  await page.close();
  const foreign = await eve.newPage();
  await foreign.goto(asked);
  await foreign.evaluate((value) => { document.querySelector('input[name=request]').value = value; }, form);
  await Promise.all([foreign.waitForNavigation(), foreign.click('button[value=allow]')]);
  assert.match(await foreign.textContent('body'), /another browser/);
  await foreign.close();
  console.log('the form of another browser was refused');

  // The official suite against the authorization server.
  const callbackPort = await freePort();
  const redirect = `http://127.0.0.1:${callbackPort}/callback`;
  const registered = await (await fetch(`${gateway}/oauth/register`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: 'suite', redirect_uris: [redirect] }),
  })).json();

  const suite = start(process.execPath, [join(tools, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js'), 'authorization',
    '--url', gateway, '--client-id', registered.client_id, '--resource', `${gateway}/mcp`, '-p', String(callbackPort)]);
  await signIn(alice, (await suite.until(address))[1], 'alice');
  await suite.ended;
  for (const [scenario, least] of [['authorization-server-metadata-endpoint', 2], ['authorization-code-grant', 1]]) {
    const [, passed, failed] = suite.text.match(new RegExp(`${scenario}: (\\d+) passed, (\\d+) failed`)) ?? [];
    assert.ok(passed >= least && failed === '0', suite.text); // checks: a scenario without any counts as passed
  }
  console.log('conformance authorization: 2 of 2');

  await Promise.all([alice.close(), eve.close()]);
  server.close();
} catch (error) {
  console.error(serving?.text); // the log of the gateway
  throw error;
} finally {
  for (const child of children) child.kill();
}
process.exit(0); // the provider keeps connections
