// Uses an MCP server over stdio with the client of the TypeScript SDK, as applications do.
//
// usage: client.mjs COMMAND ARGUMENT...; SLIPWAY_PACKAGES_TOOLS names the folder with the SDK.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.SLIPWAY_PACKAGES_TOOLS, 'package.json'));
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'packages', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
assert.equal(client.getServerVersion().name, 'http-reference');
const { tools } = await client.listTools();
assert.ok(tools.some((tool) => tool.name === 'get_status'));
const result = await client.callTool({ name: 'get_status', arguments: { code: 404 } });
assert.match(JSON.stringify(result), /Not Found/);
await client.close();
console.log(`${tools.length} tools`);
