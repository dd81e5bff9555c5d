// Programs under test, and the pages on which users sign in.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';

// children are the programs that were started, which the caller kills in the end.
export const children = [];

// freePort returns a port of this machine that is not in use.
export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

// printed collects what a program prints.
export function printed(...streams) {
  const log = { text: '' };
  for (const stream of streams) stream.on('data', (chunk) => { log.text += chunk; });
  // until waits for a text, and returns its match.
  log.until = async (pattern) => {
    for (let n = 0; n < 300; n++) {
      const found = log.text.match(pattern);
      if (found) return found;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error(`${pattern} was not printed:\n${log.text}`);
  };
  return log;
}

// start starts a program, and returns what it prints.
export function start(program, args, env = {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  children.push(child);
  const log = printed(child.stdout, child.stderr);
  log.ended = new Promise((done) => child.on('exit', done));
  return log;
}

// signIn opens the address of a client, and answers the pages of a gateway and of an oidc-provider.
export async function signIn(browser, address, user) {
  const page = await browser.newPage();
  await page.goto(address);
  const seen = await answerPages(page, user);
  await page.close();
  return seen;
}

// answerPages answers the page that is open and those that follow, and returns their texts.
export async function answerPages(page, user) {
  const seen = [];
  for (let n = 0; n < 8; n++) {
    seen.push(await page.textContent('body'));
    if (await page.locator('input[name=login]').count()) {
      await page.fill('input[name=login]', user);
      await page.fill('input[name=password]', 'any');
    }
    const button = page.locator('button[value=allow], form button, form [type=submit]');
    if (!(await button.count())) break;
    await Promise.all([page.waitForNavigation(), button.first().click()]);
  }
  return seen;
}
