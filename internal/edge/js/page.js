// The page for people who open the endpoint in a browser: how to add it to a client. PAGE is
// the template that is also used for the file index.html of a site.

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
  const values = {
    title: server.title || name,
    url,
    word: shellWord(name),
    cursor: 'cursor://anysphere.cursor-deeplink/mcp/install?name=' + encodeURIComponent(name) +
      '&config=' + encodeURIComponent(btoa(JSON.stringify({ url }))),
    code: 'vscode:mcp/install?' + encodeURIComponent(JSON.stringify({ name, type: 'http', url })),
    config: JSON.stringify({ mcpServers: { [name]: { type: 'http', url } } }, null, 2),
  };
  return PAGE.replace(/\{\{(\w+)\}\}/g, (_, key) => escapeHTML(values[key]));
}

/** Returns a name as one word of a shell. */
function shellWord(name) {
  return /^[A-Za-z0-9_\-./:@%+=,]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
