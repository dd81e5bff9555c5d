// Connects the TypeScript SDKs to a server that wants a bearer token, and has
// them read its challenge and its metadata. Prints an object with the problem of
// each check, or "".
//
// usage: node bearer.mjs ENDPOINT TOKEN

import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.SLIPWAY_INTEROP_TOOLS, 'package.json'));
const [endpoint, token] = process.argv.slice(2);
const url = new URL(endpoint);
const checks = {};

async function check(name, body) {
  try {
    checks[name] = (await body()) ?? '';
  } catch (error) {
    checks[name] = String(error?.stack ?? error);
  }
}

const generations = {
  'sdk-v1': () => ({
    ...require('@modelcontextprotocol/sdk/client/index.js'),
    ...require('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ...require('@modelcontextprotocol/sdk/client/auth.js'),
    options: undefined,
  }),
  'sdk-v2': () => ({
    ...require('@modelcontextprotocol/client'),
    options: { versionNegotiation: { mode: 'auto' } },
  }),
};

for (const [name, load] of Object.entries(generations)) {
  const sdk = load();
  const connect = async (authorization) => {
    const client = new sdk.Client({ name: 'interop', version: '1.0.0' }, sdk.options);
    const headers = authorization ? { Authorization: authorization } : {};
    await client.connect(new sdk.StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return client;
  };
  await check(`${name}: a good token`, async () => {
    const client = await connect(`Bearer ${token}`);
    const { tools } = await client.listTools();
    await client.close();
    return tools.length > 0 ? '' : 'no tools';
  });
  await check(`${name}: no token`, async () => {
    try {
      await connect();
      return 'connected, want to be refused';
    } catch (error) {
      return /401|nauthorized/.test(`${error.code} ${error}`) ? '' : String(error);
    }
  });
  await check(`${name}: challenge`, async () => {
    const { resourceMetadataUrl, scope } = sdk.extractWWWAuthenticateParams(await fetch(url, { method: 'POST' }));
    const want = new URL('/.well-known/oauth-protected-resource/mcp', url).href;
    return resourceMetadataUrl?.href === want && scope === 'read' ? '' : `${resourceMetadataUrl} ${scope}`;
  });
  await check(`${name}: metadata`, async () => {
    const metadata = await sdk.discoverOAuthProtectedResourceMetadata(url);
    return metadata.resource === endpoint && metadata.authorization_servers?.[0] === 'https://id.example.com'
      ? '' : JSON.stringify(metadata);
  });
}

console.log(JSON.stringify(checks));
process.exit(0);
