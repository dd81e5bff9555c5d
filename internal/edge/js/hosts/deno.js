// A program for Deno and Deno Deploy: it serves the published folder and the endpoint.
// Usage: deno run --allow-net --allow-read mcp.js [PORT]

const published = new URL(CONFIG.published, import.meta.url);

const deployedFile = async (path) => {
  try {
    return await Deno.readFile(new URL(path.split('/').map(encodeURIComponent).join('/'), published));
  } catch (e) {
    if (e instanceof Deno.errors.NotFound || e instanceof Deno.errors.IsADirectory || e.code === 'ENOTDIR') return undefined;
    throw e;
  }
};
const denoEndpoint = endpointOf((path) => deployedFile(CONFIG.site.slice(1) + path), { seconds: 60, checksums: true });

listenOn(denoEndpoint, (request) => staticFile(request, deployedFile));
