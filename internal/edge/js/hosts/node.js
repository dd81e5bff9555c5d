// A server for Node.js, Bun and containers: the published folder and the endpoint.
// Usage: node mcp-server.mjs [PORT [ADDRESS]]; the environment variables PORT and ADDRESS also count.
// Behind a proxy, set HOSTS to the public names, such as docs.example.com, separated by commas.

import { createServer } from 'node:http';
import { readFile, realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join, sep } from 'node:path';
import { Readable } from 'node:stream';

const publishedFolder = fileURLToPath(new URL(CONFIG.published, import.meta.url));

const publishedFile = async (path) => {
  try {
    const root = await realpath(publishedFolder);
    const file = await realpath(join(root, path));
    return file.startsWith(root.endsWith(sep) ? root : root + sep) ? await readFile(file) : undefined;
  } catch (e) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'].includes(e.code)) return undefined;
    throw e;
  }
};
const siteFiles = (path) => publishedFile(CONFIG.site.slice(1) + path);

listenOn(endpointOf(siteFiles, { seconds: 60, checksums: true }, ownHosts(), isLocal()), (request) => staticFile(request, publishedFile));
