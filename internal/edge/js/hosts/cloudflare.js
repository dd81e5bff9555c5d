// Cloudflare Workers: the pages and the site are static assets of the same deployment.

let assetEndpoint;

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname !== CONFIG.path) return env.ASSETS.fetch(request);
    const get = (address) => env.ASSETS.fetch(address);
    assetEndpoint ??= endpointOf(fetchedFiles(get, new URL(CONFIG.site, url.origin).href), {});
    return assetEndpoint(request);
  },
};
