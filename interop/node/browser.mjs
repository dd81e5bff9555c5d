// A browser with a page of host.mjs in it, and a document of a server in that.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tools = process.env.SLIPWAY_INTEROP_TOOLS;
const require = createRequire(join(tools, 'package.json'));

// The policy for a document whose metadata has no csp.
const strict = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

// startHost serves the host page and, under another name, the document of uri.
export async function startHost(client, uri) {
  const built = await require('esbuild').build({
    entryPoints: [fileURLToPath(new URL('host.mjs', import.meta.url))], bundle: true, write: false,
    format: 'iife', nodePaths: [join(tools, 'node_modules')], logLevel: 'error',
  });
  const [{ text: html }] = (await client.readResource({ uri })).contents;
  const server = createServer((request, response) => {
    const app = request.headers.host.startsWith('localhost:');
    const script = request.url === '/host.js';
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html; charset=utf-8');
    if (app) response.setHeader('Content-Security-Policy', strict);
    if (request.url === '/sandboxed') response.setHeader('Content-Security-Policy', 'sandbox allow-scripts');
    response.end(app ? html : script ? built.outputFiles[0].text : '<!doctype html><link rel="icon" href="data:,"><body><script src="/host.js"></script>');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  return { html, close: () => server.close(), page: `http://127.0.0.1:${port}/`, app: `http://localhost:${port}/` };
}

// startBrowser starts Chromium, with nothing in its profile.
export async function startBrowser({ chromium, profile }) {
  return require('playwright-core').chromium.launchPersistentContext(profile, {
    executablePath: chromium,
    headless: true,
    env: { ...process.env, HOME: profile }, // more than the profile goes there
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

// openHost opens the host page and a document in it. Of what it returns, host
// evaluates in the page and app in the document; trouble is what either of them
// complained of.
export async function openHost(browser, host, client, where, hostContext) {
  const page = await browser.newPage();
  const trouble = [];
  page.on('console', (line) => ['error', 'warning'].includes(line.type()) && trouble.push(line.text()));
  page.on('pageerror', (error) => trouble.push(String(error)));
  await page.exposeFunction('server', async (method, params) => {
    try {
      return { result: await client[method](params) };
    } catch ({ code, message, data }) {
      return { error: { code, message, data } };
    }
  });
  await page.goto(where === 'host without origin' ? host.page + 'sandboxed' : host.page);
  await page.evaluate(({ hostContext, document }) => {
    window.stage = new Stage(hostContext);
    return stage.open(document);
  }, { hostContext, document: where === 'own origin' ? { src: host.app } : { html: host.html } });
  await page.waitForFunction(() => stage.seen.some(({ event }) => event === 'oninitialized'));
  const frame = page.frames().find((candidate) => candidate !== page.mainFrame());
  return { page, frame, trouble, host: (f, given) => page.evaluate(f, given), app: (f, given) => frame.evaluate(f, given) };
}

// told waits until the document has seen an event, and returns what it was given.
export async function told(view, event) {
  await view.frame.waitForFunction((event) => seen.some((entry) => entry.event === event), event);
  return view.app((event) => seen.find((entry) => entry.event === event).given, event);
}

// heard receives the messages for the host.
export async function heard(view, event) {
  await view.page.waitForFunction((event) => stage.seen.some((entry) => entry.event === event), event);
  return view.host((event) => stage.seen.filter((entry) => entry.event === event).map((entry) => entry.params), event);
}

// fails returns how a promise of the document rejects.
export function fails(view, body) {
  return view.app(`(${body})().then((value) => ({ value }), ({ code, message, name }) => ({ code, message, name }))`);
}
