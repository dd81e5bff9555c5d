// A server for Node.js, Bun and containers.
// Usage: node mcp-server.mjs [PORT [ADDRESS]]; the environment variables PORT and ADDRESS also count.
// Behind a proxy, set HOSTS to the public names, such as docs.example.com, separated by commas.

import { createServer } from 'node:http';
import { Readable } from 'node:stream';

listenOn(endpointOf(remoteFiles, { seconds: 60, checksums: true }, ownHosts(), isLocal()), () => new Response('Not found\n', { status: 404 }));
