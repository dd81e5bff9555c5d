// Holds a server's WebSockets against programs that know nothing of MCP: the
// package ws, which checks what it receives strictly, and the WebSocket of Node,
// which is that of browsers.
//
// The plan, and what is printed, are as in suite.mjs.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const require = createRequire(join(process.env.SLIPWAY_INTEROP_TOOLS, 'package.json'));
const WS = require('ws');
const plan = JSON.parse(await text(process.stdin));
const { calls, tools } = plan.site;

async function check(name, body) {
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`not ok ${name}`);
    console.log(String(error?.stack ?? error).slice(0, 4000).replace(/^/gm, '# '));
  }
}

// open returns a connection of the package ws, once it is one.
async function open(protocols, options) {
  const socket = new WS(plan.endpoint, protocols, options);
  await once(socket, 'open');
  return socket;
}

// status returns what a handshake was answered with.
async function status(protocols, options) {
  const socket = new WS(plan.endpoint, protocols, options);
  const [request, response] = await once(socket, 'unexpected-response');
  socket.on('error', () => {}); // it says the same again
  request.destroy(); // it would be kept for another request
  return response.statusCode;
}

let lastID = 0;
const waiting = new Map(); // from the id of a request to who waits for its answer

// exchange sends a request and returns the result that comes back.
async function exchange(socket, method, params, send = (message) => socket.send(message)) {
  const id = ++lastID;
  const answer = new Promise((resolve) => waiting.set(id, resolve));
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    waiting.get(message.id)?.(message);
  };
  send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  const message = await answer;
  assert.equal(message.error, undefined);
  return message.result;
}

async function initialize(socket) {
  const result = await exchange(socket, 'initialize', {
    protocolVersion: plan.version,
    capabilities: {},
    clientInfo: { name: 'interop-websocket', version: '1.0.0' },
  });
  assert.equal(result.protocolVersion, plan.version);
  assert.equal(result.serverInfo.name, plan.site.name);
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
}

// site reads what it needs to know that the server is the right one.
async function site(socket) {
  await initialize(socket);
  const listed = await exchange(socket, 'tools/list');
  assert.deepEqual(listed.tools.map((tool) => tool.name), tools.map((tool) => tool.name));
  const answers = await Promise.all(
    calls.map((call) => exchange(socket, 'tools/call', { name: call.name, arguments: call.args })),
  );
  answers.forEach((got, i) => assert.deepEqual(got.content, calls[i].want.content, calls[i].name));
}

await check('ws with mcp.v1', async () => {
  const socket = await open(['mcp.v1']);
  assert.equal(socket.protocol, 'mcp.v1');
  assert.equal(socket.extensions, '', 'ws offers compression, which is off');
  await site(socket);
  socket.close(1000);
  const [code] = await once(socket, 'close');
  assert.equal(code, 1000);
});

await check('ws with several subprotocols', async () => {
  for (const [offer, want] of [
    [['soap', 'mcp', 'mcp.v1'], 'mcp.v1'],
    [['mcp.auth.dG9rZW4', 'mcp'], 'mcp'],
    [['mcp.version.2025-06-18'], 'mcp.version.2025-06-18'],
    [[], ''],
  ]) {
    const socket = await open(offer);
    assert.equal(socket.protocol, want, offer.join());
    socket.terminate();
  }
});

await check('ws refused', async () => {
  assert.equal(await status(['soap']), 400);
  assert.equal(await status(['mcp.v1'], { origin: 'https://evil.example.com' }), 403);
  assert.equal(await status(['mcp.v1'], { headers: { Host: 'evil.example.com' } }), 403);
});

await check('ws pings', async () => {
  const socket = await open(['mcp.v1']);
  for (const payload of ['', 'still there?', 'x'.repeat(125)]) {
    const pong = once(socket, 'pong');
    socket.ping(payload);
    assert.equal((await pong)[0].toString(), payload);
  }
  await site(socket);
  socket.terminate();
});

await check('ws in fragments', async () => {
  const socket = await open(['mcp.v1']);
  await initialize(socket);
  const [call] = calls;
  const got = await exchange(socket, 'tools/call', { name: call.name, arguments: call.args }, (message) => {
    socket.send(message.slice(0, 20), { fin: false });
    socket.ping();
    socket.send(message.slice(20, 40), { fin: false });
    socket.send(message.slice(40), { fin: true });
  });
  assert.deepEqual(got.content, call.want.content);
  socket.terminate();
});

await check('ws close codes', async () => {
  for (const [data, want] of [
    [Buffer.from('{}'), 1003],
    [' '.repeat((4 << 20) + 1), 1009],
  ]) {
    const socket = await open(['mcp.v1']);
    socket.send(data);
    const [code] = await once(socket, 'close');
    assert.equal(code, want);
  }
});

await check('the WebSocket of Node', async () => {
  const socket = new WebSocket(plan.endpoint, ['mcp.v1', 'mcp.auth.dG9rZW4']);
  await once(socket, 'open');
  assert.equal(socket.protocol, 'mcp.v1');
  await site(socket);
  socket.close();
  const [event] = await once(socket, 'close');
  assert(event.wasClean, `closed with ${event.code}`);
});
