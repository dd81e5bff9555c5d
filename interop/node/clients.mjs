// The two generations of the TypeScript SDK behind one set of functions.

import { createRequire } from 'node:module';
import { join } from 'node:path';

// The packages are not installed beside this file but in a cache folder.
const require = createRequire(join(process.env.SLIPWAY_INTEROP_TOOLS, 'package.json'));

const methods = {
  tools: 'listTools',
  resources: 'listResources',
  resourceTemplates: 'listResourceTemplates',
  prompts: 'listPrompts',
};

function stdio(Transport, plan) {
  const [command, ...args] = plan.command;
  return new Transport({ command, args, env: { ...process.env, ...plan.env }, stderr: 'inherit' });
}

function transportV1(plan) {
  const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { WebSocketClientTransport } = require('@modelcontextprotocol/sdk/client/websocket.js');
  if (!plan.endpoint) return stdio(StdioClientTransport, plan);
  const url = new URL(plan.endpoint);
  if (url.protocol === 'ws:') return new WebSocketClientTransport(url);
  return url.pathname === '/sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

// sdkV1 connects the client of @modelcontextprotocol/sdk.
export async function sdkV1(plan) {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const client = new Client({ name: 'interop-ts-v1', version: '1.0.0' });
  const transport = transportV1(plan);
  // This generation does not keep the version it negotiated for its user.
  let version;
  transport.setProtocolVersion = ((inner) => (v) => {
    version = v;
    inner?.call(transport, v);
  })(transport.setProtocolVersion);
  await client.connect(transport);
  return {
    ...wrap(client),
    version: () => version,
    callTool: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    isNotFound: (error) => error.code === -32002,
    close: async () => {
      await transport.terminateSession?.(); // over HTTP only
      await client.close();
    },
  };
}

// sdkV2 connects the client of @modelcontextprotocol/client. With the mode
// "auto" it asks for 2026-07-28 first, with "legacy" it begins a handshake.
export async function sdkV2(plan) {
  const { Client, ResourceNotFoundError, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
  const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
  const client = new Client(
    { name: 'interop-ts-v2', version: '1.0.0' },
    { versionNegotiation: { mode: plan.mode } },
  );
  const transport = plan.endpoint
    ? new StreamableHTTPClientTransport(new URL(plan.endpoint))
    : stdio(StdioClientTransport, plan);
  await client.connect(transport);
  return {
    ...wrap(client),
    version: () => client.getNegotiatedProtocolVersion(),
    callTool: (name, args, options) => client.callTool({ name, arguments: args }, options),
    // It knows a missing resource by the code of either era and the URI in the
    // error's data; from 2026-07-28 nothing else may be there.
    isNotFound: (error, uri) => error instanceof ResourceNotFoundError && error.uri === uri,
    close: () => client.close(),
  };
}

function wrap(client) {
  return {
    serverName: () => client.getServerVersion()?.name,
    capabilities: () => client.getServerCapabilities(),
    list: (kind, cursor) => client[methods[kind]](cursor === undefined ? undefined : { cursor }),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (ref, argument) => client.complete({ ref, argument }),
    ping: () => client.ping(),
    setLoggingLevel: (level) => client.setLoggingLevel(level),
  };
}
