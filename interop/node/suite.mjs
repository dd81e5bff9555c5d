// Holds a server against a site with a client of the TypeScript SDK.
//
// The plan comes as one JSON object on stdin: which client, how to reach the
// server, the protocol version to expect, and what the site must answer. Each
// check prints one line, "ok NAME" or "not ok NAME", and the reasons of a
// failure as lines that begin with "# ". The exit code is 0 only if the plan
// was carried out to its end.

import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { sdkV1, sdkV2 } from './clients.mjs';

const plan = JSON.parse(await text(process.stdin));
const dial = { 'sdk-v1': sdkV1, 'sdk-v2': sdkV2 }[plan.client];
const legacy = plan.version < '2026-07-28';

async function check(name, body) {
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`not ok ${name}`);
    const why = String(error?.stack ?? error);
    console.log(why.slice(0, 4000).replace(/^/gm, '# '));
  }
}

// pick keeps the named fields of each item that have a value: an empty list
// says no more than none.
function pick(items, fields) {
  const some = (v) => v !== undefined && v !== '' && v?.length !== 0;
  return items.map((item) => Object.fromEntries(fields.filter((f) => some(item[f])).map((f) => [f, item[f]])));
}

async function everyPage(list, key) {
  const items = [];
  const seen = new Set();
  for (let cursor; ; ) {
    const page = await list(cursor);
    items.push(...page[key]);
    cursor = page.nextCursor;
    if (cursor === undefined) return items;
    assert(!seen.has(cursor), `the cursor ${cursor} came twice`);
    seen.add(cursor);
  }
}

async function rejectsWith(code, promise, what) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.code, code, `${what}: ${error}`);
    return true;
  }, `${what}: no error, want code ${code}`);
}

async function answers(client, call) {
  const got = await client.callTool(call.name, call.args);
  const what = `${call.name}(${JSON.stringify(call.args)})`;
  assert.deepEqual(got.content, call.want.content, what);
  assert.deepEqual(got.structuredContent, call.want.structuredContent, what);
  assert.equal(got.isError ?? false, call.want.isError ?? false, what);
}

function isToolError(got, what) {
  assert.equal(got.isError, true, `${what}: ${JSON.stringify(got)}`);
  assert(got.content[0]?.text, `${what}: no text that explains`);
}

async function lists(client, site) {
  const newer = ['title', 'outputSchema'];
  for (const [kind, fields] of [
    ['tools', ['name', 'description', 'inputSchema', ...newer]],
    ['resources', ['uri', 'name', 'description', 'mimeType', ...newer]],
    ['resourceTemplates', ['uriTemplate', 'name', 'description', 'mimeType', ...newer]],
    ['prompts', ['name', 'description', 'arguments', ...newer]],
  ]) {
    if (kind === 'prompts' && site.prompts.length === 0) continue;
    const got = await everyPage((cursor) => client.list(kind, cursor), kind);
    assert.deepEqual(pick(got, fields), pick(site[kind], fields), kind);
  }
}

async function isMissing(client, uri) {
  await assert.rejects(client.readResource(uri), (error) => {
    assert(client.isNotFound(error, uri), `${uri}: ${error?.stack} with data ${JSON.stringify(error?.data)}`);
    return true;
  }, `${uri} is there`);
}

async function contents(client, site) {
  for (const { uri } of site.resources) {
    const want = site.contents[uri];
    if (!want) {
      await isMissing(client, uri);
      continue;
    }
    const fields = ['uri', 'mimeType', 'text', 'blob'];
    const got = await client.readResource(uri);
    assert.deepEqual(pick(got.contents, fields), pick([want], fields), uri);
  }
  await isMissing(client, 'nowhere://no such resource');
}

async function mistakes(client, wrong) {
  for (const [what, args] of [
    ['an argument of the wrong type', wrong.wrongType],
    ['a required argument missing', wrong.missing],
    ['an unknown argument', wrong.unknown],
    ['a call without an answer', wrong.unheld],
  ]) {
    isToolError(await client.callTool(wrong.tool, args), what);
  }
  await rejectsWith(-32602, client.callTool('no_such_tool', {}), 'an unknown tool');
  if (wrong.prompt) {
    await rejectsWith(-32602, client.getPrompt('no_such_prompt', {}), 'an unknown prompt');
    await rejectsWith(-32602, client.getPrompt(wrong.prompt, {}), 'a required prompt argument missing');
  }
}

async function wholeSite(client, site, wrong) {
  await check('handshake', async () => {
    assert.equal(client.version(), plan.version);
    assert.equal(client.serverName(), site.name);
  });
  await check('lists', () => lists(client, site));
  await check('tool answers', async () => {
    for (const call of site.calls) await answers(client, call);
  });
  await check('resource contents', () => contents(client, site));
  if (site.messages.length > 0) {
    await check('prompt messages', async () => {
      for (const { name, args, want } of site.messages) {
        assert.deepEqual((await client.getPrompt(name, args)).messages, want.messages, name);
      }
    });
  }
  if (plan.completion) {
    await check('completion', async () => {
      const { ref, argument, values } = plan.completion;
      assert.deepEqual((await client.complete(ref, argument)).completion.values, values);
    });
  }
  await check('mistakes', () => mistakes(client, wrong));
  if (legacy) await check('ping', () => client.ping());
  if (legacy && client.capabilities().logging) await check('log level', () => client.setLoggingLevel('warning'));
  await check('two clients at once', async () => {
    const other = await dial(plan);
    try {
      await Promise.all(site.calls.slice(0, 200).map((call, i) => answers(i % 2 ? client : other, call)));
    } finally {
      await other.close();
    }
  });
}

// cancelled needs the tool wait, whose answer to "held" never comes.
async function cancelled(client) {
  await check('cancelled call', async () => {
    const stop = new AbortController();
    const held = client.callTool('wait', { key: 'held' }, { signal: stop.signal });
    const quick = { name: 'wait', args: { key: 'quick' }, want: { content: [{ type: 'text', text: 'quick answer' }] } };
    await answers(client, quick);
    stop.abort('changed my mind');
    await assert.rejects(held);
    await answers(client, quick);
  });
}

const client = await dial(plan);
if (plan.site) await wholeSite(client, plan.site, plan.wrong);
else await cancelled(client);
await check('close', () => client.close());
