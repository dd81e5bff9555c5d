// The peer made with @modelcontextprotocol/sdk (v1) on express. Stateless mode
// is the SDK's own idiom: a new server and a new transport for each request.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import express from 'express';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const [addr, mode] = process.argv.slice(2);
const fixtures = JSON.parse(readFileSync(new URL('fixtures.json', import.meta.url)));
const tools = fixtures.tools.slice(0, Math.max(2, Number(process.env.NTOOLS)));

const text = s => ({ content: [{ type: 'text', text: s }] });
const echo = { message: z.string() };
const stream = process.env.BENCH_STREAM === '1';
const filler = {
  query: z.string().describe('what to look for'),
  limit: z.number().int().describe('how many at most').optional(),
  exact: z.boolean().describe('match whole words').optional(),
};

async function progress(_, extra) {
  for (let i = 1; i <= 10; i++) {
    await extra.sendNotification({
      method: 'notifications/progress',
      params: { progressToken: extra._meta.progressToken, progress: i, total: 10 },
    });
  }
  return text(fixtures.message);
}

function newServer() {
  const server = new McpServer({ name: fixtures.name, version: fixtures.version });
  for (const { name, description } of tools) {
    if (name === 'echo') server.registerTool(name, { description, inputSchema: echo }, async ({ message }) => text(message));
    else if (name === 'blob') server.registerTool(name, { description, inputSchema: {} }, async () => text(fixtures.text));
    else if (name === 'progress') server.registerTool(name, { description, inputSchema: {} }, progress);
    else server.registerTool(name, { description, inputSchema: filler }, async () => text(''));
  }
  server.registerResource('blob', fixtures.uri, { mimeType: fixtures.mimeType }, async uri => ({
    contents: [{ uri: uri.href, mimeType: fixtures.mimeType, text: fixtures.text }],
  }));
  return server;
}

async function stateless(req, res) {
  const server = newServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: !stream });
  res.on('close', () => {
    transport.close();
    server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
}

const sessions = new Map();

async function session(req, res) {
  let transport = sessions.get(req.headers['mcp-session-id']);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: !stream,
      onsessioninitialized: id => sessions.set(id, transport),
    });
    await newServer().connect(transport);
  }
  await transport.handleRequest(req, res, req.body);
}

if (addr === 'stdio') {
  await newServer().connect(new StdioServerTransport());
} else {
  const [host, port] = addr.split(':');
  const app = express();
  app.use(express.json());
  app.post('/mcp', mode === 'session' ? session : stateless);
  if (mode === 'session') app.get('/mcp', session);
  app.listen(Number(port), host);
}
