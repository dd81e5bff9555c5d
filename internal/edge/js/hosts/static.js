// Static files, for programs that serve the pages too.

const mediaTypes = {
  html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8', json: 'application/json; charset=utf-8', txt: 'text/plain; charset=utf-8',
  md: 'text/markdown; charset=utf-8', xml: 'application/xml', svg: 'image/svg+xml', png: 'image/png', jpg: 'image/jpeg',
  jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', ico: 'image/x-icon', woff: 'font/woff', woff2: 'font/woff2',
  wasm: 'application/wasm', pdf: 'application/pdf',
};

/** Answers a request for a page or another file, which read returns by its path. */
async function staticFile(request, read) {
  if (request.method !== 'GET' && request.method !== 'HEAD') return new Response('Method not allowed\n', { status: 405 });
  let path;
  try {
    path = decodeURIComponent(new URL(request.url).pathname).replace(/^\/+/, '');
  } catch {
    path = undefined;
  }
  for (const candidate of path === undefined ? [] : pageNames(path)) {
    const bytes = isSafePath(candidate) && !isHidden(candidate) ? await read(candidate) : undefined;
    if (!bytes) continue;
    const type = candidate.endsWith('/server-card')
      ? 'application/mcp-server-card+json'
      : mediaTypes[/\.([a-z0-9]+)$/.exec(candidate)?.[1]] ?? 'application/octet-stream';
    const headers = { 'Content-Type': type, 'Access-Control-Allow-Origin': '*', 'X-Content-Type-Options': 'nosniff' };
    return new Response(request.method === 'HEAD' ? null : bytes, { headers });
  }
  return new Response('Not found\n', { status: 404 });
}

/**
 * Reports whether a path has a hidden file or folder. A project that publishes itself may have secrets in .env and .git;
 * of the others, sites need .staticmcp, and hosts .well-known.
 */
function isHidden(path) {
  return path.split('/').some((name) => name.startsWith('.') && name !== '.staticmcp' && name !== '.well-known');
}

function pageNames(path) {
  if (path === '' || path.endsWith('/')) return [path + 'index.html'];
  return [path, path + '.html', path + '/index.html'];
}
