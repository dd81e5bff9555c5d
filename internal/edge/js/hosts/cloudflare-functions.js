// A function of a Cloudflare Pages project with a folder functions/.

let assetEndpoint;

export const onRequest = ({ request, env }) => {
  const get = (address) => env.ASSETS.fetch(address);
  assetEndpoint ??= endpointOf(fetchedFiles(get, new URL(CONFIG.site, new URL(request.url).origin).href), {});
  return assetEndpoint(request);
};
