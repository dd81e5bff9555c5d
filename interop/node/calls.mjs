// Calls get_status with a client of the TypeScript SDK until its input ends, and prints an object with the
// number of calls, the errors by message, the wrong answers and the longest call in milliseconds.
//
// usage: node calls.mjs ENDPOINT

import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.SLIPWAY_INTEROP_TOOLS, 'package.json'));
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const result = { calls: 0, failed: {}, wrong: [], longest: 0, session: '', sessions: 0 };
let ended = false;
process.stdin.on('end', () => { ended = true; }).resume();

let client;
async function connect() {
  client = new Client({ name: 'interop', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
  result.sessions++;
}

for (let n = 0; !ended; n++) {
  const code = 400 + (n % 5);
  const began = performance.now();
  try {
    if (!client) await connect();
    const answer = await client.callTool({ name: 'get_status', arguments: { code } });
    result.calls++;
    if (!JSON.stringify(answer).includes(String(code))) result.wrong.push(JSON.stringify(answer));
  } catch (error) {
    const message = String(error).slice(0, 200);
    result.failed[message] = (result.failed[message] ?? 0) + 1;
    if (/404|[Nn]o such session/.test(message)) client = undefined;
  }
  result.longest = Math.max(result.longest, performance.now() - began);
  await new Promise((resolve) => setTimeout(resolve, 10));
}
console.log(JSON.stringify(result));
process.exit(0);
