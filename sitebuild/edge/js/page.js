// The page for people who open the endpoint in a browser: how to add it to a client.

import { openSite } from './site.js';

const escapeHTML = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** Returns the page of an endpoint as HTML. */
export async function connectPage(files, request) {
  const { server } = await openSite(files);
  const address = new URL(request.url);
  // Behind a proxy that ends TLS, the request itself says http.
  const local = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(address.hostname);
  const url = `${local ? 'http' : 'https'}://${address.host}${address.pathname}`;
  const name = server.name;
  const cursor = 'cursor://anysphere.cursor-deeplink/mcp/install?name=' + encodeURIComponent(name) +
    '&config=' + encodeURIComponent(btoa(JSON.stringify({ url })));
  const code = 'vscode:mcp/install?' + encodeURIComponent(JSON.stringify({ name, type: 'http', url }));
  const config = JSON.stringify({ mcpServers: { [name]: { type: 'http', url } } }, null, 2);
  const title = escapeHTML(server.title || name);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Add ${title} to an AI client</title>
<style>
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; background: #fff }
a { color: #0b57d0 } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
pre { padding: .75rem; overflow-x: auto; background: #f1f3f4; border-radius: .5rem; user-select: all }
@media (prefers-color-scheme: dark) { body { color: #e8eaed; background: #1c1c1c } a { color: #8ab4f8 } pre { background: #2b2c2f } }
</style>
<main>
<h1>Add ${title} to an AI client</h1>
<p>This is the address of an MCP server. It answers from files, needs no account, and is read-only.</p>
<pre tabindex="0">${escapeHTML(url)}</pre>
<h2>Claude</h2>
<p>In Settings, Connectors, choose “Add custom connector” and paste the address. For Claude Code:</p>
<pre tabindex="0">claude mcp add --transport http ${escapeHTML(shellWord(name))} ${escapeHTML(url)}</pre>
<h2>Cursor</h2>
<p><a href="${escapeHTML(cursor)}">Add to Cursor</a></p>
<h2>VS Code</h2>
<p><a href="${escapeHTML(code)}">Add to VS Code</a></p>
<h2>ChatGPT</h2>
<p>In Settings, Connectors, create a connector and paste the address. Some plans need developer mode.</p>
<h2>Other clients</h2>
<pre tabindex="0">${escapeHTML(config)}</pre>
</main>
</html>
`;
}

/** Returns a name as one word of a shell. */
function shellWord(name) {
  return /^[A-Za-z0-9_.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
