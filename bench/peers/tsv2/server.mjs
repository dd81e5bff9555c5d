// The peer made with @modelcontextprotocol/server and node (v2) on node:http.
// It speaks both eras, statelessly: the handler makes a server for each
// request.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [addr] = process.argv.slice(2);
const fixtures = JSON.parse(readFileSync(new URL('fixtures.json', import.meta.url)));
const tools = fixtures.tools.slice(0, Math.max(2, Number(process.env.NTOOLS)));

const text = s => ({ content: [{ type: 'text', text: s }] });
const none = z.object({});
const echo = z.object({ message: z.string() });
const stream = process.env.BENCH_STREAM === '1';
const filler = z.object({
  query: z.string().describe('what to look for'),
  limit: z.number().int().describe('how many at most').optional(),
  exact: z.boolean().describe('match whole words').optional(),
});

async function progress(_, ctx) {
  for (let i = 1; i <= 10; i++) {
    await ctx.mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken: ctx.mcpReq._meta.progressToken, progress: i, total: 10 },
    });
  }
  return text(fixtures.message);
}

function newServer() {
  const server = new McpServer({ name: fixtures.name, version: fixtures.version });
  for (const { name, description } of tools) {
    if (name === 'echo') server.registerTool(name, { description, inputSchema: echo }, async ({ message }) => text(message));
    else if (name === 'blob') server.registerTool(name, { description, inputSchema: none }, async () => text(fixtures.text));
    else if (name === 'progress') server.registerTool(name, { description, inputSchema: none }, progress);
    else server.registerTool(name, { description, inputSchema: filler }, async () => text(''));
  }
  server.registerResource('blob', fixtures.uri, { mimeType: fixtures.mimeType }, async uri => ({
    contents: [{ uri: uri.href, mimeType: fixtures.mimeType, text: fixtures.text }],
  }));
  return server;
}

if (addr === 'stdio') {
  serveStdio(newServer);
} else {
  const [host, port] = addr.split(':');
  const handler = createMcpHandler(newServer, { responseMode: stream ? 'sse' : 'json' });
  createServer(toNodeHandler(handler)).listen(Number(port), host);
}
